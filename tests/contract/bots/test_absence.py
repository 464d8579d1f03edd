"""People read that no caller waits for their answer: on the card, and in each window that it opens."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import Connection, update

from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval
from askback.domain.form import Form, Option, Question
from askback.domain.wait_report import WaitReport
from askback.runtime import maintenance
from askback.store.schema import waits

from .driver import ADA, Desk, Talk, card, form_of, program_asks, settled

AWAY = "The program that asked is not waiting at the moment. Your answer is kept for it."
GONE = "The program that asked no longer waits, so nobody will receive your answer."
HOUR = 3_600_000_000


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "RENEWAL_SECONDS", 0.1)
    monkeypatch.setattr(maintenance, "LOOK_SECONDS", 0.1)


async def posted(desk: Desk) -> Ask:
    """Return the only open question, once the bot has recorded where its card is."""
    async with asyncio.timeout(30):
        while True:
            found = await desk.host.manager.list_open_asks()
            if found and found[0].messages:
                return found[0]
            await asyncio.sleep(0.01)


async def leave(desk: Desk, ask: Ask, *, lost: bool = False) -> None:
    """Let a program that waited for the answer be gone for an hour."""

    def move(connection: Connection) -> None:
        connection.execute(update(waits).values(waits_until=waits.c.waits_until - HOUR))

    await desk.host.store.record_waits(WaitReport(waiting=(ask.id,), lost=frozenset({ask.id} if lost else ())))
    await desk.host.store._database.run(move)


async def talk_of(desk: Desk) -> Talk:
    return await desk.thread(ADA, "Let us deploy.")


async def test_the_card_is_edited_and_nobody_is_notified_again(desk: Desk) -> None:
    talk = await talk_of(desk)
    async with program_asks(desk, talk, form_of("Deploy?", ["Yes", "No"])) as asked:
        first = await card(desk, talk, "Deploy?")
        ask = await posted(desk)
        pings = len(desk.pings())
        await leave(desk, ask)
        assert (await card(desk, talk, AWAY)).id == first.id
        await desk.host.store.record_waits(WaitReport(waiting=(ask.id,)))
        back = await card(desk, talk, "Deploy?", without=AWAY)
        assert back.id == first.id
        await leave(desk, ask, lost=True)
        gone = await card(desk, talk, GONE)
        assert len(desk.cards(talk)) == 1
        assert len(desk.pings()) == pings
        await desk.press(ADA, gone, "Yes")
        outcome = await asked.outcome()
        assert [answer.labels for answer in outcome.answers] == [("Yes",)]
        over = await settled(desk, talk, "Deploy?")
        assert GONE not in over.text
        assert AWAY not in over.text


async def test_the_text_field_and_the_window_of_not_now_say_it_before_anybody_types(desk: Desk) -> None:
    talk = await talk_of(desk)
    async with program_asks(desk, talk, form_of("Deploy?", ["Yes", "No"])):
        shown = await card(desk, talk, "Deploy?")
        assert AWAY not in (await desk.open_field(ADA, shown)).text
        await desk.close_field(ADA)
        await leave(desk, await posted(desk))
        shown = await card(desk, talk, AWAY)
        for label in ("Something else…", "Not now…"):
            assert AWAY in (await desk.open_field(ADA, shown, label)).text
            await desk.close_field(ADA)


async def test_the_window_for_a_reason_says_it(desk: Desk) -> None:
    talk = await talk_of(desk)
    form = form_of("Deploy?", ["Yes", "No"], allow_custom=False)
    async with program_asks(desk, talk, form, approval=Approval(refusing=("v1",), reasons="no")):
        await card(desk, talk, "Deploy?")
        await leave(desk, await posted(desk))
        shown = await card(desk, talk, AWAY)
        assert AWAY in (await desk.open_field(ADA, shown, "No")).text


async def test_the_window_with_all_questions_says_it(desk: Desk) -> None:
    talk = await talk_of(desk)
    options = (Option(value="a", label="Staging"), Option(value="b", label="Production"))
    form = Form(
        questions=(
            Question(id="where", prompt="Where?", options=options, allow_custom=False),
            Question(id="who", prompt="Which version?"),
        )
    )
    async with program_asks(desk, talk, form):
        await card(desk, talk, "Where?")
        await leave(desk, await posted(desk))
        shown = await card(desk, talk, AWAY)
        fields = await desk.open_form(ADA, shown)
        assert len(fields) == 2
        opened = desk.field(ADA)
        assert opened is not None
        assert AWAY in opened.text
