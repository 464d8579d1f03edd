"""Starts `askback` in a process that reads the certificates of this machine itself. The launcher's share theirs."""

from __future__ import annotations

import os
from pathlib import Path

from e2e.ask.office import Office
from support.processes import ROOT

_PROGRAM = """
import os
import sys

os.execv(sys.executable, [sys.executable, "-m", "askback", *sys.argv[1:]])
"""


def prepare_fresh(office: Office) -> tuple[Path, dict[str, str]]:
    """Write the program; return its path and the environment that it needs."""
    program = office.folder / "fresh.py"
    program.write_text(_PROGRAM, encoding="utf-8")
    return program, {"PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in ("core", "bots"))}
