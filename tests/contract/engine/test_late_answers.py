"""A text that comes too late to be an answer: the people whose texts are kept, and how often."""

from __future__ import annotations

from pathlib import Path

import pytest

from askback.domain.actions import Action, Choose, SubmitText
from askback.domain.click_response import Notice
from askback.internal.clock import utc_now
from askback_sandbox.model.model import Model
from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from support.board import ANN, BEN, Board
from support.engine import Engine, engine, eventually

pytestmark = pytest.mark.usefixtures("stored")

QUINCE = SubmitText(text="Quince, please")
LATE = "Ann: (too late to be an answer to “Which fruit?”) Quince, please"


def services() -> Services:
    model = Model()
    options = [{"label": label, "description": ""} for label in ("Apple", "Pear")]
    question = {"question": "Which fruit?", "header": "Fruit", "options": options, "multiSelect": False}
    model.script(turn(call("AskUserQuestion", questions=[question])), turn("So be it."), turn("I see."), turn("Yes."))
    return Services(port=0, model=model)


def texts(model: Model) -> list[str]:
    """Return the texts of people in the model's last request."""
    request = model.log[-1].request
    assert isinstance(request, dict)
    return [
        block["text"]
        for message in request["messages"]
        for block in message["content"]
        if message["role"] == "user" and block["type"] == "text"
    ]


async def answered(one: Engine) -> None:
    await one.write("fruit, please")
    (card,) = await one.asked()
    await one.press(card, Choose(index=0))
    await said(one, "So be it.")


async def said(one: Engine, text: str) -> None:
    """Wait until the agent has posted this text and its turn has ended."""

    async def over() -> bool:
        return not await one.store.list_runnable(utc_now())

    await one.says(text)
    await eventually(over)


async def test_only_of_those_who_might_have_answered(tmp_path: Path) -> None:
    async with services() as local, engine(tmp_path, Board(), local) as one:
        await answered(one)
        (card,) = one.board.cards()
        refused = await one.press(card, QUINCE, BEN)
        assert isinstance(refused, Notice)
        assert refused.text.endswith("Nobody received what you wrote.")
        assert not refused.kept
        await one.write("and?")
        await said(one, "I see.")
        assert texts(local.model) == ["Ann: fruit, please", "Ann: and?"]


async def test_the_answer_itself_delivered_twice_is_no_message(tmp_path: Path) -> None:
    async with services() as local, engine(tmp_path, Board(), local) as one:
        await one.write("fruit, please")
        (card,) = await one.asked()
        action = Action(ask_id=card.id, actor=ANN, at=utc_now(), step=0, operation=QUINCE, delivery="1")
        responses = [await one.manager.act(action) for _ in range(2)]
        assert [response.kind for response in responses] == ["redraw", "redraw"], "both are answered alike"
        await said(one, "So be it.")
        await one.write("and?")
        await said(one, "I see.")
        assert texts(local.model) == ["Ann: fruit, please", "Ann: and?"]


async def test_delivered_again_after_a_restart_it_is_the_same_message(tmp_path: Path) -> None:
    board = Board()
    async with services() as local:
        async with engine(tmp_path, board, local) as one:
            await answered(one)
            (card,) = board.cards()
            assert (await one.press(card, QUINCE)).kept
            await said(one, "I see.")
        async with engine(tmp_path, board, local) as two:
            assert (await two.press(card, QUINCE)).kept
            await two.write("and?")
            await said(two, "Yes.")
        assert texts(local.model) == ["Ann: fruit, please", LATE, "Ann: and?"]


async def test_it_outlives_a_restart_before_the_agent_has_read_it(tmp_path: Path) -> None:
    board = Board()
    async with services() as local:
        async with engine(tmp_path, board, local) as one:
            await answered(one)
            (card,) = board.cards()
        async with engine(tmp_path, board, local, work=False) as two:
            assert (await two.press(card, QUINCE, ANN)).kept
        async with engine(tmp_path, board, local) as three:
            await said(three, "I see.")
        assert texts(local.model) == ["Ann: fruit, please", LATE]


async def test_a_blank_text_is_none(tmp_path: Path) -> None:
    async with services() as local, engine(tmp_path, Board(), local) as one:
        await answered(one)
        (card,) = one.board.cards()
        told = await one.press(card, SubmitText(text="  "))
        assert isinstance(told, Notice)
        assert not told.kept
        assert "Your click changed nothing" in told.text
