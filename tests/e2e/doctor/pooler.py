"""A connection pooler for PostgreSQL that lends its one session per transaction."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

import psycopg

PLAIN = (80877103, 80877104)
"""Codes with which a client first requests TLS or GSS."""
SESSION = {
    "server_version": "15.0",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
}


@contextmanager
def pooler(url: str) -> Generator[int]:
    """Yield the local port where it listens."""
    with psycopg.connect(url) as session, socket.create_server(("127.0.0.1", 0)) as listener:
        server = socket.socket(fileno=socket.dup(session.pgconn.socket))
        server.setblocking(True)
        lent = threading.Lock()

        def accept() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    threading.Thread(target=_serve, args=(client, server, lent), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            server.close()


def _serve(client: socket.socket, server: socket.socket, lent: threading.Lock) -> None:
    with client, suppress(OSError, EOFError):
        while True:
            (length, code) = struct.unpack("!ii", _read(client, 8))
            _read(client, length - 8)
            if code not in PLAIN:
                break
            client.sendall(b"N")
        status = b"".join(_message(b"S", f"{name}\0{value}\0".encode()) for name, value in SESSION.items())
        keys = _message(b"K", struct.pack("!ii", 1, 1))
        client.sendall(_message(b"R", struct.pack("!i", 0)) + status + keys + _message(b"Z", b"I"))
        mine = False
        while True:
            kind, whole = _next(client)
            if kind == b"X":
                return
            if not mine:
                lent.acquire()
                mine = True
            server.sendall(whole)
            if kind not in (b"Q", b"S"):
                continue
            while True:
                kind, whole = _next(server)
                client.sendall(whole)
                if kind == b"Z":
                    break
            if whole[-1:] == b"I":
                lent.release()
                mine = False


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def _next(end: socket.socket) -> tuple[bytes, bytes]:
    head = _read(end, 5)
    return head[:1], head + _read(end, struct.unpack("!i", head[1:])[0] - 4)


def _read(end: socket.socket, count: int) -> bytes:
    read = b""
    while len(read) < count:
        more = end.recv(count - len(read))
        if not more:
            raise EOFError
        read += more
    return read
