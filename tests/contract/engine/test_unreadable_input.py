"""The model must correct an unreadable input of a tool: it receives an error, and people see nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from askback_sandbox.model.script import ToolCall, turn
from askback_sandbox.services import Services
from support.board import Board
from support.engine import engine, last_request, question, results

pytestmark = pytest.mark.usefixtures("stored")

DEEP = '{"questions": ' + "[" * 5_000 + "]" * 5_000 + "}"
LONG = '{"questions": ' + "9" * 5_000 + "}"
HALF = '{"questions": "\\ud800"}'
ENDLESS = '{"questions": 1e400}'
BROKEN = '{"questions": [{"question": "Whi'
RAW = {"deep": DEEP, "long": LONG, "half": HALF, "endless": ENDLESS, "broken": BROKEN}
TOOLS = ("AskUserQuestion", "question", "askQuestion")


async def deploy(what: str) -> str:
    """Deploy."""
    raise AssertionError("It must not run.")


@pytest.mark.parametrize("raw", RAW.values(), ids=RAW.keys())
async def test_the_model_hears_of_an_input_that_cannot_be_read_and_people_do_not(
    tmp_path: Path, board: Board, services: Services, raw: str
) -> None:
    broken = [ToolCall(tool=name, input={}, raw=raw) for name in (*TOOLS, "deploy")]
    services.model.script(turn("Let me ask.", *broken, question("Which colour?")), turn("Thanks."))
    async with engine(tmp_path, board, services, tools=TOOLS, own=(deploy,)) as one:
        await one.write("hello")
        (card,) = await one.asked()
        await one.says("Let me ask.")  # its end may come after the card
        assert board.texts() == ["Let me ask."], "people see nothing of it"
        await one.cancel(card.id)
        await one.says("Thanks.")
    told = results(last_request(services))
    assert len(told) == 5
    for result in told[:4]:
        assert result["is_error"] is True
        assert "not valid JSON" in json.dumps(result["content"])
    assert "deploy was not run" in told[3]["content"]
    assert "Call it again" in told[0]["content"]
    sent = [block for one in last_request(services) for block in one["content"] if block["type"] == "tool_use"]
    assert [block["input"] for block in sent[:4]] == [{}] * 4


async def test_a_model_that_never_gets_an_input_right_rests_until_somebody_writes(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(*[turn(ToolCall(tool="AskUserQuestion", input={}, raw=DEEP))] * 9)
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        await one.says("I tried several times to ask you something, and failed.")
        await board.until(lambda: board.statuses[-1] == "idle")
        assert len(services.model.log) == 5
        assert len(board.texts()) == 1
