"""The bot with a clock at each stage of a click and of the turn after it.

`python -m tests.bench.stamped FILE slack|discord [OPTION…]`. When it ends, it writes a line of JSON for each stamp to
the file: the stage, and seconds of the monotonic clock, which all processes of a machine share.
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

STAMPS: list[tuple[str, float]] = []


def stamp(stage: str) -> None:
    STAMPS.append((stage, time.perf_counter()))


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


def install_agent() -> None:
    from anthropic.resources.messages import AsyncMessages

    from askback.agent import messages_api
    from askback.agent.turn_end import TurnEndBuilder
    from askback.runtime.turns import TurnRunner
    from askback.store.store import Store

    around(TurnRunner, "advance", before="turn")
    around(Store, "get_next_step", after="step")
    around(Store, "begin_turn", after="begun")
    around(AsyncMessages, "create", before="asked", after="answering")
    around(messages_api, "stream_response", after="answered")
    around(TurnEndBuilder, "build", after="built")
    around(Store, "end_turn", after="ended")


def install_slack() -> None:
    from askback_slack import http
    from askback_slack.clicks import Clicks
    from askback_slack.socket_mode import SocketModeClient, _Socket
    from askback_slack.streaming import SlackTextStream

    read: Callable[..., None] = SocketModeClient._read

    def reading(self: Any, line: Any, frame: Any, tasks: Any) -> None:
        if "block_actions" in str(frame.data):
            stamp("begin")
        read(self, line, frame, tasks)

    SocketModeClient._read = reading  # type: ignore[method-assign]
    check, dispatch = http.check_headers, http.dispatch
    received = 0.0

    def checking(headers: Any, now: float) -> str | None:
        nonlocal received
        received = time.perf_counter()
        return check(headers, now)

    async def dispatching(app: Any, request: Any, *, interactive: bool) -> Any:
        # Only now is it known whether the request is a click.
        if interactive:
            STAMPS.append(("begin", received))
        return await dispatch(app, request, interactive=interactive)

    http.check_headers = checking
    http.dispatch = dispatching  # type: ignore[assignment]
    around(Clicks, "commit_click", before="handler")
    around(_Socket, "send", after="sent")
    around(http, "record_ack", after="sent")
    around(SlackTextStream, "finish", before="finishing")


def install_discord() -> None:
    from askback_discord.api_calls import DiscordApi
    from askback_discord.clicks import Clicks
    from askback_discord.streaming import DiscordTextStream

    handle = Clicks.handle_interaction

    async def handling(self: Any, interaction: Any) -> None:
        stamp("begin")
        await handle(self, interaction)

    Clicks.handle_interaction = handling  # type: ignore[method-assign]
    around(DiscordApi, "respond", before="drawn", after="sent")
    around(DiscordTextStream, "finish", before="finishing")


def write(file: Path) -> None:
    file.write_text("\n".join(map(json.dumps, STAMPS)), encoding="utf-8")


if __name__ == "__main__":
    # The stamps belong to the module, also if it runs as the program.
    sys.modules["tests.bench.stamped"] = sys.modules["__main__"]
    atexit.register(write, Path(sys.argv[1]))
    sys.argv = ["askback", *sys.argv[2:]]
    install_store()
    install_agent()
    (install_slack if sys.argv[1] == "slack" else install_discord)()
    from askback.cli.main import main

    main()
