"""Without its extra, the door of a framework says in one sentence what is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NotInstalled())
from askback.errors import OperatorError
try:
    __import__(f"askback.doors.{sys.argv[2]}")
except OperatorError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("package", "door", "said"),
    [
        ("langgraph", "langgraph", "The door for LangGraph needs a package that is not installed (langgraph)"),
        ("pydantic_ai", "pydantic_ai", "The door for Pydantic AI needs a package that is not installed (pydantic_ai)"),
        ("agents", "openai_agents", "The door for OpenAI Agents needs a package that is not installed (agents)"),
        ("acp", "acp", "The door for ACP needs a package that is not installed (acp)"),
        (
            "claude_agent_sdk",
            "claude_agent_sdk",
            "The door for the Claude Agent SDK needs a package that is not installed (claude_agent_sdk)",
        ),
    ],
)
def test_what_is_missing_is_said(package: str, door: str, said: str) -> None:
    command = [sys.executable, "-c", PROGRAM, package, door]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    extra = {"agents": "openai-agents"}.get(package, package.replace("_", "-"))
    assert done.stdout == f"{said}. Run in your clone of askback: pip install -e '.[{extra}]'\n"
