"""Whether this machine knows what time it is, as others see it. Pure."""

from __future__ import annotations

__all__ = ["clock_finding"]

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from askback.ports.findings import Finding, broken, good, warning

WARN = 60
BROKEN = 300
"""From so many seconds on, signatures are refused."""
CURE = "Let the system keep its time, as by: timedatectl set-ntp true"


def clock_finding(whose: str, date: str | None, now: datetime) -> tuple[Finding, ...]:
    """What the Date header of somebody's answer says of the clock; nothing where there is none that can be read."""
    try:
        theirs = parsedate_to_datetime(date or "")
    except ValueError:
        return ()
    if theirs.tzinfo is None:
        theirs = theirs.replace(tzinfo=UTC)
    ahead = round((now - theirs).total_seconds())
    off = abs(ahead)
    says = f"The clock of this machine is {off} s {'ahead of' if ahead > 0 else 'behind'} that of {whose}"
    if off >= BROKEN:
        return (broken("clock", f"{says}: signed requests are refused, and deadlines pass at wrong times.", CURE),)
    if off >= WARN:
        return (warning("clock", f"{says}: deadlines pass at wrong times.", CURE),)
    return (good("clock", f"The clock of this machine goes right by that of {whose}."),)
