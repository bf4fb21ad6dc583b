"""An egress proxy: opens a tunnel for each CONNECT, and writes the address to standard output.

usage: egress.py IP:PORT
"""
import os
import socket
import sys
import threading


def pass_on(source, target):
    """Passes bytes on until the source ends."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, target):
            end.close()


def serve(client):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = client.recv(1)
        if not byte:
            return
        head += byte
    method, address = head.split(b" ")[:2]
    # One write: print() makes several, and those of threads mix.
    os.write(sys.stdout.fileno(), method + b" " + address + b"\n")
    host, port = address.decode().rsplit(":", 1)
    try:
        target = socket.create_connection((host, int(port)))
    except OSError:
        client.sendall(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
        client.close()
        return
    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
    threading.Thread(target=pass_on, args=(target, client), daemon=True).start()
    pass_on(client, target)


ip, _, at = sys.argv[1].rpartition(":")
with socket.create_server((ip, int(at))) as listener:
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
