"""The launcher of a run: it has imported the frameworks, too, so that no process spends its time on that.

Its arguments are those of `support/askback_launcher.py`.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from support import askback_launcher, launcher

FRAMEWORKS = (
    "langgraph.checkpoint.sqlite.aio", "langgraph.graph", "pydantic_ai.models.function", "agents", "claude_agent_sdk",
)  # fmt: skip
"""The modules that the doors' programs import, without those that are not installed."""


def warm() -> None:
    askback_launcher.warm()
    for name in FRAMEWORKS:
        with suppress(ImportError):
            import_module(name)
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import_module("kill_points")


if __name__ == "__main__":
    launcher.serve(Path(sys.argv[1]), int(sys.argv[2]), warm)
