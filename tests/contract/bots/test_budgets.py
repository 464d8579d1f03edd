"""The limits on an agent's usage, on every platform."""

from __future__ import annotations

from pathlib import Path

import pytest

from askback_sandbox.model.script import turn

from .driver import ADA, BEN, PlatformTests, asks, card, line, one, settled, told, turn_of, until


async def test_a_budget_that_is_spent_in_the_middle_of_a_turn_is_said_and_the_answer_is_kept(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKBACK_BUDGET_CONVERSATION", "1")
    async with tests_of.open_desk(tmp_path, monkeypatch) as desk:
        desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it, then."), when="fruit")
        talk = await desk.mention(ADA, "fruit, please")
        shown = await card(desk, talk)
        await desk.press(ADA, shown, "Pear")
        await settled(desk, talk, "Pear")
        await line(desk, talk, "This conversation has used up its budget")
        assert len(told(desk, "fruit")) == 1
        await desk.say(ADA, "please?", talk)
        await until(lambda: sum("used up its budget" in one.text for one in desk.lines(talk)) == 2, "it is said again")
        assert len(told(desk, "fruit")) == 1


async def test_the_budget_of_a_day_is_said_in_every_conversation(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKBACK_BUDGET_DAY", "1")
    async with tests_of.open_desk(tmp_path, monkeypatch) as desk:
        desk.model.script(turn("Hello, Ada."), when="hello")
        await line(desk, await desk.mention(ADA, "hello"), "Hello, Ada.")
        await line(desk, await desk.mention(BEN, "and me?"), "Today's budget is used up")
        assert not told(desk, "and me?")


async def test_an_agent_that_asks_in_a_loop_rests_until_somebody_writes(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKBACK_ROUNDS", "3")
    async with tests_of.open_desk(tmp_path, monkeypatch) as desk:
        rounds = [turn(asks(one(f"Round {number}?", "Yes", "No"))) for number in range(4)]
        desk.model.script(*rounds, turn("At last."), when="loop")
        talk = await desk.mention(ADA, "loop, please")
        for number in range(3):
            await desk.press(ADA, await card(desk, talk, f"Round {number}?"), "Yes")
        await line(desk, talk, "I have called the model 3 times without a message from you.")
        assert len(told(desk, "loop")) == 3
        await desk.say(ADA, "go on", talk)
        await card(desk, talk, "Round 3?")
        newest = await turn_of(desk, "loop", 4)
        assert (len(newest.results), newest.texts) == (1, ["ada: go on"])
