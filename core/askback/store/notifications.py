"""What other processes on the same database are told, with the commit that it is about.

Only PostgreSQL has other processes that work. Nothing depends on a signal: whoever missed one finds the same
by looking, some seconds later.
"""

from __future__ import annotations

__all__ = ["CHANNEL", "LISTENING", "LISTENING_BESIDE", "Signal", "tell"]

from typing import Literal

from sqlalchemy import Connection, bindparam, func, select

from askback.internal.values import Value

CHANNEL = "askback"
LISTENING = f"LISTEN {CHANNEL}"
"""What a process says that works on the database: those that do are counted by it."""
LISTENING_BESIDE = f'LISTEN "{CHANNEL}"'
"""The same by one that only waits."""


class Signal(Value):
    """One thing to look at."""

    kind: Literal["ask", "stop", "look"]
    """`ask`: it has ended. `stop`: somebody stopped a conversation. `look`: at everything."""
    id: str = ""

    def encoded(self) -> str:
        return f"{self.kind} {self.id}"

    @classmethod
    def decoded(cls, text: str) -> Signal:
        """Whatever is not understood, such as from a newer version, means to look at everything."""
        match text.partition(" "):
            case "ask" | "stop" as kind, _, id_ if id_:
                return cls(kind=kind, id=id_)
            case _:
                return cls(kind="look")


_TELL = select(func.pg_notify(CHANNEL, bindparam("said")))


def tell(connection: Connection, signal: Signal) -> None:
    """Tell the other processes, once this is committed."""
    if connection.dialect.name == "postgresql":
        connection.execute(_TELL, {"said": signal.encoded()})
