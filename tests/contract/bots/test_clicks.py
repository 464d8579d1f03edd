"""Clicks that must not count: one ephemeral notice each, nothing public, nothing changed, and always an ack."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Literal

import pytest
from sqlalchemy import Connection

from askback.domain.form import Form, Option, Question
from askback.domain.who import Who
from askback.manager.denials import DenialThrottle
from askback.store import transactions
from askback.store.queries import audit
from askback.store.transactions import CLICK_SECONDS
from askback_sandbox.model.script import turn

from .driver import (
    ADA,
    BEN,
    CY,
    GROUPS,
    Card,
    Desk,
    Talk,
    asks,
    card,
    form_of,
    gather,
    line,
    notice,
    one,
    program_asks,
    settled,
    told,
    turn_of,
    until,
)


async def fruit(desk: Desk, *, several: bool = False) -> tuple[Talk, Card]:
    desk.model.script(
        turn(asks(one("Which fruit?", "Apple", "Pear", several=several))), turn("So be it."), when="fruit"
    )
    talk = await desk.mention(ADA, "fruit, please")
    return talk, await card(desk, talk)


async def unchanged(desk: Desk, talk: Talk, shown: Card, lines: int) -> None:
    """Check that nothing public happened, and that the question can still be answered."""
    (now,) = desk.cards(talk)
    assert now == shown
    assert len(desk.lines(talk)) == lines
    assert len(told(desk, "fruit")) == 1
    await desk.press(ADA, now, "Pear")
    await settled(desk, talk, "Pear")
    assert '"Which fruit?"="Pear"' in (await turn_of(desk, "fruit", 2)).result


async def test_a_stranger_gets_one_private_notice(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    lines = len(desk.lines(talk))
    await desk.press(BEN, shown, "Apple")
    await notice(desk, BEN, "can answer")
    await desk.press(CY, shown, "Not now…")
    await notice(desk, CY, "can answer")
    assert desk.notices(ADA) == ()
    await unchanged(desk, talk, shown, lines)


async def audited(desk: Desk) -> list[str]:
    """Return the people in the audit of the open question, once for each row."""
    (ask,) = await desk.host.manager.list_open_asks()
    done = await desk.host.store._database.read(lambda connection: audit.list_actions(connection, ask.id))
    return [one.by.id for one in done]


async def test_a_stranger_who_clicks_without_end_is_told_once_and_leaves_one_row(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    lines = len(desk.lines(talk))
    calls = len(desk.api_calls())
    await desk.press(BEN, shown, "Apple")
    for _ in range(20):
        await gather(*(desk.press(BEN, shown, label) for label in ("Apple", "Pear", "Not now…")))
    await notice(desk, BEN, "written in this thread")
    (row,) = await audited(desk)
    assert row == desk.actor(BEN).id
    # On Discord, the answer to a click is a separate call. Calls of the previous turn may still be in progress.
    made = [name for name, _ in desk.api_calls()[calls:] if name.startswith(("create_", "chat."))]
    assert len(made) <= (1 if desk.platform == "slack" else 62), Counter(made)
    await unchanged(desk, talk, shown, lines)


async def test_a_stranger_is_told_again_later(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    _, shown = await fruit(desk)
    monkeypatch.setattr(desk.host.manager, "_denials", DenialThrottle(0.0))
    await desk.press(BEN, shown, "Apple")
    await notice(desk, BEN, "written in this thread")
    await desk.press(BEN, shown, "Apple")
    await notice(desk, BEN, "written in this thread", count=2)
    assert len(await audited(desk)) == 1


async def test_a_stranger_who_is_let_in_counts_at_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the notice is suppressed, never the decision."""
    if desk.platform == "slack":
        monkeypatch.setattr("askback_slack.groups.CACHE_SECONDS", 0.0)
    desk.model.script(turn("Here."), when="hello")
    talk = await desk.mention(ADA, "hello")
    who = Who(groups=(GROUPS[desk.platform],))
    async with program_asks(desk, talk, form_of("Which fruit?", ["Apple", "Pear"]), who=who) as program:
        shown = await card(desk, talk)
        await desk.press(CY, shown, "Apple")
        await notice(desk, CY, "can answer this")
        desk.join_group(CY)
        await desk.press(CY, shown, "Apple")
        assert (await program.outcome()).status == "answered"


