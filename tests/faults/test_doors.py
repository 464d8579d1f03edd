"""The kills at the doors in short: no answer is lost or used twice, and what nobody can know is told as unknown."""

from __future__ import annotations

import pytest

from support.processes import Launcher

from .doors.callers import CALLERS
from .doors.frameworks import CLAUDE, FRAMEWORKS
from .doors.record import Order
from .doors.round import play
from .doors.windows import RESULT, TOOL_ENDED, WAITING

SEED = 7
QUICK = tuple(door for door in FRAMEWORKS if door != CLAUDE)


def order(platform: str, *stories: tuple[str, str], with_bot: bool = False) -> Order:
    return Order(platform, "sqlite", SEED, stories, with_bot)


@pytest.mark.parametrize("with_bot", [False, True], ids=["alone", "with a bot"])
async def test_a_killed_program_of_a_framework_loses_no_answer_and_uses_none_twice(
    platform: str, launcher: Launcher, *, with_bot: bool
) -> None:
    # All windows are killed by `python -m tests.faults --doors`.
    tried = [(door, TOOL_ENDED) for door in QUICK]
    tried += [
        ("langgraph", "after:ask"),
        ("langgraph", "before:acknowledge_hand_overs"),
        ("pydantic-ai", WAITING),
        ("openai-agents", "after:ask"),
    ]
    tally = await play(order(platform, *tried, with_bot=with_bot), launcher)
    assert not tally.wrong
    assert not tally.missed
    assert {key for key, cell in tally.cells.items() if cell.unknown} == {(door, TOOL_ENDED) for door in QUICK}


async def test_a_killed_program_of_a_claude_agent_loses_no_answer_and_uses_none_twice(
    platform: str, launcher: Launcher
) -> None:
    tried = [(CLAUDE, WAITING), (CLAUDE, TOOL_ENDED)]
    tally = await play(order(platform, *tried, with_bot=True), launcher)
    assert not tally.wrong
    assert not tally.missed
    assert {key for key, cell in tally.cells.items() if cell.unknown} == {(CLAUDE, TOOL_ENDED)}


async def test_a_client_that_calls_a_killed_server_again_gets_the_answer_once(
    platform: str, launcher: Launcher
) -> None:
    tried = [(door, window) for door in CALLERS for window in ("after:ask", RESULT)]
    tally = await play(order(platform, *tried), launcher)
    assert not tally.wrong
    assert not tally.missed
    assert tally.sum().kills == len(tried)
