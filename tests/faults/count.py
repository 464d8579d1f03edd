"""Count the outcome of a round, only from the services' own logs and the tools' own file."""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from askback.manager.denials import NOT_SAVED, UNCERTAIN
from askback.store.queries.outbox_leases import LEASE_SECONDS
from askback_sandbox.model.call_results import list_calls, refusals

from . import votes
from .record import Record, Request
from .reminding import Reminders
from .scenarios import ANSWERED, Edit, Press, Shown, Story, prompt

SHADOW = 5.0
"""Seconds before a kill in which a notice that follows an ack may be lost with the process; it is not stored."""
UNNOTICED = 1.0
"""Seconds for which an event may still be delivered to a process that was killed."""
BACK_SECONDS = 5.0
"""Seconds that a bot may live before the absence of a deleted card counts as an error."""
EDITED = "[edited a message that you have read."
CARD = re.compile(r"Asked: |·\s+(Answered )?by\b")
"""Text of a card, open or settled."""
"""Text that appears on every card, and in no message about a card."""
VIOLATIONS = {
    "clicks": "clicks acked and lost",
    "never": "outcomes never heard",
    "twice": "outcomes heard twice",
    "messages": "messages lost or heard twice",
    "cards": "live cards doubled",
    "posts": "posts doubled",
    "gone": "deleted cards that never came back",
    "edits": "edits lost or heard twice",
    "unsettled": "cards not settled",
    "tools": "tools run twice",
    **votes.VIOLATIONS,
    "calls": "model calls repeated without a kill",
    "refused": "requests that the model refused",
    "crashes": "bots that ended by themselves",
}


@dataclass
class Tally:
    """The figures of one or more rounds."""

    kills: int = 0
    with_work: int = 0
    points: Counter[str] = field(default_factory=Counter[str])
    """Kills at each named point, and at random moments."""
    in_flight: Counter[str] = field(default_factory=Counter[str])
    """Work in flight, summed over all kills."""
    seconds: float = 0.0
    conversations: int = 0
    asks: int = 0
    clicks: int = 0
    acked: int = 0
    outcomes: Counter[str] = field(default_factory=Counter[str])
    tools: int = 0
    interrupted: int = 0
    approvals: Counter[str] = field(default_factory=Counter[str])
    """Calls that needed approval, their outcomes, their votes, and the tools that ran."""
    changes: Counter[str] = field(default_factory=Counter[str])
    """Cards that people deleted and edits that they made, and their outcomes."""
    calls: int = 0
    repeated: int = 0
    turns_in_flight: int = 0
    unheard: int = 0
    """Conversations on Discord whose first message no running bot received."""
    weather: Counter[str] = field(default_factory=Counter[str])
    violations: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in VIOLATIONS})

    @property
    def all_violations(self) -> list[str]:
        """Return each violation with its kind, in words."""
        return [f"{VIOLATIONS[kind]}: {one}" for kind, found in self.violations.items() for one in found]

    @property
    def count(self) -> int:
        """Return the number of violations."""
        return sum(map(len, self.violations.values()))

    def add(self, other: Tally) -> None:
        for name, value in vars(other).items():
            if isinstance(value, Counter):
                getattr(self, name).update(value)
            elif isinstance(value, dict):
                for kind, found in value.items():
                    self.violations[kind] += found
            else:
                setattr(self, name, getattr(self, name) + value)

    def json(self) -> dict[str, Any]:
        return {name: dict(value) if isinstance(value, dict) else value for name, value in vars(self).items()}

    @classmethod
    def read(cls, data: dict[str, Any]) -> Tally:
        known = {
            name: Counter(one) if isinstance(one, dict) else one for name, one in data.items() if name != "violations"
        }
        return cls(**known, violations=data["violations"])


def counted(record: Record) -> Tally:
    """Return the figures of a round."""
    tally = Tally(seconds=record.seconds, weather=record.weather, conversations=len(record.stories))
    for kill in record.kills:
        tally.kills += 1
        tally.with_work += kill.in_flight.anything
        tally.points[kill.point if kill.reached else "random"] += 1
        tally.in_flight.update(asdict(kill.in_flight))
    tally.turns_in_flight = tally.in_flight["turns"]
    tally.violations["crashes"] += record.crashes
    _Count(record, tally).everything()
    return tally


@dataclass(frozen=True)
class Heard:
    """The outcome of a question as the model received it: an answer, or that there is none."""

    answer: str | None
    text: str


