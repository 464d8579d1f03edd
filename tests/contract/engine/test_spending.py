"""A budget covers all billed tokens, for any end of a model call and any number of concurrent calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from askback.agent.budget import Budget
from askback.internal.clock import utc_now
from askback.store.queries import usage
from askback_sandbox.model.script import Fault, ToolCall, Usage, turn
from askback_sandbox.services import Services
from support.board import ANN, HERE, Board
from support.engine import Engine, engine, eventually

pytestmark = pytest.mark.usefixtures("stored")

TEXT = "It says a lot. " * 40
"""About 150 tokens by the local model's count."""
READ, CACHED, STORED = 700, 40, 20
USAGE = Usage(input_tokens=READ, cache_read_input_tokens=CACHED, cache_creation_input_tokens=STORED)
BILLED = READ + CACHED + STORED
LEAST = 1024


async def spent(one: Engine) -> int:
    """Return the tokens that the conversation has used."""
    conversation = await one.store.find_conversation(HERE)
    return 0 if conversation is None else (await one.store.get_usage(conversation.id)).conversation


def at_rest(one: Engine, board: Board) -> Callable[[], Awaitable[bool]]:
    """Return a check that the bot is idle and no reservations are left."""

    async def look() -> bool:
        return board.statuses[-1] == "idle" and not (await one.store.get_usage("nobody")).reserved

    return look


async def test_a_turn_that_somebody_stops_counts_what_it_had_read_and_written(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(TEXT, Fault(kind="stall", after=300), usage=USAGE))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        await one.says(TEXT[:280])
        assert await one.stop(ANN) is None
        await one.says("Stopped by Ann.")
        await eventually(at_rest(one, board))
        assert BILLED + 280 // 4 <= await spent(one) <= BILLED + 320


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind="disconnect", after=300),
        Fault(kind="malformed", after=300),
        Fault(kind="overloaded", mid_stream=True, after=300),
    ],
    ids=lambda fault: fault.kind,
)
async def test_a_stream_that_breaks_counts_what_it_had_read_and_written(
    tmp_path: Path, board: Board, services: Services, fault: Fault
) -> None:
    services.model.script(turn(TEXT, fault, usage=USAGE))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        await one.says("Write “try again” and I will.")
        await eventually(at_rest(one, board))
        assert BILLED + 280 // 4 <= await spent(one) <= BILLED + 320


async def test_a_call_that_the_service_refuses_counts_nothing(tmp_path: Path, board: Board, services: Services) -> None:
    services.model.fail(Fault(kind="overloaded"))
    async with engine(tmp_path, board, services, budget=Budget(conversation=10_000, day=10_000)) as one:
        await one.write("hello")
        await one.says("overloaded")
        await eventually(at_rest(one, board))
        assert await spent(one) == 0


async def test_a_whole_answer_counts_what_the_service_says(tmp_path: Path, board: Board, services: Services) -> None:
    services.model.script(turn("Hi.", usage=USAGE.model_copy(update={"output_tokens": 33})))
    async with engine(tmp_path, board, services, budget=Budget(conversation=10_000, day=10_000)) as one:
        await one.write("hello")
        await one.says("Hi.")
        await eventually(at_rest(one, board))
        assert await spent(one) == BILLED + 33


async def test_a_call_whose_tool_input_cannot_be_read_counts_what_the_service_says(
    tmp_path: Path, board: Board, services: Services
) -> None:
    broken = ToolCall(tool="AskUserQuestion", input={}, raw='{"questions": [{"question": "Whi')
    usage = USAGE.model_copy(update={"output_tokens": 33})
    services.model.script(turn(broken, usage=usage), turn("I see.", usage=usage))
    async with engine(tmp_path, board, services, budget=Budget(conversation=10_000, day=10_000)) as one:
        await one.write("hello")
        await one.says("I see.")
        await eventually(at_rest(one, board))
        assert await spent(one) == 2 * (BILLED + 33)


async def test_conversations_at_the_same_time_cannot_use_up_more_than_the_budget_and_one_call(
    tmp_path: Path, board: Board, services: Services
) -> None:
    """20 conversations used 24,000 tokens of a budget of 2,000."""
    services.model.delay = 0.005
    services.model.script(turn(TEXT, usage=Usage(input_tokens=1_000, output_tokens=200)))
    async with engine(tmp_path, board, services, budget=Budget(day=2_000)) as one:
        for number in range(20):
            await one.write(f"hello {number}", place=HERE.evolve(thread=str(number)))
        told = "Today's budget is used up"
        finished = board.until(
            lambda: len([text for text in board.texts() if told in text or text.strip() == TEXT.strip()]) == 20
        )
        await finished
        await eventually(at_rest(one, board))
        answers = len(services.model.log)
        assert (await one.store.get_usage("nobody")).today == answers * 1_200
        assert answers * 1_200 < 2_000 + 1_200, "the last call may go over, and no other"
        assert all(exchange.request["max_tokens"] >= LEAST for exchange in services.model.log)  # pyright: ignore


async def test_the_last_call_may_write_only_what_is_left(tmp_path: Path, board: Board, services: Services) -> None:
    services.model.script(turn("Hi.", usage=Usage(input_tokens=5_000, output_tokens=1_000)), turn("Hi again."))
    async with engine(tmp_path, board, services, budget=Budget(conversation=8_200)) as one:
        await one.write("hello")
        await one.says("Hi.")
        await one.write("hello again")
        await one.says("Hi again.")
        first, second = (exchange.request["max_tokens"] for exchange in services.model.log)  # pyright: ignore
        assert LEAST <= second < first <= 8_192


async def test_a_process_that_dies_leaves_its_call_counted_and_holds_nobody_up(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("Hi.", usage=Usage(input_tokens=500, output_tokens=100)))
    async with engine(tmp_path, board, services, budget=Budget(conversation=9_000)) as one:
        assert await one.write("hello", key="k1")
        await one.says("Hi.")
        await eventually(at_rest(one, board))
        conversation = await one.store.find_conversation(HERE)
        assert conversation is not None
        await one.store._database.run(lambda c: usage.reserve_call(c, conversation.id, "died", lambda _: 4_000))
        assert (await one.store.get_usage("nobody")).reserved == 4_000
        await one.write("hello again")
        await board.until(lambda: len(services.model.log) == 2)
        await eventually(at_rest(one, board))
        assert await spent(one) >= 4_600
        await one.store.settle("died", 0)
        assert await spent(one) >= 4_600, "what was given up on gives nothing back"


async def test_what_was_used_up_today_counts_when_its_conversation_is_deleted(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("Hi.", usage=Usage(input_tokens=500, output_tokens=100)))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        await one.says("Hi.")
        await eventually(at_rest(one, board))

        async def deleted() -> bool:
            return (await one.store.prune(utc_now() + timedelta(seconds=1), 10)).conversations == 1

        await eventually(deleted)
        await one.store.prune(utc_now(), 10)
        assert (await one.store.get_usage("nobody")).today == 600
        await one.store.prune(utc_now() + timedelta(days=2), 10)
        assert (await one.store.get_usage("nobody")).today == 0
