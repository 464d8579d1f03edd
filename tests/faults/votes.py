"""Check the approvals of a story: from the cards, the clicks on them, and the tool's own file."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from askback.manager.denials import NOT_SAVED, UNCERTAIN

from . import reminding
from .approving import APPROVE, DENY, QUORUM
from .reminding import Reminders, settled_by
from .scenarios import RELEASE, Press, Shown, Story, arguments, asks

INTERRUPTED = "I was interrupted while I ran “release”"
LATE = "Nobody decided in time"
AGAIN_SECONDS = 2.0
"""Seconds after a click without an ack in which a second delivery of it may still come."""
NAMED = re.compile(r"(?:Approved|agreed)\s+·\s+(?:✓ |\d+ of \d+: )?((?:<@\w+>(?:, )?)+)")
"""The names of those who approved, on the first line of a settled card."""
CAST = re.compile(rf"[✓✗]\s+\W*(\w+)\W+({APPROVE}|{DENY})\b")
VIOLATIONS = {
    "ungranted": "tools run without their approval",
    "denied": "tools run after a denial",
    "changed": "tools run with other arguments than approved",
    "votes": "votes acked and lost",
    "counted": "votes counted twice, or never cast",
    **reminding.VIOLATIONS,
}
ENDINGS = {"Approved": "approved", "Refused": "denied", "Not decided in time": "timed out"}


ROW = re.compile(r"(?:^|  ·  |-# )(where|version|with_notes)  `?(.*?)`?(?=  ·  |$)", re.MULTILINE)
"""A name and a value: a row of the table of arguments, or a part of the line with them on the settled card."""


@dataclass(frozen=True)
class Decision:
    """The final state of a card."""

    ending: str | None
    """None means that nothing was decided."""
    votes: tuple[tuple[str, str], ...]
    """The voters and their votes."""
    arguments: Any
    """The arguments shown for approval."""

    @classmethod
    def read(cls, text: str, people: Sequence[str]) -> Decision:
        text = text.replace("\\", "")
        ending = next((ending for words, ending in ENDINGS.items() if words in text), None)
        named = [(who, APPROVE) for names in NAMED.findall(text) for who in re.findall(r"\w+", names)]
        votes = tuple((who, label) for who, label in (*named, *CAST.findall(text)) if who in people)
        return cls(ending, votes, _arguments(text))


def _arguments(text: str) -> dict[str, Any] | None:
    """Return the arguments in the table on a card; None if there is no table of all three."""
    _, _, table = text.replace("\\", "").partition(RELEASE)
    rows: dict[str, str] = dict(ROW.findall(table))
    if rows.keys() != {"where", "version", "with_notes"}:
        return None
    return {**rows, "with_notes": json.loads(rows["with_notes"])}


@dataclass(frozen=True)
class Approvals:
    """The facts about one round."""

    released: Sequence[Mapping[str, Any]]
    shadowed: Callable[[Press], bool]
    """Return True if a notice that followed the ack of a click may have been lost with its process."""
    reminders: Reminders

    def wrong(
        self, story: Story, token: str, heard: str | None, asked: float, over: float | None, figures: Counter[str]
    ) -> Iterator[tuple[str, str]]:
        """Yield the violations of one call that needed approval: the kind, and the details.

        `asked` is the time of the model's first request; `over` is the time when the model received the outcome.
        """
        figures["asked"] += 1
        people = (story.starter, *story.told_others)
        presses = [press for press in story.presses if press.token == token]
        cards = [one for one in story.shown if asks(one.text, token)]
        ran = [one for one in self.released if one["what"] == "began" and one["arguments"]["where"] == token]
        figures["votes"] += len(presses)
        figures["acked"] += sum(press.acked for press in presses)
        figures["run"] += len(ran)
        if len(ran) > 1:
            yield "tools", f"release {token} ran {len(ran)} times"
        if len(cards) > 1:
            yield "cards", f"{token} stands there {len(cards)} times"
            return
        if not cards:
            # The call can end before there was time to show it to anyone.
            figures["timed out"] += 1
            if ran or heard is None or not heard.startswith(LATE):
                yield "unsettled", f"{token}: its card is gone, it ran {len(ran)} times, and {heard!r} was heard"
            return
        decision = Decision.read(cards[0].text, people)
        figures[decision.ending or "open"] += 1
        yield from _ran(token, ran, decision, presses, story.starter)
        yield from _heard(token, heard, decision, len(ran), cards[0])
        if heard is not None and heard.startswith("Interrupted") and not _told(story, decision):
            yield "never", f"{token}: {decision.votes} were not told that it was interrupted"
        yield from self._votes(story, token, decision, presses)
        decided = settled_by(decision.votes, presses) if decision.ending in ("approved", "denied") else None
        settled = min((at for at in (decided, over) if at is not None), default=None)
        yield from self.reminders.wrong(story, token, cards[0], asked, settled, decision.ending, figures)

    def _votes(
        self, story: Story, token: str, decision: Decision, presses: Sequence[Press]
    ) -> Iterator[tuple[str, str]]:
        """Check that every acked vote counts, was changed by its voter, or came too late and its voter was notified."""
        counted = dict(decision.votes)
        if len(counted) < len(decision.votes):
            yield "counted", f"{token}: one person has several votes: {decision.votes}"
        firsts: list[float] = []
        for who, label in counted.items():
            cast = [press.sent for press in presses if press.by == who and press.label == label]
            if not cast or who == story.starter:
                yield "counted", f"{token}: {label} by {who}, who never voted so, or may not"
            else:
                firsts.append(min(cast))
        # The question was still open when the last counted vote was sent.
        open_until = max(firsts, default=0.0)
        for who, told_to in story.told_others.items():
            mine = [press for press in presses if press.by == who]
            late: list[Press] = []
            # An ack that came with the notice that nothing was saved, or perhaps nothing, promises nothing.
            unsaved = sum(text.startswith((NOT_SAVED, UNCERTAIN)) for text in told_to)
            for press in mine:
                if not press.acked or press.done is None or _stands(press, mine, counted.get(who)):
                    continue
                if unsaved:
                    unsaved -= 1
                elif press.done <= open_until:
                    heard = f"{who} was told {told_to}"
                    yield "votes", f"{token}: {press.label} was acked, {heard}, and the card says {counted}"
                else:
                    late.append(press)
            lost = [press for press in late if not self.shadowed(press)]
            told = sum(press.click is not None and bool(press.click.told) for press in lost)
            if len(lost) > told + len(told_to):
                labels = [press.label for press in lost]
                yield "votes", f"{token}: {labels} by {who} acked, not told that they came too late: {counted}"


def _stands(press: Press, mine: Sequence[Press], label: str | None) -> bool:
    """Return True if the final vote may be this one, or a later one of the same person."""
    assert press.done is not None
    for other in mine:
        if other.label != label:
            continue
        until = other.done if other.acked else (other.done or other.sent) + AGAIN_SECONDS
        if until is None or until >= press.sent:
            return True
    return False


def _ran(
    token: str, ran: Sequence[Mapping[str, Any]], decision: Decision, presses: Sequence[Press], starter: str
) -> Iterator[tuple[str, str]]:
    """Check that the tool ran only after enough approvals, and with the approved arguments."""
    agreed = {who for who, label in decision.votes if label == APPROVE and who != starter}
    if decision.ending == "approved" and len(agreed) < QUORUM:
        yield "ungranted", f"{token} is approved by {decision.votes}"
    for one in ran:
        before = {press.by for press in presses if press.label == APPROVE and press.sent < one["at"]}
        if decision.ending == "denied":
            yield "denied", f"release {token} ran, and the card says {decision.votes}"
        elif decision.ending != "approved" or len(before - {starter}) < QUORUM:
            yield "ungranted", f"release {token} ran; the card says {decision.ending}, and {before} had approved it"
        seen = [_arguments(press.saw) for press in presses if press.label == APPROVE and press.by in agreed]
        for shown in (decision.arguments, arguments(token), *seen):
            if shown != one["arguments"]:
                yield "changed", f"release {token} ran with {one['arguments']}, and approved was {shown}"
                break


def _told(story: Story, decision: Decision) -> bool:
    """Return True if the message about an interruption mentions everyone who approved the call."""
    sentences = [one.text for one in story.shown if INTERRUPTED in one.text]
    agreed = [who for who, label in decision.votes if label == APPROVE]
    return any(all(f"<@{who}>" in text for who in agreed) for text in sentences)


def _heard(token: str, heard: str | None, decision: Decision, ran: int, card: Shown) -> Iterator[tuple[str, str]]:
    """Check that the model received the outcome: the result, an interruption, or the reason why it did not run."""
    match decision.ending:
        case "approved":
            known = heard == f"released {token}"
            as_it_is = (known and ran == 1) or (heard is not None and heard.startswith("Interrupted"))
        case "denied":
            as_it_is = heard is not None and "denied" in heard and f"Not {token}" in heard
        case "timed out":
            as_it_is = heard is not None and heard.startswith(LATE)
        case _:
            as_it_is = False
    if not as_it_is:
        yield "never", f"{token}: {heard!r} was heard, it ran {ran} times, and the card says {card.text!r}"
