"""The wall clock jumps by hours and days while work waits: nothing is lost, and nothing is delayed.

Deadlines use the wall clock, because they outlive restarts. Short times are leases, back-off, the pace of cards and
giving up. They must not wait until a clock that went back has caught up, and not end because it went ahead. The jump
is injected where the program reads the time, `askback.internal.clock`. A library that fakes the time for a process
from outside would also fake the monotonic clock, which does not jump.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from askback.domain.actions import Choose
from askback.domain.form import Form, Option, Question
from askback.domain.open_ask_limits import Limits
from askback.domain.outcome import Outcome
from askback.domain.who import Who
from askback.internal import clock
from askback.ports.platform import RetryableError
from askback.runtime import maintenance
from askback.runtime.maintenance import Maintenance
from support.board import ANN, HERE, WITHIN, Board
from support.engine import Engine, engine, eventually

from .rig import Rig
from .ship import ASKING, COLOUR, GOING_ON, ONE, all_well, script

HOUR = timedelta(hours=1)
HOURS = (-3, -50, 3, 50)
JUMPS = pytest.mark.parametrize("jump", [hours * HOUR for hours in HOURS], ids=[f"{hours:+d} h" for hours in HOURS])
FEW = pytest.mark.parametrize("jump", [-50 * HOUR, 50 * HOUR], ids=["-50 h", "+50 h"])
FORM = Form(
    questions=(
        Question(
            id="colour",
            prompt="Which colour?",
            options=(Option(value="green", label="Green"), Option(value="blue", label="Blue")),
        ),
    )
)

Jump = Callable[[timedelta], None]


@pytest.fixture
def jump_by(monkeypatch: pytest.MonkeyPatch) -> Jump:
    """Return a function that moves the wall clock ahead; periodic checks run at once."""
    now, ahead = clock.now, timedelta(0)
    monkeypatch.setattr(clock, "now", lambda: now() + ahead // timedelta(microseconds=1))
    monkeypatch.setattr(maintenance, "CLOCK_SECONDS", 0.05)

    def jump(by: timedelta) -> None:
        nonlocal ahead
        ahead += by

    return jump


@pytest.fixture
def board() -> Board:
    return Board()


def asking(one: Engine, **more: object) -> asyncio.Task[Outcome]:
    return asyncio.create_task(one.manager.ask(FORM, to=HERE, who=Who.from_people(ANN), **more))  # type: ignore[arg-type]


async def drop(*tasks: asyncio.Task[Outcome]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


# Within one process


@JUMPS
async def test_a_card_that_is_to_be_tried_again_is_tried_again_and_not_given_up(
    tmp_path: Path, board: Board, jump_by: Jump, jump: timedelta
) -> None:
    board.faults["show"] = deque([RetryableError("busy", 1.0), RetryableError("busy", 0.1)])
    async with engine(tmp_path, board) as one:
        task = asking(one, timeout=None)

        async def put_off() -> bool:
            due = await one.store.get_time_until_due()
            return "show" in board.calls and due is not None and due < timedelta(seconds=5)

        await eventually(put_off)
        jump_by(jump)
        await one.asked()
        assert not task.done()
        assert len(board.messages) == 1
        await drop(task)


@JUMPS
async def test_what_waits_for_its_turn_is_posted_soon_and_so_is_what_is_asked_after_it(
    tmp_path: Path, board: Board, jump_by: Jump, jump: timedelta
) -> None:
    async with engine(tmp_path, board, limits=Limits(seconds_between_asks=1)) as one:
        tasks = [asking(one, timeout=None), asking(one, timeout=None)]
        # On a machine that stalls for a second, both cards appear at once.
        await board.until(board.open)
        jump_by(jump)
        await one.asked(2)
        tasks.append(asking(one, timeout=None))
        await one.asked(3)
        await drop(*tasks)


@JUMPS
async def test_a_card_that_a_click_was_to_draw_is_settled(
    tmp_path: Path, board: Board, jump_by: Jump, jump: timedelta
) -> None:
    async with engine(tmp_path, board) as one:
        task = asking(one, timeout=None)
        (card,) = await one.asked()
        await one.recorded(card)
        await one.press(card, Choose(index=0), draw=False)
        jump_by(jump)
        await board.until(lambda: not board.open())
        assert (await task).status == "answered"


async def test_a_slow_pace_is_kept_while_the_clock_is_right(tmp_path: Path, board: Board, jump_by: Jump) -> None:
    async with engine(tmp_path, board, limits=Limits(seconds_between_asks=1200)) as one:
        tasks = [asking(one, timeout=None), asking(one, timeout=None)]
        await one.asked(1)
        assert await one.store.repair_due_times() == 0
        jump_by(timedelta(seconds=1100))
        assert await one.store.repair_due_times() == 0
        assert len(board.open()) == 1
        jump_by(timedelta(seconds=110))
        await one.asked(2)
        await drop(*tasks)


async def test_a_deadline_is_a_time_of_the_wall_clock_and_never_comes_early(
    tmp_path: Path, board: Board, jump_by: Jump
) -> None:
    async with engine(tmp_path, board) as one:
        task = asking(one, timeout=7200)
        (card,) = await one.asked()
        for jump in (HOUR, -10 * HOUR, 10 * HOUR + timedelta(minutes=59)):
            jump_by(jump)
            one.worker.wake()
            assert not await one.manager.deadlines.apply(card.id)
            assert not task.done()
        jump_by(timedelta(minutes=2))
        assert (await task).status == "timed_out"
        await board.until(lambda: not board.open())


async def test_what_has_failed_for_long_is_given_up_all_the_same_after_the_clock_went_back(
    tmp_path: Path, board: Board, jump_by: Jump
) -> None:
    board.faults["show"] = deque(KeyError("a bug") for _ in range(1000))
    async with engine(tmp_path, board, give_up=0.5) as one:
        task = asking(one, timeout=None)
        await board.until(lambda: "show" in board.calls)
        jump_by(-3 * HOUR)
        async with asyncio.timeout(30):
            assert (await task).status == "undeliverable"


async def test_a_clock_that_went_ahead_is_not_believed_at_once_where_it_would_delete(
    tmp_path: Path, board: Board, jump_by: Jump, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "PRUNE_SECONDS", 0.5)
    warned = asyncio.Event()

    def correct(record: logging.LogRecord) -> bool:
        if getattr(record, "action", "") == "clock_ahead":
            jump_by(timedelta(days=-365))  # at once: half a second later, the clock would be believed
            warned.set()
        return True

    maintenance.log.addFilter(correct)
    async with engine(tmp_path, board) as one:
        pruning = asyncio.create_task(Maintenance(one.store, lambda: None, timedelta(days=30)).run())
        task = asking(one)
        (card,) = await one.asked()
        await one.press(card, Choose(index=0))
        await task
        try:
            jump_by(timedelta(days=365))
            async with asyncio.timeout(WITHIN):
                await warned.wait()
        finally:
            maintenance.log.removeFilter(correct)
        assert await one.manager.get(card.id) is not None
        await asyncio.sleep(1)
        assert await one.manager.get(card.id) is not None
        pruning.cancel()
        await asyncio.gather(pruning, return_exceptions=True)


# The whole bot, in its own process


@pytest.fixture
def wind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Jump:
    """Return the same function for a bot that runs, or that is started later."""
    file, ahead = tmp_path / "clock", timedelta(0)
    file.write_text("0")
    monkeypatch.setenv("RIG_CLOCK", str(file))

    def jump(by: timedelta) -> None:
        nonlocal ahead
        ahead += by
        new = file.with_suffix(".new")
        new.write_text(str(int(ahead.total_seconds())))
        new.rename(file)

    return jump


@FEW
async def test_a_settled_card_that_the_platform_refuses_for_now_is_settled_after_the_jump(
    rig: Rig, wind: Jump, jump: timedelta
) -> None:
    script(rig, ONE)
    await rig.start()
    rig.write()
    await rig.card(COLOUR)
    rig.hold_drawings()
    await rig.press(await rig.card(COLOUR), "Green")
    await rig.until(rig.drawings)
    wind(jump)
    rig.release_drawings()
    await all_well(rig, ONE)


@FEW
async def test_a_jump_while_the_bot_is_away_keeps_nothing_from_going_on(rig: Rig, wind: Jump, jump: timedelta) -> None:
    script(rig, ONE)
    await rig.start("call:card")
    rig.write()
    await rig.killed()
    wind(jump)
    await rig.start()
    await rig.answer(COLOUR, "Green")
    await all_well(rig, ONE)


async def test_a_question_with_a_deadline_ends_by_the_clock_and_not_before(
    rig: Rig, wind: Jump, tmp_path: Path
) -> None:
    (tmp_path / "askback.toml").write_text("timeout = 7200\n", encoding="utf-8")
    script(rig, ONE)
    # The two hours count from the moment at which the card is recorded.
    await rig.start("after:mark_rendered")
    rig.write()
    card = await rig.card(COLOUR)
    await rig.killed()
    await rig.start()
    wind(-5 * HOUR)
    wind(6 * HOUR)
    await rig.kill()
    await rig.start()
    assert rig.usable(COLOUR) == [card]
    wind(HOUR + timedelta(minutes=1))
    await rig.until(lambda: rig.whole(GOING_ON))
    await rig.until(lambda: not rig.usable(COLOUR))
    assert "nobody answered in time" in rig.reads(rig.says(COLOUR)[0]).casefold()
    assert len(rig.model.log) == 2
    assert rig.says(ASKING)
    await rig.stop()
