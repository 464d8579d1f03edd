"""The asks for which a process waits, as it reports them to the database."""

from __future__ import annotations

__all__ = ["WaitReport"]

from askback.internal.values import Value


class WaitReport(Value):
    """The asks for which a process waits, and those for which it has stopped waiting since its last report."""

    waiting: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    lost: frozenset[str] = frozenset()
    """Asks whose answer no later call can receive, once this process has stopped waiting."""
    kept: frozenset[str] = frozenset()
    """Asks for which no caller waits, and whose answer only a later call to this process can receive."""
    received: frozenset[str] = frozenset()
    """Asks whose answer a caller of this process has received."""

    def __bool__(self) -> bool:
        return bool(self.waiting or self.ended or self.lost or self.kept or self.received)
