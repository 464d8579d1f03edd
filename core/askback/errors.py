"""Errors, sorted by who must act: the model, a person, the operator, or the caller."""

from __future__ import annotations

__all__ = [
    "AskbackError",
    "CallerError",
    "InvalidValue",
    "ModelError",
    "OperatorError",
    "PersonError",
    "Problem",
    "to_problems",
]

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class AskbackError(Exception):
    """Base class of every error that askback raises on purpose."""


class ModelError(AskbackError):
    """The model must act: its tool call is invalid. The text says how to call the tool correctly."""

    def __init__(self, problem: str, *, example: str | None = None) -> None:
        self.problem = problem
        self.example = example
        super().__init__(problem if example is None else f"{problem.rstrip('.')}. {self.advice}")

    @property
    def advice(self) -> str:
        """An example of a proper call; empty if there is none."""
        return "" if self.example is None else f"Call it again like this: {self.example}"


class PersonError(AskbackError):
    """A person must act: their input is not acceptable. The bot shows them the text privately."""


class OperatorError(AskbackError):
    """The operator must act on settings, tokens or the database. The text says the next step."""


class CallerError(AskbackError, ValueError):
    """The caller of the library must act: the call itself is wrong."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem with a value: the field, the problem, and its fix."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class InvalidValue(CallerError):
    """Raised for invalid fields of a value. `problems` has every invalid field, not only the first."""

    def __init__(self, what: str, problems: tuple[Problem, ...]) -> None:
        self.what = what
        self.problems = problems
        super().__init__(f"{what} is invalid: " + "; ".join(map(str, problems)))

    @classmethod
    def from_validation_error(cls, what: str, error: ValidationError) -> InvalidValue:
        """Return the error with every problem in a pydantic error."""
        return cls(what, to_problems(error))


_ADVICE = {
    "missing": "is missing: give it",
    "missing_argument": "is missing: give it",
    "missing_keyword_only_argument": "is missing: give it",
    "unexpected_keyword_argument": "is an unknown field: leave it out",
    "extra_forbidden": "is an unknown field: leave it out",
    "model_type": "should be an object with named fields",
    "model_attributes_type": "should be an object with named fields",
    "dict_type": "should be an object with named fields",
    "mapping_type": "should be an object with named fields",
    "greater_than_equal": "should be at least {ge}",
    "less_than_equal": "should be at most {le}",
    "string_too_long": "is too long: shorten it to {max_length}",
    "too_long": "is too long: shorten it to {max_length}",
    "string_too_short": "is too short: give at least {min_length}",
    "too_short": "is too short: give at least {min_length}",
    "string_unicode": "contains an unpaired surrogate: give valid Unicode text",
}
"""Replacements for pydantic's messages that do not say how to fix the problem."""


def to_problems(error: ValidationError) -> tuple[Problem, ...]:
    """Return every problem in a pydantic error."""
    return tuple(
        to_problem(
            entry["loc"],
            _ADVICE[entry["type"]].format(**_to_whole_numbers(entry.get("ctx", {})))
            if entry["type"] in _ADVICE
            else entry["msg"],
        )
        for entry in error.errors(include_url=False, include_input=False)
    )


def _to_whole_numbers(limits: Mapping[str, object]) -> dict[str, object]:
    """Return the limits without the decimal places of whole numbers."""
    return {name: int(one) if isinstance(one, float) and one.is_integer() else one for name, one in limits.items()}


def to_problem(loc: tuple[int | str, ...], message: str) -> Problem:
    """Return a problem whose field is a path: `('questions', 0, 'prompt')` becomes `questions[0].prompt`."""
    path = ""
    for part in loc:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return Problem(path, message.removeprefix("Value error, ").removeprefix("Input "))
