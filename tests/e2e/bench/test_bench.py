"""The benchmarks run. These tests ignore the speeds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.bench.compare import compare, format_table

ROOT = Path(__file__).parents[3]
EVERYWHERE = ("bench", "what", "median", "p99", "unit", "n", "journal_mode", "synchronous", "file_system", "fsyncs")


def bench(*arguments: str, code: int | None = 0) -> str:
    """Run the command, and return its output. None: any exit code, since it depends on the machine's speed."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.bench", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert code is None or ran.returncode == code, ran.stderr
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


def test_a_bot_is_measured_from_the_click_to_the_settled_card(tmp_path: Path) -> None:
    lines = bench("--quick", "--only", "prose", "--folder", str(tmp_path))
    assert {json.loads(line)["bench"] for line in lines.splitlines()} == {"prose"}


def rounds(**medians: tuple[float, ...]) -> list[str]:
    """Return the output of each round: a line for each figure, with its median in that round."""
    units = {"rate": "per s"}
    lines = [
        [json.dumps({"bench": "b", "what": what, "median": one, "unit": units.get(what, "ms")}) for one in values]
        for what, values in medians.items()
    ]
    return ["\n".join(round_lines) for round_lines in zip(*lines, strict=True)]


def test_a_commit_that_is_slower_in_every_round_is_reported() -> None:
    base = rounds(click=(2.0, 2.2), start=(100, 110), rate=(900, 950), old=(1, 1))
    head = rounds(click=(2.5, 2.4), start=(105, 90), rate=(990, 1010), new=(1, 1))
    assert {one.what: one.verdict for one in compare(base, head)} == {
        "click": "slower",
        "start": "equal",
        "rate": "faster",
    }
    assert "| slower |" in format_table(compare(base, head))


def test_two_commits_are_measured_in_turn(tmp_path: Path) -> None:
    options = ("--rounds", "1", "--quick", "--only", "writer", "--folder", str(tmp_path))
    said = bench("--compare", "HEAD", "HEAD", *options, code=None)
    assert len([row for row in said.splitlines() if row.startswith("| ")]) > 1
    assert not list(tmp_path.iterdir())  # it removes the checkouts
