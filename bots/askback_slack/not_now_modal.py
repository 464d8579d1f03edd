"""The modal behind "Not now…" and "Remind me…": the ways to leave a question for now."""

from __future__ import annotations

__all__ = ["WAY", "WHEN", "Sent", "build_view", "parse_sent"]

from collections.abc import Mapping
from datetime import datetime
from typing import Final, cast

from pydantic import JsonValue

from askback.domain.not_now import HINT, STAYS_OPEN, WAYS, WayName, list_ways
from askback.domain.text_field import TextField
from askback.internal.values import Value
from askback.translations.catalogue import _, use_language
from askback_slack import limits
from askback_slack.absence import build_absence
from askback_slack.blocks import Block, plain
from askback_slack.json_access import get_text, get_value
from askback_slack.text_entry import build_paragraphs, parse_time
from askback_slack.text_modal import ANSWER, CALLBACK, TEXT, FieldRef, read_text

WAY: Final = "askback:way"
"""The block with the ways."""
WHEN: Final = "askback:when"
"""The block with the time of a reminder."""
_TIMES: Final[tuple[WayName, ...]] = ("hour", "tomorrow", "time")
_OFFERED: Final[tuple[WayName, ...]] = ("discuss", *_TIMES, "cancel")


class Sent(Value):
    """The content of a submitted modal."""

    way: WayName | None
    """The chosen way. None if the modal is of a release that had none."""
    note: str
    when: datetime | None
    """The time that the person chose."""


def build_view(field: TextField, ref: FieldRef, now: datetime) -> Block:
    """Return the modal for `views.open`, in the language of the field."""
    with use_language(field.language):
        return _build_view(field, ref, now)


def _build_view(field: TextField, ref: FieldRef, now: datetime) -> Block:
    title = _("Cancel this question") if field.only_cancels else _("Not now")
    if field.only_reminds:
        title = _("Remind me")
    ways = _list_offered(field, now)
    options = [_build_option(name) for name in ways]
    choice: Block = {
        "type": "input",
        "block_id": WAY,
        "label": plain(_("When?") if field.only_reminds else _("What would you like instead?")),
        "hint": plain(_(STAYS_OPEN) if field.only_reminds else _(HINT)),
        "element": {"type": "radio_buttons", "action_id": WAY, "options": [*options], "initial_option": options[0]},
    }
    blocks: list[JsonValue] = [*build_absence(field.absence), *build_paragraphs(field.prompt)]
    blocks += [choice] if field.only_reminds else [choice, _build_note(field)]
    if "time" in ways:
        blocks.append(
            {
                "type": "input",
                "block_id": WHEN,
                "optional": True,
                "label": plain(_("Another time") if field.only_reminds else _("When?")),
                "hint": plain(_("For “{way}”, in your time zone.").format(way=_(WAYS["time"].label))),
                "element": {"type": "datetimepicker", "action_id": WHEN},
            }
        )
    made: Block = {
        "type": "modal",
        "callback_id": CALLBACK,
        "private_metadata": ref.model_dump_json(exclude_none=True, by_alias=True),
        "title": plain(title),
        "submit": plain(_("Send")),
        "close": plain(_("Back to the options")),
        "notify_on_close": True,
        "blocks": blocks,
    }
    limits.check_view(made)
    return made


def parse_sent(payload: Mapping[str, object]) -> Sent:
    """Return the content of a submitted modal (the payload's `view`). Never raises."""
    values = ("state", "values")
    name = get_text(payload, *values, WAY, WAY, "selected_option", "value") or ""
    when = parse_time(get_value(payload, *values, WHEN, WHEN, "selected_date_time"))
    return Sent(way=cast("WayName", name) if name in WAYS else None, note=read_text(payload), when=when)


def _list_offered(field: TextField, now: datetime) -> tuple[WayName, ...]:
    if field.only_cancels:
        return ("cancel",)
    return list_ways(_TIMES if field.only_reminds else _OFFERED, now=now, deadline=field.deadline)


def _build_option(name: WayName) -> Block:
    way = WAYS[name]
    made: Block = {"text": plain(_(way.label)), "value": name}
    return made if way.description is None else {**made, "description": plain(_(way.description))}


def _build_note(field: TextField) -> Block:
    return {
        "type": "input",
        "block_id": ANSWER,
        "optional": True,
        "label": plain(_("Your note")),
        "hint": plain(f"{_('The card shows it.')} {field.hint}"),
        "element": {
            "type": "plain_text_input",
            "action_id": TEXT,
            "multiline": True,
            "max_length": field.rules.max_length,
            "placeholder": plain(field.placeholder),
        },
    }
