"""Runs `askback slack` or `askback discord` as it is, and ends it with SIGKILL at a named point.

It imports the program once, since that is most of what a start takes, and forks a process for each
order on its standard input: a line of JSON with order, platform, point, number, spoil, folder, output and
environment. It answers with a line when the process runs, `order` and its id, and with another when it has ended,
`order` and its code.

Points are wrapped around the program from outside; it knows nothing of them. It is the NUMBERth time
that the point is reached:

    before:WORK   a transaction of the store is about to be submitted (WORK is `decide`, `end_turn` …)
    commit:WORK   its statements have run; COMMIT is the next that SQLite would hear
    after:WORK    it is committed, and nobody has heard of it
    ack           the ack of a click is about to be sent
    call:WHAT     a call to the platform is about to be made (`card` posts a card, `text` begins one of the agent's)
    called:WHAT   it has answered, and nobody has heard of that

An order may also spoil the program, so that the tests can show that they would notice: `find` (earlier
posts are not looked for), `ack` (clicks are acked before they are committed), `outbox` (cards are drawn
by clicks alone), `once` (what a person writes is kept as often as it is delivered).
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import nullcontext
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from askback import cli, serve  # noqa: F401 - imported once, for all that are forked
from askback.once import Once
from askback.store import conversations, outbox
from askback.store import writer as writer_module
from askback.store.outbox import put_card
from askback.store.writer import Writer
from askback_discord.calls import DiscordApi
from askback_slack.clicks import Clicks
from askback_slack.posting import SlackPlatform

left = 1


def reached() -> None:
    """The point is reached: at the last time, nothing happens after it, not even an exit handler."""
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
        signal.pause()


def is_work(job: Any, name: str) -> bool:
    return method(job.work) == name


def method(work: Any) -> str:
    """The store's method that a transaction belongs to: `Turning.end_turn.<locals>.work`. Empty: a bare statement."""
    return work.__qualname__.partition(".")[2].partition(".")[0]


def arm(point: str) -> None:
    moment, _, what = point.partition(":")
    match moment:
        case "before":
            run = Writer.run

            async def before(self: Writer, work: Any, **more: Any) -> Any:
                if method(work) == what:
                    reached()
                return await run(self, work, **more)

            Writer.run = before  # type: ignore[method-assign]
        case "commit":
            late = Writer._late

            def committing(self: Writer, batch: list[Any]) -> list[Any]:
                found = late(self, batch)
                if not found and any(is_work(job, what) for job in batch):
                    reached()
                return found

            Writer._late = committing  # type: ignore[method-assign]
        case "after":
            settle = writer_module.settle

            def settling(jobs: list[Any]) -> None:
                if any(is_work(job, what) and job.error is None for job in jobs):
                    reached()
                settle(jobs)

            writer_module.settle = settling
        case "ack":
            pressed = Clicks.pressed

            async def pressing(self: Clicks, ack: Any, body: Any) -> None:
                async def acking(*args: Any, **more: Any) -> Any:
                    reached()
                    return await ack(*args, **more)

                await pressed(self, acking, body)

            Clicks.pressed = pressing  # type: ignore[method-assign]
            respond = DiscordApi.respond

            async def responding(self: DiscordApi, *args: Any) -> None:
                reached()
                await respond(self, *args)

            DiscordApi.respond = responding  # type: ignore[method-assign]
        case "call" | "called":
            api_call = AsyncWebClient.api_call

            async def calling(self: AsyncWebClient, api_method: str, **more: Any) -> Any:
                body = more.get("json") or {}
                nonce = ((body.get("metadata") or {}).get("event_payload") or {}).get("nonce", "")
                is_card = api_method == "chat.postMessage" and nonce and ":" not in nonce
                hit = is_card if what == "card" else api_method == "chat.startStream"
                if hit and moment == "call":
                    reached()
                answer = await api_call(self, api_method, **more)
                if hit and moment == "called":
                    reached()
                return answer

            AsyncWebClient.api_call = calling  # type: ignore[method-assign]
            discord_call = DiscordApi.call

            async def calling_discord(self: DiscordApi, verb: Any, path: str, body: Any = None, **ids: str) -> Any:
                posts = verb == "POST" and path.endswith("/messages")
                hit = posts and ("content" not in body) == (what == "card")
                if hit and moment == "call":
                    reached()
                answer = await discord_call(self, verb, path, body, **ids)
                if hit and moment == "called":
                    reached()
                return answer

            DiscordApi.call = calling_discord  # type: ignore[method-assign]
        case _:
            sys.exit(f"There is no point {point!r}.")


def spoil(what: str) -> None:
    match what:
        case "find":

            async def nothing(*_: Any) -> tuple[()]:
                return ()

            SlackPlatform.find = nothing  # type: ignore[method-assign]
        case "ack":
            pressed = Clicks.pressed

            async def pressing(self: Clicks, ack: Any, body: Any) -> None:
                async def late() -> None:
                    await pressed(self, ack, body)

                self._behind.soon(late(), "click")
                await ack()

            Clicks.pressed = pressing  # type: ignore[method-assign]
        case "outbox":
            outbox.put_card = lambda connection, ask, *_: None if ask.messages else put_card(connection, ask, *_)
        case "once":
            Once.entered = lambda *_: nullcontext(True)  # type: ignore[assignment,method-assign,return-value]
            hear = conversations.hear

            def hear_again(connection: Any, conversation_id: str, heard: Any) -> bool:
                return hear(connection, conversation_id, heard.evolve(dedupe_key=os.urandom(8).hex()))

            conversations.hear = hear_again
        case _:
            sys.exit(f"There is nothing to spoil in {what!r}.")


def run(order: dict[str, Any]) -> None:
    """What the forked process does."""
    global left
    output = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    left = order["number"]
    if order["spoil"] is not None:
        spoil(order["spoil"])
    if order["point"] is not None:
        arm(order["point"])
    sys.argv = ["askback", order["platform"]]
    cli.main()


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        process = os.fork()
        if process == 0:
            try:
                run(order)
            except SystemExit as ended:
                os._exit(ended.code if isinstance(ended.code, int) else 1)
            os._exit(0)
        print(order["order"], process, flush=True)
        print(order["order"], os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
