"""One figure, and its circumstances."""

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
    """The database of a figure, and the durability of a commit in it."""

    journal_mode: str
    synchronous: str
    file_system: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fsyncs:
    """The number of flushes to the disk per counted item."""

    each: float
    counted_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured figure."""

    what: str
    median: float
    unit: str
    n: int
    p99: float | None = None
    """None means that it was counted once, not measured repeatedly."""
    goal: str | None = None
    met: bool | None = None
    note: str | None = None
    database: Database | None = None
    """None means that nothing was stored."""
    fsyncs: Fsyncs | None = None
    """None means that nothing was stored, or that they cannot be counted here."""

    def line(self, bench: str) -> str:
        """Return a line of JSON, including the common circumstances."""
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
    """Return three significant digits; more would be noise."""
    return float(f"{value:.3g}") if abs(value) < 1000 else round(value)


def measured(what: str, unit: str, values: Sequence[float], **more: object) -> Figure:
    """Return a figure from several measurements."""
    return Figure(what=what, unit=unit, n=len(values), median=median(values), p99=p99(values), **more)  # type: ignore[arg-type]


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def p99(values: Sequence[float]) -> float:
    """Return the 99th percentile; for fewer than a hundred values, the largest."""
    return max(values) if len(values) < PER_CENT else statistics.quantiles(values, n=PER_CENT)[-1]


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return median(ours) / median(theirs)


async def database_in(folder: Path) -> Database:
    """Return the writer's database settings in this folder, read from its connection instead of its source."""
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
    """Return the type of the file system, from the nearest mount above the folder."""
    here, best, kind = folder.resolve(), Path(), "unknown"
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        fields = line.split()
        mount = Path(fields[4])
        if here.is_relative_to(mount) and len(mount.parts) >= len(best.parts):
            best, kind = mount, fields[fields.index("-") + 1]
    return kind
