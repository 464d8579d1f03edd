"""An agent of Pydantic AI with tools that wait for people. Programs import this module, too."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DONE, SAVED = "done.txt", "saved.json"


class Shop:
    """An agent whose model makes calls in one turn, then says that it is done."""

    def __init__(
        self,
        folder: Path,
        calls: Sequence[tuple[str, dict[str, Any]]],
        *,
        dies: bool = False,
        capabilities: Sequence[Any] = (),
    ) -> None:
        from pydantic_ai import Agent
        from pydantic_ai.exceptions import CallDeferred
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
        from pydantic_ai.models.function import FunctionModel
        from pydantic_ai.tools import DeferredToolRequests

        self.folder = folder
        self.results: list[Any] = []
        self.outcomes: list[str] = []
        self.seen: list[Any] = []
        """The text that the model reads besides the results."""
        parts = [ToolCallPart(name, given, tool_call_id=f"call-{n}") for n, (name, given) in enumerate(calls)]

        def model(messages: Any, _: Any) -> ModelResponse:
            if len(messages) == 1:
                return ModelResponse(parts=parts)
            found = {part.tool_call_id: part for part in messages[-1].parts if hasattr(part, "tool_call_id")}
            self.results = [found[part.tool_call_id].content for part in parts]
            self.seen = [part.content for part in messages[-1].parts if part.part_kind == "user-prompt"]
            self.outcomes = [found[part.tool_call_id].outcome for part in parts]
            return ModelResponse(parts=[TextPart("done")])

        self.agent: Any = Agent(
            FunctionModel(model), output_type=[str, DeferredToolRequests], capabilities=list(capabilities)
        )

        @self.agent.tool_plain(requires_approval=True)
        def deploy(where: str) -> str:
            with (folder / DONE).open("a", encoding="utf-8") as file:
                file.write(f"{where}\n")
            if dies:
                os.kill(os.getpid(), signal.SIGKILL)
            return f"deployed to {where}"

        @self.agent.tool_plain
        def ask_person(question: str) -> str:
            raise CallDeferred

        if not capabilities:

            @self.agent.tool_plain
            def ask_user_question(questions: list[dict[str, Any]]) -> str:
                raise CallDeferred

        @self.agent.tool_plain
        def choose(question: str) -> str:
            raise CallDeferred(metadata={"response_schema": {"type": "string", "enum": ["eu", "us"]}})

    def done(self) -> list[str]:
        """Return the places to which the tool deployed."""
        file = self.folder / DONE
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def door(shop: Shop, to: str, **more: Any) -> Any:
    """Return the door of an agent, which saves its run into a file."""
    from askback.doors.pydantic_ai import PydanticAIDoor

    def save(conversation: str, text: str) -> None:
        assert conversation == "talk"
        (shop.folder / SAVED).write_text(text, encoding="utf-8")

    return PydanticAIDoor(shop.agent, to=to, save=save, who="anyone", approvers="anyone", **more)
