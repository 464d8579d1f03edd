"""An own tool for the tests of the core, and the model's result of a call."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from askback_sandbox.model.script import ToolCall, turn
from askback_sandbox.services import Services
from support.board import Board
from support.engine import engine, last_request, results

BOTH_STORES = pytest.mark.usefixtures("stored")

PIXEL = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
IMAGE: Any = {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": PIXEL}}


class Size(BaseModel):
    width: int
    height: Annotated[int, Field(gt=0)]


def lengthen(text: str, times: int = 2) -> str:
    """Say a text several times.

    Args:
        text: What to say.
        times: How often.
    """
    return text * times


async def result_of(
    tmp_path: Path, board: Board, services: Services, function: object, said: ToolCall, **more: Any
) -> dict[str, Any]:
    """Return the block that the model gets for one call."""
    services.model.script(turn("I look.", said), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(function,), **more) as one:
        await one.write("hello")
        await one.says("Thanks.")
        assert board.texts() == ["I look.", "Thanks."], "people see nothing of a tool"
        await board.until(lambda: board.statuses == ["working", "idle"])
        (block,) = results(last_request(services))
        return block
