"""Named points in the program at which it dies.

The points are patched in from outside; the program does not know about them. The process dies when the point is
reached for the NUMBERth time:

    before:WORK   a transaction of the store is about to be submitted (WORK is the method: `decide`, `end_turn` …)
    commit:WORK   its statements have run; COMMIT is the next command for the database
    after:WORK    it is committed, and the caller does not know yet
    ack           the ack of a click is about to be sent
    call:WHAT     a call to the platform is about to be made (`card` posts a card, `text` begins one of the agent's,
                  `draw` changes a card)
    called:WHAT   the platform has answered, and the caller does not know yet
    WHAT:WHEN     a time-based step: see `timed_kill_points.py`
    approval:WHEN a step of an approval: a vote is about to be submitted (`voting`); a vote that decides nothing is
                  committed, and not acked (`voted`), or the one that decides (`decided`); the turn woke, and has
                  found an approved call (`woken`); the call is about to be committed as started (`unstarted`),
                  it is (`started`), it has run (`ran`), and its result is committed (`ended`)
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable
from functools import wraps
from typing import Any

import timed_kill_points
from slack_sdk.web.async_client import AsyncWebClient

from askback.domain.actions import Choose
from askback.store.postgres import database as database_module
from askback.store.postgres.database import PostgresDatabase
from askback.store.sqlite import database as sqlite_module
from askback.store.sqlite.database import SqliteDatabase
from askback.store.store import Store
from askback_discord.api_calls import DiscordApi
from askback_slack.api_calls import SlackApi
from askback_slack.clicks import Clicks

left = 1
halts = False


def reached() -> None:
    """Count one pass of the point; at the last one nothing happens after it, not even an exit handler."""
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGSTOP if halts else signal.SIGKILL)
        while True:  # keep the other threads from running until the signal arrives
            pass


def method(work: Any) -> str:
    """Return the store's method of a transaction: `TurnTransactions.end_turn.<locals>.work`, or a function of a table
    with the method's name."""
    first, _, rest = work.__qualname__.partition(".")
    return rest.partition(".")[0] or first


def arm(point: str, number: int, *, halt: bool) -> None:
    """Die at the NUMBERth pass of the point; with `halt`, stop permanently, to be killed from outside."""
    global left, halts
    left, halts = number, halt
    moment, _, what = point.partition(":")
    if moment in ("before", "commit", "after") and not hasattr(Store, what):
        sys.exit(f"The point {point!r} names no method of the store.")
    match moment:
        case "before":
            before(what)
        case "commit":
            commit_on_sqlite(what)
            commit_on_postgres(what)
        case "after":
            after(sqlite_module, what)
            after(database_module, what)
        case "ack":
            ack_on_slack()
            ack_on_discord()
        case "call" | "called":
            call_on_slack(moment, what)
            call_on_discord(moment, what)
        case "approval" if what in ("voting", "voted", "decided"):
            vote_on_approval(what)
        case "approval":
            run_approved(what)
        case "reminder" | "escalation" | "deadline":
            timed_kill_points.arm(moment, what, reached)
        case _:
            sys.exit(f"There is no point {point!r}.")


def before(what: str) -> None:
    run = getattr(Store, what)

    @wraps(run)
    async def begun(self: Store, *args: Any, **more: Any) -> Any:
        reached()
        return await run(self, *args, **more)

    setattr(Store, what, begun)


def commit_on_sqlite(what: str) -> None:
    late = SqliteDatabase._list_late

    def committing(self: SqliteDatabase, batch: list[Any]) -> list[Any]:
        found = late(self, batch)
        if not found and any(method(job.work) == what for job in batch):
            reached()
        return found

    SqliteDatabase._list_late = committing  # type: ignore[method-assign]


def commit_on_postgres(what: str) -> None:
    commit = PostgresDatabase._commit

    def committing(self: PostgresDatabase, link: Any, job: Any) -> bool:
        if method(job.work) == what:
            reached()
        return commit(self, link, job)

    PostgresDatabase._commit = committing  # type: ignore[method-assign]


def after(module: Any, what: str) -> None:
    settle = module.settle

    def settling(jobs: list[Any]) -> None:
        if any(method(job.work) == what and job.error is None for job in jobs):
            reached()
        settle(jobs)

    module.settle = settling


