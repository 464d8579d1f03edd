"""Tools that need approval: what people approved is what runs, once, and what they did not approve never does."""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator
from sqlalchemy import update

from askback import tool
from askback.actions import Cancel, Choose
from askback.agent import toolbox
from askback.agent.approvals import ApprovalRules
from askback.asks import Ask
from askback.card import AskText, Notice
from askback.identity import Actor
from askback.policy import NOT_ASKED, OWN_REQUEST, Who
from askback.store.schema import calls
from askback.tools import approval
from askback_local.model.script import call, turn
from askback_local.services import Services
from core_engine import ANN, BEN, HERE, Board, Engine, engine, eventually, last_request, question, results

pytestmark = pytest.mark.usefixtures("stored")

APPROVE, DENY, ALWAYS = Choose(index=0), Choose(index=1), Choose(index=2)
CID = Actor(platform="board", tenant="T1", id="U3", name="Cid")
TEAM = ApprovalRules(approvers={"board": Who.only(BEN, CID)})
PAIR = ApprovalRules(approvers={"board": Who.only(ANN, BEN, CID)}, quorum=2)


class Deploying:
    """A tool that needs approval, and what it did."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        ran = self.ran

        @tool(approval=True)
        def deploy(where: str) -> str:
            """Deploy it."""
            ran.append(where)
            return f"deployed to {where}"

        self.tool: Callable[[str], str] = deploy


@pytest.fixture
def deploying() -> Deploying:
    return Deploying()


def to(where: str) -> Any:
    return call("deploy", where=where)


async def told(one: Engine, services: Services) -> list[dict[str, Any]]:
    """What the model was told of its calls, once it has ended."""
    await one.says("Thanks.")
    return results(last_request(services))


# What people are shown


async def test_the_card_shows_the_tool_and_its_arguments_and_nothing_has_run(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn("I deploy.", to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        (shown,) = ask.interview.form.questions
        assert shown.header == "Approval"
        assert shown.prompt == 'Run deploy?\n{\n  "where": "staging"\n}'
        assert shown.details == '{\n  "where": "staging"\n}'
        assert [option.label for option in shown.options] == ["Approve", "Deny"]
        assert (ask.asked_by, ask.policy.who) == (ANN, Who.only(BEN, CID))
        await board.until(lambda: board.moods[-1:] == ["waiting"])
        assert deploying.ran == []


# Approve, deny, and what else ends it


async def test_approved_it_runs_once_with_what_was_approved(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.press(ask, APPROVE, BEN)
        (result,) = await told(one, services)
        assert result["content"] == "deployed to staging"
        assert "is_error" not in result
        await one.press(ask, APPROVE, CID)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM):
        assert deploying.ran == ["staging"]


async def test_a_denial_after_the_approval_changes_nothing_and_its_reason_reaches_the_agent(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."), turn("I see."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.press(ask, APPROVE, BEN)
        await told(one, services)
        late = await one.press(ask, Choose(index=1, reason="It is Friday."), CID)
        assert isinstance(late, Notice)
        assert late.kept
        one.worker.wake()
        await one.says("I see.")
        written: str = last_request(services)[-1]["content"][-1]["text"]
        assert written.startswith("Cid: (too late to be an answer to “Run deploy?")
        assert written.endswith("It is Friday.")
        assert deploying.ran == ["staging"]


async def test_denied_it_never_runs_and_the_model_is_told_by_whom_and_why(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("production")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        assert isinstance(await one.press(ask, DENY, BEN), AskText), "a denial wants a reason"
        await one.press(ask, Choose(index=1, reason="It is Friday."), BEN)
        (result,) = await told(one, services)
        assert result["content"] == "deploy was denied by Ben: It is Friday. It was not run."
        assert result["is_error"] is True
        assert deploying.ran == []


async def test_nobody_decides_in_time_and_it_is_not_run(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("production")), turn("Thanks."))
    rules = ApprovalRules(timeout=0.05)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        await one.write("deploy it")
        (result,) = await told(one, services)
        assert result["content"] == "Nobody decided in time whether deploy may run. It was not run."
        assert result["is_error"] is True
        assert deploying.ran == []


async def test_whoever_requested_it_may_take_it_back(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("production")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.press(ask, Cancel(), ANN)
        (result,) = await told(one, services)
        assert result["content"] == "The request to run deploy was taken back by Ann. It was not run."
        assert deploying.ran == []


async def test_a_stop_ends_the_request(tmp_path: Path, board: Board, services: Services, deploying: Deploying) -> None:
    services.model.script(turn(to("production")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.stop(ANN)
        assert isinstance(await one.press(ask, APPROVE, BEN), Notice)
        await one.write("what now?")
        (result,) = await told(one, services)
        assert result["content"] == "The request to run deploy was taken back by Ann. It was not run."
        assert deploying.ran == []


async def test_what_was_approved_and_not_begun_is_ended_by_a_stop_as_well(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("production")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM, work=False) as one:
        await one.press(ask, APPROVE, BEN)
        await one.stop(ANN)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("what now?")
        (result,) = await told(one, services)
        assert result["content"].startswith("Somebody stopped this before it was done.")
        assert deploying.ran == []


# Who decides


async def test_without_approvers_whoever_began_confirms_and_nobody_else(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,)) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        refused = await one.press(ask, APPROVE, BEN)
        assert isinstance(refused, Notice)
        assert refused.text == NOT_ASKED
        await one.press(ask, APPROVE, ANN)
        assert [result["content"] for result in await told(one, services)] == ["deployed to staging"]
        assert deploying.ran == ["staging"]


async def test_neither_who_began_nor_who_wrote_since_decides_and_two_of_the_others_do(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    dan = Actor(platform="board", tenant="T1", id="U4", name="Dan")
    rules = ApprovalRules(approvers={"board": Who.only(ANN, BEN, CID, dan)}, quorum=2)
    services.model.script(turn("Which one?"), turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        await one.write("deploy it")
        await one.says("Which one?")
        await one.write("staging", author=BEN)
        (ask,) = await one.asked()
        for requester in (ANN, BEN):
            refused = await one.press(ask, APPROVE, requester)
            assert isinstance(refused, Notice)
            assert refused.text == OWN_REQUEST
        await one.press(ask, APPROVE, CID)
        await one.press(ask, APPROVE, CID)
        assert deploying.ran == []
        await one.press(ask, APPROVE, dan)
        assert [result["content"] for result in await told(one, services)] == ["deployed to staging"]
        assert deploying.ran == ["staging"]


async def test_who_wrote_before_the_agent_last_rested_decides_about_what_others_request_then(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn("Hello."), turn("Hello, Ben."), turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("hello")
        await one.says("Hello.")
        await one.write("hello from me", author=BEN)
        await one.says("Hello, Ben.")
        await one.write("deploy it")
        (ask,) = await one.asked()
        assert ask.policy.approval is not None
        assert ask.policy.approval.requesters == (ANN,)
        await one.press(ask, APPROVE, BEN)
        await told(one, services)
        assert deploying.ran == ["staging"]


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (ApprovalRules(approvers={"board": Who.only(ANN)}), "Nobody is left to decide"),
        (ApprovalRules(approvers={"board": Who.only(ANN, BEN)}, quorum=2), "2 people have to agree, but only 1"),
        (ApprovalRules(approvers={"elsewhere": Who.only(BEN)}), "The setting `approvers` names nobody on board."),
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
        assert result["content"].startswith("deploy needs approval, and nobody can be asked for it: ")
        assert why in result["content"]
        assert result["content"].endswith("It was not run.")
        assert (board.cards(), deploying.ran) == ([], [])


ALONE = HERE.evolve(channel="D1", thread=None)
"""A direct message with Ann."""


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (TEAM, "those who decide do not see this direct message"),
        (ApprovalRules(approvers={"board": Who(groups=("G1",))}, own=True), "those who decide do not see"),
        (PAIR, "those who decide do not see"),
        (ApprovalRules(approvers=PAIR.approvers, quorum=2, own=True), "2 people decide together, and only one sees"),
        (ApprovalRules(approvers=PAIR.approvers, refusals=2, own=True), "2 people decide together, and only one sees"),
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
        assert result["content"].startswith(f"deploy needs approval, and nobody can be asked for it here: {why}")
        assert result["content"].endswith("whoever wants it has to ask for it in a channel where those who decide are.")
        (said,) = await board.until(lambda: [say.text for say in board.said if "needs approval" in say.text])
        assert said.startswith(f"“deploy” needs approval, and nobody can be asked for it here: {why}")
        assert said.endswith("Ask me for it in a channel where those who decide are.")
        assert (board.cards(), deploying.ran) == ([], [])


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(ApprovalRules(), id="whoever began confirms"),
        pytest.param(ApprovalRules(approvers=PAIR.approvers, own=True), id="an approver of their own requests"),
        pytest.param(
            ApprovalRules(
                approvers=TEAM.approvers, own=True, escalate_after=60.0, escalate_to={"board": Who.only(ANN)}
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
        assert "Its arguments have 117 characters, and people can be shown 100." in result["content"]
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
        assert odd["content"].startswith(f"{name} was not run, because its input is wrong: count: ")
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
    monkeypatch.setattr(toolbox, "CHECK_SECONDS", 0.05)
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


# Together with others


async def test_beside_questions_and_other_tools_each_call_has_its_own_result(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    def look() -> str:
        return "green"

    said = turn(to("staging"), question(), call("look"), to("production"))
    services.model.script(said, turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool, look), approvals=TEAM) as one:
        await one.write("deploy it")
        await one.asked(3)
        first, asking, second = _shows(board, "staging"), _shows(board, "colour"), _shows(board, "production")
        await one.press(first, APPROVE, BEN)
        await eventually(lambda: _is(deploying.ran == ["staging"]))
        await one.press(second, Choose(index=1, reason="no"), CID)
        await one.press(asking, Choose(index=1), ANN)
        contents = [result["content"] for result in await told(one, services)]
        assert contents[0] == "deployed to staging"
        assert "Blue" in contents[1]
        assert contents[2:] == ["green", "deploy was denied by Cid: no. It was not run."]
        assert deploying.ran == ["staging"]


def _shows(board: Board, text: str) -> Ask:
    """The card on which this stands."""
    (found,) = (ask for ask in board.cards() if text in ask.interview.question.prompt)
    return found


async def _is(found: bool) -> bool:
    return found


async def test_one_that_is_approved_while_another_runs_runs_after_it(
    tmp_path: Path, board: Board, services: Services
) -> None:
    ran: list[str] = []
    pressed: list[Callable[[], Awaitable[Any]]] = []

    @tool(approval=True)
    async def deploy(where: str) -> str:
        ran.append(where)
        if where == "one":
            pressed.append(lambda: one.press(_shows(board, "two"), APPROVE))
        return where

    services.model.script(turn(to("one"), to("two")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploy,)) as one:
        await one.write("deploy it")
        await one.asked(2)
        begin_turn = one.store.begin_turn

        async def approved_in_between(*args: Any) -> Any:
            if pressed:
                await pressed.pop()()
            return await begin_turn(*args)

        one.store.begin_turn = approved_in_between
        await one.press(_shows(board, "one"), APPROVE)
        assert [result["content"] for result in await told(one, services)] == ["one", "two"]
        assert ran == ["one", "two"]


# For good


async def test_always_holds_for_this_tool_in_this_conversation_and_for_nothing_else(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    wiped: list[str] = []

    @tool(approval=True)
    def wipe(where: str) -> str:
        wiped.append(where)
        return "wiped"

    services.model.script(
        turn(to("one")), turn(to("two")), turn(call("wipe", where="two")), turn("Thanks."), turn(to("three"))
    )
    rules = ApprovalRules(approvers=TEAM.approvers, always=True)
    async with engine(tmp_path, board, services, own=(deploying.tool, wipe), approvals=rules) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        assert [option.label for option in ask.interview.form.questions[0].options][2] == "Always in this conversation"
        await one.press(ask, ALWAYS, BEN)
        (asked,) = await one.asked()
        assert deploying.ran == ["one", "two"]
        assert asked.interview.form.questions[0].id == "wipe"
        await one.press(asked, APPROVE, BEN)
        await told(one, services)
        assert wiped == ["two"]
        await one.write("deploy it here, too", place=HERE.evolve(thread="2"))
        (other,) = await one.asked()
        assert other.place.thread == "2"
        assert deploying.ran == ["one", "two"]


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(TEAM, id="it is off by now"),
        pytest.param(ApprovalRules(approvers={"board": Who.only(CID)}, always=True), id="they decide no more"),
        pytest.param(ApprovalRules(approvers=TEAM.approvers, quorum=2, always=True), id="it takes more of them by now"),
    ],
)
async def test_always_holds_only_as_long_as_the_settings_let_it(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying, rules: ApprovalRules
) -> None:
    services.model.script(turn(to("one")), turn("Done."), turn(to("two")), turn("Thanks."))
    before = ApprovalRules(approvers=TEAM.approvers, always=True)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=before) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.press(ask, ALWAYS, BEN)
        await one.says("Done.")
        await board.until(lambda: board.moods[-1] == "idle")
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        await one.write("again")
        (ask,) = await one.asked()
        assert deploying.ran == ["one"]
        await one.press(ask, APPROVE, CID)
        if rules.quorum == 2:
            await one.press(ask, APPROVE, BEN)
        await told(one, services)
        assert deploying.ran == ["one", "two"]


@pytest.mark.parametrize(
    ("votes", "ran"),
    [
        ((APPROVE, ALWAYS), ["one"]),
        ((ALWAYS, APPROVE), ["one"]),
        ((ALWAYS, ALWAYS), ["one", "two"]),
    ],
)
async def test_an_always_is_an_approval_and_holds_where_as_many_say_it_as_have_to_agree(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying, votes: tuple[int, int], ran: list[str]
) -> None:
    services.model.script(turn(to("one")), turn(to("two")), turn("Thanks."))
    rules = ApprovalRules(approvers=TEAM.approvers, quorum=2, always=True)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        for person, vote in zip((BEN, CID), votes, strict=True):
            assert deploying.ran == []
            await one.press(ask, vote, person)
        if ran == ["one"]:
            (other,) = await one.asked()
            assert other.id != ask.id
            assert deploying.ran == ran
            await one.press(other, DENY.evolve(reason="Enough."), BEN)
        await told(one, services)
        assert deploying.ran == ran


async def test_an_always_is_no_approval_of_what_its_own_giver_requests(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("one")), turn("Done."), turn(to("two")), turn("Thanks."))
    rules = ApprovalRules(approvers=TEAM.approvers, always=True)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.press(ask, ALWAYS, BEN)
        await one.says("Done.")
        await one.write("now two", author=BEN)
        (ask,) = await one.asked()
        assert isinstance(await one.press(ask, APPROVE, BEN), Notice)
        await one.press(ask, APPROVE, CID)
        await told(one, services)
        assert deploying.ran == ["one", "two"]


# What was approved is what runs


@pytest.mark.parametrize("changed", [{"input": '{"where": "production"}'}, {"tool": "wipe"}])
async def test_what_is_not_what_was_approved_does_not_run(
    tmp_path: Path,
    board: Board,
    services: Services,
    deploying: Deploying,
    changed: dict[str, str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool(approval=True)
    def wipe(where: str) -> str:
        raise AssertionError("it ran")

    services.model.script(turn(to("staging")), turn("Thanks."))
    own = (deploying.tool, wipe)
    async with engine(tmp_path, board, services, own=own, approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.store._database.run(  # pyright: ignore[reportPrivateUsage] - somebody at the rows
            lambda connection: connection.execute(update(calls).values(**changed)).rowcount
        )
        await one.press(ask, APPROVE, BEN)
        (result,) = await told(one, services)
        assert result["content"] == "What was approved is not what would run. It was not run."
        assert result["is_error"] is True
        assert deploying.ran == []
    (record,) = (one for one in caplog.records if getattr(one, "action", "") == "not_approved")
    assert record.levelno == logging.ERROR


async def test_a_call_waits_for_its_approval_also_where_its_tool_needs_none_any_more(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    def deploy(where: str) -> str:
        deploying.ran.append(where)
        return f"deployed to {where}"

    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        await one.asked()
    async with engine(tmp_path, board, services, own=(deploy,)) as one:
        one.worker.wake()
        (ask,) = await one.asked()
        assert deploying.ran == []
        await one.press(ask, APPROVE, BEN)
        await told(one, services)
        assert deploying.ran == ["staging"]


async def test_a_call_of_before_its_tool_needed_approval_does_not_run(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    def deploy(where: str) -> str:
        raise AssertionError("it ran")

    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploy,)) as one:

        async def never(*_: Any) -> Any:
            return None

        one.store.calls_to_run = never
        await one.write("deploy it")
        await board.until(lambda: services.model.log)
        await eventually(lambda: _called(one))
    async with engine(tmp_path, board, services, own=(deploying.tool,)) as one:
        one.worker.wake()
        (result,) = await told(one, services)
        assert result["content"].startswith("deploy needs approval by now, and nobody was asked for it.")
        assert (deploying.ran, board.cards()) == ([], [])


async def _called(one: Engine) -> bool:
    conversation = await one.store.conversation(HERE)
    assert conversation is not None
    return await type(one.store).calls_to_run(one.store, conversation.id) is not None


async def test_interrupted_after_an_approval_the_model_and_the_approvers_are_told_at_the_card(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.recorded(ask)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM, work=False) as one:
        await one.press(ask, APPROVE, BEN)
        work = await one.store.calls_to_run(str(ask.conversation_id))
        assert work is not None
        assert await one.store.start_call(str(ask.conversation_id), work.seq, work.calls[0].tool_use_id)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        said = _notices(board)
        one.worker.wake()
        (result,) = await told(one, services)
        assert result["content"].startswith("Interrupted, outcome unknown")
        assert deploying.ran == []
        await one.says("I was interrupted while I ran “deploy”")
        (notice,) = (say for say in said if say.text.startswith("I was interrupted"))
        assert notice.mention == Who.only(BEN)
        assert notice.reply_to == next(iter((await _get(one, ask)).messages))


async def _get(one: Engine, ask: Ask) -> Ask:
    found = await one.manager.get(ask.id)
    assert found is not None
    return found


def _notices(board: Board) -> list[Any]:
    """What is said on the board from now on."""
    said: list[Any] = []
    say = board.say

    async def noted(place: Any, one: Any) -> Any:
        said.append(one)
        return await say(place, one)

    board.say = noted
    return said


# Typed


@pytest.mark.parametrize("mode", ["offer", "answer"])
async def test_an_approver_may_type_it_and_a_requester_may_not(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying, mode: Any
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=PAIR, typed=mode) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.recorded(ask)
        await one.write("approve", author=ANN)
        await one.write("approve", author=BEN)
        await one.write("Approve", author=BEN)
        await one.write("deny", author=CID)
        await one.says("Please use the card.")
        assert (await _get(one, ask)).outcome is None
        assert len((await _get(one, ask)).interview.votes) == 1
        await one.write("approve", author=CID)
        (result,) = await told(one, services)
        assert result["content"] == "deployed to staging"
        assert deploying.ran == ["staging"]


# In time


async def test_those_who_are_missing_are_reminded_and_others_asked_later_by_the_settings(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."))
    rules = ApprovalRules(
        approvers={"board": Who.only(BEN)},
        remind=(0.05,),
        escalate_after=0.1,
        escalate_to={"board": Who.only(CID), "elsewhere": Who.only(ANN)},
    )
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.recorded(ask)
        await board.until(lambda: board.open()[0].policy.who == Who.only(BEN, CID))
        await one.press(ask, APPROVE, CID)
        await told(one, services)
        assert deploying.ran == ["staging"]
