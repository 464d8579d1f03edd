"""The format of block and action ids, which carry data from a card back to the bot in a click.

`askback:<kind>:<ask id>:<step>[:<argument>]` names a control, `askback:<ask id>:<revision>:<n>` a block. The revision
gives a redrawn block a new id, so that Slack's clients drop the ticks of the old one.
"""

from __future__ import annotations

__all__ = ["KINDS", "Control", "Kind", "build_block_id", "parse", "parse_revision", "to_action_id"]

import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

Kind = Literal[
    "choose", "pick", "tick", "write", "erase", "next", "back", "goto", "review", "submit", "cancel", "postpone",
    "undo", "look", "part", "form", "files", "edit", "use", "keep", "discuss", "people", "channels",
]  # fmt: skip
"""The kinds of controls. Some of them:

choose: one button per option
pick: a menu for one option
tick: checkboxes or a menu for several options
people, channels: Slack's own picker, for one or for several
postpone: the button "Not now…", or "Remind me…", which opens a modal
undo: the button "Undo my vote"
look: the button "Show everything"
part: a button that shows another part of the details, in their modal
form: the button "Answer all…", which opens a modal
files: the button "Choose files…", which opens a modal
edit: the button "Edit…", which opens a modal with the arguments of a tool call
use, keep, discuss: the buttons of an offer, with the offer's id as the ask id
"""

_WITH_ARGUMENT: Final = frozenset({"choose", "goto", "part"})
KINDS: Final[dict[str, Kind]] = {kind: kind for kind in get_args(Kind)}
_NUMBER = r"(0|[1-9][0-9]{0,8})"
_ACTION = re.compile(rf"askback:([a-z]+):([A-Za-z0-9_-]{{1,64}}):{_NUMBER}(?::{_NUMBER})?")
_BLOCK = re.compile(rf"askback:([A-Za-z0-9_-]{{1,64}}):{_NUMBER}:{_NUMBER}")


@dataclass(frozen=True, slots=True)
class Control:
    """The data in a control's id: its kind, its ask and the step in which it was drawn."""

    kind: Kind
    ask_id: str
    step: int
    arg: int | None = None
    """The index of the option (choose), the question (goto) or the part (part), counted from 0."""


def to_action_id(control: Control) -> str:
    """Return the action_id of a control."""
    name = f"askback:{control.kind}:{control.ask_id}:{control.step}"
    return name if control.arg is None else f"{name}:{control.arg}"


def parse(action_id: object) -> Control | None:
    """Return the control of an action_id, or None if the id is not askback's. Never raises."""
    match = _ACTION.fullmatch(action_id) if isinstance(action_id, str) else None
    kind = KINDS.get(match[1]) if match else None
    if match is None or kind is None or (match[4] is not None) != (kind in _WITH_ARGUMENT):
        return None
    return Control(kind=kind, ask_id=match[2], step=int(match[3]), arg=None if match[4] is None else int(match[4]))


def build_block_id(ask_id: str, revision: int, number: int) -> str:
    """Return the block_id of a block with controls."""
    return f"askback:{ask_id}:{revision}:{number}"


def parse_revision(block_id: object) -> int | None:
    """Return the card revision that a block belongs to, or None if the id is not askback's. Never raises."""
    match = _BLOCK.fullmatch(block_id) if isinstance(block_id, str) else None
    return int(match[2]) if match else None
