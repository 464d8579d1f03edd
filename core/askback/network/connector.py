"""Connections to a platform that stay open between calls, so that a click after a quiet time needs no new one.

A new connection costs three round trips to the platform, two of them for TLS. Without this, aiohttp closes a
connection after 15 seconds without a call, and people answer later than that.
"""

from __future__ import annotations

__all__ = ["open_connector"]

import socket

import aiohttp

IDLE_SECONDS = 300.0
"""Seconds without a call after which a connection is closed."""
PROBE_SECONDS = 30
"""Seconds without a packet after which the kernel probes a connection. Firewalls and NAT forget it later than that."""
PROBE_AGAIN_SECONDS = 10
PROBES = 3
"""Probes without an answer after which a connection counts as dead."""
UNANSWERED_SECONDS = 10
"""Seconds until a call fails whose packets nobody acknowledges. Its connection has died since the last probe."""
MAX_CONNECTIONS = 100
"""Maximum number of connections at once. Further calls wait for one."""

_OPTIONS = (
    ("TCP_KEEPIDLE", PROBE_SECONDS),
    ("TCP_KEEPALIVE", PROBE_SECONDS),  # macOS has this one instead
    ("TCP_KEEPINTVL", PROBE_AGAIN_SECONDS),
    ("TCP_KEEPCNT", PROBES),
    ("TCP_USER_TIMEOUT", UNANSWERED_SECONDS * 1000),
)
"""Names of the options with their values. Not every system has all."""


def open_connector() -> aiohttp.TCPConnector:
    """Return a connector for a session of aiohttp, which closes it. Needs a running event loop."""
    return aiohttp.TCPConnector(limit=MAX_CONNECTIONS, keepalive_timeout=IDLE_SECONDS, socket_factory=_open_socket)


def _open_socket(address: tuple[int, int, int, str, tuple[object, ...]]) -> socket.socket:
    family, kind, protocol, _, _ = address
    opened = socket.socket(family, kind, protocol)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _OPTIONS:
            option: int | None = getattr(socket, name, None)
            if option is not None:
                opened.setsockopt(socket.IPPROTO_TCP, option, value)
        opened.setblocking(False)
    except BaseException:
        opened.close()
        raise
    return opened
