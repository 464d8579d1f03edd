"""Signals to other processes on the same database, sent with the commit that they are about.

Only on PostgreSQL do other processes work. Nothing depends on a signal. A process that missed one finds the same change
by polling, some seconds later.
"""

from __future__ import annotations

__all__ = ["CHANNEL", "LISTENING", "LISTENING_BESIDE", "Signal", "send_signal"]

from typing import Literal

from sqlalchemy import Connection, Text, bindparam, func, select

from askback.internal.values import Value
from askback.store.statement import Statement

CHANNEL = "askback"
LISTENING = f"LISTEN {CHANNEL}"
"""Statement with which a worker process listens. `list_processes` counts the connections that last ran it."""
LISTENING_BESIDE = f'LISTEN "{CHANNEL}"'
"""Statement by which a process listens that only waits for an answer, so that it is not counted."""


class Signal(Value):
    """A signal to other processes."""

    kind: Literal["ask", "stop", "look"]
    """`ask`: an ask was settled. `stop`: somebody stopped a conversation. `look`: check everything."""
    id: str = ""

    def encode(self) -> str:
        return f"{self.kind} {self.id}"

    @classmethod
    def decode(cls, text: str) -> Signal:
        """Parse a signal. Any unknown text, such as from a newer version, becomes `look`."""
        match text.partition(" "):
            case "ask" | "stop" as kind, _, id_ if id_:
                return cls(kind=kind, id=id_)
            case _:
                return cls(kind="look")


_TELL = Statement(select(func.pg_notify(CHANNEL, bindparam("said"), type_=Text())))


def send_signal(connection: Connection, signal: Signal) -> None:
    """Signal the other processes once this transaction is committed."""
    if connection.dialect.name == "postgresql":
        _TELL.change(connection, said=signal.encode())