class _Count:
    """The count of one round, conversation by conversation."""

    def __init__(self, record: Record, tally: Tally) -> None:
        self._record = record
        self._tally = tally
        self._requests: dict[str, list[Request]] = defaultdict(list)
        for request in record.requests:
            self._requests[request.tag].append(request)
        by_number = {entry["number"]: entry for entry in record.log}
        self._last: dict[str, Any] = {}
        for tag, requests in self._requests.items():
            whole = [by_number[one.number] for one in requests if one.number in by_number]
            if whole:  # otherwise the only request was still being answered when the round stopped waiting
                # Of the longest requests take the newest; messages that people wrote meanwhile are part of the same
                # message.
                self._last[tag] = max(reversed([one["request"]["messages"] for one in whole]), key=len)

    def everything(self) -> None:
        tally, record = self._tally, self._record
        tally.calls = len(record.requests)
        tally.violations["refused"] += refusals(record.log)
        for one in list_calls(record.log):
            if len(one.results) > 1:
                self._wrong("twice", f"{one.id}: {[result.text for result in one.results]}")
        for story in record.stories:
            self._story(story)
        tally.approvals["in flight"] = tally.in_flight["approvals"]
        ran = Counter(line.removeprefix("began ") for line in record.ran if line.startswith("began"))
        tally.tools = sum(ran.values())
        for where, times in ran.items():
            if times > 1:
                self._wrong("tools", f"deploy {where} ran {times} times")
        deleted = {deletion.token for story in record.stories for deletion in story.deletions}
        for name, times in Counter(name for name, text in record.posted if not _ask(text, deleted)).items():
            if times > 1:
                self._wrong("posts", f"{times} times: {name}")

    def _wrong(self, kind: str, what: str) -> None:
        order = self._record.order
        self._tally.violations[kind].append(f"[{order.platform} {order.store} seed {order.seed}] {what}")

    def _story(self, story: Story) -> None:
        tally = self._tally
        tally.clicks += len(story.presses)
        tally.acked += sum(press.acked for press in story.presses)
        if story.tag not in self._last:
            if self._record.order.platform == "discord" and story.is_over:
                tally.unheard += 1
            else:
                asked = "never asked" if story.tag not in self._requests else "asked, and nobody heard what it said"
                self._wrong("never", f"{story.tag} {story.kind}: the model was {asked}")
            return
        self._turns(story)
        heard = self._results(story)
        for token in story.questions:
            self._question(story, token, heard.get(token))
        self._approvals(story, heard)
        self._deletions(story, heard)
        self._messages(story)
        self._edits(story)
        self._texts(story)

    def _approvals(self, story: Story, heard: dict[str, Heard]) -> None:
        order, requests = self._record.order, self._requests[story.tag]
        reminders = Reminders(
            order.deadline,
            killed=bool(self._record.kills),
            held=order.store == "postgres",
            fails_over=order.failovers,
            stalled=self._record.stalled,
            bots=self._record.bots,
            outages=self._record.outages,
        )
        approvals = votes.Approvals(self._record.released, self._shadowed, reminders)
        over = next((one.at for one in requests if one.turn > 0), None)
        for token in story.to_approve:
            told = heard[token].text if token in heard else None
            for kind, what in approvals.wrong(story, token, told, requests[0].at, over, self._tally.approvals):
                self._wrong(kind, what)

    def _turns(self, story: Story) -> None:
        """Count the requests for a turn that was requested before."""
        before: Request | None = None
        for request in self._requests[story.tag]:
            if before is not None and before.turn == request.turn:
                stopped = any(before.at <= stop <= request.at for stop in story.stops)
                killed = self._is_of_killed(before, request) or any(
                    before.number <= barrier < request.number for barrier in self._record.barriers
                )
                self._tally.repeated += not stopped
                if not killed and not stopped:
                    self._wrong("calls", f"{story.tag}.{request.turn} was asked for again, and nothing was killed")
            before = request

    def _is_of_killed(self, before: Request, request: Request) -> bool:
        """Return True if one of these requests is of a process that was killed, and the other of one that took over.

        They may arrive in any order: on a busy machine, the last request of a process is read after its end.
        """
        killed = self._record.killed
        return before.process != request.process and any(
            killed.get(dead.process, math.inf) <= other.at for dead, other in ((before, request), (request, before))
        )

    def _results(self, story: Story) -> dict[str, Heard]:
        """Return the outcome of each question as the model received it."""
        tally = self._tally
        results: Counter[str] = Counter()
        texts: dict[str, str] = {}
        calls: dict[str, Any] = {}
        for message in self._last[story.tag]:
            for block in _blocks(message):
                if block["type"] == "tool_use":
                    calls[block["id"]] = block
                elif block["type"] == "tool_result":
                    results[block["tool_use_id"]] += 1
                    texts[block["tool_use_id"]] = _text(block)
        heard: dict[str, Heard] = {}
        interrupted = 0
        for name, block in calls.items():
            if results[name] != 1:
                self._wrong("twice" if results[name] else "never", f"{story.tag}: {results[name]} results of {block}")
                continue
            text = texts[name]
            if block["name"] == "release":
                token = block["input"]["where"]
                is_told = text.startswith("Interrupted")
                interrupted += is_told
                tally.approvals["interrupted"] += is_told
                heard[token] = Heard(None, text)
                continue
            if block["name"] == "deploy":
                is_told = text.startswith("Interrupted")
                interrupted += is_told
                if not is_told and text != f"deployed {block['input']['where']}":
                    self._wrong("never", f"{story.tag}: deploy was told {text!r}")
                continue
            answers = dict(ANSWERED.findall(text))
            for question in block["input"]["questions"]:
                token = question["question"].removeprefix("Which colour for ").removesuffix("?")
                heard[token] = Heard(answers.get(token), text)
        tally.interrupted += interrupted
        said = sum("I was interrupted while I ran" in one.text for one in story.shown)
        if said != interrupted:
            self._wrong(
                "posts" if said > interrupted else "never",
                f"{story.tag}: people were told {said} times of {interrupted} tools",
            )
        if not story.is_over:
            self._wrong(
                "never", f"{story.tag} {story.kind} did not come to its end: {[one.text for one in story.shown]}"
            )
        return heard

    def _question(self, story: Story, token: str, heard: Heard | None) -> None:
        tally = self._tally
        tally.asks += 1
        if heard is None:
            self._wrong("never", f"{token} of {story.kind}: no outcome was heard")
            return
        answer = heard.answer
        tally.outcomes["answered" if answer is not None else heard.text.split(".")[0]] += 1
        cards = [one for one in story.shown if prompt(token) in one.text and CARD.search(one.text)]
        if cards or all(deletion.is_back for deletion in story.deletions):
            # A click may have come just before its card was deleted; the answer counts then, and no card comes back.
            self._card(token, answer, cards)
        presses = [press for press in story.presses if press.token == token]
        if answer is None:
            self._unanswered(story, token, heard.text)
        elif answer not in {press.label for press in presses} | set(story.answers):
            self._wrong("clicks", f"{token}: {answer!r} counted, which nobody chose")
        else:
            self._answered(story, token, answer, presses)

    def _answered(self, story: Story, token: str, answer: str, presses: list[Press]) -> None:
        acks = sorted(press.done for press in presses if press.acked and press.done is not None)
        # An ack that came with the notice that nothing was saved, or perhaps nothing, promises nothing.
        acks = acks[_count_unsaved(story.told) :]
        # By the first ack, the question was settled or its step was done, so later clicks cannot count.
        before = [press for press in presses if not acks or press.sent <= min(acks)]
        if story.kind != "typed" and answer not in {press.label for press in before}:
            self._wrong("clicks", f"{token}: {answer!r} counted, which was clicked after the ack of {_list(before)}")
        losers = [press for press in presses if press.acked and press.label != answer and not self._shadowed(press)]
        told = [press for press in losers if press.click is not None and press.click.told]
        # A person who confirms a typed answer may press the button of an earlier text: its label is not known for sure.
        if story.kind != "typed" and len(losers) > max(len(told), len(story.told)):
            self._wrong("clicks", f"{token}: {_list(losers)} acked and not told that {answer!r} counted")

    def _unanswered(self, story: Story, token: str, text: str) -> None:
        """Check that no answer was acked before the deadline, a cancel or a stop, since none counted."""
        if story.kind in {"cancel", "stop", "typed"}:
            return
        # The last step answers a form.
        decides = f"{story.questions[-1]}!" if story.kind == "form" else token
        until = self._requests[story.tag][0].at + self._record.order.deadline
        early = [
            press
            for press in story.presses
            if press.token == decides and press.acked and press.done is not None and press.done < until
        ]
        if len(early) > _count_unsaved(story.told):
            self._wrong("clicks", f"{token}: {_list(early)} acked, told {story.told}, and the model heard {text!r}")

    def _shadowed(self, press: Press) -> bool:
        end = (press.done or press.sent) + SHADOW
        return any(press.sent <= kill.at <= end for kill in self._record.kills)

    def _card(self, token: str, answer: str | None, cards: list[Shown]) -> None:
        """Check that the question has at most one card, and the card's final state."""
        if len(cards) > 1:
            self._wrong("cards", f"{token} stands there {len(cards)} times")
        if answer is not None and not cards:
            self._wrong("unsettled", f"{token}: its card is gone")
        elif answer is not None:
            wanted = ("Answered", *answer.split(", "))
            if not all(word in cards[0].text for word in wanted):
                self._wrong("unsettled", f"{token}: the card does not say {wanted}: {cards[0].text!r}")

    def _deletions(self, story: Story, heard: dict[str, Heard]) -> None:
        """Check that a deleted card was posted again once, unless a click in flight had answered it."""
        for deletion in story.deletions:
            posts = sum(_ask(text, {deletion.token}) for _, text in self._record.posted)
            self._tally.changes["deleted"] += 1
            self._tally.changes["back"] += deletion.is_back
            if posts > 1 + deletion.is_back:
                self._wrong("cards", f"{deletion.token}: its card was posted {posts} times, and deleted once")
            is_answered = deletion.token in heard and heard[deletion.token].answer is not None
            # The worker that was about to post the card may have died; with several replicas its lease has to expire
            # first.
            lease = LEASE_SECONDS if self._record.order.store == "postgres" else 0.0
            if not deletion.is_back and not is_answered and deletion.waited > BACK_SECONDS + lease:
                self._wrong("gone", f"{deletion.token}: not back within {deletion.waited:.1f} s of one bot's life")

    def _edits(self, story: Story) -> None:
        """Check that each edit reached the model once, either replacing an unread message or following a read one."""
        texts = self._heard_texts(story)
        for edit in story.edits:
            before = sum(edit.before in text and EDITED not in text for text in texts)
            after = [text for text in texts if edit.after in text]
            both = sum(EDITED in text and edit.before in text for text in after)
            self._tally.changes["edited"] += 1
            match before, len(after), both:
                case 0, 1, 0:
                    self._tally.changes["replaced"] += 1
                case 1, 1, 1:
                    self._tally.changes["both"] += 1
                case 0 | 1, 0, 0 if self._may_be_missed(edit):
                    self._tally.changes["missed"] += 1
                case _:
                    heard = f"{edit.before!r} {before} times, {edit.after!r} {len(after)} times, {both} times with both"
                    self._wrong("edits", f"{story.tag}: what was heard is {heard}")

    def _may_be_missed(self, edit: Edit) -> bool:
        """Return True if possibly no bot received the edit: Discord sends an edit once, and stores none for later."""
        order, kills = self._record.order, [kill.at - edit.at for kill in self._record.kills]
        near = [after for after in kills if -SHADOW <= after <= SHADOW]
        died = len(near) >= order.replicas and max(near) >= -UNNOTICED
        return order.platform == "discord" and not edit.is_seen and died

    def _heard_texts(self, story: Story) -> list[str]:
        """Return the texts of people that the model received."""
        return [
            block["text"]
            for message in self._last[story.tag]
            if message["role"] == "user"
            for block in _blocks(message)
            if block["type"] == "text"
        ]

    def _messages(self, story: Story) -> None:
        """Check that each message of a person, if not edited, reached the model exactly once."""
        texts = self._heard_texts(story)
        # A second "stop" that is delivered late ends the turn that runs by then. Messages that people had written
        # before it wait, as they should, for the next message.
        stopped_again = sum("Stopped by" in one.text for one in story.shown) > 1
        must_be_heard = self._record.order.platform == "slack" and not stopped_again
        changed = {edit.before for edit in story.edits}
        for text in story.written:
            if text in changed:
                continue
            times = sum(text in one for one in texts)
            if times > 1 or (times == 0 and must_be_heard):
                self._wrong("messages", f"{story.tag}: {text!r} was heard {times} times")

    def _texts(self, story: Story) -> None:
        """Check that each text of the model was posted once, and that no buttons are left."""
        for one in story.shown:
            if one.has_controls:
                self._wrong("unsettled", f"{story.tag} {story.kind}: there are still buttons: {one.text!r}")
        for turn in range(story.last + 1):
            name = f"{story.tag}.{turn} "
            times = sum(one.text.startswith(name) for one in story.shown)
            if times > 1:
                stops = f", and it was stopped {len(story.stops)} times" if story.stops else ""
                self._wrong("posts", f"the text {name}of a {story.kind} stands there {times} times{stops}")


def _ask(text: str, tokens: Collection[str]) -> bool:
    """Return True if the text is the card of one of these questions."""
    return bool(CARD.search(text)) and any(prompt(token) in text for token in tokens)


def _count_unsaved(told: Iterable[str]) -> int:
    """Return how many notices say that a click was not saved, or perhaps not."""
    return sum(text.startswith((NOT_SAVED, UNCERTAIN)) for text in told)


def _list(presses: list[Press]) -> str:
    return json.dumps([press.label for press in presses])


def _blocks(message: Any) -> list[Any]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _text(block: Any) -> str:
    content = block["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
