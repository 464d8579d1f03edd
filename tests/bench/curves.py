"""Curves of how figures grow, drawn from lines of JSON: `python -m tests.bench --curves figures.jsonl FOLDER`."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Curve:
    """A picture: one panel for each kind of figure, over a growing number."""

    file: str
    bench: str
    axis: str
    number: str
    """A regular expression whose group is the number in the figure's name."""
    panels: Mapping[str, str]
    """The title of each panel, by the beginning of the figures' names."""


CURVES = (
    Curve(
        "open.svg", "open", "open questions", r", ([\d,]+) open$",
        {
            "click → durable ack": "click → durable ack (ms)",
            "memory,": "memory (MB)",
            "idle processor": "idle processor (% of a core)",
            "start until it listens,": "start (s)",
        },
    ),
    Curve(
        "conversations.svg", "conversations", "conversations in progress", r", ([\d,]+) conversations$",
        {"click → durable ack": "click → durable ack (ms)", "click → agent resumed": "click → agent resumed (ms)"},
    ),
    Curve(
        "processes.svg", "processes", "processes", r"answers of ([\d,]+) process",
        {"answers of": "answers per second, PostgreSQL"},
    ),
)  # fmt: skip


def draw(lines: str, folder: Path) -> list[Path]:
    """Draw each curve whose figures are there, and return the files."""
    figures: list[dict[str, Any]] = [json.loads(line) for line in lines.splitlines() if line.strip()]
    drawn = []
    for curve in CURVES:
        found = [figure for figure in figures if figure["bench"] == curve.bench]
        points = {title: _collect(found, beginning, curve.number) for beginning, title in curve.panels.items()}
        if any(points.values()):
            drawn.append(_draw(curve, points, folder / curve.file))
    return drawn


def _collect(figures: list[dict[str, Any]], beginning: str, number: str) -> dict[str, list[tuple[int, float]]]:
    """Return the points of a panel: of the medians, and of the 99th percentiles where there are any."""
    points: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for figure in figures:
        at = re.search(number, figure["what"])
        if at is None or not figure["what"].startswith(beginning):
            continue
        count = int(at[1].replace(",", ""))
        points["median"].append((count, figure["median"]))
        if figure["p99"] is not None:
            points["p99"].append((count, figure["p99"]))
    return {name: sorted(values) for name, values in points.items()}


def _draw(curve: Curve, points: Mapping[str, dict[str, list[tuple[int, float]]]], file: Path) -> Path:
    import matplotlib as mpl
    from matplotlib.figure import Figure as Picture

    # The text stays text, and two drawings of the same figures are the same bytes.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "askback", "font.family": "sans-serif"})
    picture = Picture(figsize=(3.1 * len(points), 2.8), layout="constrained")
    for panel, (title, lines) in zip(picture.subplots(1, len(points), squeeze=False)[0], points.items(), strict=True):
        for name, style in (("median", "o-"), ("p99", "s:")):
            if name in lines:
                panel.plot(*zip(*lines[name], strict=True), style, label=name, color="#1d6fb8")
        counts = sorted({count for values in lines.values() for count, _ in values})
        highest = max(value for values in lines.values() for _, value in values)
        panel.set(title=title, xlabel=curve.axis, xscale="log", ylim=(0, highest * 1.15))
        panel.set_xticks(counts, labels=[_shorten(count) for count in counts], fontsize=8)
        panel.minorticks_off()
        panel.title.set_fontsize(10)
        panel.grid(alpha=0.3)
        if "p99" in lines:
            panel.legend(fontsize=8)
    picture.savefig(file, format="svg", metadata={"Date": None}, facecolor="white")
    return file


def _shorten(count: int) -> str:
    """Return a number as the axis shows it, such as 100k."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count // size}{letter}"
    return str(count)
