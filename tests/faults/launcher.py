"""Runs `askback slack` or `askback discord` as it is, and ends it with SIGKILL at a named point.

It imports the program once, since that is most of what a start takes, and forks a process for each
order on its standard input: a line of JSON with order, platform, point, number, halt, spoil, pace, folder, output and
environment. It answers with lines of the order, a word and a number: `runs` and the process id, `halted` at its
point where the order says `halt` (nothing of it runs any more, and whoever ordered it looks around, and kills it),
`ended` and its code. When its input ends, it kills what still runs.

A pace is the seconds between two cards of one place, where the shipped one would be waited for. The points are in
`points.py`, and what can be spoiled in `spoils.py`.
"""

from __future__ import annotations

import gc
import inspect
import json
import os
import selectors
import signal
import sys
from pathlib import Path
from typing import Any

import bad_disk
import points
import spoils
from anthropic import AsyncAnthropic

# Imported once, for all that are forked.
from askback import cli, clock, policy
from askback.serving import serve, worker  # noqa: F401

running: dict[int, int] = {}
"""The order of each process that was forked and has not ended."""


def wind(ahead: Path) -> None:
    """The wall clock goes by as many seconds more as stand in that file, from the moment that they do."""
    now = clock.now
    clock.now = lambda: now() + int(ahead.read_text() or 0) * clock.SECOND
    # It is noticed at the latest after half a minute: nobody has to wait for that here.
    worker.LOOK_AGAIN = worker.CLOCK_SECONDS = 0.2


def run(order: dict[str, Any]) -> None:
    """What the forked process does."""
    output = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    if "RIG_DISK" in os.environ:
        bad_disk.install(Path(os.environ["RIG_DISK"]))
    if "RIG_CLOCK" in os.environ:
        wind(Path(os.environ["RIG_CLOCK"]))
    if order.get("pace") is not None:
        policy.Limits.model_fields["seconds_between_asks"].default = order["pace"]
        policy.Limits.model_rebuild(force=True)
    if order["spoil"] is not None:
        spoils.spoil(order["spoil"])
    if order["point"] is not None:
        points.arm(order["point"], order["number"], halt=order.get("halt", False))
    sys.argv = ["askback", order["platform"], *order.get("arguments", ())]
    cli.main()


def begin(order: dict[str, Any]) -> None:
    process = os.fork()
    if process == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            run(order)
        except SystemExit as ended:
            os._exit(ended.code if isinstance(ended.code, int) else 1)
        except BaseException:  # noqa: BLE001 - nothing of the child's may run on as the launcher
            sys.excepthook(*sys.exc_info())
            os._exit(70)
        os._exit(0)
    running[process] = order["order"]
    say(order["order"], "runs", process)


def look() -> None:
    """Tell what became of the processes."""
    while running:
        process, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        if process == 0:
            return
        if os.WIFSTOPPED(status):
            say(running[process], "halted", 0)
        else:
            say(running.pop(process), "ended", os.waitstatus_to_exitcode(status))


def say(order: int, word: str, value: int) -> None:
    print(order, word, value, flush=True)


def warm() -> None:
    """What the first start of a process would spend its time on."""
    AsyncAnthropic(api_key="-")
    inspect.stack()  # slack_bolt looks through the source of every module that it finds
    gc.collect()
    gc.freeze()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    warm()
    waiting = selectors.DefaultSelector()
    waiting.register(0, selectors.EVENT_READ)
    waiting.register(woken, selectors.EVENT_READ)
    unread = b""
    while True:
        for key, _ in waiting.select():
            data = os.read(key.fd, 65536)
            if key.fd == 0 and not data:
                for process in running:
                    os.kill(process, signal.SIGKILL)
                return
            if key.fd == 0:
                *lines, unread = (unread + data).split(b"\n")
                for line in lines:
                    begin(json.loads(line))
        look()


if __name__ == "__main__":
    main()
