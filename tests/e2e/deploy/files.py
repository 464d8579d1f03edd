"""The files for deployments, parsed as far as the tests need them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Dockerfile:
    """The instructions of each stage, in order."""

    stages: tuple[tuple[tuple[str, str], ...], ...]

    @classmethod
    def read(cls) -> Dockerfile:
        text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
        stages: list[list[tuple[str, str]]] = [[]]
        for line in text.splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            instruction, _, rest = line.partition(" ")
            if instruction == "FROM":
                stages.append([])
            stages[-1].append((instruction, rest.strip()))
        return cls(tuple(map(tuple, stages)))

    def last(self, instruction: str) -> str:
        """Return the last of these instructions in the final image."""
        return [rest for name, rest in self.stages[-1] if name == instruction][-1]

    def command(self, instruction: str) -> list[str]:
        return json.loads(self.last(instruction).rpartition(" CMD ")[2])

    @property
    def environment(self) -> dict[str, str]:
        return dict(pair.partition("=")[::2] for pair in self.last("ENV").split())


@dataclass(frozen=True)
class Unit:
    """The settings of a systemd unit. Each may be given several times."""

    settings: tuple[tuple[str, str], ...]

    @classmethod
    def read(cls, name: str = "askback") -> Unit:
        lines = (ROOT / f"packaging/{name}.service").read_text(encoding="utf-8").splitlines()
        pairs = (line.partition("=")[::2] for line in lines if "=" in line and not line.startswith("#"))
        return cls(tuple(pairs))

    def all(self, name: str) -> list[str]:
        return [value for one, value in self.settings if one == name]

    def one(self, name: str) -> str:
        (value,) = self.all(name)
        return value
