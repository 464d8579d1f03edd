"""A budget limits concurrent conversations, also across several processes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from askback_sandbox.model.script import ToolCall, Usage, turn
from support.processes import Launcher

from .driver import ADA, BEN, Desk, PlatformTests, Talk, line, told, turn_of, until
from .replicas import open_office

CALL = 1_200
BUDGET = 2_000
ANSWER = "Here you are."
USED_UP = "Today's budget is used up"


def script(desk: Desk) -> None:
    desk.model.delay = 0.02
    desk.model.script(turn(ANSWER, usage=Usage(input_tokens=1_000, output_tokens=200)), when="report")


async def conversations(desk: Desk, count: int) -> list[Talk]:
    """Begin N conversations at once."""
    people = (ADA, BEN)
    return list(await asyncio.gather(*(desk.mention(people[n % 2], f"report {n}, please") for n in range(count))))


async def ended(desk: Desk, talks: list[Talk]) -> None:
    """Check that every conversation got its answer, or the notice that the budget is used up."""

    def is_ended(talk: Talk) -> bool:
        return any(ANSWER in one.text or USED_UP in one.text for one in desk.lines(talk))

    await until(lambda: all(map(is_ended, talks)), "all have ended", within=90)


async def test_20_conversations_at_once_use_up_the_budget_and_one_call_at_most(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKBACK_BUDGET_DAY", str(BUDGET))
    async with tests_of.open_desk(tmp_path, monkeypatch) as desk:
        script(desk)
        talks = await conversations(desk, 20)
        await ended(desk, talks)
        assert BUDGET <= CALL * len(told(desk, "report")) < BUDGET + CALL


async def test_two_processes_share_one_budget(
    platform: str, tmp_path: Path, postgres_url: str, launcher: Launcher
) -> None:
    async with open_office(platform, tmp_path, postgres_url, launcher) as office:
        office.environment["ASKBACK_BUDGET_DAY"] = str(BUDGET)
        await asyncio.gather(office.start(), office.start())
        script(office.desk)
        talks = await conversations(office.desk, 20)
        await ended(office.desk, talks)
        assert BUDGET <= CALL * len(told(office.desk, "report")) < BUDGET + CALL


async def test_people_hear_nothing_of_an_input_that_cannot_be_read(desk: Desk) -> None:
    raw = '{"questions": ' + "[" * 5_000
    desk.model.script(turn("One moment.", ToolCall(tool=None, input={}, raw=raw)), turn(ANSWER), when="report")
    talk = await desk.mention(ADA, "report, please")
    await line(desk, talk, ANSWER)
    assert "not valid JSON" in (await turn_of(desk, "report", 2)).result
    assert [one.text for one in desk.lines(talk) if one.bot] == ["One moment.", ANSWER]
