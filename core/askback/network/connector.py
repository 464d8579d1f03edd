"""Connections to a platform that stay open between calls, so that a click after a quiet time needs no new one.

A new connection costs three round trips to the platform, two of them for TLS. Without this, aiohttp closes a
connection after 15 seconds without a call, and people answer later than that.
"""

from __future__ import annotations

__all__ = ["open_connector"]

import socket

import aiohttp

from askback.network.socket_probes import enable_probes

IDLE_SECONDS = 300.0
"""Seconds without a call after which a connection is closed."""
PROBE_SECONDS = 30
"""Seconds without a packet after which the kernel probes a connection. Firewalls and NAT forget it later than that."""
UNANSWERED_SECONDS = 10
"""Seconds until a call fails whose packets nobody acknowledges. Its connection has died since the last probe."""
MAX_CONNECTIONS = 100
"""Maximum number of connections at once. Further calls wait for one."""


def open_connector() -> aiohttp.TCPConnector:
    """Return a connector for a session of aiohttp, which closes it. Needs a running event loop."""
    return aiohttp.TCPConnector(limit=MAX_CONNECTIONS, keepalive_timeout=IDLE_SECONDS, socket_factory=_open_socket)


def _open_socket(address: tuple[int, int, int, str, tuple[object, ...]]) -> socket.socket:
    family, kind, protocol, _, _ = address
    opened = socket.socket(family, kind, protocol)
    try:
        enable_probes(opened, after=PROBE_SECONDS, unanswered=UNANSWERED_SECONDS)
        opened.setblocking(False)
    except BaseException:
        opened.close()
        raise
    return opened
