"""The base class of question tools: a schema, a parser of inputs, and a format of results."""

from __future__ import annotations

__all__ = ["QuestionTool", "ToolResult", "describe_unanswered", "shorten", "to_timestamp_ms"]

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from pydantic import JsonValue, ValidationError

from askback.domain.form import Form
from askback.domain.outcome import Outcome
from askback.domain.timeout_action import TimeoutAction
from askback.errors import InvalidValue, ModelError, Problem, to_problems
from askback.internal.clock import to_micros
from askback.text.bodies import indent_body
from askback.tools.lenient_parser import ToolInput, build_schema, decode_json

Input = TypeVar("Input", bound=ToolInput)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one tool call, for the model."""

    text: str
    data: Mapping[str, JsonValue]
    """The same result for programs."""
    is_error: bool = False


class QuestionTool(ABC, Generic[Input]):
    """A tool that a model calls to ask people. Stateless."""

    name: ClassVar[str]
    description: ClassVar[str]
    example: ClassVar[str]
    """An example of a valid input. A model whose input is invalid gets it."""
    input_type: type[Input]

    @property
    def input_schema(self) -> dict[str, JsonValue]:
        """The JSON Schema of the tool's input."""
        return build_schema(self.input_type)

    def parse(self, data: object) -> Form:
        """Return the form that the model asks for. Raises `ModelError`, whose text tells the model how to ask."""
        return self._call_or_reject(self.to_form, self.parse_input(data))

    def build_result(self, data: object, outcome: Outcome) -> ToolResult:
        """Return the outcome in this tool's own format. Never raises for an input that `parse` accepts."""
        return self.render_result(self.parse_input(data), outcome)

    def parse_input(self, data: object) -> Input:
        """Return the typed input. Raises `ModelError`."""
        return self._call_or_reject(self.input_type.model_validate, decode_json(data))

    def parse_addressees(self, data: object) -> tuple[str, ...]:
        """Return the names of the people to ask, as the model wrote them; empty if it named nobody. Raises
        `ModelError`."""
        return tuple(self.list_addressees(self.parse_input(data)))

    def parse_timeout_action(self, data: object) -> TimeoutAction:
        """Return what a timeout does, as the model asks for it. Raises `ModelError`."""
        return self.get_timeout_action(self.parse_input(data))

    def build_error_result(self, error: ModelError) -> ToolResult:
        """Return the result for an invalid input."""
        text = str(error)
        return ToolResult(text=text, data={"error": text}, is_error=True)

    def _call_or_reject(self, build: Callable[[A], B], argument: A) -> B:
        try:
            return build(argument)
        except ValidationError as error:
            problems: Sequence[Problem] = to_problems(error)
        except InvalidValue as error:
            problems = [
                Problem(name, one.message) for one in error.problems if (name := self.get_field_name(one.field))
            ]
        more = len(problems) - MAX_PROBLEMS
        lines = [*map(str, problems[:MAX_PROBLEMS]), *([f"and {more} more like these"] if more > 0 else [])]
        what = lines[0] if len(lines) == 1 else "".join(f"\n- {line}" for line in lines)
        raise ModelError(f"The input of {self.name} is invalid, so nobody was asked: {what}", example=self.example)

    def get_field_name(self, field: str) -> str:
        """Return the model's name for a field of the form; empty if another field reports the same problem."""
        return field

    @abstractmethod
    def to_form(self, parsed: Input) -> Form:
        """Return the form of a typed input."""

    @abstractmethod
    def list_addressees(self, parsed: Input) -> list[str]:
        """Return the names of the people to ask."""

    def get_timeout_action(self, parsed: Input) -> TimeoutAction:
        """Return what a timeout does. A tool whose input does not say it only reports that nobody answered."""
        del parsed
        return "report"

    @abstractmethod
    def render_result(self, parsed: Input, outcome: Outcome) -> ToolResult:
        """Return the outcome for the model."""

    @abstractmethod
    def summarize(self, parsed: Input) -> str:
        """Return the questions in a few words."""

    def summarize_call(self, data: object) -> str:
        """Return one line about the call, for logs and transcripts. Never raises."""
        try:
            return shorten(f"{self.name} · {self.summarize(self.parse_input(data))}", 200)
        except ModelError:
            return f"{self.name} · invalid input"

    def summarize_result(self, outcome: Outcome) -> str:
        """Return one line about the result, for logs and transcripts."""
        match outcome.status:
            case "answered":
                answers = "; ".join(
                    f"{answer.question_id}: {', '.join(map(_quote, answer.labels))}" for answer in outcome.answers
                )
                return shorten(f"Answered · {answers}", 200)
            case "cancelled" | "declined":
                ended = "To be discussed" if outcome.discuss else outcome.status.capitalize()
                return shorten(f"{ended}{f' · {outcome.reason}' if outcome.reason else ''}", 200)
            case "timed_out":
                ended = "Nobody answered in time"
                if outcome.halted:
                    return f"{ended} · the agent stops"
                return shorten(f"{ended} · default: {_list_defaults(outcome)}", 200) if outcome.fallback else ended
            case "undeliverable":
                return shorten(f"Could not be delivered · {outcome.reason or 'no reason given'}", 200)


