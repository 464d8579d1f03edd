"""Compare this machine's clock with another one. Pure."""

from __future__ import annotations

__all__ = ["CURE", "check_clock"]

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from askback.ports.findings import Finding, report_broken, report_good, report_warning

WARN = 60
BROKEN = 300
"""Difference in seconds beyond which the platform's signatures are rejected."""
CURE = "Turn on time synchronization, for example with: timedatectl set-ntp true"


def check_clock(whose: str, date: str | None, now: datetime) -> tuple[Finding, ...]:
    """Compare the clock with the Date header of another machine's answer; empty if the header cannot be read."""
    try:
        theirs = parsedate_to_datetime(date or "")
    except ValueError:
        return ()
    if theirs.tzinfo is None:
        theirs = theirs.replace(tzinfo=UTC)
    ahead = round((now - theirs).total_seconds())
    off = abs(ahead)
    summary = f"The clock of this machine is {off} s {'ahead of' if ahead > 0 else 'behind'} that of {whose}"
    if off >= BROKEN:
        return (
            report_broken(
                "clock", f"{summary}: signed requests are rejected, and deadlines pass at wrong times.", CURE
            ),
        )
    if off >= WARN:
        return (report_warning("clock", f"{summary}: deadlines pass at wrong times.", CURE),)
    return (report_good("clock", f"The clock of this machine agrees with that of {whose}."),)
