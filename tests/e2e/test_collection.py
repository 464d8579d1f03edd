"""A module of tests that cannot be imported fails the run, also in processes that share one import of the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a folder with this repository's configuration of pytest, and one test that passes."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "tests" / "folder").mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path / "tests")
    (tmp_path / "tests" / "support").symlink_to(ROOT / "tests" / "support")
    (tmp_path / "tests" / "folder" / "test_whole.py").write_text("def test_passes() -> None: ...\n")
    return tmp_path


def run_pytest(checkout: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "-q", "-p", "no:cacheprovider", "tests/folder"],
        cwd=checkout,
        env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("broken", ["test_broken.py", "conftest.py"])
def test_a_module_that_cannot_be_imported_fails_the_run(checkout: Path, broken: str) -> None:
    lost = "from askback.domain.reserved_options import GONE\n\n\ndef test_is_lost() -> None: ...\n"
    (checkout / "tests" / "folder" / broken).write_text(lost)

    run = run_pytest(checkout)

    assert run.returncode != 0, run.stdout
    assert "cannot import name 'GONE'" in run.stdout + run.stderr


def test_tests_that_can_be_imported_pass(checkout: Path) -> None:
    run = run_pytest(checkout)

    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.splitlines()[-1].startswith("1 passed")
