"""An agent of Pydantic AI with tools that wait for people. Programs import this module, too."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DONE, SAVED = "done.txt", "talk.json"
Call = tuple[str, dict[str, Any]]


def kill_oneself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Shop:
    """An agent whose model makes calls in one turn, then each of the later ones in a separate turn.

    `dies` says when its process is killed.
    """

    def __init__(
        self,
        folder: Path,
        calls: Sequence[Call],
        *,
        later: Sequence[Call] = (),
        dies: str = "",
        capabilities: Sequence[Any] = (),
    ) -> None:
        from pydantic_ai import Agent
        from pydantic_ai.exceptions import CallDeferred
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
        from pydantic_ai.models.function import FunctionModel
        from pydantic_ai.tools import DeferredToolRequests

        self.folder = folder
        self.dies = dies
        self.results: list[Any] = []
        self.outcomes: list[str] = []
        self.seen: list[Any] = []
        """The text that the model reads besides the results."""
        made = [ToolCallPart(name, given, tool_call_id=f"call-{n}") for n, (name, given) in enumerate([*calls, *later])]

        def model(messages: Any, _: Any) -> ModelResponse:
            given = [part for message in messages if message.kind == "request" for part in message.parts]
            found = {part.tool_call_id: part for part in given if hasattr(part, "tool_call_id")}
            if not found:
                return ModelResponse(parts=made[: len(calls)])
            if len(found) < len(made):
                return ModelResponse(parts=[made[len(found)]])
            self.results = [found[part.tool_call_id].content for part in made]
            self.seen = [part.content for part in messages[-1].parts if part.part_kind == "user-prompt"]
            self.outcomes = [found[part.tool_call_id].outcome for part in made]
            return ModelResponse(parts=[TextPart("done")])

        self.agent: Any = Agent(
            FunctionModel(model), output_type=[str, DeferredToolRequests], capabilities=list(capabilities)
        )

        @self.agent.tool_plain(requires_approval=True)
        def deploy(where: str) -> str:
            with (folder / DONE).open("a", encoding="utf-8") as file:
                file.write(f"{where}\n")
            if dies == "in the tool":
                kill_oneself()
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

    def saved(self) -> str:
        """Return the newest text that the door has saved."""
        return (self.folder / SAVED).read_text(encoding="utf-8")


def door(shop: Shop, to: str, **more: Any) -> Any:
    """Return the door of an agent, which saves its run into a file."""
    from askback.doors.pydantic_ai import PydanticAIDoor

    def save(conversation: str, text: str) -> None:
        (shop.folder / f"{conversation}.json").write_text(text, encoding="utf-8")
        if shop.dies == "after the save" and shop.done():
            kill_oneself()

    return PydanticAIDoor(shop.agent, to=to, **({"save": save, "who": "anyone", "approvers": "anyone"} | more))
