"""The text field behind "Something else…", as a modal."""

from __future__ import annotations

__all__ = [
    "ANSWER",
    "CALLBACK",
    "TEXT",
    "FieldRef",
    "build_view",
    "parse_ref",
    "read_text",
]

import json
from collections.abc import Mapping
from typing import Final

from pydantic import AliasChoices, Field

from askback.domain.text_field import TextField
from askback.errors import InvalidValue
from askback.internal.values import Value
from askback.translations.catalogue import _, use_language
from askback_slack import limits
from askback_slack.blocks import Block, context, plain
from askback_slack.escaping import fit_line
from askback_slack.json_access import get_object, get_text, get_value
from askback_slack.text_entry import (
    build_label,
    build_native_entry,
    build_paragraphs,
    build_text_entry,
    get_initial_value,
    read_entry,
)

CALLBACK: Final = "askback:answer"
ANSWER: Final = "askback:answer"
"""The block with the text."""
TEXT: Final = "askback:text"
"""The element with the text."""
_HINT: Final = 1_000
"""Maximum length of the sentence about what can be written, in UTF-16 units. A program may give a longer one."""


class FieldRef(Value):
    """The question and message of a submitted field. Slack's payload of a modal names no channel or message."""

    ask_id: str = Field(max_length=64)
    # Older processes know the step as `turn`.
    step: int = Field(ge=0, validation_alias=AliasChoices("step", "turn"), serialization_alias="turn")
    channel: str = Field(max_length=64)
    message_ts: str = Field(max_length=64)
    declines: bool = False
    """True if the modal is that of "Not now…"."""
    # Excluded by default, because an older process rejects a field that it does not know.
    is_form: bool = Field(default=False, exclude_if=lambda value: not value)
    """True if the modal has all questions of a form."""
    takes_files: bool = Field(default=False, exclude_if=lambda value: not value)
    """True if the modal has the field for files."""
    revision: int | None = Field(default=None, ge=0)
    """The revision that a modal with all questions shows."""
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
    value, kept_whole = get_initial_value(field.value)
    if not kept_whole:
        blocks.append(context(_("Your earlier text is longer than this field, which shows only its beginning.")))
    longest = limits.INPUT_TEXT if field.choice is None else field.rules.max_length
    entry = build_native_entry(field.rules, value) or build_text_entry(
        value, _get_placeholder(field), is_line=field.is_line, max_length=longest
    )
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
    return read_entry(get_value(payload, "state", "values", ANSWER, TEXT))


def _build_label(field: TextField) -> tuple[str, list[Block]]:
    """The label of the field, and the blocks above it."""
    if field.choice is not None:
        return field.placeholder, build_paragraphs(field.prompt)
    return build_label(field.prompt, _("Your answer"))


def _get_placeholder(field: TextField) -> str:
    if field.choice is not None:
        return _("Enter your reason…")  # the prompt above the field says what the reason is for
    return fit_line(field.placeholder, limits.PLACEHOLDER) or _("Enter your answer…")


def _get_hint(field: TextField) -> str:
    if field.choice is not None:
        return f"{_('The asker gets it, and the card shows it.')} {field.hint}"
    hint = fit_line(field.hint, _HINT)
    return f"{hint} {_('It is sent together with the ticked options.')}" if field.multi else hint
