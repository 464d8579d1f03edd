"""Run `askback slack` or `askback discord` unchanged, and end it with SIGKILL at a named point.

The argument is a line of JSON: platform, point, number, halt, spoil, pace and arguments. At its point the process
kills itself. With `halt` it stops instead, so that the parent can inspect it and then kill it. `pace` is the seconds
between two cards in one channel, instead of the default. `kill_points.py` lists the points, `mutations.py` the spoils.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import os
import signal
import sys
from pathlib import Path

import bad_disk
import kill_points
import mutations

from askback.cli import main as cli
from askback.domain import open_ask_limits
from askback.internal import clock
from askback.runtime import app as host
from askback.runtime import maintenance
from askback_discord import api_calls
from askback_slack import app

CALL_SECONDS = 2


def wind(ahead: Path) -> None:
    """Move the wall clock ahead by the number of seconds in that file, which is read at each call."""
    now = clock.now
    clock.now = lambda: now() + int(ahead.read_text() or 0) * clock.SECOND
    # The program notices a clock jump after at most half a minute; the tests do not wait for that.
    maintenance.CLOCK_SECONDS = 0.2


def dump(*_: object) -> None:
    """Write what each task and thread waits for to the log, for a test that failed."""
    faulthandler.dump_traceback(all_threads=True)
    for task in asyncio.all_tasks(asyncio.get_running_loop()):
        task.print_stack(file=sys.stderr)
    sys.stderr.flush()


def main() -> None:
    signal.signal(signal.SIGUSR1, dump)
    order = json.loads(sys.argv[1])
    if "RIG_DISK" in os.environ:
        bad_disk.install(Path(os.environ["RIG_DISK"]))
    if "RIG_CLOCK" in os.environ:
        wind(Path(os.environ["RIG_CLOCK"]))
    if "RIG_REST" in os.environ:
        host.DRAIN_SECONDS = float(os.environ["RIG_REST"])
        host.LEAVE_SECONDS = host.DRAIN_SECONDS + 3
    if order["halt"]:
        # Outages come every few seconds here, so a call must not wait half a minute for an answer that never comes.
        app.CALL_SECONDS, api_calls.CALL_SECONDS = CALL_SECONDS, float(CALL_SECONDS)
    if order["pace"] is not None:
        open_ask_limits.Limits.model_fields["seconds_between_asks"].default = order["pace"]
        open_ask_limits.Limits.model_rebuild(force=True)
    if order["spoil"] is not None:
        mutations.spoil(order["spoil"])
    if order["point"] is not None:
        kill_points.arm(order["point"], order["number"], halt=order["halt"])
    sys.argv = ["askback", order["platform"], *order["arguments"]]
    cli.main()


if __name__ == "__main__":
    main()
