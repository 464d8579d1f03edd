"""The tool with which an agent of the OpenAI Agents SDK asks people.

An approval of the SDK carries no answer. So a call of this tool waits for approval like any other, and the door
approves it once people have answered. Then its body returns what they said. If people cannot be asked what the model
wants to know, the call does not wait, and its body says why.
"""

from __future__ import annotations

__all__ = ["AskTool", "find_ask_tool", "parse_arguments", "use_answers"]

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, cast

from pydantic import JsonValue

from askback.domain.approval import compute_digest
from askback.doors.call_question import CallQuestion
from askback.doors.results import CallKind
from askback.doors.tool_inputs import AskInput, build_question, parse_input, repair_texts
from askback.errors import CallerError, ModelError
from askback.internal.extras import import_extra
from askback.tools.lenient_parser import build_schema

with import_extra("openai-agents", "The door for OpenAI Agents"):
    from agents import FunctionTool, RunContextWrapper, ToolApprovalItem
    from agents.tool_context import ToolContext

NAME: Final = "ask_people"
DESCRIPTION: Final = (
    "Ask people in the team chat one question. Give options for people to choose from, or a form for several answers, "
    "or neither for a written answer. Ask for decisions, preferences and facts that only people have. They may need "
    "hours, and you continue when they have answered. If nobody answers, the result says so: that is neither a yes nor "
    "a no."
)
_OF_DOOR: Final = ("place", "deadline", "on_timeout", "default")
"""Fields of the input that only the operator of this door decides."""
_OF_ANSWER: Final = ("options", "allow_note", "allow_custom", "form", "picks", "several")
"""Fields that say what an answer looks like. A tool with its own form has none of them."""

_answers: ContextVar[Mapping[str, str]] = ContextVar("askback_answers")


class AskTool(FunctionTool):
    """A tool that asks people. Put it among the tools of an agent that runs with `OpenAIAgentsDoor`."""

    def __init__(
        self, name: str = NAME, description: str = DESCRIPTION, *, form: Mapping[str, JsonValue] | None = None
    ) -> None:
        """`form` is a JSON Schema for all answers of this tool. Without it, the model says what people can answer."""
        self.form = form
        self._hidden = _OF_DOOR if form is None else (*_OF_DOOR, *_OF_ANSWER)
        schema = build_schema(AskInput)
        properties = cast("dict[str, JsonValue]", schema["properties"])
        shown = {key: value for key, value in properties.items() if key not in self._hidden}
        super().__init__(
            name=name,
            description=description,
            params_json_schema=cast("dict[str, Any]", {**schema, "properties": shown}),
            on_invoke_tool=self._answer,
            strict_json_schema=False,
            needs_approval=self._waits,
        )

    def read(self, given: Mapping[str, JsonValue]) -> tuple[CallKind, CallQuestion]:
        """Return the question of a call. Raises `ModelError` or `CallerError`, in words for the model."""
        parsed = parse_input(self.name, AskInput, repair_texts(dict(given)))
        strange = sorted(parsed.model_fields_set & set(self._hidden))
        if strange:
            raise ModelError(f"{self.name} has no field {strange[0]!r}, so nobody was asked: leave it out.")
        if self.form is not None:
            parsed = parsed.model_copy(update={"form": dict(self.form)})
        kind, form, vote = build_question(parsed)
        return kind, CallQuestion("ask", form, compute_digest(self.name, dict(given)), vote=vote)

    async def _waits(self, context: RunContextWrapper[Any], given: dict[str, Any], call_id: str) -> bool:
        return self._find_problem(given) is None

    async def _answer(self, context: ToolContext[Any], arguments: str) -> str:
        answer = _answers.get({}).get(context.tool_call_id)
        if answer is None:
            answer = self._find_problem(parse_arguments(arguments))
        if answer is None:
            raise CallerError(
                f"Nobody was asked about the call {context.tool_call_id} of {self.name}: run its agent with "
                "OpenAIAgentsDoor, which approves such calls itself."
            )
        return answer

    def _find_problem(self, given: Mapping[str, JsonValue]) -> str | None:
        try:
            self.read(given)
        except (ModelError, CallerError) as error:
            return str(error)
        return None


def find_ask_tool(item: ToolApprovalItem) -> AskTool | None:
    """Return the tool that a call uses to ask people. None for a call of any other tool."""
    tools = item.agent.tools
    return next((one for one in tools if isinstance(one, AskTool) and one.qualified_name == item.qualified_name), None)


@contextmanager
def use_answers(answers: Mapping[str, str]) -> Generator[None]:
    """Let calls of `AskTool` inside this block return these answers. The keys are the ids of the calls."""
    token = _answers.set(answers)
    try:
        yield
    finally:
        _answers.reset(token)


def parse_arguments(text: str) -> Mapping[str, JsonValue]:
    """Return the arguments that a model has written. A text that is not a JSON object is the only argument."""
    try:
        found: object = json.loads(text or "{}")
    except ValueError:
        found = None
    return cast("dict[str, JsonValue]", found) if isinstance(found, dict) else {"arguments": text}
