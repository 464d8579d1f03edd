"""The rules for a written answer."""

from __future__ import annotations

__all__ = ["NOTE_RULES", "TextRules"]

import re
from collections.abc import Mapping
from typing import Final, cast

from pydantic import Field, ValidationInfo, field_validator, model_validator

from askback.domain.form_limits import DEFAULT_ANSWER, MAX_ANSWER, MAX_NOTE
from askback.domain.text_kinds import TextKind, describe_kind, find_kind_problem
from askback.internal.values import Value
from askback.translations.catalogue import _, ngettext
from askback.translations.sentences import group_digits


class TextRules(Value):
    """The rules for a written answer. Lengths are in characters, after trimming."""

    min_length: int = Field(default=1, ge=1, le=MAX_ANSWER)
    max_length: int = Field(default=DEFAULT_ANSWER, ge=1, le=MAX_ANSWER)
    """The default is 1,000, or 4,000 if `min_length` is larger than that."""
    pattern: str | None = Field(default=None, min_length=1)
    """A regular expression that the whole text must match. From trusted code only, never from a model."""
    hint: str | None = None
    """The sentence for a person whose text does not match the pattern."""
    # The next three are excluded by default, because an older process rejects a field that it does not know.
    kind: TextKind = Field(default="text", exclude_if=lambda value: value == "text")
    """The kind of the answer. It also says how a program reads the values of the options, such as "2" as a number."""
    minimum: float | None = Field(default=None, allow_inf_nan=False, exclude_if=lambda value: value is None)
    """The smallest number, for the kinds `integer` and `number`."""
    maximum: float | None = Field(default=None, allow_inf_nan=False, exclude_if=lambda value: value is None)

    @model_validator(mode="before")
    @classmethod
    def _make_room(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        fields = cast("Mapping[str, object]", value)
        least = fields.get("min_length")
        is_longer = isinstance(least, int) and least > DEFAULT_ANSWER
        return {**fields, "max_length": MAX_ANSWER} if is_longer and "max_length" not in fields else fields

    @field_validator("max_length")
    @classmethod
    def _check_max_length(cls, value: int, info: ValidationInfo) -> int:
        least = cast("int", info.data.get("min_length", 1))
        if least > value:
            raise ValueError(f"is smaller than min_length ({least}): swap the two")
        return value

    @field_validator("pattern")
    @classmethod
    def _check_pattern(cls, value: str | None) -> str | None:
        try:
            re.compile(value or "")
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"is not a regular expression ({error}): correct it") from error
        return value

    @field_validator("maximum")
    @classmethod
    def _check_maximum(cls, value: float | None, info: ValidationInfo) -> float | None:
        least = cast("float | None", info.data.get("minimum"))
        if value is not None and least is not None and least > value:
            raise ValueError(f"is smaller than minimum ({least:g}): swap the two")
        return value

    def describe(self) -> str:
        """Return what a person can write, in a sentence for the field."""
        kind = describe_kind(self.kind, self.minimum, self.maximum)
        if kind is not None:
            return kind
        if self.pattern is not None and self.hint:
            return self.hint
        if self.min_length > 1:
            return _("From {least} to {most} characters.").format(
                least=group_digits(self.min_length), most=group_digits(self.max_length)
            )
        return ngettext("Up to {count} character.", "Up to {count} characters.", self.max_length).format(
            count=group_digits(self.max_length)
        )

    def find_problem(self, text: str) -> str | None:
        """Return the reason why this text is not a valid answer, in words for the person. None means it is valid."""
        size = len(text.strip())
        if size < self.min_length:
            if self.min_length == 1:
                return _("Please write an answer: it is empty.")
            return _("Please write at least {least} characters; it has {size}.").format(
                least=self.min_length, size=size
            )
        if size > self.max_length:
            return _("Please shorten it to {most} characters; it has {size}.").format(
                most=group_digits(self.max_length), size=group_digits(size)
            )
        if self.pattern is not None and not re.fullmatch(self.pattern, text.strip()):
            return self.hint or _("This does not have the requested format.")
        return find_kind_problem(self.kind, text.strip(), self.minimum, self.maximum)


NOTE_RULES: Final = TextRules(max_length=MAX_NOTE)
"""The rules for a note to a choice. Those of the question are for a written answer alone."""
