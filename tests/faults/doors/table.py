"""The table of a run: a line for each door and window."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from .record import Cell, Tally
from .schedule import list_windows
from .windows import ORDER

COLUMNS = ("kills", "doubled", "lost", "unknown")
LISTED = 20


def show(console: Console, tally: Tally, seconds: float) -> None:
    """Print the figures, the violations, and the speed."""
    table = Table(title="Kills in each window of each door", title_justify="left")
    table.add_column("door")
    table.add_column("window")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for door in dict.fromkeys(door for door, _ in tally.cells):
        windows = sorted((window for name, window in tally.cells if name == door), key=ORDER.index)
        for window in windows:
            table.add_row(door, list_windows(door)[window], *_figures(tally.cells[door, window]))
        table.add_section()
    total = tally.sum()
    table.add_row("all", "", *_figures(total))
    console.print(table)
    for where, kills in sorted(tally.circumstances.items()):
        console.print(f"{where}: {kills} kills", highlight=False)
    if total.needless:
        console.print(f"Told as unknown although nobody was killed between claim and ack: {total.needless}")
    for what in tally.wrong[:LISTED]:
        console.print(what, markup=False, highlight=False)
    if len(tally.wrong) > LISTED:
        console.print(f"{len(tally.wrong) - LISTED} more")
    console.print(f"{total.kills} kills in {seconds / 60:.1f} min: {60 * total.kills / seconds:.0f} a minute.")


def _figures(cell: Cell) -> tuple[str, ...]:
    wrong = [f"[bold red]{count}[/]" if count else "0" for count in (cell.doubled, cell.lost)]
    return str(cell.kills), *wrong, str(cell.unknown)
