"""The entries of a person in a modal with several fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from askback_sandbox.play.controls import Control as Field

from .values import Card


def fill(fields: Sequence[Field], entries: Mapping[str, str | Sequence[str]]) -> list[tuple[Field, str | list[str]]]:
    """Return the entry of each field that is changed: a text, the values of its chosen options, or names of files."""
    made: list[tuple[Field, str | list[str]]] = []
    for label, entry in entries.items():
        (field,) = (one for one in fields if one.label == label)
        if field.kind == "files":
            made.append((field, [entry] if isinstance(entry, str) else [*entry]))
            continue
        if isinstance(entry, str):
            made.append((field, entry))
            continue
        values = [choice.value for wanted in entry for choice in field.choices if choice.label == wanted]
        assert len(values) == len(entry), (entry, field.choices)
        made.append((field, values))
    return made


def choose_label(card: Card) -> str:
    """Return the label of the card's button that opens the modal for files."""
    return next(one for one in card.buttons if one in {"Choose a file…", "Choose files…"})
