"""The agent's loop after a timeout: it halts if the model wanted that, and otherwise it continues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from askback.agent.loop import Agent
from askback_sandbox.model.script import ToolCall, call, turn
from askback_sandbox.services import Services
from support.board import Board
from support.engine import engine, eventually, last_request, question, results

pytestmark = pytest.mark.usefixtures("stored")

STOPPED = "Nobody answered in time, so I have stopped. Write “continue” and I will."
TOOLS = ("ask", "AskUserQuestion")


def where(on_timeout: str) -> ToolCall:
    asked = {
        "id": "where",
        "question": "Where?",
        "options": [{"label": "Staging"}, {"label": "Production"}],
        "default": "Staging",
    }
    return call("ask", questions=[asked], onTimeout=on_timeout)


async def test_a_halt_stores_the_result_and_waits_for_a_word_from_a_person(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(where("halt"), question("B?")), turn("Going on."))
    async with engine(tmp_path, board, services, tools=TOOLS) as one:
        await one.write("deploy")
        cards = await one.asked(2)
        await one.recorded(*cards)
        for card in cards:
            await one.expire(card.id)
        await one.says(STOPPED)
        await board.until(lambda: not board.open())
        assert len(services.model.log) == 1, "the model is not called again"
        assert board.statuses[-1] == "idle"
        await one.write("continue")
        await one.says("Going on.")
        newest = last_request(services)[-1]
        told = results(last_request(services))
        assert len(told) == len({block["tool_use_id"] for block in told}) == 2, "one result for each call"
        halted: dict[str, Any] = json.loads(told[0]["content"])
        assert (halted["status"], halted["halted"]) == ("timed_out", True)
        assert "Stop here" in halted["message"]
        assert newest["content"][-1]["text"] == "Ann: continue"
    assert board.texts().count(STOPPED) == 1


async def test_what_people_wrote_before_the_deadline_is_kept_and_does_not_undo_the_halt(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(where("halt")), turn("Going on."))
    async with engine(tmp_path, board, services, tools=TOOLS) as one:
        await one.write("deploy")
        (card,) = await one.asked()
        await one.recorded(card)
        await one.write("I am at lunch")
        await one.expire(card.id)
        await one.says(STOPPED)
        assert len(services.model.log) == 1
        await one.write("continue")
        await one.says("Going on.")
        content = last_request(services)[-1]["content"]
        assert [block["type"] for block in content] == ["tool_result", "text", "text"], "the result comes first"
        assert [block["text"] for block in content[1:]] == ["Ann: I am at lunch", "Ann: continue"]


async def test_a_process_that_ends_after_it_stored_the_results_leaves_the_halt_to_the_next_one(
    tmp_path: Path, board: Board, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.model.script(turn(where("halt")), turn("Going on."))
    stored: list[str] = []

    async def fail(agent: Agent, running: Any, problem: str) -> None:
        del agent, running
        stored.append(problem)
        raise RuntimeError("the process ends here")

    with monkeypatch.context() as patch:
        patch.setattr(Agent, "_end_with_notice", fail)
        async with engine(tmp_path, board, services, tools=TOOLS) as one:
            await one.write("deploy")
            (card,) = await one.asked()
            await one.recorded(card)
            await one.expire(card.id)

            async def is_stored() -> bool:
                return bool(stored)

            await eventually(is_stored)
    async with engine(tmp_path, board, services, tools=TOOLS) as one:
        await one.says(STOPPED)
        assert len(services.model.log) == 1
        await one.write("continue")
        await one.says("Going on.")


async def test_a_default_reaches_the_model_as_a_fallback_and_it_goes_on(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(where("default")), turn("To staging, then."))
    async with engine(tmp_path, board, services, tools=TOOLS, wait_for_people=3600) as one:
        await one.write("deploy")
        (card,) = await one.asked()
        await one.recorded(card)
        await one.expire(card.id)
        await one.says("To staging, then.")
        told = json.loads(results(last_request(services))[0]["content"])
        assert (told["status"], told["fallback"], "answers" in told) == ("timed_out", {"where": "Staging"}, False)
        kept = await one.manager.get(card.id)
        assert kept is not None
        assert kept.outcome is not None
        assert (kept.outcome.status, kept.outcome.answers) == ("timed_out", ())


async def test_a_default_without_a_deadline_is_refused_and_nobody_is_asked(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(where("default")), turn("I see."))
    async with engine(tmp_path, board, services, tools=TOOLS) as one:
        await one.write("deploy")
        await one.says("I see.")
        assert "questions have no deadline here" in results(last_request(services))[0]["content"]
        assert not board.cards()