A = TypeVar("A")
B = TypeVar("B")

MAX_PROBLEMS = 50
"""Maximum number of problems that one error lists. A longer list would not help the model."""


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def shorten(text: str, longest: int) -> str:
    """Return one line of at most `longest` characters, for logs; never use it for people's answers."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def to_timestamp_ms(outcome: Outcome) -> int:
    """Return the outcome's time in milliseconds since 1970, the convention of JavaScript."""
    return to_micros(outcome.at) // 1000


def _list_defaults(outcome: Outcome) -> str:
    labels = {answer.question_id: ", ".join(map(_quote, answer.labels)) for answer in outcome.fallback}
    return "; ".join(f"{name}: {words}" if len(labels) > 1 else words for name, words in labels.items())


def _describe_consequence(outcome: Outcome) -> str:
    """Return what follows from a timeout, in words for a model."""
    if outcome.halted:
        return "Stop here: do not continue this work, and do not assume an answer. Wait until a person writes to you."
    if outcome.fallback:
        apply = "defaults apply" if len(outcome.fallback) > 1 else "default applies"
        return (
            f"The {apply}, as the card announced: {_list_defaults(outcome)}. Nobody chose this, so never say that "
            "somebody did."
        )
    return "This is not an answer or a choice: do not assume one."


def describe_unanswered(outcome: Outcome, *, is_vote: bool = False) -> str:
    """Return the way an unanswered ask ended, in words for a model. `is_vote` adds that nobody approved anything."""
    return f"{_describe_end(outcome)} Nobody approved it." if is_vote else _describe_end(outcome)


def _describe_end(outcome: Outcome) -> str:
    # What the caller itself or the operator cancels has no person, and its reason is nobody's answer.
    source = "The reason" if outcome.status == "cancelled" and outcome.by is None else "They wrote"
    why = f' {source}: "{indent_body(outcome.reason)}"' if outcome.reason else ""
    match outcome.status:
        case "timed_out":
            why = f": {outcome.reason}" if outcome.reason else ""
            return f"Nobody answered in time{why}. {_describe_consequence(outcome)}"
        case "cancelled":
            return f"The question was cancelled without an answer.{why} Do not assume an answer."
        case "declined" if outcome.discuss:
            return (
                f"The person wants to discuss this before anybody answers.{why} Answer what they wrote or ask them "
                "what is unclear, then ask the question again. Do not assume an answer."
            )
        case "declined":
            return f"The person declined to answer for now.{why} Do not assume an answer."
        case "undeliverable":
            reason = (outcome.reason or "the platform cannot reach anybody here").rstrip(". ")
            return f"The question could not be delivered: {reason}. Nobody saw it, so do not assume an answer."
        case "answered":
            return "Answered."
