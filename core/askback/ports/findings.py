"""What an examination finds: one sentence each, and the next step where something is to be done."""

from __future__ import annotations

__all__ = ["Finding", "Grade", "Scene", "broken", "good", "told_by", "warning"]

import re
from dataclasses import dataclass, field
from typing import Literal, Self

from pydantic import model_validator

from askback.errors import OperatorError
from askback.internal.values import Value

Grade = Literal["good", "warning", "broken"]

SECONDS = 5.0
"""How long any call over the network may take."""


class Finding(Value):
    """One thing that was looked at."""

    grade: Grade
    about: str
    """What was looked at, in a word or two."""
    says: str
    """What was found, in a sentence. Never a secret."""
    cure: str = ""
    """The next step, exactly; there is one for everything that is not good."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.grade == "good") == bool(self.cure):
            raise ValueError("has a cure where something is to be done, and only there")
        return self


def good(about: str, says: str) -> Finding:
    """All is well with it."""
    return Finding(grade="good", about=about, says=says)


def warning(about: str, says: str, cure: str) -> Finding:
    """It works, but not as well as it could, or not for long."""
    return Finding(grade="warning", about=about, says=says, cure=cure)


def broken(about: str, says: str, cure: str) -> Finding:
    """The bot does not work like that."""
    return Finding(grade="broken", about=about, says=says, cure=cure)


@dataclass(frozen=True, slots=True)
class Scene:
    """What a bot has to know about the rest before it examines itself."""

    worker: int | None = None
    """The process of the bot that runs on the same database, if one does: what it holds is left alone."""
    tenants: frozenset[str] = field(default_factory=frozenset[str])
    """The teams or guilds of this platform where questions are open."""
    seconds: float = SECONDS


_FIRST = re.compile(r"(.*?[.])\s+(?=[A-Z`])(.*)", re.DOTALL)


def told_by(about: str, error: OperatorError, otherwise: str) -> list[Finding]:
    """An error as findings, one for each of its lines: what is wrong comes first there, and the next step after it."""
    found: list[Finding] = []
    for line in str(error).splitlines():
        parts = _FIRST.fullmatch(line)
        says, cure = (line, otherwise) if parts is None else (parts[1], parts[2])
        found.append(broken(about, says, cure))
    return found
