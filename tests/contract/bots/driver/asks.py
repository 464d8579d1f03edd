"""Questions for a scenario: of a program, and of the scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from askback.domain.form import Form, Option, Question
from askback.domain.outcome import Outcome
from askback.domain.who import Who
from askback_sandbox.model.script import ToolCall, call

from .desk import Desk
from .values import ADA, WITHIN, Talk


@asynccontextmanager
async def program_asks(
    desk: Desk,
    talk: Talk,
    form: Form,
    *people: str,
    who: Who | None = None,
    timeout: float | None = None,  # noqa: ASYNC109 - the ask's timeout
    **more: Any,
) -> AsyncGenerator[Asked]:
    """Ask these people (by default ada) from a program, in a conversation."""
    who = who or Who(people=tuple(map(desk.actor, people or (ADA,))))
    task = asyncio.create_task(desk.host.manager.ask(form, to=desk.place(talk), who=who, timeout=timeout, **more))
    try:
        yield Asked(task)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@dataclass(frozen=True)
class Asked:
    """An ask that waits for its answer."""

    task: asyncio.Task[Outcome]

    async def outcome(self) -> Outcome:
        async with asyncio.timeout(WITHIN):
            return await asyncio.shield(self.task)


def form_of(prompt: str, labels: Sequence[str], **more: Any) -> Form:
    """Return a form with one question; the options' values are v0, v1 …"""
    options = tuple(Option(value=f"v{index}", label=label) for index, label in enumerate(labels))
    return Form(questions=(Question(id="q", prompt=prompt, options=options, **more),))


def option(label: str, description: str = "") -> dict[str, Any]:
    return {"label": label, "description": description}


def one(question: str, *labels: str, several: bool = False, header: str = "Choice") -> dict[str, Any]:
    """Return a question of `AskUserQuestion`."""
    return {
        "question": question,
        "header": header,
        "options": [option(label, f"About {label}") for label in labels],
        "multiSelect": several,
    }


def asks(*questions: dict[str, Any]) -> ToolCall:
    """Return a call of `AskUserQuestion` with these questions."""
    return call("AskUserQuestion", questions=list(questions))


def asks_of(prompt: str, labels: Sequence[str], **more: Any) -> ToolCall:
    """Return a call of `question` with one question of any number of options."""
    options = [{"value": f"v{index}", "label": label} for index, label in enumerate(labels)]
    return call("question", questions=[{"id": "q", "prompt": prompt, "options": options, **more}])
