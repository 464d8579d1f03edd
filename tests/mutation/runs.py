"""Run tests on a mutant, in a process that is forked from this one, so that slow imports happen only once."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import NoReturn

import pytest

from .mutants import Mutant

TESTS = Path(__file__).parents[1]
LOADED = (
    "aiohttp", "alembic", "anthropic", "discord", "hypothesis.stateful", "jsonschema_rs", "opentelemetry.trace",
    "psycopg", "pydantic_settings", "pytest_asyncio", "pytest_timeout", "rich", "slack_bolt", "sqlalchemy", "typer",
)  # fmt: skip
OPTIONS = (
    "-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "-n", "0", "--no-header",
    "--hypothesis-profile", "unshrunk",
)  # fmt: skip
FACTOR, AT_LEAST = 4, 20.0
"""The timeout of a mutant: FACTOR times the tests' normal duration, and at least AT_LEAST seconds."""


class Runner:
    """Runs tests, and records their duration."""

    def __init__(self) -> None:
        for name in LOADED:
            importlib.import_module(name)
        loaded = [name for name in sys.modules if name.partition(".")[0] == "askback"]
        assert not loaded, f"These could not be mutated any more: {loaded}"
        gc.freeze()
        self.timeouts = 0
        """The number of mutants that were killed by the timeout alone. On a busy machine, that proves little."""
        self._seconds = 0.0

    def baseline(self, module: str, tests: Sequence[str]) -> float:
        """Run the tests on the unchanged code. They must pass."""
        begun = time.monotonic()
        if _run(None, tests, 3600) != 0:
            raise SystemExit(f"The tests of {module} fail without a mutant: python -m pytest {' '.join(tests)}")
        self._seconds = time.monotonic() - begun
        self.timeouts = 0
        return self._seconds

    def kills(self, mutant: Mutant, tests: Sequence[str]) -> bool:
        """Return True if a test fails on the mutant, or never ends."""
        code = _run(mutant, tests, max(AT_LEAST, FACTOR * self._seconds))
        self.timeouts += code == -signal.SIGKILL
        return code != 0


def _run(mutant: Mutant | None, tests: Sequence[str], seconds: float) -> int:
    """Return the exit code of the tests. Tests that take too long are killed."""
    child = os.fork()
    if child == 0:
        _child(mutant, tests)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGKILL


def _child(mutant: Mutant | None, tests: Sequence[str]) -> NoReturn:
    code = 70
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        sys.dont_write_bytecode = True
        if mutant is not None:
            sys.meta_path.insert(0, _Finder(mutant))
        paths = [str(TESTS / test) for test in tests]
        code = int(pytest.main([*OPTIONS, *paths]))
    finally:
        os._exit(code)


class _Finder(MetaPathFinder):
    """A finder that loads a mutant instead of its module."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname != self._mutant.module:
            return None
        return spec_from_file_location(fullname, self._mutant.path, loader=_Loader(fullname, self._mutant))


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, mutant: Mutant) -> None:
        super().__init__(fullname, str(mutant.path))
        self._source = mutant.source

    def get_code(self, fullname: str) -> CodeType:
        del fullname
        return compile(self._source, self.path, "exec", dont_inherit=True)
