"""Tables of the counted figures."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from support.outage import KINDS

from . import failovers, schedule
from .count import VIOLATIONS, Tally

LISTED = 5
FIGURES: dict[str, Callable[[Tally], object]] = {
    "kills": lambda one: one.kills,
    "… with work in flight": lambda one: f"{one.with_work} ({one.with_work / max(one.kills, 1):.0%})",
    "deliveries doubled": lambda one: one.weather["doubled"],
    "deliveries delayed": lambda one: one.weather["delayed"],
    "outages of the platform": lambda one: sum(one.weather[f"outage {kind}"] for kind in KINDS),
    "failovers of the database": lambda one: sum(one.weather[trouble] for trouble in failovers.TROUBLES),
    "conversations": lambda one: one.conversations,
    "… whose first message no bot was there to hear": lambda one: one.unheard,
    "questions": lambda one: one.asks,
    "… answered": lambda one: one.outcomes["answered"],
    "… timed out, cancelled, stopped": lambda one: sum(one.outcomes.values()) - one.outcomes["answered"],
    "clicks that decide": lambda one: one.clicks,
    "… acked": lambda one: one.acked,
    "tools run": lambda one: one.tools,
    "… told as interrupted": lambda one: one.interrupted,
    "calls to approve": lambda one: one.approvals["asked"],
    "… approved, denied, timed out": lambda one: " ".join(
        str(one.approvals[ending]) for ending in ("approved", "denied", "timed out")
    ),
    "… their votes, and those acked": lambda one: f"{one.approvals['votes']} {one.approvals['acked']}",
    "… tools run": lambda one: one.approvals["run"],
    "… told as interrupted (in those above, too)": lambda one: one.approvals["interrupted"],
    "… people reminded, asked later on": lambda one: f"{one.approvals['reminded']} {one.approvals['escalated']}",
    "… open at kills": lambda one: one.approvals["in flight"],
    "cards deleted by people, and back": lambda one: f"{one.changes['deleted']} {one.changes['back']}",
    "edits": lambda one: one.changes["edited"],
    "… in the place of what nobody had read": lambda one: one.changes["replaced"],
    "… told with both versions": lambda one: one.changes["both"],
    "… that no bot was there to hear": lambda one: one.changes["missed"],
    "model calls": lambda one: one.calls,
    "… repeated after a kill": lambda one: one.repeated,
    "… turns in flight at kills (the most that may be)": lambda one: one.turns_in_flight,
}


def show(console: Console, parts: list[tuple[str, Tally]], total: Tally, seconds: float) -> None:
    """Print the tables."""
    columns = [*parts, ("all", total)] if len(parts) > 1 else parts
    figures = Table(title="The long fault run", title_justify="left")
    figures.add_column("")
    for name, _ in columns:
        figures.add_column(name, justify="right")
    for name, figure in FIGURES.items():
        figures.add_row(name, *(str(figure(tally)) for _, tally in columns))
    figures.add_section()
    for kind, name in VIOLATIONS.items():
        counts = [len(tally.violations[kind]) for _, tally in columns]
        figures.add_row(name, *(f"[bold red]{count}[/]" if count else "0" for count in counts))
    console.print(figures)
    points = Table(title="Kills at each point", title_justify="left")
    for name in ("point", *(name.replace("\n", " ") for name, _ in columns)):
        points.add_column(name, justify="left" if name == "point" else "right", no_wrap=name == "point")
    for point in (*schedule.POINTS, schedule.RANDOM):
        if total.points[point]:
            points.add_row(point, *(str(tally.points[point]) for _, tally in columns))
    console.print(points)
    for kind, found in total.violations.items():
        for what in found[:LISTED]:
            console.print(f"{VIOLATIONS[kind]}: {what}", markup=False, highlight=False)
        if len(found) > LISTED:
            console.print(f"{VIOLATIONS[kind]}: {len(found) - LISTED} more")
    console.print(f"{total.kills} kills in {seconds / 60:.1f} min: {60 * total.kills / seconds:.0f} a minute.")
