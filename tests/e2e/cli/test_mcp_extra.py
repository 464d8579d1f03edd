"""Without the extra `mcp`, its command says in one sentence what is missing, and every other command works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "mcp":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NotInstalled())
from askback.cli.main import main
main()
"""

SENTENCE = (
    "askback: `askback mcp` needs a package that is not installed (mcp). "
    "Run in your clone of askback: pip install -e '.[mcp]'\n"
)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--help",), 0, ""),
        (("mcp", "--help"), 0, ""),
        (
            ("mcp", "--to", "slack:@ada"),
            2,
            SENTENCE,
        ),
    ],
)
def test_what_is_missing_is_said(tmp_path: Path, words: tuple[str, ...], code: int, said: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ASKBACK_", "SLACK_"))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env=environment | {"ASKBACK_DATABASE_URL": "here.db"},
    )
    assert (done.returncode, done.stderr) == (code, said)
    assert not list(tmp_path.iterdir())
