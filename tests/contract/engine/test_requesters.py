"""The requesters of a call, from rows, including rows of earlier releases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, update

from askback import tool
from askback.domain.actions import Action, Back, Choose, FieldAnswer, GoTo, Next, Pick, Submit, SubmitForm, SubmitText
from askback.domain.click_response import Redraw
from askback.domain.form import Form, Option, Question
from askback.domain.identity import Actor
from askback.domain.outcome import Picked
from askback.domain.requesters import find_authors
from askback.domain.who import Who
from askback.manager import build_ask, build_policy
from askback.store.queries import asks, transcript
from askback.store.schema import transcript as transcript_table
from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from support.approvals import APPROVE, CID, DENY, TEAM, Deploying, to
from support.board import ANN, BEN, HERE, Board
from support.cases import NOON
from support.engine import engine


def forget_authors(connection: Connection) -> None:
    connection.execute(update(transcript_table).values(authors=None))


async def people_of(one: Any, conversation_id: str) -> list[str]:
    """Return everyone whose words the model has read."""

    def work(connection: Connection) -> list[str]:
        return [author.id for author in transcript.list_authors(connection, conversation_id)]

    return await one.store._database.read(work)


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("old", [False, True], ids=["rows of today", "rows of an earlier release"])
async def test_the_rule_holds_across_a_restart(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying, old: bool
) -> None:
    services.model.script(turn(to("one")), turn("Then not."), turn(to("two")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.press(ask, DENY.evolve(reason="two, not one"), BEN)
        await one.says("Then not.")
        await board.until(lambda: board.statuses[-1] == "idle")
        if old:
            await one.store._database.run(forget_authors)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("again")
        (ask,) = await one.asked()
        assert ask.policy.approval is not None
        assert ask.policy.approval.requesters == (ANN, BEN)
        assert ask.conversation_id is not None
        assert await people_of(one, ask.conversation_id) == ([ANN.id] if old else [ANN.id, BEN.id])
        await one.press(ask, APPROVE, CID)
        await one.says("Thanks.")
        assert deploying.ran == ["two"]


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("old", [False, True], ids=["rows of today", "rows of an earlier release"])
async def test_an_approved_call_does_not_retire_the_reason_that_came_together_with_its_result(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying, old: bool
) -> None:
    @tool(approval=True)
    def wipe(where: str) -> str:
        raise AssertionError("it ran")

    own = (deploying.tool, wipe)
    services.model.script(
        turn(to("one"), call("wipe", where="one")), turn("One is done."), turn(to("two")), turn("Thanks.")
    )
    async with engine(tmp_path, board, services, own=own, approvals=TEAM) as one:
        await one.write("deploy it, and wipe the old one")
        for ask in await one.asked(2):
            denied = ask.interview.form.questions[0].id == "wipe"
            await one.press(ask, DENY.evolve(reason="no, deploy two") if denied else APPROVE, BEN if denied else CID)
        await one.says("One is done.")
        await board.until(lambda: board.statuses[-1] == "idle")
        if old:
            await one.store._database.run(forget_authors)
    async with engine(tmp_path, board, services, own=own, approvals=TEAM) as one:
        await one.write("go on")
        (ask,) = await one.asked()
        assert ask.policy.approval is not None
        assert ask.policy.approval.requesters == (ANN, BEN)
        await one.press(ask, APPROVE, CID)
        await one.says("Thanks.")
        assert deploying.ran == ["one", "two"]


@pytest.mark.usefixtures("stored")
async def test_a_reason_to_stop_makes_its_author_a_requester(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("one")), turn(to("two")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        assert ask.conversation_id is not None
        await one.store.stop(ask.conversation_id, BEN, "deploy two instead")
        await one.write("go on")
        await board.until(lambda: [card for card in board.open() if card.id != ask.id])
        (ask,) = [card for card in board.open() if card.id != ask.id]
        assert ask.policy.approval is not None
        assert ask.policy.approval.requesters == (ANN, BEN)


TWO_QUESTIONS = Form(
    questions=(
        Question(id="a", prompt="Where?", options=(Option(value="x", label="X"),)),
        Question(id="b", prompt="When?", options=(Option(value="y", label="Y"),)),
    )
)


@pytest.mark.usefixtures("stored")
async def test_who_wrote_into_a_form_is_known_though_another_person_hands_it_in(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board, work=False) as one:
        policy = build_policy(Who.from_people(ANN, BEN, CID), None)
        ask = await one.manager.submit(build_ask(TWO_QUESTIONS, to=HERE, policy=policy))

        async def does(operation: Any, by: Actor) -> None:
            now = await one.manager.get(ask.id)
            assert now is not None
            await one.press(now, operation, by, draw=False)

        await does(SubmitText(text="on production"), BEN)
        await does(Back(), CID)
        await does(SubmitText(text="on staging"), CID)
        await does(Choose(index=0), ANN)
        await does(Submit(), ANN)
        over = await one.manager.get(ask.id)
        assert over is not None
        assert over.outcome is not None
        assert over.outcome.by == ANN
        wrote = await one.store._database.read(lambda connection: asks.list_text_authors(connection, ask.id))
        assert find_authors(over, wrote) == (ANN, BEN, CID)


NOTED = Form(
    questions=tuple(
        Question(
            id=name,
            prompt=f"{name}?",
            options=(Option(value="a", label="A"), Option(value="b", label="B")),
            allow_custom=False,
            allow_note=True,
        )
        for name in ("one", "two")
    )
)


@pytest.mark.usefixtures("stored")
async def test_who_notes_something_or_sends_a_form_with_a_text_is_an_author_and_who_only_chooses_is_not(
    tmp_path: Path, board: Board
) -> None:
    async with engine(tmp_path, board, work=False) as one:
        policy = build_policy(Who.from_people(ANN, BEN, CID), None)
        ask = await one.manager.submit(build_ask(NOTED, to=HERE, policy=policy))

        async def does(operation: Any, by: Actor) -> None:
            now = await one.manager.get(ask.id)
            assert now is not None
            await one.press(now, operation, by, draw=False)

        def send(*notes: str) -> SubmitForm:
            answers = tuple(FieldAnswer(index=index, chosen=(0,), text=note) for index, note in enumerate(notes))
            return SubmitForm(answers=(answers[0], answers[1].evolve(chosen=())))

        async def list_authors() -> tuple[Actor, ...]:
            return await one.store._database.read(lambda connection: asks.list_text_authors(connection, ask.id))

        await does(send("", ""), CID)
        assert await list_authors() == (), "nobody wrote anything"
        await does(Choose(index=0, note='"note":"on production"'), BEN)
        await does(Choose(index=1), ANN)
        assert await list_authors() == (BEN,)
        await does(send("on staging", ""), CID)
        assert await list_authors() == (BEN, CID)
        await does(GoTo(index=1), ANN)
        await does(Choose(index=1), ANN)
        await does(Submit(), ANN)
        over = await one.manager.get(ask.id)
        assert over is not None
        assert over.outcome is not None
        assert find_authors(over, await list_authors()) == (ANN, BEN, CID)


PEOPLE = Form(
    questions=(
        Question(id="who", prompt="Who?", picks="people"),
        Question(id="where", prompt="Where?", picks="channels", multi_select=True),
    )
)


@pytest.mark.usefixtures("stored")
async def test_who_picks_and_who_is_picked_are_authors_of_the_names(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board, work=False) as one:
        policy = build_policy(Who.from_people(ANN, BEN, CID), None)
        ask = await one.manager.submit(build_ask(PEOPLE, to=HERE, policy=policy))
        dan, channel = Picked(id="U9", name="Dan"), Picked(id="C6", name="#deploy-6-6-6")

        async def does(operation: Any, by: Actor, ticks: Pick | None = None) -> None:
            now = await one.manager.get(ask.id)
            assert now is not None
            step = now.interview.step
            action = Action(ask_id=ask.id, actor=by, at=NOON, step=step, operation=operation, ticks=ticks)
            assert isinstance(await one.manager.act(action), Redraw)

        await does(Pick(picked=(dan,)), CID)
        await does(Next(), BEN, Pick(picked=(channel,), base=()))
        await does(Submit(), ANN)
        over = await one.manager.get(ask.id)
        assert over is not None
        picked = await one.store._database.read(lambda connection: asks.list_text_authors(connection, ask.id))
        assert [one.id for one in find_authors(over, picked)] == [ANN.id, CID.id, BEN.id, dan.id]
