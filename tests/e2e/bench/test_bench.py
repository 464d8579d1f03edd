"""The benchmarks run. These tests ignore the speeds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.bench.compare import compare, format_table
from tests.bench.door_programs.clients import AllowingDoor

from e2e.doors.acp_host import ClientDoor

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


def test_the_door_without_askback_has_every_part_that_its_client_calls() -> None:
    assert isinstance(AllowingDoor(), ClientDoor)


def line(name: str, what: str, median: float, **more: object) -> str:
    """Return a line of a benchmark."""
    given: dict[str, object] = dict.fromkeys(("p99", "goal", "met", "fsyncs", "fsyncs_counted_by"))
    given |= {"bench": name, "what": what, "median": median, "unit": "ms", "n": 1, "python": "3.11", "cores": 2}
    given |= {"journal_mode": "wal", "synchronous": "full", "file_system": "ext4"}
    return json.dumps(given | more)


def test_new_figures_replace_their_tables_in_the_page_and_leave_the_others(tmp_path: Path) -> None:
    page = tmp_path / "figures.md"
    page.write_text("Before.\n\n<!-- figures --><!-- figures -->\n\nAfter.\n", encoding="utf-8")

    def put(*lines: str, code: int = 0) -> str:
        kept = tmp_path / "figures.jsonl"
        kept.write_text("\n".join(lines), encoding="utf-8")
        bench("--table", str(kept), "--into", str(page), code=code)
        return page.read_text(encoding="utf-8")

    put(line("clicks", "a click", 5.0, fsyncs_counted_by="strace"), line("peers", "an answer", 2.0))
    text = put(line("doors", "a door", 7.0))
    assert [row for row in text.splitlines() if row.startswith(("| a", "###", "Python"))] == [
        "### A click until its durable ack, and until the agent continues, compared with the bare frameworks",
        "| a click | 5 ms |  |  |  |  |",
        "### Doors: a click until the program behind each of them continues, compared with the same without askback",
        "| a door | 7 ms |  |  |  |  |",
        "### An answer until the waiting program continues, compared with LangGraph and DBOS",
        "| an answer | 2 ms |  |  |  |  |",
        "Python 3.11, 2 cores, databases on ext4;",
    ]
    assert "fsyncs by strace" in text
    assert text.startswith("Before.")
    assert text.endswith("After.\n")
    assert "| a door | 8 ms |" in put(line("doors", "a door", 8.0))
    # Another machine's figures would be compared with these.
    assert put(line("doors", "a door", 9.0, cores=64), code=1).count("8 ms") == 1


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
