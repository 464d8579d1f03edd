"""The approvers of a tool call, and the calls that never need an approver."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import AfterValidator

from askback import tool
from askback.agent import tool_runner
from askback.agent.approvals import ApprovalRules
from askback.domain import approval
from askback.domain.ask_policy import OWN_CALL
from askback.domain.click_response import Notice
from askback.domain.group import GroupMembers
from askback.domain.identity import Actor, Place
from askback.domain.who import Who
from askback.ports.membership import Resolved
from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from support.approvals import (
    APPROVE,
    CID,
    PAIR,
    TEAM,
    Deploying,
    to,
    told,
)
from support.board import ANN, BEN, HERE, Board
from support.engine import engine, eventually

pytestmark = pytest.mark.usefixtures("stored")


async def test_without_approvers_whoever_began_confirms_and_nobody_else(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,)) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        refused = await one.press(ask, APPROVE, BEN)
        assert isinstance(refused, Notice)
        assert refused.denied == "not_asked"
        await one.press(ask, APPROVE, ANN)
        assert [result["content"] for result in await told(one, services)] == ["deployed to staging"]
        assert deploying.ran == ["staging"]


async def test_without_approvers_those_who_are_asked_later_do_not_decide_about_their_own_words(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    rules = ApprovalRules(escalate_after=0.01, escalate_to={"board": Who.from_people(BEN, CID)})
    services.model.script(turn("Hi"), turn(to("production 6.6.6")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        await one.write("hello")
        await one.says("Hi")
        await one.write("deploy 6.6.6 to production", author=BEN)
        (ask,) = await one.asked()

        async def is_escalated() -> bool:
            now = await one.manager.get(ask.id)
            return now is not None and not now.policy.escalations

        await eventually(is_escalated)
        refused = await one.press(ask, APPROVE, BEN)
        assert isinstance(refused, Notice)
        assert refused.denied == "own_request"
        assert deploying.ran == []
        await one.press(ask, APPROVE, CID)
        await told(one, services)
        assert deploying.ran == ["production 6.6.6"]


async def test_neither_who_began_nor_who_wrote_since_decides_and_two_of_the_others_do(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    dan = Actor(platform="board", tenant="T1", id="U4", name="Dan")
    rules = ApprovalRules(approvers={"board": Who.from_people(ANN, BEN, CID, dan)}, quorum=2)
    services.model.script(turn("Which one?"), turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        await one.write("deploy it")
        await one.says("Which one?")
        await one.write("staging", author=BEN)
        (ask,) = await one.asked()
        for requester in (ANN, BEN):
            refused = await one.press(ask, APPROVE, requester)
            assert isinstance(refused, Notice)
            assert refused.text == OWN_CALL
        await one.press(ask, APPROVE, CID)
        await one.press(ask, APPROVE, CID)
        assert deploying.ran == []
        await one.press(ask, APPROVE, dan)
        assert [result["content"] for result in await told(one, services)] == ["deployed to staging"]
        assert deploying.ran == ["staging"]


async def test_who_wrote_before_the_last_approved_call_decides_about_what_others_request_then(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(
        turn("Hello."), turn("Hello, Ben."), turn(to("staging")), turn("Done."), turn(to("test")), turn("Thanks.")
    )
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("hello")
        await one.says("Hello.")
        await one.write("hello from me", author=BEN)
        await one.says("Hello, Ben.")
        await one.write("deploy it")
        (ask,) = await one.asked()
        assert ask.policy.approval is not None
        assert ask.policy.approval.requesters == (ANN, BEN), "the model rested, but still knows what he wrote"
        await one.press(ask, APPROVE, CID)
        await one.says("Done.")
        await one.write("now on test")
        (ask,) = await one.asked()
        assert ask.policy.approval is not None
        assert ask.policy.approval.requesters == (ANN,)
        await one.press(ask, APPROVE, BEN)
        await told(one, services)
        assert deploying.ran == ["staging", "test"]


FEW = "too few people can give it:"


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (
            ApprovalRules(approvers={"board": Who.from_people(ANN)}),
            f"{FEW} no approver is left to decide. Ann asked for this.",
        ),
        (
            ApprovalRules(approvers={"board": Who.from_people(ANN, BEN)}, quorum=2),
            f"{FEW} 2 people have to agree, but only 1",
        ),
        (
            ApprovalRules(approvers={"elsewhere": Who.from_people(BEN)}),
            "nobody can give it. The setting “approvers” lists no one on board.",
        ),
    ],
)
async def test_where_nobody_can_decide_nobody_is_asked_and_nothing_runs(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying, rules: ApprovalRules, why: str
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        await one.write("deploy it")
        (result,) = await told(one, services)
        assert result["is_error"] is True
        assert result["content"].startswith(f"deploy was not run: it needs approval, and {why}")
        assert (board.cards(), deploying.ran) == ([], [])


@pytest.mark.parametrize(
    ("quorum", "others", "is_asked", "is_looked_up"),
    [(1, 1, False, True), (1, 2, True, False), (2, 2, False, True), (2, 3, True, False)],
)
async def test_where_a_platform_only_counts_the_approvers_requesters_among_them_are_looked_up_if_few_are_left(
    tmp_path: Path,
    board: Board,
    services: Services,
    deploying: Deploying,
    monkeypatch: pytest.MonkeyPatch,
    quorum: int,
    others: int,
    is_asked: bool,
    is_looked_up: bool,
) -> None:
    looked: list[str] = []

    async def resolve(place: Place, people: Iterable[Actor], groups: Iterable[str]) -> Resolved:
        found = tuple(person.evolve(groups=("G1",)) for person in people)
        looked.extend(person.id for person in found if "G1" in groups)
        return Resolved(found)

    monkeypatch.setattr(board.groups, "resolve", resolve)
    board.groups.members = {"G1": GroupMembers(others=others)}
    rules = ApprovalRules(approvers={"board": Who(groups=("G1",))}, quorum=quorum)
    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        await one.write("deploy it")
        if is_asked:
            await one.asked()
        else:
            (result,) = await told(one, services)
            assert "Ann asked for this." in result["content"]
            assert board.cards() == []
    assert looked == ([ANN.id] if is_looked_up else [])


ALONE = HERE.evolve(channel="D1", thread=None)
"""A direct message with Ann."""


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (TEAM, "the people who decide cannot see this direct message"),
        (
            ApprovalRules(approvers={"board": Who(groups=("G1",))}, allow_self_approval=True),
            "the people who decide cannot see",
        ),
        (PAIR, "the people who decide cannot see"),
        (
            ApprovalRules(approvers=PAIR.approvers, quorum=2, allow_self_approval=True),
            "2 people decide together, and only one sees",
        ),
        (
            ApprovalRules(approvers=PAIR.approvers, refusals=2, allow_self_approval=True),
            "2 people decide together, and only one sees",
        ),
    ],
)
async def test_where_those_who_decide_do_not_see_the_place_people_and_the_model_are_told_at_once(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying, rules: ApprovalRules, why: str
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        await one.write("deploy it", place=ALONE)
        (result,) = await told(one, services)
        assert result["is_error"] is True
        assert result["content"].startswith(
            f"deploy was not run: it needs approval, and nobody can give it here, since {why}"
        )
        assert result["content"].endswith(
            "The person who wants it has to ask for it in a channel that its approvers can see."
        )
        (said,) = await board.until(lambda: [say.text for say in board.said if "needs approval" in say.text])
        assert said.startswith(f"“deploy” was not run: it needs approval, and nobody can give it here, since {why}")
        assert said.endswith("Ask me for it in a channel that its approvers can see.")
        assert (board.cards(), deploying.ran) == ([], [])


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(ApprovalRules(), id="whoever began confirms"),
        pytest.param(
            ApprovalRules(approvers=PAIR.approvers, allow_self_approval=True), id="an approver of their own requests"
        ),
        pytest.param(
            ApprovalRules(
                approvers=TEAM.approvers,
                allow_self_approval=True,
                escalate_after=60.0,
                escalate_to={"board": Who.from_people(ANN)},
            ),
            id="one who is asked later",
        ),
    ],
)
async def test_where_the_person_of_a_direct_message_decides_they_are_asked_there(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying, rules: ApprovalRules
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        await one.write("deploy it", place=ALONE)
        (ask,) = await one.asked()
        if rules.escalate_after is None:
            await one.press(ask, APPROVE, ANN)
            await told(one, services)
            assert deploying.ran == ["staging"]


async def test_arguments_that_cannot_be_shown_whole_cannot_be_approved(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approval, "LONGEST", 100)
    services.model.script(turn(to("x" * 100)), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,)) as one:
        await one.write("deploy it")
        (result,) = await told(one, services)
        assert "Its arguments have 117 characters, and a card can show at most 100." in result["content"]
        assert (board.cards(), deploying.ran) == ([], [])


def _even(number: int) -> int:
    if number == 13:
        raise RuntimeError("not thirteen")
    if number % 2:
        raise ValueError("has to be even")
    return number


@pytest.mark.parametrize("is_async", [False, True])
async def test_people_are_never_asked_about_a_call_whose_input_is_wrong(
    tmp_path: Path, board: Board, services: Services, is_async: bool
) -> None:
    ran: list[int] = []

    @tool(approval=True)
    def scale(count: Annotated[int, AfterValidator(_even)]) -> str:
        ran.append(count)
        return f"scaled to {count}"

    @tool(approval=True)
    async def scale_later(count: Annotated[int, AfterValidator(_even)]) -> str:
        return scale(count)

    name, own = ("scale_later", scale_later) if is_async else ("scale", scale)
    said = turn(*(call(name, **given) for given in ({"count": 3}, {}, {"count": 13}, {"count": 4})))
    services.model.script(said, turn("Thanks."))
    async with engine(tmp_path, board, services, own=(own,)) as one:
        await one.write("scale it")
        (ask,) = await one.asked()
        assert '"count": 4' in ask.interview.form.questions[0].prompt
        await one.press(ask, APPROVE, ANN)
        odd, missing, raised, right = await told(one, services)
        assert odd["content"].startswith(f"{name} was not run, because its input is invalid: count: ")
        assert odd["content"].endswith("has to be even")
        assert "count: is missing: give it" in missing["content"]
        assert raised["content"] == "RuntimeError: not thirteen"
        assert all(result["is_error"] for result in (odd, missing, raised))
        assert (right["content"], ran, len(board.cards())) == ("scaled to 4", [4], 1)


LET_GO = threading.Event()


def _hang(where: str) -> str:
    LET_GO.wait(60)
    return where


async def test_people_are_not_asked_about_a_call_whose_input_cannot_be_checked_in_time(
    tmp_path: Path, board: Board, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_runner, "CHECK_SECONDS", 0.05)
    LET_GO.clear()

    @tool(approval=True)
    def deploy(where: Annotated[str, AfterValidator(_hang)]) -> str:
        raise AssertionError("it ran")

    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploy,)) as one:
        await one.write("deploy it")
        (result,) = await told(one, services)
        LET_GO.set()
        assert result["content"] == "deploy was not run: its input could not be checked within 0.05 s."
        assert (result["is_error"], board.cards()) == (True, [])
