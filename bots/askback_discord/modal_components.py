"""The components of a submitted modal."""

from __future__ import annotations

__all__ = ["Json", "iter_components"]

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast

Json: TypeAlias = Mapping[str, object]

DEPTH = 3
"""Maximum number of components around one that is read."""


def iter_components(data: Json) -> Iterator[Json]:
    """Yield the components of a submitted modal (the interaction's `data`), also those in labels and rows.

    Never raises.
    """
    return _iter_nested(data.get("components"), 0)


def _iter_nested(components: object, depth: int) -> Iterator[Json]:
    if not isinstance(components, Sequence) or isinstance(components, str) or depth > DEPTH:
        return
    for entry in cast("Sequence[object]", components):
        if not isinstance(entry, Mapping):
            continue
        component = cast("Json", entry)
        yield component
        yield from _iter_nested([component.get("component")], depth + 1)
        yield from _iter_nested(component.get("components"), depth + 1)
