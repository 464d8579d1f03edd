"""The rules for a written answer that is a list, with one item on each line."""

from __future__ import annotations

__all__ = ["MAX_LINES", "LineRules", "split_lines"]

from collections.abc import Iterator, Sequence
from typing import Final, cast

from pydantic import Field, JsonValue, ValidationInfo, field_validator

from askback.domain.form_limits import FIELD_ANSWER
from askback.internal.values import Value
from askback.text.unseen import strip_text
from askback.translations.catalogue import _, ngettext
from askback.translations.sentences import group_digits

MAX_LINES: Final = FIELD_ANSWER // 2
"""Maximum number of items that fit into a text field, each with a line break."""


class LineRules(Value):
    """The number of items in a list. Empty lines are none."""

    min: int = Field(default=0, ge=0, le=MAX_LINES, exclude_if=lambda value: value == 0)
    """The smallest number of items. With 0, the list may be empty."""
    max: int | None = Field(default=None, ge=1, exclude_if=lambda value: value is None)
    unique: bool = Field(default=False, exclude_if=lambda value: not value)
    """True if no item may be there twice."""

    @field_validator("max")
    @classmethod
    def _check_max(cls, value: int | None, info: ValidationInfo) -> int | None:
        least = cast("int", info.data.get("min", 0))
        if value is not None and value < least:
            raise ValueError(f"is smaller than min ({least}): swap the two")
        return value

    def describe(self) -> str:
        """Return how to write the list, in sentences for the field."""
        return " ".join((_("One item per line."), *self._describe_limits()))

    def _describe_limits(self) -> Iterator[str]:
        least, most = self.min, self.max
        if most is not None and most == least:
            yield ngettext("Exactly {count} item.", "Exactly {count} items.", most).format(count=group_digits(most))
        elif most is not None and least > 1:
            yield _("From {least} to {most} items.").format(least=group_digits(least), most=group_digits(most))
        elif most is not None:
            yield ngettext("At most {count} item.", "At most {count} items.", most).format(count=group_digits(most))
        elif least > 1:
            yield ngettext("At least {count} item.", "At least {count} items.", least).format(count=group_digits(least))
        if self.unique:
            yield _("No item twice.")

    def find_problem(self, values: Sequence[tuple[int, JsonValue]]) -> str | None:
        """Return the reason why these items, each with its line's number, are not a list, in words for the person."""
        if self.unique:
            first: dict[JsonValue, int] = {}
            for number, value in values:
                if first.setdefault(value, number) != number:
                    return _("Line {number} repeats line {first}. Please write each item only once.").format(
                        number=group_digits(number), first=group_digits(first[value])
                    )
        count = len(values)
        if count < self.min:
            return ngettext(
                "Please write at least {least} item, one per line; you wrote {count}.",
                "Please write at least {least} items, one per line; you wrote {count}.",
                self.min,
            ).format(least=group_digits(self.min), count=group_digits(count))
        if self.max is not None and count > self.max:
            return ngettext(
                "Please write at most {most} item, one per line; you wrote {count}.",
                "Please write at most {most} items, one per line; you wrote {count}.",
                self.max,
            ).format(most=group_digits(self.max), count=group_digits(count))
        return None


def split_lines(text: str) -> list[tuple[int, str]]:
    """Return the items of a list as it was written, each with the number of its line. Empty lines are none."""
    lines = ((number, strip_text(line)) for number, line in enumerate(text.split("\n"), 1))
    return [(number, item) for number, item in lines if item]
