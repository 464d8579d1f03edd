"""Ctrl-C ends every command quietly, from its first import on."""

from __future__ import annotations

import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from .runner import environment

PROJECT = Path(__file__).parents[3] / "pyproject.toml"


def _build_script() -> str:
    """Return what an installed `askback` does: the script on this machine may be older."""
    module, name = tomllib.loads(PROJECT.read_text())["project"]["scripts"]["askback"].split(":")
    return f"import sys; from {module} import {name}; sys.exit({name}())"


@pytest.mark.parametrize(
    "command", [("-c", _build_script()), ("-m", "askback")], ids=["the installed command", "the module"]
)
def test_ctrl_c_during_the_imports_ends_it_quietly(tmp_path: Path, command: tuple[str, ...]) -> None:
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "typer.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(60)\n")
    path = f"{slow}:{environment().get('PYTHONPATH', '')}"
    with subprocess.Popen(
        [sys.executable, *command, "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(PYTHONPATH=path),
        cwd=tmp_path,
        # Tests that run in the background ignore Ctrl-C, and the command would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"importing\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, b"")
