"""An agent of the OpenAI Agents SDK with tools that wait for people. Programs import this module, too."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

DONE, SAVED = "done.txt", "talk.json"
Call = tuple[str, dict[str, Any]]


def kill_oneself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Shop:
    """An agent whose model makes calls in one turn, then each of the later ones in a separate turn.

    `dies` says when its process is killed.
    """

    def __init__(
        self, folder: Path, calls: Sequence[Call], *, later: Sequence[Call] = (), dies: str = "", tools: Any = None
    ) -> None:
        from agents import Agent, ShellTool, function_tool, set_tracing_disabled
        from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

        from askback.doors.openai_agents import AskTool, editable

        set_tracing_disabled(True)
        self.folder = folder
        self.dies = dies
        self.results: dict[str, str] = {}
        """The texts that the model reads about the calls, in their order."""
        made = [function_call(name, given, call_id=f"call-{n}") for n, (name, given) in enumerate([*calls, *later])]

        def respond(call: Any) -> Any:
            # The provider gets the whole conversation each time. So the model continues where any process stopped.
            outputs = {one["call_id"]: one["output"] for one in call.input if one.get("type") == "function_call_output"}
            if len(outputs) < len(made):
                return made[len(outputs) : len(outputs) + 1] if outputs else made[: len(calls)]
            self.results = {one.call_id: outputs[one.call_id] for one in made}
            return [assistant_message("done")]

        def note(text: str) -> None:
            with (folder / DONE).open("a", encoding="utf-8") as file:
                file.write(f"{text}\n")
            if dies == "in the tool":
                kill_oneself()

        @function_tool(needs_approval=True)
        def deploy(where: str) -> str:
            note(where)
            return f"deployed to {where}"

        @function_tool(needs_approval=True)
        def release(version: str, where: Literal["eu", "us"], count: int | None) -> str:
            note(f"{version} {where} {count}")
            return f"{version} is in {where}"

        @function_tool
        def look() -> str:
            note("looked")
            return "all is well"

        async def run_shell(request: Any) -> str:
            note(json.dumps(request.data.action.commands))
            return "ran"

        region = {"type": "object", "properties": {"region": {"type": "string", "enum": ["eu", "us"]}}}
        known = {
            "deploy": deploy,
            "release": editable(release),
            "look": look,
            "shell": ShellTool(executor=run_shell, needs_approval=True),
            "ask_people": AskTool(),
            "choose": AskTool("choose", form=region | {"required": ["region"]}),
        }
        self.agent: Any = Agent(
            name="shop",
            model=ScriptedModel([ModelStep(responder=respond)] * 9),
            tools=[known[name] for name in tools or ("deploy", "release", "look", "ask_people", "choose")],
        )

    def done(self) -> list[str]:
        """Return what the tools have done."""
        file = self.folder / DONE
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def saved(self) -> str:
        """Return the newest text that the door has saved."""
        return (self.folder / SAVED).read_text(encoding="utf-8")


def door(shop: Shop, to: str, **more: Any) -> Any:
    """Return the door of an agent, which saves its run into a file."""
    from askback.doors.openai_agents import OpenAIAgentsDoor

    def save(conversation: str, text: str) -> None:
        if shop.dies == "before the save" and shop.done():
            kill_oneself()
        (shop.folder / f"{conversation}.json").write_text(text, encoding="utf-8")
        if shop.dies == "after the save" and shop.done():
            kill_oneself()

    return OpenAIAgentsDoor(shop.agent, to=to, **({"save": save, "who": "anyone", "approvers": "anyone"} | more))
