"""In any conversation, no person is the only approver of a call that may follow their own words.

Hypothesis generates conversations, which the whole engine plays with a model over HTTP. The test takes the texts that
the model has read from its requests: each text contains a token, and a token in a request is a text that it has read.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from askback import tool
from askback.agent.approvals import ApprovalRules
from askback.domain import approval
from askback.domain.actions import Cancel, Choose, Decline, SubmitText
from askback.domain.ask import Ask
from askback.domain.click_response import Notice
from askback.domain.identity import Actor
from askback.domain.incoming_message import HistoryMessage, IncomingMessage
from askback.domain.who import Who
from askback.internal.clock import utc_now
from askback_sandbox.model.request import ReceivedRequest
from askback_sandbox.model.script import Turn, call, turn
from askback_sandbox.services import Services
from support.approvals import ALWAYS, APPROVE, CID, DENY
from support.board import ANN, BEN, HERE, Board
from support.engine import Engine, engine, eventually, question

DAN = Actor(platform="board", tenant="T1", id="U4", name="Dan")
PEOPLE = (ANN, BEN, CID, DAN)
TEAM = Who.from_people(*PEOPLE)
TOOLS = ("deploy", "wipe")
FAILS = "fails"
"""Ends the argument of a call whose tool raises an error."""

person = st.sampled_from(PEOPLE)


class Says(NamedTuple):
    by: Actor


class Answers(NamedTuple):
    """The model asks the starter, who writes, declines with a reason, or only clicks."""

    how: Literal["written", "declined", "clicked"]


class Decision(NamedTuple):
    what: Literal["approve", "always", "deny with words", "deny", "take back"]
    first: int
    """The index of the person who tries first to decide."""
    meanwhile: tuple[Actor, ...] = ()
    """The people who write while it waits."""
    fails: bool = False
    """True if the tool raises an error, should it run."""


class Calls(NamedTuple):
    """A person writes, and the model calls a tool once for each decision: it tries again, or takes the next step."""

    by: Actor
    tool: str
    decisions: tuple[Decision, ...]


class Made(NamedTuple):
    """A call that people approved, and that succeeded."""

    tool: str
    request: int
    """The number of the request that the model answered with it."""


def approved(by: Actor, tool: str, *first: Actor, what: Literal["approve", "always"] = "approve") -> Calls:
    """Return calls that are approved one after the other, each first of all by one of these people."""
    return Calls(by, tool, tuple(Decision(what, PEOPLE.index(one)) for one in first))


def failed(by: Actor, tool: str, first: Actor) -> Calls:
    return Calls(by, tool, (Decision("approve", PEOPLE.index(first), fails=True),))


decisions = st.builds(
    Decision,
    st.sampled_from(["approve", "approve", "always", "deny with words", "deny", "take back"]),
    st.integers(0, 3),
    st.lists(person, max_size=2).map(tuple),
    st.booleans(),
)
steps = st.one_of(
    st.builds(Says, person),
    st.builds(Answers, st.sampled_from(["written", "declined", "clicked"])),
    st.builds(Calls, person, st.sampled_from(TOOLS), st.lists(decisions, min_size=1, max_size=3).map(tuple)),
    st.builds(Calls, person, st.sampled_from(TOOLS), st.lists(decisions, min_size=1, max_size=2).map(tuple)),
)


class Conversation:
    """One conversation, its people, and the texts that the model has read."""

    def __init__(self, number: int, one: Engine, board: Board, rules: ApprovalRules, ran: list[str]) -> None:
        self.name = f"talk{number}."
        self.place = HERE.evolve(thread=str(number))
        self.answers: deque[Turn] = deque()
        self.read: list[str] = []
        """The requests to the model, and its answer to each."""
        self.spoken: list[str] = []
        self._one = one
        self._board = board
        self._rules = rules
        self._ran = ran
        self._authors: dict[str, Actor] = {}
        """The authors, by the tokens of their texts."""
        self._messages: set[str] = set()
        """The tokens of new messages, without reasons, answers and texts from before the conversation."""
        self._made: list[Made] = []
        self._always: dict[str, list[frozenset[str]]] = {tool: [] for tool in TOOLS}
        """For each tool, the people of each approval for the rest of the conversation."""

    def words(self, by: Actor) -> str:
        """Return a new text of this person."""
        token = f"{self.name}word{len(self._authors)}."
        self._authors[token] = by
        return token

    async def says(self, by: Actor, *, midway: bool = False) -> None:
        text = self.words(by)
        self._messages.add(text)
        heard = IncomingMessage(place=self.place, author=by, text=text, dedupe_key=text, at=utc_now(), midway=midway)
        await self._one.reception.receive(heard, begin=True)
        self._one.worker.wake()

    async def play(self, starter: Actor, before: list[Actor], steps: list[Any]) -> None:
        self._board.before = tuple(
            HistoryMessage(key=f"{self.name}before{number}", author=by, text=self.words(by))
            for number, by in enumerate(before)
        )
        self.answers.append(turn("hello"))
        await self.says(starter, midway=bool(before))
        await self.until(lambda: len(self.read) == 1)
        for step in steps:
            await self.rest()
            match step:
                case Says(by):
                    self.answers.append(turn("noted"))
                    await self.says(by)
                case Answers(how):
                    self.answers.extend((turn(question()), turn("thanks")))
                    await self.says(starter)
                    await self.answered(starter, how)
                case Calls():
                    await self.called(starter, step)
        await self.rest()

    async def answered(self, starter: Actor, how: str) -> None:
        ask = await self.until(self.card)
        operation = {
            "written": lambda: SubmitText(text=self.words(starter)),
            "declined": lambda: Decline(reason=self.words(starter)),
            "clicked": lambda: Choose(index=0),
        }[how]()
        await self._one.press(ask, operation, starter)

    async def called(self, starter: Actor, step: Calls) -> None:
        labels = [
            f"{self.name}call{len(self.read)}-{number}.{FAILS if decision.fails else ''}"
            for number, decision in enumerate(step.decisions)
        ]
        self.answers.extend(turn(call(step.tool, where=label)) for label in labels)
        self.answers.append(turn("over"))
        await self.says(step.by)
        for label, decision in zip(labels, step.decisions, strict=True):
            await self.until(lambda label=label: self.made(label) is not None)
            made = self.made(label)
            assert made is not None
            await self.until(lambda label=label, made=made: self.card(label) or len(self.read) > made + 1)
            suspects = self.excluded(starter, self.suspects(step.tool, self.read[made]))
            ask = self.card(label)
            if ask is not None:
                await self.decide(starter, step.tool, ask, decision, suspects)
                after = await self._one.manager.get(ask.id)
                if after is not None and approval.is_approved(after) and not decision.fails:
                    self._made.append(Made(step.tool, made))
            elif label in self._ran:
                # An approval for the whole conversation let it run; in at least one, no approver is a suspect.
                assert any(not givers & {one.id for one in suspects} for givers in self._always[step.tool])
            else:
                self.too_few(starter, self.read[made])

    def made(self, label: str) -> int | None:
        """Return the number of the request that the model answered with this call; None if there is none."""
        return next((number for number, said in enumerate(self.spoken) if label in said), None)

    def suspects(self, of: str, request: str) -> tuple[Actor, ...]:
        """Return the authors of the read texts, except texts that are retired.

        A successful call retires what the model had read when it made it, as soon as the model has read a message that
        was not in the request with the call's result.
        """
        retired = {
            token
            for call in self._made
            if call.tool == of
            and any(one in request and one not in self.read[call.request + 1] for one in self._messages)
            for token in self._authors
            if token in self.read[call.request]
        }
        left = {token: by for token, by in self._authors.items() if token in request and token not in retired}
        return tuple({by.id: by for by in left.values()}.values())

    def excluded(self, starter: Actor, suspects: tuple[Actor, ...]) -> tuple[Actor, ...]:
        """Return those who must not decide. Without approvers, the starter confirms their own request."""
        others = tuple(one for one in suspects if one.id != starter.id)
        return (starter, *others) if self._rules.approvers else others

    async def decide(self, starter: Actor, of: str, ask: Ask, decision: Decision, suspects: tuple[Actor, ...]) -> None:
        assert ask.policy.approval is not None
        assert {one.id for one in ask.policy.approval.requesters} == {one.id for one in suspects}
        if ask.policy.escalations:
            ask = await self.escalated(ask)
        for suspect in suspects:
            for operation in (APPROVE, DENY, ALWAYS)[: len(ask.interview.form.questions[0].options)]:
                refused = await self._one.press(ask, operation, suspect)
                assert isinstance(refused, Notice), f"{suspect.name} decides about a call that may follow their words"
        now = await self._one.manager.get(ask.id)
        assert now is not None
        assert (now.outcome, now.interview.votes) == (None, ())
        for by in decision.meanwhile:
            await self.says(by)
        if decision.what == "take back":
            await self._one.press(ask, Cancel(), starter)
            return
        always = decision.what == "always" and self._rules.allow_always
        voted: list[Actor] = []
        for by in (*PEOPLE[decision.first :], *PEOPLE[: decision.first]):
            reason = self.words(by) if decision.what == "deny with words" else None
            operation = (ALWAYS if always else APPROVE) if "deny" not in decision.what else DENY.evolve(reason=reason)
            response = await self._one.press(ask, operation, by)
            if isinstance(response, Notice):
                continue
            voted.append(by)
            now = await self._one.manager.get(ask.id)
            if now is not None and now.outcome is not None:
                if always:
                    self._always[of].append(frozenset(one.id for one in voted))
                return
        raise AssertionError(f"people were asked, and those who are left could not decide: {ask.policy}")

    async def escalated(self, ask: Ask) -> Ask:
        async def now() -> Ask | None:
            found = await self._one.manager.get(ask.id)
            return found if found is not None and not found.policy.escalations else None

        return await eventually(now)

    def too_few(self, starter: Actor, request: str) -> None:
        """Check that no one is asked only if the approvers other than all authors are too few."""
        wrote = {starter.id, *(by.id for token, by in self._authors.items() if token in request)}
        asked = (self._rules.approvers, self._rules.escalate_to)
        assert len({one.id for who in asked for by in who.values() for one in by.people} - wrote) < self._rules.quorum

    def card(self, label: str = "") -> Ask | None:
        mine = (ask for ask in self._board.open() if ask.place == self.place)
        return next((ask for ask in mine if label in ask.interview.form.questions[0].prompt), None)

    async def rest(self) -> None:
        """Wait until the model has used all its scripted answers."""
        await self.until(lambda: not self.answers)

    async def until(self, holds: Callable[[], Any]) -> Any:
        async def look() -> Any:
            return holds()

        return await eventually(look)


RULES = {
    "one": ApprovalRules(approvers={"board": TEAM}, reasons="none"),
    "always": ApprovalRules(approvers={"board": TEAM}, reasons="none", allow_always=True),
    "two": ApprovalRules(approvers={"board": TEAM}, reasons="none", quorum=2, allow_always=True),
    "escalated": ApprovalRules(
        approvers={"board": Who.from_people(BEN, CID)},
        reasons="none",
        escalate_after=0.01,
        escalate_to={"board": Who.from_people(ANN, DAN)},
    ),
    "confirmed": ApprovalRules(
        reasons="none", allow_always=True, escalate_after=0.01, escalate_to={"board": Who.from_people(BEN, CID, DAN)}
    ),
}


@pytest.mark.parametrize("rules", RULES)
async def test_nobody_decides_about_a_call_that_may_follow_their_own_words(
    tmp_path: Path, board: Board, services: Services, rules: str
) -> None:
    ran: list[str] = []

    def run(where: str) -> str:
        ran.append(where)
        if where.endswith(FAILS):
            raise RuntimeError("no such cluster")
        return "done"

    @tool(approval=True)
    def deploy(where: str) -> str:
        return run(where)

    @tool(approval=True)
    def wipe(where: str) -> str:
        return run(where)

    plays: dict[str, Conversation] = {}

    def model(asked: ReceivedRequest) -> Turn:
        request = json.dumps(asked.messages)
        play = next(play for name, play in plays.items() if name in request)
        play.read.append(request)
        answer = play.answers.popleft() if play.answers else turn("nothing more")
        play.spoken.append(answer.model_dump_json())
        return answer

    services.model.persona = model
    loop = asyncio.get_running_loop()
    numbers: Iterator[int] = iter(range(1, 100_000))

    async with engine(tmp_path, board, services, own=(deploy, wipe), approvals=RULES[rules], rounds=1000) as one:
        # No shrinking: it would play hundreds of further conversations, and the generated ones are short.
        phases = (Phase.explicit, Phase.generate)

        @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), database=None, phases=phases)
        @example(ANN, [BEN], [approved(ANN, "wipe", CID), approved(ANN, "deploy", CID)])
        @example(ANN, [], [approved(ANN, "deploy", BEN, what="always"), Says(BEN), approved(ANN, "deploy", CID)])
        @example(ANN, [BEN], [approved(ANN, "deploy", CID), approved(ANN, "deploy", BEN)])
        @example(ANN, [], [approved(BEN, "deploy", CID, BEN, DAN), Says(ANN), approved(ANN, "deploy", BEN)])
        @example(ANN, [], [failed(BEN, "deploy", CID), Says(ANN), approved(ANN, "deploy", BEN)])
        @example(ANN, [], [approved(BEN, "deploy", CID), failed(BEN, "deploy", DAN), approved(DAN, "deploy", BEN)])
        @given(person, st.lists(person, max_size=3), st.lists(steps, min_size=1, max_size=5))
        def conversations(starter: Actor, before: list[Actor], steps: list[Any]) -> None:
            play = Conversation(next(numbers), one, board, RULES[rules], ran)
            plays[play.name] = play
            asyncio.run_coroutine_threadsafe(play.play(starter, before, steps), loop).result()

        await asyncio.to_thread(conversations)
