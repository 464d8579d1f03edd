"""Markdown tables from lines of JSON, one for each benchmark."""

from __future__ import annotations

import json
from typing import Any

from .runner import BENCHES

HEAD = ("| | median | p99 | fsyncs | goal | |", "|---|---:|---:|---:|---|---|")
MARK = "<!-- figures -->"
LEFT_OUT = {"writer", "silence"}
"""Benchmarks that only interest the developers of those parts."""


def table(lines: str) -> str:
    """Return a table for each benchmark, with one row per figure, and the common circumstances below."""
    figures: list[dict[str, Any]] = [json.loads(line) for line in lines.splitlines() if line.strip()]
    shown: list[str] = []
    for name in BENCHES:
        rows = [_row(figure) for figure in figures if figure["bench"] == name]
        if rows and name not in LEFT_OUT:
            shown += [f"### {_to_heading(name)}", "", *HEAD, *rows, ""]
    return "\n".join([*shown, _circumstances(figures)])


def placed(lines: str, page: str) -> str:
    """Return the page with the tables of these lines between its two marks. Tables of other benchmarks stay.

    Raises `ValueError` if they stay and were made in other circumstances.
    """
    before, old, after = page.split(MARK)
    kept, made = _split(old), _split(table(lines))
    if kept.keys() - made.keys():
        if not _words(made[""]) <= _words(kept[""]):
            raise ValueError(f"Measure all again. The page has figures of “{kept['']}”, and these are of “{made['']}”.")
        made[""] = kept[""]
    order = [*map(_to_heading, BENCHES), ""]
    tables = "\n\n".join({**kept, **made}[name] for name in order if name in kept or name in made)
    return f"{before}{MARK}\n{tables}\n{MARK}{after}"


def _split(made: str) -> dict[str, str]:
    """Return each table with its heading, by the heading, and the circumstances by an empty text."""
    *tables, circumstances = made.strip().split("\n\nPython ")
    found = {"": f"Python {circumstances}"}
    for one in "\n".join(tables).split("### ")[1:]:
        found[one.partition("\n")[0]] = f"### {one.strip()}"
    return found


def _words(circumstances: str) -> set[str]:
    return {word.strip(",;.") for word in circumstances.split()} - {""}


def _to_heading(name: str) -> str:
    return BENCHES[name].removesuffix(".")


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
