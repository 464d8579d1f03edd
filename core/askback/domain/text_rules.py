"""The rules for a written answer."""

from __future__ import annotations

__all__ = ["NOTE_RULES", "TextRules", "limit_line"]

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Final, cast

from pydantic import AfterValidator, Field, JsonValue, ValidationInfo, field_validator, model_validator

from askback.domain.form_limits import DEFAULT_ANSWER, FIELD_ANSWER, MAX_ANSWER, MAX_FORMAT, MAX_NOTE, MAX_UNIT
from askback.domain.line_rules import LineRules, split_lines
from askback.domain.number_limits import NumberLimits
from askback.domain.schema_text import FORMAT_EXAMPLES, find_pattern_problem, matches_schema
from askback.domain.text_kinds import (
    TextKind,
    describe_kind,
    find_kind_problem,
    is_checked,
    is_numeric,
    normalize_number,
    to_json_value,
)
from askback.internal.values import Value
from askback.text.literal import count_utf16_units, is_readable_line, quote_line, to_literal
from askback.text.unseen import strip_text
from askback.translations.catalogue import _, ngettext
from askback.translations.sentences import group_digits

SHORT_PATTERN: Final = 60
"""Maximum length of a pattern that people are shown, in UTF-16 units. A longer one says nothing to them."""
QUOTED: Final = 40
"""Maximum length of a line in the sentence about it, in UTF-16 units."""


def limit_line(what: str, longest: int) -> AfterValidator:
    """Return a check that a text is one readable line of at most `longest` UTF-16 units, as people see it."""

    def check(value: str) -> str:
        if not is_readable_line(value):
            raise ValueError(f"is not one readable line: write a short {what}, or leave it out")
        if count_utf16_units(to_literal(value)) > longest:
            raise ValueError(f"is too long: shorten the {what} to {longest} characters")
        return value

    return AfterValidator(check)


