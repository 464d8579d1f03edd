"""Runs a command as people and scripts do, without its import time where that is possible."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.processes import Launcher

from .runner import ASKBACK, Runner, environment


@pytest.fixture
def run(launcher: Launcher) -> Runner:
    def run_in(
        folder: Path, *arguments: str, stdin: str | bytes = "", command: tuple[str, ...] | None = None, **more: str
    ) -> subprocess.CompletedProcess[str]:
        if not stdin and command is None:
            return launcher.run(*arguments, folder=folder, environment=environment(**more))
        given = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [*(command or (ASKBACK,)), *arguments],
            input=given,
            capture_output=True,
            cwd=folder,
            env=environment(**more),
            timeout=60,
        )
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    return run_in
