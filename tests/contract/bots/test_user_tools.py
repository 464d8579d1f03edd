"""The operator's own tools, on every platform: people see the agent's text, and nothing of its tools."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from types import ModuleType

import pytest

from askback import ToolContext, tool
from askback_sandbox.model.script import call, turn

from .driver import ADA, Desk, PlatformTests, asks, card, line, one, settled, told, turn_of, until

EXTRA = "tools_at_the_desk"


class Shed:
    """The tools, and the events that they wait for."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.began = threading.Event()
        self.ended = threading.Event()

    def weigh(self, fruit: str, context: ToolContext) -> str:
        """Weigh a fruit."""
        return f"{fruit} weighs 5 for {context.starter.name} on {context.place.platform}"

    def slowly(self) -> str:
        self.began.set()
        self.go_on.wait()
        self.ended.set()
        return "slowly done"

    async def patiently(self) -> str:
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()
        return "never"

    @tool(timeout=0.2)
    def hang(self) -> None:
        self.go_on.wait()

    def fail(self) -> None:
        raise LookupError("no such fruit, <!channel> @everyone")

    def flood(self) -> str:
        return "z" * 5_000_000


@pytest.fixture(autouse=True)
def shed(tests_of: PlatformTests, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shed]:
    shed = Shed()
    module = ModuleType(EXTRA)
    names = ("weigh", "slowly", "patiently", "hang", "fail", "flood")
    vars(module)["tools"] = [getattr(shed, name) for name in names]
    monkeypatch.setitem(sys.modules, EXTRA, module)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(tests_of.desk, "TOOLS", f"AskUserQuestion,{EXTRA}:tools")
    yield shed
    shed.go_on.set()


async def test_a_tool_beside_a_question_and_the_model_hears_of_both_at_once(desk: Desk, shed: Shed) -> None:
    desk.model.script(
        turn("Let me see.", call("weigh", fruit="Pear"), asks(one("Which fruit?", "Apple", "Pear"))),
        turn("So be it."),
        when="fruit",
    )
    talk = await desk.mention(ADA, "fruit, please")
    shown = await card(desk, talk)
    await desk.press(ADA, shown, "Pear")
    await settled(desk, talk, "Pear")
    await line(desk, talk, "So be it.")
    newest = await turn_of(desk, "fruit", 2)
    weighed, answered = newest.results.values()
    assert weighed == f"Pear weighs 5 for {desk.actor(ADA).name} on {desk.platform}"
    assert '"Which fruit?"="Pear"' in answered
    said = [one.text for one in desk.lines(talk) if one.bot and not one.card]
    assert [text.strip() for text in said] == ["Let me see.", "So be it."]


async def test_one_that_fails_hangs_or_floods_is_the_models_affair_alone(desk: Desk) -> None:
    desk.journal.announce("tool_failed", "tool_timeout")
    desk.model.script(turn(call("fail"), call("hang"), call("flood")), turn("I could not."), when="fruit")
    talk = await desk.mention(ADA, "fruit, please")
    await line(desk, talk, "I could not.")
    failed, hung, flooded = (await turn_of(desk, "fruit", 2)).results.values()
    assert failed == "LookupError: no such fruit, <!channel> @everyone"
    assert hung == "hang did not end within 0.2 s; its outcome is unknown."
    assert flooded.endswith("the first 100000 of 5000000 characters. Ask for less.]")
    assert len(flooded) < 101_000
    assert [one.text.strip() for one in desk.lines(talk) if one.bot] == ["I could not."]
    assert desk.pings() == ()
    assert {"tool_failed", "tool_timeout"} <= set(desk.journal.actions())


@pytest.mark.parametrize("name", ["slowly", "patiently"])
async def test_a_stop_while_a_tool_runs_ends_the_turn_and_its_card(desk: Desk, shed: Shed, name: str) -> None:
    desk.model.script(
        turn(call(name), asks(one("Which fruit?", "Apple", "Pear"))), turn("Here I am again."), when="fruit"
    )
    talk = await desk.mention(ADA, "fruit, please")
    await card(desk, talk)
    assert await asyncio.to_thread(shed.began.wait, 10)
    await desk.say(ADA, "stop", talk)
    await line(desk, talk, "Stopped by")
    await settled(desk, talk, "Which fruit?")
    if name == "slowly":
        shed.go_on.set()
    assert await asyncio.to_thread(shed.ended.wait, 10)
    assert len(told(desk, "fruit")) == 1
    await desk.say(ADA, "and now?", talk)
    await line(desk, talk, "Here I am again.")
    stopped, cancelled = (await turn_of(desk, "fruit", 2)).results.values()
    assert stopped.startswith("Somebody stopped this before it finished.")
    assert cancelled == "" or "cancelled" in cancelled


async def test_while_a_tool_runs_others_are_served(desk: Desk, shed: Shed) -> None:
    desk.model.script(turn(call("slowly")), turn("At last."), when="fruit")
    desk.model.script(turn("At once."), when="bread")
    talk = await desk.mention(ADA, "fruit, please")
    assert await asyncio.to_thread(shed.began.wait, 10)
    await line(desk, await desk.mention("ben", "bread"), "At once.")
    shed.go_on.set()
    await line(desk, talk, "At last.")
    await until(lambda: (len(told(desk, "fruit")) == 2) or None, "the result is told")
    assert (await turn_of(desk, "fruit", 2)).result == "slowly done"
