"""Plays a Service's IP: hands every TCP connection on, as kube-proxy does.

usage: forward.py ADDRESS PORT TO PORT
"""
import asyncio
import sys

address, port, to, to_port = sys.argv[1:]


async def copy(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.close()


async def accept(reader, writer):
    try:
        to_reader, to_writer = await asyncio.open_connection(to, int(to_port))
    except OSError:
        writer.close()
        return
    await asyncio.gather(copy(reader, to_writer), copy(to_reader, writer))


async def main():
    server = await asyncio.start_server(accept, address, int(port))
    await server.serve_forever()


asyncio.run(main())
