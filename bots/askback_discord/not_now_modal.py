"""The modal behind "Not now…" and "Remind me…": the ways to leave a question for now."""

from __future__ import annotations

__all__ = ["build_modal", "parse_way"]

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, cast

from askback.domain.not_now import HINT, STAYS_OPEN, WAYS, WayName, list_ways
from askback.domain.text_field import TextField
from askback.text.literal import fit_line
from askback.translations.catalogue import N_, _, use_language
from askback_discord import control_ids, limits
from askback_discord.absence import build_absence
from askback_discord.components import Component, option
from askback_discord.text_modal import PARAGRAPH, build_prompt, find_value

WAY: Final = "askback:way"
"""The custom_id of the group with the ways."""
# Discord says nobody's time zone, and its modals have no field for a time.
_TIMES: Final[tuple[WayName, ...]] = ("hour", "hours", "day", "week")
_OFFERED: Final[tuple[WayName, ...]] = ("discuss", *_TIMES, "cancel")


def build_modal(field: TextField, now: datetime) -> Component | None:
    """Return the data of a callback that opens the modal (type 9), in the language of the field.

    None if no reminder comes before the end.
    """
    with use_language(field.language):
        return _build_modal(field, now)


def _build_modal(field: TextField, now: datetime) -> Component | None:
    if field.only_reminds:
        return _build_reminder_modal(field, list_ways(_TIMES, now=now, deadline=field.deadline))
    # A person who may only cancel has no choice, and Discord rejects a group of one.
    choice = [] if field.only_cancels else [_build_ways(list_ways(_OFFERED, now=now, deadline=field.deadline))]
    control = control_ids.Control(
        kind="decline", ask_id=field.ask_id, step=field.step, arg=1 if field.only_cancels else None
    )
    made: Component = {
        "custom_id": control_ids.to_custom_id(control),
        "title": _("Cancel this question") if field.only_cancels else _("Not now"),
        "components": [*build_absence(field.absence), build_prompt(field.prompt), *choice, _build_note(field)],
    }
    limits.check_modal(made)
    return made


def parse_way(control: control_ids.Control, data: Mapping[str, object]) -> WayName | None:
    """Return the way that a submitted modal (the interaction's `data`) chose. Never raises.

    None means that the modal is of a release that had no ways.
    """
    if control.arg is not None:
        return "cancel"
    name = find_value(data, WAY)
    return cast("WayName", name) if name in WAYS else None


def _build_reminder_modal(field: TextField, times: Sequence[WayName]) -> Component | None:
    if not times:
        return None
    made: Component = {
        "custom_id": control_ids.to_custom_id(
            control_ids.Control(kind="decline", ask_id=field.ask_id, step=field.step)
        ),
        "title": _("Remind me"),
        "components": [
            *build_absence(field.absence),
            build_prompt(field.prompt),
            _build_ways(times, N_("When?"), STAYS_OPEN),
        ],
    }
    limits.check_modal(made)
    return made


def _build_ways(
    ways: Sequence[WayName], question: str = N_("What would you like instead?"), hint: str = HINT
) -> Component:
    options = [_build_option(name, chosen=name == ways[0]) for name in ways]
    # Discord rejects a radio group of one, but not such a menu.
    kind = limits.RADIO if len(options) >= limits.RADIO_LEAST else limits.MENU
    return {
        "type": limits.LABELLED,
        "label": _(question),
        "description": _(hint),
        "component": {"type": kind, "custom_id": WAY, "options": [*options]},
    }


def _build_option(name: WayName, *, chosen: bool) -> Component:
    way = WAYS[name]
    return option(_(way.label), name, description=_(way.description) if way.description else None, chosen=chosen)


def _build_note(field: TextField) -> Component:
    return {
        "type": limits.LABELLED,
        "label": _("Your note (optional)"),
        "description": fit_line(f"{_('The card shows it.')} {field.hint}", limits.LABEL_DESCRIPTION),
        "component": {
            "type": limits.INPUT,
            "custom_id": control_ids.TEXT,
            "style": PARAGRAPH,
            "required": False,
            "max_length": field.rules.max_length,
            "placeholder": field.placeholder,
        },
    }
