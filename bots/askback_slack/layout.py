"""Lays out content in messages. Nothing is cut: what does not fit continues in the next message."""

from __future__ import annotations

__all__ = ["split_pages"]

from dataclasses import dataclass, field

from pydantic import JsonValue

from askback_slack import limits
from askback_slack.blocks import Block, rich_text
from askback_slack.card_parts import Part, Unit


@dataclass
class _Page:
    """A message that is being filled."""

    weight: int
    blocks: int
    """Blocks that are still free. `weight` is the free share of `MESSAGE_WEIGHT`."""
    filled: list[Block] = field(default_factory=list[Block])

    def fits(self, parts: Unit) -> bool:
        """Return True if all parts fit."""
        return self.weight >= sum(map(_measure, parts)) and self.blocks >= self._count_new_blocks(parts)

    def add(self, part: Part) -> None:
        """Append a part."""
        self.weight -= _measure(part)
        self.blocks -= self._count_new_blocks([part])
        last = self._open_block()
        if not part.is_rich:
            self.filled.append(part.block)
        elif last is None or part.opens:
            self.filled.append(rich_text([part.block]))
        elif part.joins:
            paragraph = last[-1]
            assert isinstance(paragraph, dict)
            last[-1] = {**paragraph, "elements": [*_list(paragraph), *_list(part.block)]}
        else:
            last.append(part.block)

    def _open_block(self) -> list[JsonValue] | None:
        last = self.filled[-1] if self.filled else None
        return _list(last) if last is not None and last["type"] == "rich_text" else None

    def _count_new_blocks(self, parts: Unit) -> int:
        is_open = self._open_block() is not None
        count = 0
        for part in parts:
            count += part.opens or not part.is_rich or not is_open
            is_open = part.is_rich
        return count


def split_pages(units: list[Unit], first: list[Block], further: list[Block]) -> list[list[Block]]:
    """Return the content of each message.

    The first message leaves space for the blocks in `first`, each further one for those in `further`.
    """
    filled = [_open_page(first)]
    for unit in units:
        if filled[-1].fits(unit):
            whole: list[Unit] = [unit]
        elif _open_page(further).fits(unit) and len(filled[-1].filled) > 1:
            filled.append(_open_page(further))
            whole = [unit]
        else:
            whole = [[part] for part in unit]
        for parts in whole:
            if not filled[-1].fits(parts):
                filled.append(_open_page(further))
            for part in parts:
                filled[-1].add(part)
    return [page.filled for page in filled]


def _open_page(reserved: list[Block]) -> _Page:
    return _Page(limits.MESSAGE_WEIGHT - limits.measure(reserved), limits.MESSAGE_BLOCKS - len(reserved))


def _measure(part: Part) -> int:
    return limits.measure([part.block])


def _list(block: Block) -> list[JsonValue]:
    elements = block["elements"]
    assert isinstance(elements, list)
    return elements
