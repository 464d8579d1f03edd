"""What was put in last, and no more of it than a process should keep."""

from __future__ import annotations

__all__ = ["Recent"]

from collections import OrderedDict
from collections.abc import Iterator, MutableMapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(MutableMapping[K, V]):
    """A mapping that forgets what was put in longest ago. What is put in again is the newest; looking changes nothing.

    For what can be had otherwise once it is forgotten, or does not matter by then.
    """

    def __init__(self, most: int) -> None:
        """`most`: how many entries are kept."""
        self._most = most
        self._entries: OrderedDict[K, V] = OrderedDict()

    def __setitem__(self, key: K, value: V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)

    def __getitem__(self, key: K) -> V:
        return self._entries[key]

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __delitem__(self, key: K) -> None:
        del self._entries[key]

    def __iter__(self) -> Iterator[K]:
        """The oldest first."""
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
