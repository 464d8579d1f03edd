"""A port for a program that has to be told one."""

from __future__ import annotations

import random
import socket

NEVER_LENT = range(20_000, 30_000)
"""Below what Linux lends to connections and to whoever binds to port 0: nobody takes it before the program does."""


def free_port() -> int:
    while True:
        port = random.SystemRandom().choice(NEVER_LENT)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
