"""Run `askback mcp` or `askback serve` unchanged, and end it with SIGKILL at the window that RIG_WINDOW names."""

from __future__ import annotations

import os
from typing import Any

import kill_points

from askback.cli import main as cli
from askback.client.ask_result import AskResult
from askback.doors import door
from faults.doors.windows import RESULT

WINDOW = "RIG_WINDOW"


def build_result(*args: Any, **more: Any) -> AskResult:
    kill_points.reached()
    return to_result(*args, **more)


to_result = door.to_result

if __name__ == "__main__":
    window = os.environ.pop(WINDOW, "")
    if window == RESULT:
        door.to_result = build_result  # type: ignore[assignment]
    elif window:
        kill_points.arm(window, 1, halt=False)
    cli.main()
