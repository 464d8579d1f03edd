"""A bounded mapping that drops the oldest entry."""

from __future__ import annotations

__all__ = ["Recent"]

from collections import OrderedDict
from collections.abc import Iterator, MutableMapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(MutableMapping[K, V]):
    """A mapping of limited size that drops the oldest entry. Setting a key makes it the newest; reading does not.

    Use it only for values that can be fetched again, or that no longer matter once they are dropped.
    """

    def __init__(self, most: int) -> None:
        """`most` is the largest number of entries."""
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
        """Iterate over the keys, oldest first."""
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
