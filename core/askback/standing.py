"""How a decision of several people stands, in words that every platform shares. Pure.

Labels in them are shortened: they stand whole among the card's options.
"""

from __future__ import annotations

__all__ = [
    "MISSING",
    "REQUESTED_BY",
    "Verdict",
    "agreeing",
    "crowd",
    "ended",
    "not_deciding",
    "progress",
    "rule",
    "verdict",
]

from collections.abc import Iterable
from typing import Literal

from askback.card import LONGEST_NAMED, Card
from askback.policy import Who
from askback.text.literal import fit
from askback.voting import Tally

Verdict = Literal["approved", "refused", "decided"]
"""decided: by choosing among options of which none is a "no"."""

REQUESTED_BY = "Requested by "
"""Names of people follow, and `not_deciding`."""
MISSING = "Not yet: "
"""Names of people and groups follow."""


LISTED = 10
"""People who are named among the missing: more are counted, since they all stand among those who are asked."""


def agreeing(card: Card) -> int | None:
    """The number of the one option that is no "no", where there is one beside those that are."""
    if card.tally is None or not card.tally.refusing:
        return None
    options = _agreeing(card, card.tally)
    return options[0] + 1 if len(options) == 1 else None


def crowd(who: Who) -> str | None:
    """How many people are missing, where these are too many to be named."""
    return f"{len(who.people)} people" if len(who.people) > LISTED and not who.anyone else None


def not_deciding(requesters: int) -> str:
    """What stands behind the names of those whose request it is."""
    return f", who {'does' if requesters == 1 else 'do'} not decide"


def rule(card: Card, tally: Tally) -> str:
    """What is needed: "2 have to agree; one “No” ends it. “No” needs a reason."."""
    many = "One has" if tally.quorum == 1 else f"{tally.quorum} have"
    said = f"{many} to {'agree' if len(_agreeing(card, tally)) == 1 or tally.quorum == 1 else 'choose the same'}"
    if tally.refusing:
        said += f"; {_count(tally.refusals)} {_labels(card, tally.refusing)} end{'s' * (tally.refusals == 1)} it"
    if not tally.reasons:
        return f"{said}."
    if len(tally.reasons) == len(card.items):
        return f"{said}. Everybody says why."
    return f"{said}. {_labels(card, tally.reasons)} needs a reason."


def progress(card: Card, tally: Tally) -> str | None:
    """How far it has come: "1 of 2 agree", or "agreed" once it is over. None: nobody has voted."""
    if not tally.votes:
        return None
    agreeing = _agreeing(card, tally)
    if len(agreeing) == 1:
        count = tally.votes_for(*agreeing)
        said = [f"{count} of {tally.quorum} agree{'' if card.ending is None else 'd'}"]
    else:
        said = [
            f"{tally.votes_for(index)} of {tally.quorum} {_labels(card, (index,))}"
            for index in agreeing
            if tally.votes_for(index)
        ]
    against = tally.votes_for(*tally.refusing)
    if against:
        said.append(f"{against} of {tally.refusals} {_labels(card, tally.refusing)}")
    return ", ".join(said)


def verdict(card: Card, tally: Tally) -> Verdict | None:
    """What was decided. None: nothing, or not yet."""
    if card.ending is None or card.ending.status != "answered":
        return None
    if not tally.refusing:
        return "decided"
    chosen = {item.number - 1 for item in card.items if item.chosen}
    return "refused" if chosen & set(tally.refusing) else "approved"


def ended(card: Card, tally: Tally) -> str:
    """How it ended, in a few words without a full stop."""
    found = verdict(card, tally)
    if found is not None:
        word = {"approved": "Approved", "refused": "Refused", "decided": "Decided"}[found]
        possible = tally.refusing if found == "refused" else _agreeing(card, tally)
        if len(possible) == 1:
            return word
        return f"{word}: {_labels(card, (item.number - 1 for item in card.items if item.chosen))}"
    status = None if card.ending is None else card.ending.status
    so_far = progress(card, tally)
    left = "" if so_far is None else f": {so_far}"
    match status:
        case "timed_out":
            return f"Not decided in time{left}"
        case "cancelled":
            return "Taken back"
        case "undeliverable":
            return "This could not be delivered"
        case _:
            return "Not decided"


def _agreeing(card: Card, tally: Tally) -> tuple[int, ...]:
    return tuple(item.number - 1 for item in card.items if item.number - 1 not in tally.refusing)


def _labels(card: Card, indexes: Iterable[int]) -> str:
    return " or ".join(f"“{fit(card.items[index].label, LONGEST_NAMED)}”" for index in indexes)


def _count(number: int) -> str:
    return "one" if number == 1 else str(number)
