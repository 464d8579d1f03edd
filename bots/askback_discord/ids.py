"""What the custom_id of a control or a modal says, and how it is read back from an interaction.

`askback:<kind>:<ask id>:<turn>:<revision>[:<argument>]`, at most 100 characters. The revision tells
which drawing of the card a menu was ticked on.
"""

from __future__ import annotations

__all__ = ["KINDS", "TEXT", "Control", "Kind", "controls_in", "custom_id", "parse"]

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, cast, get_args

Kind = Literal[
    "choose", "pick", "tick", "page", "write", "erase", "next", "back", "goto", "review", "submit", "cancel",
    "postpone", "retry", "field", "decline", "vote", "look", "use", "keep", "stop",
]  # fmt: skip
"""choose: one button per option; pick: a menu of one; tick: a menu of several; page: another page of a menu;
goto: a button for one question, or a menu of them; retry: the text field again, from a private notice;
field: the text field itself; postpone, decline: a button for the field for why not now, and that field itself;
vote: the field for why somebody chooses an option; look: everything that the card shows a part of;
use, keep: the buttons of an offer, whose id stands in the place of the ask's; stop: below a text that is being written,
with what stands for the text's name in that place."""

TEXT: Final = "askback:text"
"""The custom_id of the input in the text field."""

KINDS: Final[dict[str, Kind]] = {kind: kind for kind in get_args(Kind)}
_WITH_ARGUMENT: Final = frozenset({"choose", "pick", "tick", "page", "vote"})
_WITH_OR_WITHOUT: Final = frozenset({"goto", "retry"})
_PAGES: Final = 1_000
_NUMBER = r"(0|[1-9][0-9]{0,8})"
_CUSTOM_ID = re.compile(rf"askback:([a-z]+):([A-Za-z0-9_-]{{1,48}}):{_NUMBER}:{_NUMBER}(?::{_NUMBER})?")


@dataclass(frozen=True, slots=True)
class Control:
    """What a control does, of which ask, as drawn in which turn and revision."""

    kind: Kind
    ask_id: str
    turn: int
    revision: int = 0
    arg: int | None = None
    """The option (choose, vote; retry: why that one), the question (goto; none in a menu) or the menu's page (pick,
    tick, page), from 0."""

    @property
    def drawing(self) -> int:
        """Tells drawings of a menu apart: its pages too, since one revision is drawn with each of them."""
        return self.revision * _PAGES + (self.arg or 0)


def custom_id(control: Control) -> str:
    """The custom_id of a control."""
    name = f"askback:{control.kind}:{control.ask_id}:{control.turn}:{control.revision}"
    return name if control.arg is None else f"{name}:{control.arg}"


def parse(found: object) -> Control | None:
    """The control of a custom_id; None for anything that is not ours. Never raises."""
    match = _CUSTOM_ID.fullmatch(found) if isinstance(found, str) else None
    kind = KINDS.get(match[1]) if match else None
    if match is None or kind is None:
        return None
    arg = None if match[5] is None else int(match[5])
    if kind not in _WITH_OR_WITHOUT and (arg is not None) != (kind in _WITH_ARGUMENT):
        return None
    return Control(kind=kind, ask_id=match[2], turn=int(match[3]), revision=int(match[4]), arg=arg)


def controls_in(components: object) -> Iterator[Control]:
    """The controls of ours among the components of a message, as Discord's API gives them."""
    for component in cast("list[object]", components) if isinstance(components, list) else ():
        if isinstance(component, dict):
            fields = cast("Mapping[str, object]", component)
            control = parse(fields.get("custom_id"))
            if control is not None:
                yield control
            yield from controls_in(fields.get("components"))
