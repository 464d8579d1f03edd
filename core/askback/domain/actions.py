"""What people do to a card. A platform's payload is translated into one of these, and nothing else."""

from __future__ import annotations

__all__ = [
    "Action", "Back", "Cancel", "Choose", "Decline", "Deed", "Erase", "GoTo", "Look", "Next", "Open", "Postpone",
    "Review", "Select", "Submit", "Write",
]  # fmt: skip

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from askback.domain.identity import Actor, MessageRef
from askback.internal.values import PersonText, Value


class Choose(Value):
    """Take one option of a single-choice question."""

    kind: Literal["choose"] = "choose"
    index: int
    reason: PersonText | None = None
    """Why, where several people decide; None: not said yet."""


class Look(Value):
    """See the whole of what the card shows a part of. Changes nothing."""

    kind: Literal["look"] = "look"


class Select(Value):
    """The options that a person's screen shows as ticked, out of those drawn as ticked in `base`.

    The difference is what they did: it is applied to the newest interview, so that ticks of several
    people, each looking at a card of another age, all count.
    """

    kind: Literal["select"] = "select"
    chosen: tuple[int, ...]
    base: tuple[int, ...] | None = None
    """None: not told; then `chosen` is taken as the whole."""
    revision: int | None = None
    """Which drawing of the card they looked at."""
    order: float | None = Field(default=None, allow_inf_nan=False)
    """The platform's own time of the click, to sort one person's clicks; None: as they arrive."""


class Write(Value):
    """A text in place of, or beside, the options."""

    kind: Literal["write"] = "write"
    text: PersonText


class Erase(Value):
    """Take the written text back."""

    kind: Literal["erase"] = "erase"


class Open(Value):
    """Ask for the text field. Changes nothing."""

    kind: Literal["open"] = "open"


class Next(Value):
    """On to the next question, or to the review."""

    kind: Literal["next"] = "next"


class Back(Value):
    """To the question before."""

    kind: Literal["back"] = "back"


class GoTo(Value):
    """To any question, by its place in the form (from 0)."""

    kind: Literal["go_to"] = "go_to"
    index: int


class Review(Value):
    """To the review of all answers."""

    kind: Literal["review"] = "review"


class Submit(Value):
    """Hand the answers in."""

    kind: Literal["submit"] = "submit"


class Cancel(Value):
    """End the whole ask without an answer."""

    kind: Literal["cancel"] = "cancel"


class Postpone(Value):
    """Ask for the field in which to say why not now. Changes nothing."""

    kind: Literal["postpone"] = "postpone"


class Decline(Value):
    """Not now, with an optional sentence for the asker."""

    kind: Literal["decline"] = "decline"
    reason: PersonText | None = None


Deed = Annotated[
    Choose | Select | Write | Erase | Open | Look | Next | Back | GoTo | Review | Submit | Cancel | Postpone | Decline,
    Field(discriminator="kind"),
]


class Action(Value):
    """What one person did, from which question and step of which ask."""

    ask_id: str
    actor: Actor
    at: AwareDatetime
    turn: int
    """The step that the card was drawn in: one position of the interview, never visited twice under one number."""
    deed: Deed
    ticks: Select | None = None
    """What the person had ticked on the same card when they pressed a button."""
    message: MessageRef | None = None
    """The message that was clicked: the ask adopts it if it did not know of one."""
    delivery: str | None = None
    """The platform's own name for this one click: what it delivers twice, also to two processes, counts once."""
