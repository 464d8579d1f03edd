"""The benchmarks run. These tests ignore the speeds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
EVERYWHERE = ("bench", "what", "median", "p99", "unit", "n", "journal_mode", "synchronous", "file_system", "fsyncs")


def bench(*arguments: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.bench", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_what_is_listed_is_there() -> None:
    names = [line.split()[0] for line in bench("--list").splitlines()]
    assert names
    program = f"from tests.bench.runner import module\nfor name in {names!r}: assert module(name).run"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_a_benchmark_prints_lines_of_json_with_all_that_a_figure_needs(tmp_path: Path) -> None:
    lines = bench("--quick", "--only", "writer", "--folder", str(tmp_path))
    figures = [json.loads(line) for line in lines.splitlines()]
    assert figures
    for figure in figures:
        assert set(EVERYWHERE) < set(figure)
        assert figure["median"] > 0
        assert (figure["journal_mode"], figure["synchronous"]) == ("wal", "full")
    assert not list(tmp_path.iterdir())  # it removes its files

    # The same as a table for people.
    kept = tmp_path / "figures.jsonl"
    kept.write_text(lines, encoding="utf-8")
    assert "journal mode wal, synchronous full" in bench("--table", str(kept))
