"""Runs `askback slack` or `askback discord` as it is, and ends it with SIGKILL at a named point.

Its argument is a line of JSON: platform, point, number, halt, spoil, pace and arguments. At its point the process
kills itself; where `halt` says so, it stops (nothing of it runs any more, and whoever ordered it looks around, and
kills it). A pace is the seconds between two cards of one place, where the shipped one would be waited for. The points
are in `points.py`, and what can be spoiled in `spoils.py`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import bad_disk
import points
import spoils

from askback.cli import main as cli
from askback.domain import policy
from askback.internal import clock
from askback.runtime import worker
from askback_discord import calls
from askback_slack import app

CALL_SECONDS = 2


def wind(ahead: Path) -> None:
    """The wall clock goes by as many seconds more as stand in that file, from the moment that they do."""
    now = clock.now
    clock.now = lambda: now() + int(ahead.read_text() or 0) * clock.SECOND
    # It is noticed at the latest after half a minute: nobody has to wait for that here.
    worker.LOOK_AGAIN = worker.CLOCK_SECONDS = 0.2


def main() -> None:
    order = json.loads(sys.argv[1])
    if "RIG_DISK" in os.environ:
        bad_disk.install(Path(os.environ["RIG_DISK"]))
    if "RIG_CLOCK" in os.environ:
        wind(Path(os.environ["RIG_CLOCK"]))
    if order["halt"]:
        # Where outages come every few seconds, nobody waits half a minute for an answer that does not come.
        app.CALL_SECONDS, calls.CALL_SECONDS = CALL_SECONDS, float(CALL_SECONDS)
    if order["pace"] is not None:
        policy.Limits.model_fields["seconds_between_asks"].default = order["pace"]
        policy.Limits.model_rebuild(force=True)
    if order["spoil"] is not None:
        spoils.spoil(order["spoil"])
    if order["point"] is not None:
        points.arm(order["point"], order["number"], halt=order["halt"])
    sys.argv = ["askback", order["platform"], *order["arguments"]]
    cli.main()


if __name__ == "__main__":
    main()
