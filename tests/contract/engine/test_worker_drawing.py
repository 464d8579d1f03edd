"""The worker draws the newest state of each card: in order, together, and again if somebody deleted it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from askback.domain.actions import Action, Select
from askback.domain.ask import Ask
from askback.internal.clock import utc_now
from support.board import ANN, Board
from support.engine import Engine, engine, eventually

from .worker_asks import SEVERAL, asking, drop, rest

pytestmark = pytest.mark.usefixtures("stored")


async def test_a_card_that_somebody_deleted_is_posted_anew_while_it_is_open(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        task = asking(one, SEVERAL)
        (card,) = await one.asked()
        await rest(one)
        board.messages.clear()
        await one.press(card, Select(chosen=(1,), base=(), revision=0), draw=False)
        await one.manager.cards.leave_to_outbox(card.id)
        (again,) = await one.asked()
        assert again.interview.drafts[0].chosen == (1,)
        assert len(board.messages) == 1
        await drop(task)


async def test_a_card_that_somebody_deleted_is_not_posted_anew_once_it_is_over(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        task = asking(one)
        (card,) = await one.asked()
        await rest(one)
        board.messages.clear()
        await one.cancel(card.id)
        assert (await task).status == "cancelled"
        await rest(one)
        assert not board.messages


async def test_changes_that_come_faster_than_the_platform_are_drawn_together_and_in_order(
    tmp_path: Path, board: Board
) -> None:
    async with engine(tmp_path, board) as one:
        task = asking(one, SEVERAL)
        (card,) = await one.asked()
        await rest(one)
        board.holds["show"] = asyncio.Event()
        for number in range(12):
            chosen, base = ((0,), ()) if number % 2 == 0 else ((), (0,))
            await one.press(card, Select(chosen=chosen, base=base, revision=number), draw=False)
            await one.manager.cards.leave_to_outbox(card.id)
        await one.cancel(card.id)
        await board.until(lambda: board.calls.count("show") > 1)
        board.holds.pop("show").set()
        await board.until(lambda: not board.open())
        await rest(one)
        drawn = board.messages["1"].revisions
        assert drawn == sorted(set(drawn))
        assert len(drawn) <= 4
        await task


async def test_an_older_drawing_never_overwrites_a_newer_one(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board, work=False) as one:
        task = asking(one, SEVERAL)
        pending = await eventually(one.manager.list_open_asks)
        (card,) = pending
        await one.manager.cards.draw(card.id, board.show)
        slow, painting = asyncio.Event(), asyncio.Event()

        async def slowly(ask):
            painting.set()
            await slow.wait()
            return await board.show(ask)

        await one.press(card, Select(chosen=(0,), base=(), revision=0), draw=False)
        first = asyncio.create_task(one.manager.cards.draw(card.id, slowly))
        await painting.wait()
        await one.cancel(card.id)
        second = asyncio.create_task(one.manager.cards.draw(card.id, board.show))
        await asyncio.sleep(0)
        slow.set()
        await asyncio.gather(first, second)
        assert board.messages["1"].revisions == [0, 1, 2]
        settled = await one.manager.get(card.id)
        assert settled is not None
        assert (settled.drawn_revision, len(settled.messages)) == (2, 1)
        await task


async def test_an_older_drawing_of_another_process_is_drawn_over(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        task = asking(one, SEVERAL)
        await board.until(lambda: "1" in board.messages and board.messages["1"].revisions == [0])
        (card,) = await one.manager.list_open_asks()
        await one.cancel(card.id)
        await board.until(lambda: board.messages["1"].revisions == [0, 1])
        settled = await eventually(lambda: _drawn(one, card.id))
        # Another process was slow, and its version may be shown now.
        assert await one.store.mark_rendered(card.id, 0, settled.messages, before=settled.messages)
        one.worker.wake()
        await board.until(lambda: board.messages["1"].revisions == [0, 1, 2])
        await task


async def _drawn(one: Engine, ask_id: str) -> Ask | None:
    ask = await one.manager.get(ask_id)
    return ask if ask is not None and ask.is_drawn else None


async def test_what_changed_while_it_was_being_shown_is_shown_at_once(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        board.holds["show"] = asyncio.Event()
        task = asking(one)
        await board.until(lambda: "show" in board.calls)
        (card,) = await one.manager.list_open_asks()
        await one.cancel(card.id)
        board.holds.pop("show").set()
        await board.until(lambda: board.cards() and not board.open())  # its lease is longer
        await rest(one)
        await task


async def test_what_a_caller_of_the_library_does_is_drawn_at_once(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        waiting = asking(one, SEVERAL, timeout=None)
        (card,) = await one.asked()
        await one.recorded(card)
        await one.manager.act(
            Action(ask_id=card.id, actor=ANN, at=utc_now(), step=0, operation=Select(chosen=(1,), base=()))
        )
        async with asyncio.timeout(8):  # there was no click on a message, so no other drawing is coming
            await board.until(lambda: board.cards()[0].interview.draft.chosen == (1,))
        await drop(waiting)
