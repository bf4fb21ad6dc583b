"""The API of a kubelet for one pod: logs, exec and port-forward, without containers.

usage: kubelet_api.py ADDRESS PORT CERT KEY FOLDER

logs: three lines; with follow=true a fourth one and the end follow when FOLDER/go exists.
exec (SPDY/3.1, v4.channel.k8s.io): what comes on stdin goes out on stdout; without stdin, the command goes out on
stdout. port-forward (SPDY/3.1): what comes on a data stream goes back. An end of a stream in one direction is
answered by the end in the other direction, behind all octets. FOLDER/ended gets a line when a connection has ended.
"""
import os
import ssl
import struct
import sys
import threading
import time
import urllib.parse
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

folder = sys.argv[5]
lock = threading.Lock()

# The dictionary of header blocks: SPDY Protocol, draft 3.1, section 2.6.10.1.
WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status").split() + [
    "200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin"]
TAIL = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative "
    "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 "
    "Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec "
    "00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset="
    "iso-8859-1,utf-,*,enq=0.")
DICTIONARY = b"".join(struct.pack(">I", len(w)) + w.encode() for w in WORDS) + TAIL.encode()
assert zlib.adler32(DICTIONARY) == 0xe3c6a7c2

SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY = 1, 2, 3, 6, 7
FIN = 1


def note(text):
    with lock, open(os.path.join(folder, "ended"), "a", encoding="utf-8") as out:
        out.write(text + "\n")


class Session:
    """One connection in SPDY/3.1; streams is what the peer has opened, by number: the type of each."""

    def __init__(self, source, sink):
        self.source, self.sink = source, sink
        self.inflate = zlib.decompressobj(zdict=DICTIONARY)
        self.deflate = zlib.compressobj(zdict=DICTIONARY)
        self.streams = {}

    def control(self, kind, payload, flags=0):
        self.sink.write(struct.pack(">HHI", 0x8003, kind, flags << 24 | len(payload)) + payload)
        self.sink.flush()

    def data(self, stream, payload, fin=False):
        for at in range(0, max(len(payload), 1), 32768):
            part = payload[at:at + 32768]
            last = fin and at + 32768 >= len(payload)
            self.sink.write(struct.pack(">II", stream, (FIN if last else 0) << 24 | len(part)) + part)
        self.sink.flush()

    def number_of(self, kind):
        return next((n for n, have in self.streams.items() if have == kind), None)

    def headers(self, block):
        raw, at, pairs = self.inflate.decompress(block), 4, {}
        for _ in range(struct.unpack_from(">I", raw)[0]):
            words = []
            for _ in range(2):
                size = struct.unpack_from(">I", raw, at)[0]
                words.append(raw[at + 4:at + 4 + size].decode())
                at += 4 + size
            pairs[words[0]] = words[1]
        return pairs

    def reply(self, stream):
        block = self.deflate.compress(struct.pack(">I", 0)) + self.deflate.flush(zlib.Z_SYNC_FLUSH)
        self.control(SYN_REPLY, struct.pack(">I", stream) + block)

    def frame(self):
        """The next frame: its kind (None: data), stream, flags and payload; None at the end."""
        head = self.source.read(8)
        if len(head) < 8:
            return None
        first, second = struct.unpack(">II", head)
        payload = self.source.read(second & 0xffffff)
        if not first >> 31:
            return None, first, second >> 24, payload
        kind = first & 0xffff
        return kind, struct.unpack_from(">I", payload)[0] if payload else 0, second >> 24, payload

    def run(self, opened, got):
        """Calls opened(stream, headers, fin) and got(stream, payload, fin) until the connection ends."""
        while True:
            frame = self.frame()
            if not frame:
                return
            kind, stream, flags, payload = frame
            if kind is None:
                got(stream, payload, bool(flags & FIN))
            elif kind == SYN_STREAM:
                headers = self.headers(payload[10:])
                self.streams[stream] = headers["streamtype"]
                self.reply(stream)
                opened(stream, headers, bool(flags & FIN))
            elif kind == PING and stream % 2:
                self.control(PING, payload)
            elif kind == GOAWAY:
                return


def serve_exec(session, query):
    wanted = 1 + sum(query.get(name, ["0"])[0] in ("1", "true") for name in ("input", "output", "error"))

    def end(payload=b""):
        for kind in ("stdout", "stderr"):
            if session.number_of(kind):
                session.data(session.number_of(kind), payload if kind == "stdout" else b"", True)
        session.data(session.number_of("error"), b'{"metadata":{},"status":"Success"}', True)

    def opened(stream, headers, fin):
        if len(session.streams) == wanted and not session.number_of("stdin"):
            end((" ".join(query["command"]) + "\n").encode())

    def got(stream, payload, fin):
        if session.streams.get(stream) != "stdin":
            return
        if payload:
            session.data(session.number_of("stdout"), payload)
        if fin:
            end()

    session.run(opened, got)


def serve_ports(session):
    errors = {}  # the error stream of each request

    def opened(stream, headers, fin):
        if headers["streamtype"] == "error":
            errors[headers["requestid"]] = stream
        else:
            session.streams[stream] = headers["requestid"]

    def got(stream, payload, fin):
        if session.streams.get(stream) == "error":
            return
        session.data(stream, payload, fin)
        if fin:
            session.data(errors[session.streams[stream]], b"", True)

    session.run(opened, got)


class Kubelet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def chunk(self, text):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
        self.wfile.flush()

    def logs(self, query):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for i in range(3):
            self.chunk(b"line %d\n" % (i + 1))
        if query.get("follow") == ["true"]:
            while not os.path.exists(os.path.join(folder, "go")):
                time.sleep(0.05)
            self.chunk(b"line 4\n")
        self.wfile.write(b"0\r\n\r\n")

    def upgrade(self, kind, query):
        self.close_connection = True
        offered = ",".join(self.headers.get_all("X-Stream-Protocol-Version") or [])
        self.send_response(101)
        self.send_header("Connection", "Upgrade")
        self.send_header("Upgrade", "SPDY/3.1")
        for protocol in ("v4.channel.k8s.io", "portforward.k8s.io"):
            if protocol in offered:
                self.send_header("X-Stream-Protocol-Version", protocol)
        self.end_headers()
        session = Session(self.rfile, self.wfile)
        try:
            serve_exec(session, query) if kind == "exec" else serve_ports(session)
        except OSError:
            pass
        note(kind)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        kind, query = url.path.split("/")[1], urllib.parse.parse_qs(url.query)
        if kind == "containerLogs":
            self.logs(query)
        elif kind in ("exec", "portForward") and self.headers.get("Upgrade", "").startswith("SPDY/3.1"):
            self.upgrade(kind, query)
        else:
            self.send_error(404)

    do_POST = do_GET


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[3], sys.argv[4])
server = Server((sys.argv[1], int(sys.argv[2])), Kubelet)
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.serve_forever()
