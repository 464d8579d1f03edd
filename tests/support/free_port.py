"""A port for a program that needs one in its arguments."""

from __future__ import annotations

import random
import socket

NEVER_LENT = range(20_000, 30_000)
"""Below the range that Linux gives to connections and to port 0, so no other process takes the port first."""


def free_port() -> int:
    while True:
        port = random.SystemRandom().choice(NEVER_LENT)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
