"""The faults that tests switch on by name: their common part, and the list of the active ones."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from aiohttp import web


@dataclass(frozen=True, kw_only=True)
class AnyFault:
    """The part of a fault that is the same on both platforms."""

    times: int | None = 1  # None means until it is removed
    status: int = 500
    seconds: float = 0.0
    body: str = "<html>Blocked</html>"
    content_type: str = "text/html"
    location: str = "/portal"
    done: bool = False

    def to_response(self) -> web.Response:
        """Return the answer of a fault of the kind "foreign". A redirect leads to `location`."""
        headers = {"Content-Type": self.content_type}
        if 300 <= self.status < 400:
            headers["Location"] = self.location
        return web.Response(status=self.status, body=self.body.encode(), headers=headers)


F = TypeVar("F", bound=AnyFault)


class ActiveFaults(Generic[F]):
    """The active faults, used up in the order in which they were added."""

    def __init__(self) -> None:
        self._active: dict[int, F] = {}
        self._last_id = 0

    @property
    def active(self) -> dict[int, F]:
        """The active faults by id."""
        return dict(self._active)

    def add(self, fault: F) -> int:
        """Activate a fault and return its id, which `remove` takes."""
        self._last_id += 1
        self._active[self._last_id] = fault
        return self._last_id

    def remove(self, fault_id: int) -> None:
        """Deactivate a fault."""
        self._active.pop(fault_id, None)
        self._on_removal()

    def clear(self) -> None:
        """Deactivate every fault."""
        self._active.clear()
        self._on_removal()

    def _use_up(self, applies: Callable[[F], bool]) -> F | None:
        """Return the first fault that applies and use it up once; None if there is none."""
        for fault_id, fault in self._active.items():
            if applies(fault):
                if fault.times is not None and fault.times <= 1:
                    self.remove(fault_id)
                elif fault.times is not None:
                    self._active[fault_id] = replace(fault, times=fault.times - 1)
                return fault
        return None

    def _on_removal(self) -> None:
        """Act on the end of a fault, if a platform has to."""
