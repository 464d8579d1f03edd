"""The operator's commands during a running bot: a second process on the same database."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from askback.cli.admin.cancel import cancel_from_outside
from askback.domain.who import Who
from askback.manager import QuestionManager
from askback.runtime.wakeup import wake_worker
from askback.store.external_access import find_worker_pid
from askback.store.sqlite.database import SqliteDatabase
from askback.store.store import Store
from askback_sandbox.model.script import turn

from .command import askback
from .driver import ADA, Desk, asks, card, form_of, line, one, program_asks, settled, turn_of


def database() -> Path:
    return Path(os.environ["ASKBACK_DATABASE_URL"])


async def test_a_cancel_from_another_process_settles_the_card_and_ends_the_turn(desk: Desk) -> None:
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it, then."), when="fruit")
    talk = await desk.mention(ADA, "fruit, please")
    shown = await card(desk, talk)
    (ask,) = await desk.host.manager.list_open_asks()
    code, said = await askback("cancel", ask.id[:10], "--reason", "The shop is closed")
    assert (code, said.splitlines()) == (
        0,
        [
            f"Cancelled {ask.id}: Which fruit?",
            "Notified the running bot: it settles the card.",
        ],
    )
    over = await settled(desk, talk, "Which fruit?")
    assert over.id == shown.id
    assert "The shop is closed" in over.text
    await line(desk, talk, "Stopped by my operator: The shop is closed")
    await desk.say(ADA, "and now?", talk)
    newest = await turn_of(desk, "fruit", 2)
    assert "cancel" in newest.result.lower()
    assert newest.texts[-1] == "ada: and now?"
    await line(desk, talk, "So be it, then.")


async def test_whoever_waits_for_an_answer_is_told_of_a_cancel_from_outside(desk: Desk) -> None:
    desk.model.script(turn("Hello."), when="hello")
    talk = await desk.mention(ADA, "hello")
    async with program_asks(desk, talk, form_of("Go on?", ["Yes", "No"])) as asked:
        await card(desk, talk, "Go on?")
        (ask,) = await desk.host.manager.list_open_asks()
        done = await cancel_from_outside(database(), ask.id, "Enough")
        assert done.ended
        assert wake_worker(database())
        outcome = await asked.outcome()
    assert (outcome.status, outcome.reason) == ("cancelled", "Enough")
    await settled(desk, talk, "Go on?")


async def test_two_processes_that_write_at_once_settle_each_question_once(desk: Desk) -> None:
    """Another writer, like the command's, competes with the running bot: clicks and cancels of the same questions."""
    desk.model.script(turn("Hello."), when="hello")
    talk = await desk.mention(ADA, "hello")
    outside = SqliteDatabase(database(), prepare=lambda _: None)
    try:
        other = QuestionManager(Store(outside))
        async with asyncio.TaskGroup() as tasks:
            waiting = [
                tasks.create_task(
                    desk.host.manager.ask(
                        form_of(f"Number {n}?", ["Yes", "No"]), to=desk.place(talk), who=_ada(desk), timeout=None
                    )
                )
                for n in range(8)
            ]
            shown = [await card(desk, talk, f"Number {n}?") for n in range(8)]
            ids = {ask.interview.form.questions[0].prompt: ask.id for ask in await desk.host.manager.list_open_asks()}
            work = [desk.press(ADA, shown[n], "Yes") for n in range(8)]
            ends = [other.cancel(ids[f"Number {n}?"]) for n in range(8)]
            clicks = asyncio.gather(*work)
            ended = await asyncio.gather(*ends)
            assert all(click.acked for click in await clicks)
            assert wake_worker(database())
        outcomes = [task.result() for task in waiting]
        assert [outcome.status == "cancelled" for outcome in outcomes] == ended
        assert {outcome.status for outcome in outcomes} <= {"cancelled", "answered"}
        for n in range(8):
            await settled(desk, talk, f"Number {n}?")
    finally:
        await outside.close()


async def test_the_process_that_works_on_a_database_is_told_without_its_lock_being_touched(desk: Desk) -> None:
    del desk
    assert find_worker_pid(database()) == os.getpid()


def _ada(desk: Desk) -> Who:
    return Who.from_people(desk.actor(ADA))