class TextRules(Value):
    """The rules for a written answer, or for each of its lines. Lengths are in characters, after trimming."""

    min_length: int = Field(default=1, ge=1, le=MAX_ANSWER)
    max_length: int = Field(default=DEFAULT_ANSWER, ge=1, le=MAX_ANSWER)
    """The default is 1,000, or 4,000 if `min_length` is larger than that."""
    pattern: str | None = Field(default=None, min_length=1)
    """A regular expression that the whole text must match. From trusted code only, never from a model."""
    hint: str | None = None
    """The sentence for a person whose text does not match the pattern."""
    # The others are excluded by default, because an older process rejects a field that it does not know.
    kind: TextKind = Field(default="text", exclude_if=lambda value: value == "text")
    """The kind of the answer. It also says how a program reads the values of the options, such as "2" as a number."""
    minimum: float | None = Field(default=None, allow_inf_nan=False, exclude_if=lambda value: value is None)
    """The smallest number, for the kinds `integer` and `number`."""
    maximum: float | None = Field(default=None, allow_inf_nan=False, exclude_if=lambda value: value is None)
    exclusive_minimum: float | None = Field(default=None, allow_inf_nan=False, exclude_if=lambda value: value is None)
    """The number must be greater than this."""
    exclusive_maximum: float | None = Field(default=None, allow_inf_nan=False, exclude_if=lambda value: value is None)
    """The number must be less than this."""
    step: float | None = Field(default=None, gt=0, allow_inf_nan=False, exclude_if=lambda value: value is None)
    """The distance between two numbers that can be answers, counted from `minimum`."""
    unit: Annotated[str, limit_line("unit", MAX_UNIT)] | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    """The unit of the number, such as "px"."""
    schema_pattern: str | None = Field(default=None, min_length=1, exclude_if=lambda value: value is None)
    """A regular expression of JSON Schema that a part of the text must match. It may come from a model."""
    schema_format: Annotated[str, limit_line("format", MAX_FORMAT)] | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    """The name of a format of JSON Schema, for a text. A format that askback does not know limits nothing."""
    lines: LineRules | None = Field(default=None, exclude_if=lambda value: value is None)
    """The rules for a list. Each line is an item then, and keeps all other rules. None means that there is one text."""

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

    @field_validator("schema_pattern")
    @classmethod
    def _check_schema_pattern(cls, value: str | None) -> str | None:
        problem = None if value is None else find_pattern_problem(value)
        if problem is not None:
            raise ValueError(problem)
        return value

    @field_validator("maximum")
    @classmethod
    def _check_maximum(cls, value: float | None, info: ValidationInfo) -> float | None:
        least = cast("float | None", info.data.get("minimum"))
        if value is not None and least is not None and least > value:
            raise ValueError(f"is smaller than minimum ({least:g}): swap the two")
        return value

    @field_validator("exclusive_maximum")
    @classmethod
    def _check_exclusive_maximum(cls, value: float | None, info: ValidationInfo) -> float | None:
        least = cast("float | None", info.data.get("exclusive_minimum"))
        if value is not None and least is not None and least >= value:
            raise ValueError(f"is not greater than exclusive_minimum ({least:g}): correct one of them")
        return value

    @property
    def is_limited_number(self) -> bool:
        """True if the answer is a number with limits, steps or a unit."""
        return is_numeric(self.kind) and (self.step is not None or self.unit is not None or self._limits.has_range)

    @property
    def is_one_line(self) -> bool:
        """True if an answer has one line by its nature, as a number or a date has."""
        return self.lines is None and (is_checked(self.kind) or self.schema_format in FORMAT_EXAMPLES)

    @property
    def longest(self) -> int:
        """The maximum length of the whole answer."""
        return self.max_length if self.lines is None else FIELD_ANSWER

    @property
    def _limits(self) -> NumberLimits:
        return NumberLimits(
            minimum=self.minimum,
            maximum=self.maximum,
            exclusive_minimum=self.exclusive_minimum,
            exclusive_maximum=self.exclusive_maximum,
            step=self.step,
        )

    def describe(self) -> str:
        """Return what a person can write, in sentences for the field."""
        if self.lines is None:
            return self._describe_item()
        is_any_text = self.evolve(lines=None, max_length=DEFAULT_ANSWER) == TextRules()
        if is_any_text and self.max_length >= DEFAULT_ANSWER:
            return self.lines.describe()  # so large a limit would say nothing
        return f"{self.lines.describe()} {_('Each item: {rule}').format(rule=self._describe_item())}"

    def _describe_item(self) -> str:
        kind = describe_kind(self.kind, self._limits)
        if kind is not None and is_numeric(self.kind):
            return " ".join((kind, *self._describe_scale()))
        if kind is not None:
            return kind
        asked = self._describe_schema()
        if asked is not None:
            return asked
        if self.pattern is not None and self.hint:
            return self.hint
        if self.min_length > 1:
            return _("From {least} to {most} characters.").format(
                least=group_digits(self.min_length), most=group_digits(self.max_length)
            )
        return ngettext("Up to {count} character.", "Up to {count} characters.", self.max_length).format(
            count=group_digits(self.max_length)
        )

    def _describe_scale(self) -> Iterator[str]:
        steps = self._limits.describe_step()
        if steps is not None:
            yield steps
        if self.unit is not None:
            yield _("Unit: {unit}").format(unit=to_literal(self.unit))

    def find_problem(self, text: str) -> str | None:
        """Return the reason why this text is not a valid answer, in words for the person. None means it is valid."""
        return self._find_item_problem(text) if self.lines is None else self._find_list_problem(self.lines, text)

    def _find_list_problem(self, rules: LineRules, text: str) -> str | None:
        size = count_utf16_units(strip_text(text))
        if size > self.longest:
            return self._describe_too_long(size, self.longest)
        items = split_lines(text)
        if not items:
            return _("Please write an answer: it is empty.")
        for number, item in items:
            problem = self._find_item_problem(item)
            if problem is not None:
                return _("Line {number}, {line}: {problem}").format(
                    number=group_digits(number), line=quote_line(item, QUOTED), problem=problem
                )
        return rules.find_problem([(number, to_json_value(self.kind, item)) for number, item in items])

    def _find_item_problem(self, text: str) -> str | None:
        size = len(strip_text(text))
        if size < self.min_length:
            if self.min_length == 1:
                return _("Please write an answer: it is empty.")
            return _("Please write at least {least} characters; it has {size}.").format(
                least=self.min_length, size=size
            )
        if size > self.max_length:
            return self._describe_too_long(size, self.max_length)
        if self.pattern is not None and not re.fullmatch(self.pattern, text.strip()):
            return self.hint or _("This does not have the requested format.")
        any_scheme = self.pattern is not None  # the pattern says which
        problem = find_kind_problem(self.kind, text.strip(), self._limits, any_scheme=any_scheme)
        return self._find_schema_problem(text.strip()) if problem is None else problem

    def find_exact_problem(self, text: str) -> str | None:
        """Return the same for a text that a program gets with the white space around it."""
        problem = self.find_problem(text)
        if problem is None and len(text) > self.max_length:
            problem = self._describe_too_long(len(text), self.max_length)
        return self._find_schema_problem(text) if problem is None else problem

    def _find_schema_problem(self, text: str) -> str | None:
        if self.schema_pattern is None and self.schema_format is None:
            return None
        if matches_schema(text, self.schema_pattern, self.schema_format):
            return None
        return " ".join(filter(None, (_("This does not have the requested format."), self._describe_schema())))

    def _describe_schema(self) -> str | None:
        """Return the format or the pattern in a sentence. None if it is missing, or too long to be of use."""
        if self.schema_format is not None:
            example = FORMAT_EXAMPLES.get(self.schema_format)
            if example is not None and self._permits(example):
                return _("Format: {name}, such as {example}").format(name=self.schema_format, example=example)
            return _("Format: {name}").format(name=to_literal(self.schema_format))
        pattern = self.schema_pattern
        if pattern is None or not is_readable_line(pattern) or count_utf16_units(to_literal(pattern)) > SHORT_PATTERN:
            return None
        return _("Pattern: {pattern}").format(pattern=to_literal(pattern))

    def _permits(self, example: str) -> bool:
        is_long_enough = self.min_length <= len(example) <= self.max_length
        return is_long_enough and matches_schema(example, self.schema_pattern, self.schema_format)

    def _describe_too_long(self, size: int, most: int) -> str:
        """Return the problem of a text with too many characters, in words for the person."""
        return _("Please shorten it to {most} characters; it has {size}.").format(
            most=group_digits(most), size=group_digits(size)
        )

    def normalize(self, text: str) -> str:
        """Return a valid answer as programs get it: without the white space around it, and with a decimal point."""
        if self.lines is not None:
            return "\n".join(normalize_number(self.kind, item) for _number, item in split_lines(text))
        return normalize_number(self.kind, strip_text(text))

    def to_json_value(self, text: str) -> JsonValue:
        """Return the JSON value of a written answer: a list if it has one item per line."""
        if self.lines is not None:
            return [to_json_value(self.kind, item) for _number, item in split_lines(text)]
        return to_json_value(self.kind, text)


NOTE_RULES: Final = TextRules(max_length=MAX_NOTE)
"""The rules for a note to a choice. Those of the question are for a written answer alone."""
