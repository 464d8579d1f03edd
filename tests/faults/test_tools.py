"""SIGKILL around a tool: it never runs twice unless declared repeatable, and an unknown outcome is reported as such.

A file that the tools write, and the results that the model received, show which tools ran.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from askback_sandbox.model.script import call, turn

from .rig import Rig, question
from .tools import DONE, INTERRUPTED, QUESTION, TOOLS, ran, run_to, told


@pytest.fixture(autouse=True)
def own_tools(tmp_path: Path) -> Path:
    (tmp_path / "rig_tools.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "askback.toml").write_text('tools = ["AskUserQuestion", "rig_tools:tools"]\n', encoding="utf-8")
    return tmp_path


def script(rig: Rig, *tools: str) -> None:
    calls: dict[str, Callable[[], Any]] = {
        "deploy": lambda: call("deploy", where="staging"),
        "look": lambda: call("look"),
        "hang": lambda: call("hang"),
        "stubborn": lambda: call("stubborn"),
        "question": lambda: question(QUESTION, "Green", "Blue"),
    }
    rig.model.script(turn(*(calls[name]() for name in tools)), turn(DONE), name="ship")


@pytest.mark.only("slack", reason="what runs tools knows no platform")
async def test_before_it_is_committed_as_started_it_has_not_run_and_runs_once(rig: Rig, own_tools: Path) -> None:
    script(rig, "deploy")
    await run_to(rig, "before:start_call")
    (result,) = await told(rig)
    assert result["content"] == "deployed to staging"
    assert ran(own_tools) == ["deploy staging"]


@pytest.mark.parametrize(("point", "times"), [("after:start_call", 0), ("before:end_call", 1), ("commit:end_call", 1)])
async def test_started_without_a_result_it_is_not_run_again_and_everybody_is_told(
    rig: Rig, own_tools: Path, point: str, times: int
) -> None:
    script(rig, "deploy")
    await run_to(rig, point)
    (result,) = await told(rig, said=(f"{INTERRUPTED} “deploy”",))
    assert result["content"].startswith("Interrupted, outcome unknown")
    assert result["is_error"] is True
    assert ran(own_tools) == ["deploy staging"] * times


@pytest.mark.only("slack", reason="what runs tools knows no platform")
@pytest.mark.parametrize(("point", "times"), [("after:start_call", 1), ("commit:end_call", 2)])
async def test_one_that_may_be_run_twice_is_and_nobody_is_bothered(
    rig: Rig, own_tools: Path, point: str, times: int
) -> None:
    script(rig, "look")
    await run_to(rig, point)
    (result,) = await told(rig)
    assert result["content"] == "it is green"
    assert ran(own_tools) == [f"look {result['tool_use_id']}"] * times


@pytest.mark.parametrize("point", ["after:end_call", "commit:begin_turn", "before:end_turn"])
async def test_between_its_result_and_the_next_turn_the_result_stands(rig: Rig, own_tools: Path, point: str) -> None:
    script(rig, "deploy")
    # A turn is begun, and ended, once before the tool runs.
    await run_to(rig, point, 1 if point == "after:end_call" else 2)
    (result,) = await told(rig)
    assert result["content"] == "deployed to staging"
    assert ran(own_tools) == ["deploy staging"]


async def test_beside_a_question_and_another_tool_each_is_settled_in_its_own_way(rig: Rig, own_tools: Path) -> None:
    (own_tools / "hold").touch()
    script(rig, "hang", "question", "look")
    await rig.start()
    rig.write()
    await rig.until(lambda: "hang" in ran(own_tools))
    await rig.card(QUESTION)
    await rig.kill()
    (own_tools / "hold").unlink()
    await rig.start()
    await rig.answer(QUESTION, "Green")
    hung, answered, looked = await told(rig, said=(f"{INTERRUPTED} “hang”",))
    assert hung["content"].startswith("Interrupted, outcome unknown")
    assert f'"{QUESTION}"="Green"' in answered["content"]
    assert looked["content"] == "it is green"
    assert ran(own_tools).count("hang") == 1


@pytest.mark.only("slack", reason="what runs tools knows no platform")
async def test_kills_one_after_the_other_tell_it_once(rig: Rig, own_tools: Path) -> None:
    script(rig, "deploy")
    await rig.start("commit:end_call")
    rig.write()
    await rig.killed()
    # The second bot dies while it records that the first was interrupted, the third right after that.
    await rig.start("commit:end_call")
    await rig.killed()
    await rig.start("after:end_call")
    await rig.killed()
    await rig.start()
    (result,) = await told(rig, said=(f"{INTERRUPTED} “deploy”",))
    assert result["content"].startswith("Interrupted, outcome unknown")
    assert ran(own_tools) == ["deploy staging"]


@pytest.mark.only("slack", reason="what ends a process knows no platform, and its grace takes seconds")
async def test_a_bot_that_is_told_to_end_does_not_wait_for_tools_that_do_not(rig: Rig, own_tools: Path) -> None:
    (own_tools / "hold").touch()
    script(rig, "hang", "stubborn")
    rig.settings["RIG_REST"] = "1"  # so that the rest of the ten seconds suffices, also where the machine stalls
    await rig.start()
    rig.write()
    await rig.until(lambda: {"hang", "stubborn"} <= set(ran(own_tools)))
    async with asyncio.timeout(30):
        await rig.stop()
    assert "stubborn indeed" in ran(own_tools), "a coroutine is cancelled"
    (own_tools / "hold").unlink()
    await rig.start()
    results = await told(rig, said=(f"{INTERRUPTED} “hang”", f"{INTERRUPTED} “stubborn”"))
    assert all(result["content"].startswith("Interrupted, outcome unknown") for result in results)
    assert (ran(own_tools).count("hang"), ran(own_tools).count("stubborn")) == (1, 1)


@pytest.mark.only("slack", reason="what ends a process knows no platform")
async def test_a_bot_that_is_told_to_end_lets_a_tool_end_that_is_nearly_done(rig: Rig, own_tools: Path) -> None:
    (own_tools / "hold").touch()
    script(rig, "hang")
    await rig.start()
    rig.write()
    await rig.until(lambda: "hang" in ran(own_tools))
    stopping = asyncio.create_task(rig.stop())
    await asyncio.sleep(0)
    (own_tools / "hold").unlink()
    await stopping
    await rig.start()
    (result,) = await told(rig)
    assert result["content"] == "ended"
    assert ran(own_tools) == ["hang"]
