"""Kinds of written answers, such as numbers, dates and addresses.

Each check takes time linear in the text, so it is safe for texts of strangers. It accepts a little less than the
standard of its kind, so that every program accepts what it lets through.
"""

from __future__ import annotations

__all__ = [
    "MAX_INTEGER",
    "TIME_PATTERN",
    "TextKind",
    "describe_kind",
    "find_kind_problem",
    "is_checked",
    "is_numeric",
    "normalize_number",
    "parse_number",
    "to_json_value",
]

import math
import re
from collections.abc import Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Final, Literal

from pydantic import JsonValue

from askback.domain.number_limits import NumberLimits
from askback.translations.catalogue import N_, _
from askback.translations.sentences import capitalize_first, end_sentence

TextKind = Literal["text", "integer", "number", "boolean", "email", "uri", "date", "time", "date-time"]
"""The kind of an answer. `boolean` is for options with the values `true` and `false`, since nobody writes them."""

MAX_INTEGER: Final = 2**53 - 1
"""Largest whole number that every program reads exactly."""

TIME_PATTERN: Final = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
"""A time of the day on a clock of 24 hours, such as 16:30. It has no seconds and no time zone."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,16}")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,3})?")
_DECIMAL_COMMA: Final = re.compile(r"[+-]?[0-9]{1,40},[0-9]{1,40}")
_THOUSANDS: Final = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
"""A number that is 1.5 thousand to some people and 1.5 to others, such as 1,500."""
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(TIME_PATTERN)
_DATE_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:Z|[+-][0-9]{2}:[0-9]{2})"
)
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL: Final = re.compile(rf"(?P<local>[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*)@(?P<host>{_LABEL}(?:\.{_LABEL})+)")
_ESCAPED: Final = r"%[0-9A-Fa-f]{2}"
_PATH: Final = rf"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|{_ESCAPED})*"
_REST: Final = rf"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|{_ESCAPED})*"
_URI: Final = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.-]*:(?://(?P<host>{_LABEL}(?:\.{_LABEL})*)(?::(?P<port>[0-9]{{1,5}}))?(?:/{_PATH})?"
    rf"|[A-Za-z0-9]{_PATH})(?:\?{_REST})?(?:#{_REST})?"
)

_OPENED: Final = re.compile("https?://|mailto:[^@]+@", re.IGNORECASE)
"""Beginnings of addresses that a program can open without running them."""

_EXAMPLES: Final[Mapping[TextKind, str]] = {
    "integer": N_("a whole number, such as 42"),
    "number": N_("a number, such as 4.2"),
    "email": N_("an email address, such as ada@example.com"),
    "uri": N_("a full address, such as https://example.com/page"),
    "date": N_("a date, such as 2026-11-24"),
    "time": N_("a time of the day, such as 16:30"),
    "date-time": N_("a date and a time, such as 2026-11-24T16:30:00Z"),
}


def describe_kind(kind: TextKind, limits: NumberLimits) -> str | None:
    """Return what a person can write, in a sentence with an example or the range. None means any text."""
    found = limits.describe_range(whole=kind == "integer") if is_numeric(kind) else None
    if found is not None:
        return found
    example = _EXAMPLES.get(kind)
    return None if example is None else end_sentence(capitalize_first(_(example)))


def is_checked(kind: TextKind) -> bool:
    """Return True if a text of this kind has a fixed form, such as a number or a date."""
    return kind not in ("text", "boolean")


def is_numeric(kind: TextKind) -> bool:
    """Return True if an answer of this kind is a number."""
    return kind in ("integer", "number")


def parse_number(kind: TextKind, text: str) -> int | float | None:
    """Return the number that a text is; None if it is none of this kind."""
    text = normalize_number(kind, text.strip())
    if _INTEGER.fullmatch(text) and abs(int(text)) <= MAX_INTEGER:
        return int(text)
    if kind != "number" or not _NUMBER.fullmatch(text) or not math.isfinite(value := float(text)):
        return None
    return value


def normalize_number(kind: TextKind, text: str) -> str:
    """Return a number with a decimal point, also if it has a comma, as in many languages. Other texts stay.

    A comma that may separate thousands is not a decimal comma.
    """
    if kind != "number" or not _DECIMAL_COMMA.fullmatch(text) or _THOUSANDS.fullmatch(text):
        return text
    return text.replace(",", ".")


def to_json_value(kind: TextKind, text: str) -> JsonValue:
    """Return the JSON value of an option's value, or of a written answer. None if it is not of this kind."""
    if kind == "boolean":
        return text == "true"
    return parse_number(kind, text) if is_numeric(kind) else text


def find_kind_problem(kind: TextKind, text: str, limits: NumberLimits, *, any_scheme: bool = False) -> str | None:
    """Return the reason why a text is not of this kind, in words for the person. None means it is one.

    Addresses are those of pages and of mail, unless `any_scheme`: others may run what they hold, as `javascript:` does.
    """
    match kind:
        case "text" | "boolean":
            return None
        case "integer" | "number":
            return _find_number_problem(kind, text, limits)
        case "email":
            found = _EMAIL.fullmatch(text)
            valid = found is not None and len(found["local"]) <= 64 and len(found["host"]) <= 250
            return None if valid else _ask_for(kind)
        case "uri":
            found = _URI.fullmatch(text)
            valid = found is not None and len(found["host"] or "") <= 250 and int(found["port"] or 0) <= 65535
            return None if valid and (any_scheme or _OPENED.match(text)) else _ask_for(kind)
        case "date":
            return None if _DATE.fullmatch(text) and _is_date(text) else _ask_for(kind)
        case "time":
            return None if _TIME.fullmatch(text) else _ask_for(kind)
        case "date-time":
            return None if _DATE_TIME.fullmatch(text) and _is_date_time(text) else _ask_for(kind)


def _ask_for(kind: TextKind) -> str:
    return _("Please write {example}.").format(example=_(_EXAMPLES[kind]))


def _find_number_problem(kind: TextKind, text: str, limits: NumberLimits) -> str | None:
    value = parse_number(kind, text)
    if value is None:
        return _ask_for(kind)
    return limits.find_problem(value, Fraction(normalize_number(kind, text)))


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
