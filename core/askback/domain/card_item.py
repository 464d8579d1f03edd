"""The options of a question, as a card shows them. No I/O."""

from __future__ import annotations

__all__ = ["Item", "build_items"]

from askback.domain.form import Question
from askback.internal.values import Value


class Item(Value):
    """One option. Platforms show every text in full."""

    number: int
    """The item's number, from 1."""
    label: str
    description: str | None
    preview: str | None
    image: str | None
    recommended: bool
    chosen: bool

    @property
    def numbered_label(self) -> str:
        """The number and the label, as a list or a menu shows them."""
        return f"{self.number}. {self.label}"


def build_items(question: Question, chosen: tuple[int, ...]) -> tuple[Item, ...]:
    """Return the options of a question. `chosen` are the indexes of those that are chosen."""
    return tuple(
        Item(
            number=index + 1,
            label=option.label,
            description=option.description,
            preview=option.preview,
            image=option.image,
            recommended=option.recommended,
            chosen=index in chosen,
        )
        for index, option in enumerate(question.options)
    )
