"""The text field behind "Something else…", as a modal."""

from __future__ import annotations

__all__ = [
    "ANSWER",
    "CALLBACK",
    "CHOICE",
    "OTHER",
    "TEXT",
    "FieldRef",
    "build_view",
    "parse_ref",
    "read_choice",
    "read_text",
]

import json
import re
from collections.abc import Mapping
from typing import Final

from pydantic import AliasChoices, Field

from askback.domain.choice_words import SOMETHING_ELSE
from askback.domain.text_field import TextField, list_option_labels
from askback.errors import InvalidValue
from askback.internal.values import Value
from askback.translations.catalogue import N_, _, use_language
from askback.translations.sentences import group_digits
from askback_slack import limits
from askback_slack.absence import build_absence
from askback_slack.blocks import Block, context, option, plain
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
CHOICE: Final = "askback:choice"
"""The block and the element with the option that the text is a note to."""
OTHER: Final = "other"
"""The value of "Something else…", which the question itself does not offer."""
LONGER: Final = N_("This field holds {count} characters. You can write a longer answer as a message in the thread.")
_INDEX: Final = re.compile(r"\d{1,4}", re.ASCII)
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
    is_edit: bool = Field(default=False, exclude_if=lambda value: not value)
    """True if the modal has the arguments of a tool call."""
    revision: int | None = Field(default=None, ge=0)
    """The revision that a modal with all questions shows."""
    choice: int | None = Field(default=None, ge=0)
    """The option that the submission chooses, with the text as its reason."""


def build_view(field: TextField, ref: FieldRef, *, takes_messages: bool = True) -> Block:
    """Return the modal for `views.open` and `views.update`.

    Its ids do not change, so that Slack keeps the typed text. It is in the language of the field. `takes_messages` is
    True if a message can be the answer, too.
    """
    with use_language(field.language):
        return _build_view(field, ref, takes_messages=takes_messages)


def _build_view(field: TextField, ref: FieldRef, *, takes_messages: bool) -> Block:
    label, blocks = _build_label(field)
    if field.options:
        blocks.append(_build_choice(field, label))
        label = _("Your note") if field.is_note else _("Your note, or an answer of your own")
    value, kept_whole = get_initial_value(field.value)
    if not kept_whole:
        blocks.append(context(_("Your earlier text is longer than this field, which shows only its beginning.")))
    is_short = field.choice is not None or field.is_note
    native = None if field.options else build_native_entry(field.rules, value)
    entry = native or build_text_entry(
        value,
        _get_placeholder(field),
        is_line=field.is_line,
        max_length=field.rules.max_length if is_short else limits.INPUT_TEXT,
    )
    entry |= {"action_id": TEXT, "focus_on_load": True}
    shown: Block = {
        "type": "input",
        "block_id": ANSWER,
        "label": plain(label),
        "hint": plain(_get_hint(field, takes_messages=takes_messages)),
        "element": entry,
    }
    blocks.append({**shown, "optional": True} if field.options else shown)
    made: Block = {
        "type": "modal",
        "callback_id": CALLBACK,
        "private_metadata": ref.model_dump_json(exclude_none=True, by_alias=True),
        "title": plain(_("Your answer") if field.choice is None else _("Your reason")),
        "submit": plain(_("Send")),
        "close": plain(_("Back to the options")),
        "notify_on_close": True,
        "blocks": [*build_absence(field.absence), *blocks],
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


def read_choice(payload: Mapping[str, object]) -> int | None:
    """Return the index of the option that was chosen with the text (the payload's `view`); None if there is none."""
    value = get_text(payload, "state", "values", CHOICE, CHOICE, "selected_option", "value")
    return int(value) if value is not None and _INDEX.fullmatch(value) else None


def _build_choice(field: TextField, label: str) -> Block:
    """Radio buttons or a menu with the options. The last one means a written answer, if that is possible."""
    labels = list_option_labels(field.options, limits.OPTION_TEXT)
    options = [option(words, index) for index, words in enumerate(labels)]
    chosen = None if field.chosen is None else options[field.chosen]
    if not field.is_note:
        other: Block = {"text": plain(_(SOMETHING_ELSE)), "value": OTHER}
        options.append(other)
        chosen = other if chosen is None and field.value else chosen
    few = len(options) <= limits.CHECKBOXES
    element: Block = {"type": "radio_buttons" if few else "static_select", "action_id": CHOICE, "options": [*options]}
    return {
        "type": "input",
        "block_id": CHOICE,
        "label": plain(label),
        "element": element if chosen is None else {**element, "initial_option": chosen},
        # The text is enough if it can be an answer.
        "optional": not field.is_note,
    }


def _build_label(field: TextField) -> tuple[str, list[Block]]:
    """The label of the field, and the blocks above it."""
    if field.choice is not None:
        return field.placeholder, build_paragraphs(field.prompt)
    return build_label(field.prompt, _("Your answer"))


def _get_placeholder(field: TextField) -> str:
    if field.choice is not None:
        return _("Enter your reason…")  # the prompt above the field says what the reason is for
    return fit_line(field.placeholder, limits.PLACEHOLDER) or _("Enter your answer…")


def _get_hint(field: TextField, *, takes_messages: bool) -> str:
    if field.choice is not None:
        return f"{_('The asker gets it, and the card shows it.')} {field.hint}"
    hint = fit_line(field.hint, _HINT)
    if takes_messages and field.rules.longest > limits.INPUT_TEXT:
        hint = f"{hint} {_(LONGER).format(count=group_digits(limits.INPUT_TEXT))}"
    return f"{hint} {_('It is sent together with the ticked options.')}" if field.multi else hint
