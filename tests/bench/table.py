"""A Markdown table from lines of JSON."""

from __future__ import annotations

import json
from typing import Any

MARK = "<!-- figures -->"
LEFT_OUT = {"writer", "silence"}
"""Benchmarks that only interest the developers of those parts."""


def table(lines: str) -> str:
    """Return one row per figure, and the common circumstances below."""
    figures: list[dict[str, Any]] = [json.loads(line) for line in lines.splitlines() if line.strip()]
    rows = ["| | median | p99 | fsyncs | goal | |", "|---|---:|---:|---:|---|---|"]
    rows += [_row(figure) for figure in figures if figure["bench"] not in LEFT_OUT]
    return "\n".join([*rows, "", _circumstances(figures)])


def placed(made: str, page: str) -> str:
    """Return the page with this table between its two marks."""
    before, _, after = page.split(MARK)
    return f"{before}{MARK}\n{made}\n{MARK}{after}"


def _row(figure: dict[str, Any]) -> str:
    met = {True: "met", False: "**missed**", None: ""}[figure["met"]]
    said = ": ".join(one for one in (met, figure.get("note")) if one)
    values = [_number(figure[name], figure["unit"]) for name in ("median", "p99")]
    cells = [figure["what"], *values, _number(figure["fsyncs"], ""), figure["goal"] or "", said]
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return f"{f'{value:,.0f}' if abs(value) >= 100 else f'{value:g}'} {unit}".strip()


def _circumstances(figures: list[dict[str, Any]]) -> str:
    def all_of(name: str) -> str:
        return ", ".join(dict.fromkeys(str(figure[name]) for figure in figures if figure[name] is not None))

    return (
        f"Python {all_of('python')}, {all_of('cores')} cores, databases on {all_of('file_system')};\n"
        f"journal mode {all_of('journal_mode')}, synchronous {all_of('synchronous')}; "
        f"fsyncs by {all_of('fsyncs_counted_by')}."
    )