def vote_on_approval(when: str) -> None:
    decide = Store.decide

    async def deciding(self: Store, ask_id: str, decision: Any, *, action: Any = None, **more: Any) -> Any:
        before = await self.get(ask_id) if action is not None and isinstance(action.operation, Choose) else None
        is_vote = before is not None and before.policy.approval is not None
        if is_vote and when == "voting":
            reached()
        acted = await decide(self, ask_id, decision, action=action, **more)
        counted = is_vote and acted.ask.interview.votes != before.interview.votes
        if counted and when == ("decided" if acted.settled else "voted"):
            reached()
        return acted

    Store.decide = deciding  # type: ignore[method-assign]


def run_approved(when: str) -> None:
    looking, start, end = Store.get_next_step, Store.start_call, Store.end_call
    approved: set[str] = set()
    begun: set[str] = set()

    async def looked(self: Store, conversation_id: str) -> Any:
        step = await looking(self, conversation_id)
        calls = () if step.calls is None else step.calls.calls
        found = {call.tool_use_id for call in calls if call.approved is not None}
        approved.update(found)
        if found and when == "woken":
            reached()
        return step

    async def starting(self: Store, conversation_id: str, seq: int, tool_use_id: str, **more: Any) -> bool:
        if tool_use_id in approved and when == "unstarted":
            reached()
        started = await start(self, conversation_id, seq, tool_use_id, **more)
        if tool_use_id in approved and started:
            begun.add(tool_use_id)
            if when == "started":
                reached()
        return started

    async def ending(self: Store, conversation_id: str, seq: int, tool_use_id: str, *args: Any, **more: Any) -> bool:
        if tool_use_id in begun and when == "ran":
            reached()
        ended = await end(self, conversation_id, seq, tool_use_id, *args, **more)
        if tool_use_id in begun and when == "ended":
            reached()
        return ended

    Store.get_next_step = looked  # type: ignore[method-assign]
    Store.start_call = starting  # type: ignore[method-assign]
    Store.end_call = ending  # type: ignore[method-assign]


def ack_on_slack() -> None:
    commit = Clicks.commit_click

    async def committing(self: Clicks, body: Any) -> None:
        await commit(self, body)
        reached()

    Clicks.commit_click = committing  # type: ignore[method-assign]


def ack_on_discord() -> None:
    respond = DiscordApi.respond

    async def responding(self: DiscordApi, *args: Any) -> None:
        reached()
        await respond(self, *args)

    DiscordApi.respond = responding  # type: ignore[method-assign]


def call_on_slack(moment: str, what: str) -> None:
    api_call = AsyncWebClient.api_call
    answer_click = SlackApi._send

    def kind(api_method: str, body: Any) -> str | None:
        nonce = ((body.get("metadata") or {}).get("event_payload") or {}).get("nonce", "")
        if api_method == "chat.postMessage":
            return "card" if nonce and ":" not in nonce else None
        return {"chat.startStream": "text", "chat.update": "draw"}.get(api_method)

    async def calling(self: AsyncWebClient, api_method: str, **more: Any) -> Any:
        hit = kind(api_method, more.get("json") or {}) == what
        return await around(moment, hit, api_call(self, api_method, **more))

    async def answering(self: SlackApi, *args: Any) -> None:
        await around(moment, what == "draw", answer_click(self, *args))

    AsyncWebClient.api_call = calling  # type: ignore[method-assign]
    SlackApi._send = answering  # type: ignore[method-assign]


def call_on_discord(moment: str, what: str) -> None:
    call = DiscordApi.call
    respond = DiscordApi.respond

    def kind(verb: str, path: str, body: Any) -> str | None:
        if verb == "PATCH" and path.endswith("/messages/{message_id}"):
            return "draw"
        if verb == "POST" and path.endswith("/messages"):
            return "text" if "content" in body else "card"
        return None

    async def calling(self: DiscordApi, verb: Any, path: str, body: Any = None, **ids: str) -> Any:
        return await around(moment, kind(verb, path, body) == what, call(self, verb, path, body, **ids))

    async def responding(self: DiscordApi, interaction_id: int, token: str, body: Any, seconds: float) -> None:
        hit = what == "draw" and body.get("type") == 7
        await around(moment, hit, respond(self, interaction_id, token, body, seconds))

    DiscordApi.call = calling  # type: ignore[method-assign]
    DiscordApi.respond = responding  # type: ignore[method-assign]


async def around(moment: str, hit: bool, call: Awaitable[Any]) -> Any:
    if hit and moment == "call":
        reached()
    answer = await call
    if hit and moment == "called":
        reached()
    return answer
