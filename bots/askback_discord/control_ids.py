"""The format of custom_ids, which carry data from a card or modal back to the bot in an interaction.

`askback:<kind>:<ask id>:<step>:<revision>[:<argument>]`, at most 100 characters. The revision identifies the drawing of
the card on which a menu was ticked.
"""

from __future__ import annotations

__all__ = ["KINDS", "TEXT", "Control", "Kind", "find_controls", "parse", "to_custom_id"]

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, cast, get_args

Kind = Literal[
    "choose", "pick", "tick", "page", "write", "erase", "next", "back", "goto", "review", "submit", "cancel",
    "undo", "postpone", "retry", "field", "decline", "vote", "look", "form", "fields", "search", "query",
    "use", "keep", "discuss", "stop", "people", "channels", "files", "upload", "edit", "edits",
]  # fmt: skip
"""The kinds of controls. Some of them:

choose: one button per option
pick: a menu for one option
tick: a menu for several options
people, channels: Discord's own picker, for one or for several
page: another page of a menu
goto: a button for one question, or a menu of questions
retry: the text field again, from a private notice
field: the text field itself
postpone: the button "Not now…", or "Remind me…", which opens a modal
undo: the button "Undo my vote"
decline: that modal
vote: the field for the reason of a choice
look: the button "Show everything"
form: the button "Answer all…", which opens a modal
fields: that modal
files: the button "Choose files…", which opens a modal
upload: that modal
edit: the button "Edit…", which opens a modal with the arguments of a tool call
edits: that modal
search: the button "Search…" below a menu of several pages, which opens a modal
query: that modal
use, keep, discuss: the buttons of an offer, with the offer's id as the ask id
stop: the button below an unfinished text, with a hash of the text's name as the ask id
"""

TEXT: Final = "askback:text"
"""The custom_id of the input in the text field."""

KINDS: Final[dict[str, Kind]] = {kind: kind for kind in get_args(Kind)}
_WITH_ARGUMENT: Final = frozenset({"choose", "pick", "tick", "page", "vote"})
_WITH_OR_WITHOUT: Final = frozenset({"goto", "retry", "decline"})
_PAGES: Final = 1_000
_NUMBER = r"(0|[1-9][0-9]{0,8})"
_CUSTOM_ID = re.compile(rf"askback:([a-z]+):([A-Za-z0-9_-]{{1,48}}):{_NUMBER}:{_NUMBER}(?::{_NUMBER})?")


@dataclass(frozen=True, slots=True)
class Control:
    """The data in a control's id: its kind, its ask, and the step and revision in which it was drawn."""

    kind: Kind
    ask_id: str
    step: int
    revision: int = 0
    arg: int | None = None
    """The argument, counted from 0.

    It is the option (choose, vote, and retry for its reason), the question (goto; None in a menu) or the menu's page
    (pick, tick, page). Of a `decline`, 1 means that the person may only cancel.
    """

    @property
    def drawing(self) -> int:
        """A number that differs between drawings of a menu.

        It includes the page, since one revision may be drawn with each page.
        """
        return self.revision * _PAGES + (self.arg or 0)


def to_custom_id(control: Control) -> str:
    """Return the custom_id of a control."""
    name = f"askback:{control.kind}:{control.ask_id}:{control.step}:{control.revision}"
    return name if control.arg is None else f"{name}:{control.arg}"


def parse(found: object) -> Control | None:
    """Return the control of a custom_id, or None if the id is not askback's. Never raises."""
    match = _CUSTOM_ID.fullmatch(found) if isinstance(found, str) else None
    kind = KINDS.get(match[1]) if match else None
    if match is None or kind is None:
        return None
    arg = None if match[5] is None else int(match[5])
    if kind not in _WITH_OR_WITHOUT and (arg is not None) != (kind in _WITH_ARGUMENT):
        return None
    return Control(kind=kind, ask_id=match[2], step=int(match[3]), revision=int(match[4]), arg=arg)


def find_controls(components: object) -> Iterator[Control]:
    """Yield askback's controls among the components of a message in the form of Discord's API."""
    for component in cast("list[object]", components) if isinstance(components, list) else ():
        if isinstance(component, dict):
            fields = cast("Mapping[str, object]", component)
            control = parse(fields.get("custom_id"))
            if control is not None:
                yield control
            yield from find_controls(fields.get("components"))
            yield from find_controls([fields.get("accessory")])
