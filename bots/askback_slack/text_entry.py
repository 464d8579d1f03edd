"""The parts of a modal for one question: its label, and Slack's own field for a number or a date, or a text field."""

from __future__ import annotations

__all__ = [
    "build_label",
    "build_native_entry",
    "build_paragraphs",
    "build_text_entry",
    "get_initial_value",
    "parse_time",
    "read_entry",
]

import re
from datetime import UTC, datetime
from typing import Final

from askback.domain.schema_choices import format_number
from askback.domain.text_rules import TextRules
from askback_slack import limits
from askback_slack.blocks import Block, plain, rich_text, section, split_runs
from askback_slack.escaping import isolate_direction, replace_controls, to_single_line, truncate
from askback_slack.json_access import get_text, get_value

_LABEL: Final = 200
"""Maximum length of a prompt that becomes the field's label, in UTF-16 units. A longer one is shown above the field."""
_DECIMAL: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
"""The numbers that Slack's field can have as its value or its limit."""


def build_label(prompt: str, otherwise: str) -> tuple[str, list[Block]]:
    """Return the label of a question's field, and the blocks above it.

    A long question, or one of several lines, is above the field, whose label is then `otherwise`.
    """
    literal = replace_controls(prompt)
    if literal == to_single_line(literal) and limits.count_utf16_units(isolate_direction(literal)) <= _LABEL:
        return isolate_direction(literal), []
    return otherwise, build_paragraphs(prompt)


def build_paragraphs(words: str) -> list[Block]:
    """Return a text of any length as blocks."""
    return [rich_text([section([run])]) for run in split_runs(words)]


def build_text_entry(value: str, placeholder: str, *, is_line: bool, max_length: int = limits.INPUT_TEXT) -> Block:
    """Return a text field. The texts must fit."""
    made: Block = {
        "type": "plain_text_input",
        "multiline": not is_line,
        "max_length": max_length,
        "placeholder": plain(placeholder),
    }
    return {**made, "initial_value": value} if value else made


def build_native_entry(rules: TextRules, value: str) -> Block | None:
    """Return Slack's own field for a kind of answer. None if there is none, or if it cannot hold the earlier text.

    There is none for `uri`: Slack's field takes addresses of the web alone.
    """
    if rules.lines is not None or (value and rules.find_problem(value) is not None):
        return None
    match rules.kind:
        case "integer" | "number" if not value or _DECIMAL.fullmatch(value):
            made: Block = {"type": "number_input", "is_decimal_allowed": rules.kind == "number"}
            made |= _list_limits(rules)
            return {**made, "initial_value": value} if value else made
        case "email":
            return {"type": "email_text_input", "initial_value": value} if value else {"type": "email_text_input"}
        case "date":
            return {"type": "datepicker", "initial_date": value} if value else {"type": "datepicker"}
        case "time":
            return {"type": "timepicker", "initial_time": value} if value else {"type": "timepicker"}
        case "date-time":
            made = {"type": "datetimepicker"}
            first, last = limits.DATE_TIME
            seconds = int(datetime.fromisoformat(value).timestamp()) if value else 0
            return {**made, "initial_date_time": seconds} if first <= seconds <= last else made
        case _:
            return None


def _list_limits(rules: TextRules) -> Block:
    """Return the limits of a number that Slack's field can keep. The answer is checked for all of them later."""
    ends = {"min_value": rules.minimum, "max_value": rules.maximum}
    written = {name: format_number(limit) for name, limit in ends.items() if limit is not None}
    return {name: text for name, text in written.items() if _DECIMAL.fullmatch(text)}


def read_entry(element: object) -> str:
    """Return the text of such an element in a submitted modal, or an empty string."""
    moment = parse_time(get_value(element, "selected_date_time"))
    if moment is not None:
        return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    written = (get_text(element, name) for name in ("value", "selected_date", "selected_time"))
    return next(filter(None, written), "")


def parse_time(seconds: object) -> datetime | None:
    """Return the time that a picker holds, from the seconds since 1970. None if there is none. Never raises."""
    if not isinstance(seconds, int) or isinstance(seconds, bool):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def get_initial_value(text: str) -> tuple[str, bool]:
    """Return the text with which a field opens, and True if it is the whole of an earlier text."""
    value = replace_controls(text)
    short = value if limits.count_utf16_units(value) <= limits.INPUT_TEXT else truncate(value, limits.INPUT_TEXT)
    return short, short == value
