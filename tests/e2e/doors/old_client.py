"""A client of the MCP protocol with sessions, without any library."""

from __future__ import annotations

import ctypes
import socket
import struct
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from .http_agent import FIRST, INITIALIZE

QUESTION: dict[str, Any] = {"name": "ask", "arguments": {"question": "Deploy 1.4.2?", "options": ["Yes", "No"]}}
APPROVAL: dict[str, Any] = {"name": "permit", "arguments": {"tool_name": "Bash", "input": {"command": "rm -r build"}}}
SO_ATTACH_FILTER, BPF_RETURN = 26, 6
"""An option of Linux, and an instruction of its filter of packets: it keeps the given number of bytes."""
OPTIONS = ("--call-wait", "10m", "--permit", "--approvers", "anyone")


class OldClient:
    """A client of the protocol with sessions, without any library."""

    def __init__(
        self, http: aiohttp.ClientSession, address: str, headers: dict[str, str], sockets: list[socket.socket]
    ) -> None:
        self._http = http
        self._sockets = sockets
        self._address = address
        self._headers = headers
        self._number = 1

    async def call(self, params: dict[str, Any]) -> str:
        """Call a tool; return the stream of its response."""
        self._number += 1
        body = {"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params}
        async with self._http.post(self._address, headers=self._headers, json=body) as answer:
            assert answer.status == 200
            return await answer.text()

    @asynccontextmanager
    async def listen(self) -> AsyncGenerator[None]:
        """Receive the server's own messages."""
        async with self._http.get(self._address, headers=self._headers) as answer:
            assert answer.status == 200
            yield

    async def end(self) -> None:
        """End the session."""
        async with self._http.delete(self._address, headers=self._headers) as answer:
            assert answer.status == 200

    def vanish(self) -> None:
        """Acknowledge nothing that arrives from now on, as a machine without power or network."""
        drop_all = ctypes.create_string_buffer(struct.pack("HBBI", BPF_RETURN, 0, 0, 0))
        program = struct.pack("HP", 1, ctypes.addressof(drop_all))
        for one in self._sockets:
            if one.fileno() >= 0:  # not closed yet
                one.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)


@asynccontextmanager
async def old_client(address: str) -> AsyncGenerator[OldClient]:
    headers = {"Authorization": f"Bearer {FIRST}", "Accept": "application/json, text/event-stream"}
    sockets: list[socket.socket] = []

    def open_socket(info: Any) -> socket.socket:
        sockets.append(socket.socket(*info[:3]))
        return sockets[-1]

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(socket_factory=open_socket)) as http:
        async with http.post(address, headers=headers, json=INITIALIZE) as answer:
            headers["mcp-session-id"] = answer.headers["mcp-session-id"]
        yield OldClient(http, address, headers, sockets)
