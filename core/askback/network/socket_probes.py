"""Let the kernel probe quiet connections, so that a peer that has vanished without a word is noticed."""

from __future__ import annotations

__all__ = ["PROBES", "PROBE_AGAIN_SECONDS", "enable_probes"]

import socket
from typing import Final

PROBE_AGAIN_SECONDS: Final = 10
PROBES: Final = 3
"""Probes without an answer after which a connection counts as dead."""


def enable_probes(opened: socket.socket, *, after: int, unanswered: int) -> None:
    """Probe a connection `after` seconds without a packet.

    It fails if nobody acknowledges what was sent for `unanswered` seconds. Not every system has all of these options.
    """
    options = (
        ("TCP_KEEPIDLE", after),
        ("TCP_KEEPALIVE", after),  # macOS has this one instead
        ("TCP_KEEPINTVL", PROBE_AGAIN_SECONDS),
        ("TCP_KEEPCNT", PROBES),
        ("TCP_USER_TIMEOUT", unanswered * 1000),
    )
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in options:
        option: int | None = getattr(socket, name, None)
        if option is not None:
            opened.setsockopt(socket.IPPROTO_TCP, option, value)
