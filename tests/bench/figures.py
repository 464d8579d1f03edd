"""One figure, and where it was taken."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from askback.store.sqlite.database import SqliteDatabase

PER_CENT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """Where it was stored, and what a commit there means."""

    journal_mode: str
    synchronous: str
    file_system: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fsyncs:
    """How often something was forced onto the disk, for one of what the figure counts."""

    each: float
    counted_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What was measured."""

    what: str
    median: float
    unit: str
    n: int
    p99: float | None = None
    """None: it was counted, not measured again and again."""
    goal: str | None = None
    met: bool | None = None
    note: str | None = None
    database: Database | None = None
    """None: nothing was stored."""
    fsyncs: Fsyncs | None = None
    """None: nothing was stored, or nothing here can count them."""

    def line(self, bench: str) -> str:
        """As a line of JSON, with what else was the same for all."""
        fields: dict[str, object] = {"bench": bench, "what": self.what}
        fields |= {"median": rounded(self.median), "p99": None if self.p99 is None else rounded(self.p99)}
        fields |= {"unit": self.unit, "n": self.n, "goal": self.goal, "met": self.met}
        fields |= dict.fromkeys(Database.__dataclass_fields__)
        fields |= {} if self.database is None else asdict(self.database)
        fields |= {"fsyncs": None if self.fsyncs is None else rounded(self.fsyncs.each)}
        fields |= {"fsyncs_counted_by": None if self.fsyncs is None else self.fsyncs.counted_by}
        fields |= {"python": platform.python_version(), "cores": os.cpu_count()}
        fields |= {"load": round(os.getloadavg()[0], 1)}
        if self.note is not None:
            fields["note"] = self.note
        return json.dumps(fields, ensure_ascii=False)


def rounded(value: float) -> float:
    """Three digits of it: more would be noise."""
    return float(f"{value:.3g}") if abs(value) < 1000 else round(value)


def measured(what: str, unit: str, values: Sequence[float], **more: object) -> Figure:
    """A figure of several measurements."""
    return Figure(what=what, unit=unit, n=len(values), median=median(values), p99=p99(values), **more)  # type: ignore[arg-type]


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def p99(values: Sequence[float]) -> float:
    """The 99th percentile; of fewer than a hundred, the largest."""
    return max(values) if len(values) < PER_CENT else statistics.quantiles(values, n=PER_CENT)[-1]


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return median(ours) / median(theirs)


async def database_in(folder: Path) -> Database:
    """What our own writer does there: asked of its connection, not taken from its source."""
    writer = SqliteDatabase(folder / "facts.db")
    try:
        mode, synchronous = await writer.run(
            lambda connection: (
                str(connection.exec_driver_sql("PRAGMA journal_mode").scalar()),
                connection.exec_driver_sql("PRAGMA synchronous").scalar_one(),
            )
        )
    finally:
        await writer.close()
    return Database(journal_mode=mode, synchronous=SYNCHRONOUS[int(synchronous)], file_system=file_system(folder))


SYNCHRONOUS = {0: "off", 1: "normal", 2: "full", 3: "extra"}


def file_system(folder: Path) -> str:
    """Its kind, by the mount that is nearest above."""
    here, best, kind = folder.resolve(), Path(), "unknown"
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        fields = line.split()
        mount = Path(fields[4])
        if here.is_relative_to(mount) and len(mount.parts) >= len(best.parts):
            best, kind = mount, fields[fields.index("-") + 1]
    return kind
