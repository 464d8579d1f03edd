"""The text field behind "Something else…", as a modal."""

from __future__ import annotations

__all__ = [
    "ANSWER",
    "CALLBACK",
    "TEXT",
    "FieldRef",
    "build_errors",
    "build_view",
    "parse_ref",
    "parse_time",
    "read_text",
]

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from pydantic import AliasChoices, Field

from askback.domain.text_field import TextField
from askback.domain.text_rules import TextRules
from askback.errors import InvalidValue
from askback.internal.values import Value
from askback.translations.catalogue import _, use_language
from askback_slack import limits
from askback_slack.blocks import Block, context, plain, rich_text, section, split_runs
from askback_slack.escaping import fit_line, isolate_direction, replace_controls, to_single_line, truncate
from askback_slack.json_access import get_object, get_text, get_value

CALLBACK: Final = "askback:answer"
ANSWER: Final = "askback:answer"
"""The block with the text."""
TEXT: Final = "askback:text"
"""The element with the text."""
_LABEL: Final = 200
"""Maximum length of a prompt that becomes the field's label, in UTF-16 units. A longer one is shown above the field."""

_HINT: Final = 1_000
"""Maximum length of the sentence about what can be written, in UTF-16 units. A program may give a longer one."""


_DECIMAL: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
"""The numbers with which Slack's field can begin."""


class FieldRef(Value):
    """The question and message of a submitted field. Slack's payload of a modal names no channel or message."""

    ask_id: str = Field(max_length=64)
    # Older processes know the step as `turn`.
    step: int = Field(ge=0, validation_alias=AliasChoices("step", "turn"), serialization_alias="turn")
    channel: str = Field(max_length=64)
    message_ts: str = Field(max_length=64)
    declines: bool = False
    """True if the modal is that of "Not now…"."""
    choice: int | None = Field(default=None, ge=0)
    """The option that the submission chooses, with the text as its reason."""


def build_view(field: TextField, ref: FieldRef) -> Block:
    """Return the modal for `views.open` and `views.update`.

    Its ids do not change, so that Slack keeps the typed text. It is in the language of the field.
    """
    with use_language(field.language):
        return _build_view(field, ref)


def _build_view(field: TextField, ref: FieldRef) -> Block:
    label, blocks = _build_label(field)
    value, kept_whole = _get_initial_value(field)
    if not kept_whole:
        blocks.append(context(_("Your earlier text is longer than this field, which shows only its beginning.")))
    entry = _build_native_entry(field.rules, value) or _build_text_entry(field, value)
    entry |= {"action_id": TEXT, "focus_on_load": True}
    blocks.append(
        {
            "type": "input",
            "block_id": ANSWER,
            "label": plain(label),
            "hint": plain(_get_hint(field)),
            "element": entry,
        }
    )
    made: Block = {
        "type": "modal",
        "callback_id": CALLBACK,
        "private_metadata": ref.model_dump_json(exclude_none=True, by_alias=True),
        "title": plain(_("Your answer") if field.choice is None else _("Your reason")),
        "submit": plain(_("Send")),
        "close": plain(_("Back to the options")),
        "notify_on_close": True,
        "blocks": [*blocks],
    }
    limits.check_view(made)
    return made


def parse_ref(payload: Mapping[str, object]) -> FieldRef | None:
    """Return the reference in a modal's payload (its `view`), or None if it cannot be read."""
    try:
        return FieldRef.parse(get_object(json.loads(get_text(payload, "private_metadata") or "")))
    except (ValueError, RecursionError, InvalidValue):
        return None


def read_text(payload: Mapping[str, object]) -> str:
    """Return the text of a submitted modal (the payload's `view`), or an empty string."""
    element = get_object(payload, "state", "values", ANSWER, TEXT)
    moment = parse_time(get_value(element, "selected_date_time"))
    if moment is not None:
        return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    return get_text(element, "value") or get_text(element, "selected_date") or ""


def parse_time(seconds: object) -> datetime | None:
    """Return the time that a picker holds, from the seconds since 1970. None if there is none. Never raises."""
    if not isinstance(seconds, int) or isinstance(seconds, bool):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def build_errors(message: str, block: str = ANSWER) -> dict[str, str]:
    """Return the `errors` of a `response_action`, which keep the modal open and show the reason at a block."""
    return {block: message}


def _build_text_entry(field: TextField, value: str) -> Block:
    made: Block = {
        "type": "plain_text_input",
        "multiline": not field.is_line,
        "max_length": limits.INPUT_TEXT if field.choice is None else field.rules.max_length,
        "placeholder": plain(_get_placeholder(field)),
    }
    return {**made, "initial_value": value} if value else made


def _build_native_entry(rules: TextRules, value: str) -> Block | None:
    """Return Slack's own field for a kind of answer. None if there is none, or if it cannot hold the earlier text.

    There is none for `uri`: Slack's field takes addresses of the web alone.
    """
    if value and rules.find_problem(value) is not None:
        return None
    match rules.kind:
        case "integer" | "number" if not value or _DECIMAL.fullmatch(value):
            made: Block = {"type": "number_input", "is_decimal_allowed": rules.kind == "number"}
            if rules.minimum is not None:
                made["min_value"] = f"{rules.minimum:.15g}"
            if rules.maximum is not None:
                made["max_value"] = f"{rules.maximum:.15g}"
            return {**made, "initial_value": value} if value else made
        case "email":
            return {"type": "email_text_input", "initial_value": value} if value else {"type": "email_text_input"}
        case "date":
            return {"type": "datepicker", "initial_date": value} if value else {"type": "datepicker"}
        case "date-time":
            made = {"type": "datetimepicker"}
            first, last = limits.DATE_TIME
            seconds = int(datetime.fromisoformat(value).timestamp()) if value else 0
            return {**made, "initial_date_time": seconds} if first <= seconds <= last else made
        case _:
            return None


def _build_label(field: TextField) -> tuple[str, list[Block]]:
    """The label of the field, and the blocks above it."""
    prompt = replace_controls(field.prompt)
    if field.choice is not None:
        return field.placeholder, [rich_text([section([run])]) for run in split_runs(field.prompt)]
    if prompt == to_single_line(prompt) and limits.count_utf16_units(isolate_direction(prompt)) <= _LABEL:
        return isolate_direction(prompt), []
    return _("Your answer"), [rich_text([section([run])]) for run in split_runs(field.prompt)]


def _get_initial_value(field: TextField) -> tuple[str, bool]:
    """The field's initial text, and True if it is the complete earlier text."""
    value = replace_controls(field.value)
    short = value if limits.count_utf16_units(value) <= limits.INPUT_TEXT else truncate(value, limits.INPUT_TEXT)
    return short, short == value


def _get_placeholder(field: TextField) -> str:
    if field.choice is not None:
        return _("Enter your reason…")  # the prompt above the field says what the reason is for
    return fit_line(field.placeholder, limits.PLACEHOLDER) or _("Enter your answer…")


def _get_hint(field: TextField) -> str:
    if field.choice is not None:
        return f"{_('The asker gets it, and the card shows it.')} {field.hint}"
    hint = fit_line(field.hint, _HINT)
    return f"{hint} {_('It is sent together with the ticked options.')}" if field.multi else hint
