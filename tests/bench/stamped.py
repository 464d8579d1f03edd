"""The bot with a clock at each stage of a click: `python -m tests.bench.stamped FILE slack|discord [OPTION…]`.

When it ends, it writes the times of each click to the file: a line of JSON with seconds of the monotonic clock.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CLICKS: list[dict[str, float]] = []


def stamp(stage: str) -> None:
    """Record the time of a stage of the newest click. The first time counts."""
    if CLICKS:
        CLICKS[-1].setdefault(stage, time.perf_counter())


def begin() -> None:
    CLICKS.append({"begin": time.perf_counter()})


def around(owner: Any, name: str, *, before: str | None = None, after: str | None = None) -> None:
    """Stamp a function, a method or a coroutine function before and after it runs."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def plain(*args: Any, **more: Any) -> Any:
        if before is not None:
            stamp(before)
        result = original(*args, **more)
        if after is not None:
            stamp(after)
        return result

    @functools.wraps(original)
    async def waiting(*args: Any, **more: Any) -> Any:
        if before is not None:
            stamp(before)
        result = await original(*args, **more)
        if after is not None:
            stamp(after)
        return result

    setattr(owner, name, waiting if inspect.iscoroutinefunction(original) else plain)


def install_store() -> None:
    from askback.manager import QuestionManager, questions
    from askback.store.queries import asks
    from askback.store.sqlite import database

    around(QuestionManager, "act", before="act", after="acted")
    around(database, "_attempt_unguarded", before="work", after="worked")
    around(asks, "get", after="read")
    around(questions, "decide", after="decided")
    around(database, "settle", before="committed")


def install_slack() -> None:
    from askback_slack.clicks import Clicks
    from askback_slack.socket_mode import SocketModeClient, _Socket

    read: Callable[..., None] = SocketModeClient._read

    def reading(self: Any, line: Any, frame: Any, tasks: Any) -> None:
        if "block_actions" in str(frame.data):
            begin()
        read(self, line, frame, tasks)

    SocketModeClient._read = reading  # type: ignore[method-assign]
    around(Clicks, "commit_click", before="handler")
    around(_Socket, "send", after="sent")


def install_discord() -> None:
    from askback_discord.api_calls import DiscordApi
    from askback_discord.clicks import Clicks

    handle = Clicks.handle_interaction

    async def handling(self: Any, interaction: Any) -> None:
        begin()
        await handle(self, interaction)

    Clicks.handle_interaction = handling  # type: ignore[method-assign]
    around(DiscordApi, "respond", before="drawn", after="sent")


def write(file: Path) -> None:
    file.write_text("\n".join(json.dumps(click) for click in CLICKS), encoding="utf-8")


if __name__ == "__main__":
    # The stamps belong to the module, also if it runs as the program.
    sys.modules["tests.bench.stamped"] = sys.modules["__main__"]
    atexit.register(write, Path(sys.argv[1]))
    sys.argv = ["askback", *sys.argv[2:]]
    install_store()
    (install_slack if sys.argv[1] == "slack" else install_discord)()
    from askback.cli.main import main

    main()
