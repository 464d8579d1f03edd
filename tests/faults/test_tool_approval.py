"""SIGKILL around a tool that needs approval: it runs once as approved, or not at all, and people are notified."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from askback_sandbox.model.script import call, turn

from .rig import Rig, question
from .tools import DONE, INTERRUPTED, QUESTION, TOOLS, ran, run_to, told

SETTINGS = 'tools = ["AskUserQuestion", "rig_tools:tools"]\napproval_tools = ["deploy", "look"]\n'
PROMPT = "Run deploy"


@pytest.fixture(autouse=True)
def own_tools(tmp_path: Path) -> Path:
    (tmp_path / "rig_tools.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "askback.toml").write_text(SETTINGS, encoding="utf-8")
    return tmp_path


def script(rig: Rig, *others: str) -> None:
    more = [question(QUESTION, "Green", "Blue")] if "question" in others else []
    rig.model.script(turn(call("deploy", where="staging"), *more), turn(DONE), name="ship")


async def approve(rig: Rig, asked: str = PROMPT) -> None:
    """Press "Approve" as often as it takes, and wait until the card shows it."""

    def approved() -> bool:
        return any("Approved" in rig.reads(message) for message in rig.says(asked))

    while not approved():
        await rig.until(lambda: approved() or rig.usable(asked))
        if not approved() and (await rig.press(rig.usable(asked)[0], "Approve")).acked:
            await rig.until(approved)
        await rig.link.connected()


async def approve_over(rig: Rig, point: str, asked: str = PROMPT) -> None:
    """Approve while the bot is killed at that point, before, meanwhile or after; then restart it."""
    await rig.start(point)
    rig.write()
    approving = asyncio.create_task(approve(rig, asked))
    await rig.killed()
    await rig.start()
    await approving


@pytest.mark.parametrize(
    "point", ["commit:decide", "after:decide", "approval:woken", "before:start_call", "after:end_call"]
)
async def test_approved_it_runs_once_wherever_the_bot_dies_but_while_it_runs(
    rig: Rig, own_tools: Path, point: str
) -> None:
    script(rig)
    await approve_over(rig, point)
    (result,) = await told(rig)
    assert result["content"] == "deployed to staging"
    assert ran(own_tools) == ["deploy staging"]


@pytest.mark.parametrize(("point", "times"), [("after:start_call", 0), ("commit:end_call", 1)])
async def test_approved_and_begun_it_is_not_run_again_and_who_approved_it_is_called(
    rig: Rig, own_tools: Path, point: str, times: int
) -> None:
    script(rig)
    await approve_over(rig, point)
    sentence = f"{INTERRUPTED} “deploy”"
    await rig.until(lambda: rig.says(sentence))
    (notice,) = rig.says(sentence)
    (card,) = rig.says(PROMPT)
    (voter,) = re.findall(r"Approved +· +(<@\w+>)", rig.reads(card))
    assert rig.reads(notice).startswith(voter)
    (result,) = await told(rig, said=(sentence,))
    assert result["content"].startswith("Interrupted, outcome unknown")
    assert result["is_error"] is True
    assert ran(own_tools) == ["deploy staging"] * times


async def test_an_approval_that_was_not_committed_is_none(rig: Rig, own_tools: Path) -> None:
    script(rig)
    await rig.start("before:decide")
    rig.write()
    pressed = await rig.press(await rig.card(PROMPT), "Approve")
    await rig.killed()
    assert not pressed.acked
    await rig.start()
    assert ran(own_tools) == []
    await rig.answer(PROMPT, "Approve")
    (result,) = await told(rig)
    assert result["content"] == "deployed to staging"
    assert ran(own_tools) == ["deploy staging"]


@pytest.mark.parametrize("point", ["after:end_turn", "called:card"])
async def test_killed_before_anybody_decides_the_card_is_there_once_and_nothing_runs(
    rig: Rig, own_tools: Path, point: str
) -> None:
    script(rig, "question")
    await run_to(rig, point)
    await rig.answer(QUESTION, "Green")
    assert ran(own_tools) == []
    await rig.answer(PROMPT, "Approve")
    deployed, answered = await told(rig)
    assert deployed["content"] == "deployed to staging"
    assert f'"{QUESTION}"="Green"' in answered["content"]
    assert ran(own_tools) == ["deploy staging"]
    assert len(rig.says(PROMPT)) == 1, rig.picture()


@pytest.mark.parametrize("point", ["approval:voting", "approval:decided"])
async def test_denied_it_never_runs_and_the_model_is_told_why(rig: Rig, own_tools: Path, point: str) -> None:
    script(rig)
    await rig.start(point)
    rig.write()
    card = await rig.card(PROMPT)
    if point == "approval:voting":
        await rig.press(card, "Deny")
        await rig.killed()
        await rig.start()
        await rig.open_field(await rig.card(PROMPT), "Deny")
        assert await rig.send_field("Not today")
    else:
        await rig.open_field(card, "Deny")
        sending = asyncio.create_task(rig.send_field("Not today"))
        await rig.killed()
        await rig.start()
        await sending
    (result,) = await told(rig)
    assert "denied" in str(result["content"])
    assert "Not today" in str(result["content"])
    assert result["is_error"] is True
    assert ran(own_tools) == []


@pytest.mark.only("slack", reason="what runs tools knows no platform")
async def test_one_that_may_be_run_twice_is_approved_once(rig: Rig, own_tools: Path) -> None:
    rig.model.script(turn(call("look")), turn(DONE), name="ship")
    await approve_over(rig, "commit:end_call", asked="Run look")
    (result,) = await told(rig)
    assert result["content"] == "it is green"
    assert ran(own_tools) == [f"look {result['tool_use_id']}"] * 2


@pytest.mark.only("slack", reason="what runs tools knows no platform")
async def test_what_was_changed_in_the_database_after_its_approval_does_not_run(rig: Rig, own_tools: Path) -> None:
    script(rig)
    await rig.start("approval:decided")
    rig.write()
    approving = asyncio.create_task(approve(rig))
    await rig.killed()
    with closing(sqlite3.connect(own_tools / "askback.db")) as database, database:
        database.execute("UPDATE calls SET input = ?", (json.dumps({"where": "production"}),))
    await rig.start()
    await approving
    (result,) = await told(rig)
    assert result["is_error"] is True
    assert "was not run" in str(result["content"])
    assert ran(own_tools) == []
