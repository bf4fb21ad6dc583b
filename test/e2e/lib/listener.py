"""Plays a component: a TLS server that writes what it is shown to a file, and answers metrics.

usage: listener.py ADDRESS PORT CERTIFICATE KEY FILE

A line for each connection ("connected"), for each handshake that went through ("handshake") and for
each request: its target, and its Authorization header or "-".
"""
import http.server
import socket
import ssl
import sys

address, port, certificate, key, path = sys.argv[1:]


def note(text):
    with open(path, "a", encoding="utf-8") as out:
        out.write(text + "\n")


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        note(f"{self.path} {self.headers.get('Authorization', '-')}")
        body = b'version_info{binary="1.31.0",component="kube",emulation="1.31",min_compat="1.30"} 1\n'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ":" in address else socket.AF_INET

    def get_request(self):
        raw, peer = super().get_request()
        note("connected")
        try:
            wrapped = context.wrap_socket(raw, server_side=True)
        except OSError:
            raw.close()
            raise
        note("handshake")
        return wrapped, peer


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
open(path, "a", encoding="utf-8").close()
Server((address, int(port)), Handler).serve_forever()
