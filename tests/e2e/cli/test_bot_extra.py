"""Without a bot's extra, its command says how to install it: from a clone, since no package index has askback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WITHOUT = """
import sys
from importlib import metadata

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "discord":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NotInstalled())
known = metadata.distribution

def find(name):
    if name.startswith("discord"):
        raise metadata.PackageNotFoundError(name)
    return known(name)

metadata.distribution = find
from askback.cli.main import main
main()
"""
"""Runs `askback` where the library for Discord is not installed."""


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, "discord", "--manifest"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "askback: The bot for discord needs discord-py. Run in your clone of askback: pip install -e '.[discord]'\n"
    )
