"""Measure two commits in turn, and tell which figures differ by more than the noise.

Each commit is checked out into a folder of its own and runs its own benchmarks, with the libraries of this environment.
Only figures that both commits have are compared.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

ROOT = Path(__file__).parents[2]
LARGER_IS_BETTER = "per s"
LEAST = 0.05
"""Relative difference of the medians below which a figure counts as equal: people notice no less."""

Verdict = Literal["slower", "faster", "equal"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure of both commits; each value is the median of one round."""

    what: str
    unit: str
    base: tuple[float, ...]
    head: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Return the head's median relative to the base's."""
        return statistics.median(self.head) / (statistics.median(self.base) or 1e-9)

    @property
    def verdict(self) -> Verdict:
        """Return `equal` unless every round of one commit beats every round of the other, and by enough."""
        apart = max(self.base) < min(self.head) or max(self.head) < min(self.base)
        if not apart or abs(self.ratio - 1) < LEAST:
            return "equal"
        return "slower" if (self.ratio > 1) != (self.unit == LARGER_IS_BETTER) else "faster"


def compare(base: Sequence[str], head: Sequence[str]) -> list[Comparison]:
    """Compare the output of the rounds of both commits, in the order of the head's figures."""
    before, after = _collect(base), _collect(head)
    return [
        Comparison(what=key[1], unit=key[2], base=tuple(before[key]), head=tuple(values))
        for key, values in after.items()
        if key in before
    ]


def format_table(comparisons: Sequence[Comparison]) -> str:
    """Return one row for each figure as Markdown; the range is that of the rounds' medians."""
    rows = ["| figure | base | head | head / base | |", "|---|---:|---:|---:|---|"]
    for one in comparisons:
        verdict = "" if one.verdict == "equal" else one.verdict
        cells = [one.what.replace("|", "/"), _format_range(one.base, one.unit), _format_range(one.head, one.unit)]
        rows.append(f"| {' | '.join(cells)} | {one.ratio:.2f} | {verdict} |")
    return "\n".join(rows)


def run_in_turn(
    base: str, head: str, *, rounds: int, options: Sequence[str], folder: Path, say: Callable[[str], None]
) -> list[Comparison]:
    """Run the benchmarks of both commits, `rounds` times in turn. Raises `CalledProcessError` if git or one fails."""
    outputs: dict[str, list[str]] = {"base": [], "head": []}
    with _checked_out(base, folder) as before, _checked_out(head, folder) as after:
        for number in range(1, rounds + 1):
            # The second in a round finds a warmer machine, so they change places.
            order = [("base", base, before), ("head", head, after)]
            for name, commit, place in order if number % 2 else reversed(order):
                say(f"round {number} of {rounds}: {commit}")
                outputs[name].append(_measure(place, options))
    return compare(outputs["base"], outputs["head"])


def _collect(outputs: Sequence[str]) -> dict[tuple[str, str, str], list[float]]:
    medians: dict[tuple[str, str, str], list[float]] = {}
    for output in outputs:
        for line in output.splitlines():
            figure: dict[str, Any] = json.loads(line)
            medians.setdefault((figure["bench"], figure["what"], figure["unit"]), []).append(float(figure["median"]))
    return medians


def _format_range(values: tuple[float, ...], unit: str) -> str:
    low, high = f"{min(values):,.4g}", f"{max(values):,.4g}"
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


@contextmanager
def _checked_out(commit: str, folder: Path) -> Iterator[Path]:
    """Check a commit out next to its entry points, until the block ends."""
    with TemporaryDirectory(prefix="askback-compare-", dir=folder) as name:
        tree, site = Path(name) / "tree", Path(name) / "site"
        _git("worktree", "add", "--detach", str(tree), commit)
        try:
            _write_entry_points(tree, site)
            yield tree
        finally:
            _git("worktree", "remove", "--force", str(tree))


def _write_entry_points(tree: Path, site: Path) -> None:
    """Write the commit's own metadata, so that its bots are found and not those of the installed checkout."""
    project = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    metadata = site / f"askback-{project['version']}.dist-info"
    metadata.mkdir(parents=True)
    head = f"Metadata-Version: 2.1\nName: askback\nVersion: {project['version']}\n"
    (metadata / "METADATA").write_text(head, encoding="utf-8")
    groups = project.get("entry-points", {})
    lines = [
        line
        for group, entries in groups.items()
        for line in (f"[{group}]", *(f"{name} = {target}" for name, target in entries.items()), "")
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


def _measure(tree: Path, options: Sequence[str]) -> str:
    paths = [tree.parent / "site", tree, tree / "core", tree / "bots"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, "-m", "tests.bench", *options]
    return subprocess.run(command, cwd=tree, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
