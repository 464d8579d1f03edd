"""The API's own compaction keeps long conversations within the model's window, with their pairs of
calls and results.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from askback.agent.compaction import LEAST, is_wanted
from askback.domain.actions import Choose
from askback_sandbox.model.script import Fault, turn
from askback_sandbox.services import Services
from support.board import Board
from support.engine import engine, last_request, question, results

LONG = "word " * 45_000
"""A text above the API's minimum size for compaction."""


def blocks(services: Services, kind: str) -> list[dict[str, Any]]:
    return [block for one in last_request(services) for block in one["content"] if block["type"] == kind]


async def test_a_long_conversation_goes_on_behind_a_summary_and_keeps_its_pairs(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("I have read it.", question()), turn("And gone on."), turn("And on."))
    async with engine(tmp_path, board, services, compact_at=LEAST) as one:
        await one.write(f"read this: {LONG}")
        (card,) = await one.asked()
        await one.press(card, Choose(index=0))
        await one.says("And gone on.")
        await board.until(lambda: board.statuses[-1] == "idle")
        assert len(blocks(services, "compaction")) == 1
        assert len(results(last_request(services))) == len(blocks(services, "tool_use")) == 1
    async with engine(tmp_path, board, services, compact_at=LEAST) as two:
        await two.write("and after a restart?")
        await two.says("And on.")
        assert len(blocks(services, "compaction")) == 1, "it goes back with every later request"
    assert not any("summary" in text.lower() for text in board.texts()), "people do not see it"


async def test_a_short_conversation_says_nothing_of_it(tmp_path: Path, board: Board, services: Services) -> None:
    services.model.script(turn("Hi."))
    async with engine(tmp_path, board, services, compact_at=LEAST) as one:
        await one.write("hello")
        await one.says("Hi.")
        request: Any = services.model.log[-1].request
        assert "context_management" not in request


async def test_without_a_size_what_was_compacted_before_is_still_understood(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("I have read it."), turn("Yes."))
    async with engine(tmp_path, board, services, compact_at=LEAST) as one:
        await one.write(f"read this: {LONG}")
        await one.says("I have read it.")
        await board.until(lambda: board.statuses[-1] == "idle")
    async with engine(tmp_path, board, services, compact_at=None) as two:
        await two.write("sure?")
        await two.says("Yes.")


async def test_a_service_that_knows_no_compaction_is_asked_without(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("I have read it."))
    services.model.fail(Fault(kind="bad_request", message="context_management: Extra inputs are not permitted"))
    async with engine(tmp_path, board, services, compact_at=LEAST) as one:
        await one.write(f"read this: {LONG}")
        await one.says("I have read it.")
        request: Any = services.model.log[-1].request
        assert "context_management" not in request


def test_it_is_spoken_of_only_where_the_size_may_be_reached() -> None:
    short: tuple[dict[str, Any], ...] = ({"role": "user", "content": [{"type": "text", "text": "hi"}]},)
    assert not is_wanted(short, LEAST)
    assert is_wanted(({"role": "user", "content": [{"type": "text", "text": LONG}]},), LEAST)
    assert is_wanted((*short, {"role": "assistant", "content": [{"type": "compaction", "content": "…"}]}), None)