@pytest.mark.parametrize("what", ["unknown", "foreign"])
async def test_what_belongs_to_nothing_here_is_told_once_however_often(
    desk: Desk, what: Literal["unknown", "foreign"]
) -> None:
    talk, shown = await fruit(desk)
    lines = len(desk.lines(talk))
    await gather(*(desk.forged(ADA, shown, what) for _ in range(20)))
    await notice(desk, ADA, "I don't know this question")
    await unchanged(desk, talk, shown, lines)


@pytest.mark.only("slack", reason="a person's id is the same everywhere on Discord")
async def test_a_person_of_another_organisation_with_the_same_id_is_a_stranger(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    lines = len(desk.lines(talk))
    await desk.forged(ADA, shown, "outsider")
    await notice(desk, ADA, "cannot answer this")
    await unchanged(desk, talk, shown, lines)


@pytest.mark.parametrize("what", ["unknown", "foreign"])
async def test_a_click_that_belongs_to_nothing_here_is_told_so(desk: Desk, what: Literal["unknown", "foreign"]) -> None:
    talk, shown = await fruit(desk)
    lines = len(desk.lines(talk))
    await desk.forged(ADA, shown, what)
    await notice(desk, ADA, "know this question. It may belong to another bot")
    assert ("unknown_ask" if what == "unknown" else "unknown_control") in desk.journal.actions()
    await unchanged(desk, talk, shown, lines)


async def test_a_late_click_is_told_what_became_of_the_question(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.press(ADA, shown, "Pear")
    over = await settled(desk, talk, "Pear")
    await line(desk, talk, "So be it.")
    lines = len(desk.lines(talk))
    await desk.press(ADA, shown, "Apple")
    await notice(desk, ADA, "has already been answered")
    assert await settled(desk, talk) == over
    assert len(desk.lines(talk)) == lines
    assert len(told(desk, "fruit")) == 2


async def test_a_double_click_is_one_answer(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await gather(*(desk.press(ADA, shown, "Pear") for _ in range(3)))
    over = await settled(desk, talk, "Pear")
    await turn_of(desk, "fruit", 2)
    await notice(desk, ADA, "has already been answered", count=2)
    assert len(told(desk, "fruit")) == 2
    assert await settled(desk, talk) == over


async def test_two_opposite_clicks_at_once_are_one_answer(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await gather(desk.press(ADA, shown, "Pear"), desk.press(ADA, shown, "Apple"))
    await settled(desk, talk, "Answered")
    result = (await turn_of(desk, "fruit", 2)).result
    assert ('"Pear"' in result) != ('"Apple"' in result)
    await notice(desk, ADA, "has already been answered")


async def test_the_same_click_delivered_twice_is_one_answer(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.press(ADA, shown, "Pear")
    await desk.replay(2)
    await settled(desk, talk, "Pear")
    await turn_of(desk, "fruit", 2)
    assert len(told(desk, "fruit")) == 2


async def test_ticks_delivered_twice_and_late_do_not_come_back(desk: Desk) -> None:
    talk, shown = await fruit(desk, several=True)
    await desk.pick(ADA, shown, "Apple")
    await desk.replay()
    ticked = await card(desk, talk, "✓")
    assert [choice.on for choice in ticked.menu.choices] == [True, False]


async def test_a_click_on_a_step_that_has_passed_changes_nothing(desk: Desk) -> None:
    desk.model.script(
        turn(asks(one("Which fruit?", "Apple", "Pear"), one("How many?", "One", "Two", header="Count"))),
        turn("So be it."),
        when="basket",
    )
    talk = await desk.mention(ADA, "basket, please")
    first = await card(desk, talk, "Which fruit?")
    await desk.press(ADA, first, "Pear")
    second = await card(desk, talk, "How many?")
    await desk.press(ADA, first, "Apple")
    await notice(desk, ADA, "The card has moved on to another step")
    assert await card(desk, talk) == second
    await desk.press(ADA, second, "Two")
    await desk.press(ADA, await card(desk, talk, "Review your answers"), "Submit")
    assert '"Which fruit?"="Pear", "How many?"="Two"' in (await turn_of(desk, "basket", 2)).result


async def test_two_people_tick_at_once_and_both_count(desk: Desk) -> None:
    talk = await desk.mention(ADA, "hello")
    form = form_of("Who brings what?", ["Bread", "Cheese", "Wine", "Fruit"], multi_select=True)
    async with program_asks(desk, talk, form, ADA, BEN) as asking:
        shown = await card(desk, talk, "Who brings what?")
        await gather(desk.pick(ADA, shown, "Bread", "Wine"), desk.pick(BEN, shown, "Cheese"))
        both = await until(
            lambda: next(
                (c for c in desk.cards(talk) if c.controls and [x.on for x in c.menu.choices] == [True] * 3 + [False]),
                None,
            ),
            "both have ticked",
        )
        await desk.press(CY, both, "Submit")
        await notice(desk, CY, "can answer")
        await desk.press(BEN, both, "Submit")
        outcome = await asking.outcome()
        assert outcome["q"].labels == ("Bread", "Cheese", "Wine")
        assert outcome.by is not None
        assert outcome.by.is_same_person(desk.actor(BEN))
    await settled(desk, talk, "Answered")


async def test_one_of_two_answers_and_the_other_is_late(desk: Desk) -> None:
    talk = await desk.mention(ADA, "hello")
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"]), ADA, BEN) as asking:
        shown = await card(desk, talk, "Go?")
        await gather(desk.press(ADA, shown, "Yes"), desk.press(BEN, shown, "No"))
        outcome = await asking.outcome()
        assert outcome.by is not None
        winner = ADA if outcome.by.is_same_person(desk.actor(ADA)) else BEN
        await notice(desk, BEN if winner == ADA else ADA, "has already been answered")
        assert desk.notices(winner) == ()
        assert outcome["q"].labels == (("Yes",) if winner == ADA else ("No",))


async def test_conditional_questions_come_and_go_with_the_answers(desk: Desk) -> None:
    talk = await desk.mention(ADA, "hello")
    yes, no = Option(value="y", label="Yes"), Option(value="n", label="No")
    form = Form.parse(
        {
            "questions": [
                {"id": "pet", "prompt": "Have you a pet?", "options": [yes, no]},
                {
                    "id": "kind",
                    "prompt": "Which kind?",
                    "options": [Option(value="c", label="Cat"), Option(value="d", label="Dog")],
                    "show_if": {"question": "pet", "any_of": ["y"]},
                },
                {"id": "last", "prompt": "Anything else?", "options": [yes, no]},
            ]
        }
    )
    assert isinstance(form.questions[0], Question)
    async with program_asks(desk, talk, form) as asking:
        await desk.press(ADA, await card(desk, talk, "Have you a pet?"), "No")
        last = await card(desk, talk, "Anything else?")
        assert "2 of 2" in last.text
        await desk.press(ADA, last, "Yes")
        await desk.press(ADA, await card(desk, talk, "Review your answers"), "Submit")
        outcome = await asking.outcome()
        assert [answer.question_id for answer in outcome.answers] == ["pet", "last"]


@pytest.fixture
def impatient(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the bot wait for a commit for as long as it does for people."""
    del desk
    monkeypatch.setattr(transactions, "CLICK_SECONDS", CLICK_SECONDS)


@pytest.mark.usefixtures("impatient")
async def test_a_click_while_the_database_is_locked_is_refused_in_time_and_visibly(desk: Desk, tmp_path: Path) -> None:
    talk, shown = await fruit(desk)
    lines = len(desk.lines(talk))
    desk.journal.announce("click_rejected", "askback.store", "askback.worker")
    other = sqlite3.connect(tmp_path / "desk.db", isolation_level=None)
    try:
        other.execute("BEGIN EXCLUSIVE")
        clicked = await desk.press(ADA, shown, "Apple")
        assert clicked.ms is not None
        assert clicked.ms < 3000
        told_so = await notice(desk, ADA, "could not save that just now, so it does not count")
        assert "try again" in told_so
    finally:
        other.rollback()
        other.close()
    await unchanged(desk, talk, shown, lines)


@pytest.mark.usefixtures("impatient")
async def test_a_commit_that_comes_too_late_is_said_to_be_uncertain_and_counts_if_it_was_made(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    desk.journal.announce("click_rejected", "askback.store")
    clicked, gate = threading.Event(), threading.Event()

    def at_commit(statement: str) -> None:
        if statement.startswith("INSERT INTO actions"):
            clicked.set()
        elif statement == "COMMIT" and clicked.is_set():
            assert gate.wait(30)

    def slow_disk(connection: Connection) -> None:
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        raw.set_trace_callback(at_commit)

    await desk.host.store._database.run(slow_disk)
    try:
        pressed = await desk.press(ADA, shown, "Pear")
        assert pressed.ms is not None
        assert pressed.ms < 3000
        await notice(desk, ADA, "not certain")
    finally:
        gate.set()
    began = time.monotonic()
    await settled(desk, talk, "Pear")
    assert '"Pear"' in (await turn_of(desk, "fruit", 2)).result
    assert time.monotonic() - began < 20, "not when the process looks for work anyway"


@pytest.mark.usefixtures("impatient")
async def test_a_text_while_the_database_is_locked_keeps_the_field_open(desk: Desk, tmp_path: Path) -> None:
    talk, shown = await fruit(desk)
    await desk.open_field(ADA, shown)
    desk.journal.announce("click_rejected", "askback.store", "askback.worker")
    other = sqlite3.connect(tmp_path / "desk.db", isolation_level=None)
    try:
        other.execute("BEGIN EXCLUSIVE")
        (reason,) = await desk.submit(ADA, "Quince")
        assert "could not save that" in reason
    finally:
        other.rollback()
        other.close()
    assert await desk.submit(ADA, "Quince") == ()
    await settled(desk, talk, "Quince")


async def test_a_message_while_the_database_is_locked_comes_again(desk: Desk, tmp_path: Path) -> None:
    desk.model.script(turn("Here you are, at last."), when="locked out")
    desk.journal.announce("message_rejected", "askback.store", "askback.worker")
    other = sqlite3.connect(tmp_path / "desk.db", isolation_level=None)
    try:
        other.execute("BEGIN EXCLUSIVE")
        talk = await desk.mention(ADA, "locked out")
        await asyncio.wait_for(until(lambda: "message_rejected" in desk.journal.actions(), "it is refused"), 30)
    finally:
        other.rollback()
        other.close()
    await until(lambda: any("at last" in one.text for one in desk.lines(talk)), "it is heard", within=30)
    assert [one.texts for one in told(desk, "locked out")] == [["ada: locked out"]]


async def test_every_answer_is_written_down_once(desk: Desk, tmp_path: Path) -> None:
    """Several clicks compete; the model receives one result for each call."""
    talk, shown = await fruit(desk)
    await gather(*(desk.press(person, shown, label) for person in (ADA, BEN, ADA, CY) for label in ("Apple", "Pear")))
    await settled(desk, talk, "Answered")
    newest = await turn_of(desk, "fruit", 2)
    assert len(newest.results) == 1
    await until(lambda: len(desk.notices(ADA)) == 3, "three of four clicks of ada's were late")
    assert json.dumps(newest.messages).count("tool_result") == 1
