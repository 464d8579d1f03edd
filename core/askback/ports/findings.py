"""The findings of `askback doctor`: one sentence each, and the next step if there is a problem."""

from __future__ import annotations

__all__ = ["Finding", "Grade", "Scene", "report_broken", "report_error", "report_good", "report_warning"]

import re
from dataclasses import dataclass, field
from typing import Literal, Self

from pydantic import model_validator

from askback.errors import OperatorError
from askback.internal.values import Value

Grade = Literal["good", "warning", "broken"]

SECONDS = 5.0
"""Time limit for any call over the network, in seconds."""


class Finding(Value):
    """The result of one check."""

    grade: Grade
    about: str
    """The checked part, in a word or two."""
    summary: str
    """The result in a sentence. It never contains a secret."""
    cure: str = ""
    """The exact next step. Required unless the grade is good, and forbidden if it is."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.grade == "good") == bool(self.cure):
            raise ValueError('needs a cure unless the grade is "good", and only then')
        return self


def report_good(about: str, summary: str) -> Finding:
    """Return a finding without a problem."""
    return Finding(grade="good", about=about, summary=summary)


def report_warning(about: str, summary: str, cure: str) -> Finding:
    """Return a finding for a part that works, but should be improved or will soon fail."""
    return Finding(grade="warning", about=about, summary=summary, cure=cure)


def report_broken(about: str, summary: str, cure: str) -> Finding:
    """Return a finding for a part that keeps the bot from working."""
    return Finding(grade="broken", about=about, summary=summary, cure=cure)


@dataclass(frozen=True, slots=True)
class Scene:
    """Facts about the installation that a bot's checks need."""

    worker: int | None = None
    """Process id of the bot on the same database, 0 if unknown; None if no bot runs. What it holds is left alone."""
    tenants: frozenset[str] = field(default_factory=frozenset[str])
    """The teams or guilds of this platform that have open questions."""
    seconds: float = SECONDS


_FIRST = re.compile(r"(.*?[.])\s+(?=[A-Z`])(.*)", re.DOTALL)


def report_error(about: str, error: OperatorError, otherwise: str) -> list[Finding]:
    """Return one finding for each line of an error: first the problem, then the next step.

    A line without a next step gets `otherwise`.
    """
    found: list[Finding] = []
    for line in str(error).splitlines():
        parts = _FIRST.fullmatch(line)
        summary, cure = (line, otherwise) if parts is None else (parts[1], parts[2])
        found.append(report_broken(about, summary, cure))
    return found
