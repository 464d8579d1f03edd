"""Ways to break the program, to show that the tests would notice.

find      earlier posts are not looked for
stale     a click is applied to the state at its arrival, not to the newest one; the first click that would change
          something waits, without a limit, for another one
step      a click counts for the current step, not for the one that it came from
ack       clicks are acked before they are committed
outbox    cards are drawn by clicks alone
once      a person's message is stored each time that it is delivered
granted   a call that needs approval runs regardless of the votes
digest    the call is not compared with the approved one, and differs from it
vote      the newest vote replaces all others
person    a person who votes twice counts as two
nameless  each try posts a reminder under another name, and does not look for earlier ones
overdue   a reminder is posted after its question is settled, and not before
hushed    reminders and escalations are skipped
forgotten a deleted card is not posted again
twofold   a deleted card is posted again twice
unedited  edits are ignored
beside    an edit of an unread message is added to it instead of replacing it
again     each turn is requested twice
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import nullcontext
from typing import Any

from askback.agent import messages_api
from askback.domain import approval
from askback.domain import decision as deciding
from askback.domain.ask import Ask
from askback.domain.incoming_message import EditResult
from askback.domain.outgoing_message import REMINDER
from askback.inbound.deduplication import Deduplicator
from askback.runtime.delivery import Delivery
from askback.store.queries import inbox, outbox, tool_calls
from askback.store.queries.edits import StoredMessage
from askback.store.queries.outbox import enqueue_card
from askback.store.queries.outbox_leases import OutboxItem
from askback.store.store import Store
from askback_discord.clicks import Clicks as DiscordClicks
from askback_discord.interaction_response import LATER
from askback_discord.posting import DiscordPlatform
from askback_slack.clicks import Clicks
from askback_slack.posting import SlackPlatform

LATE_SECONDS = 3.0


class Meeting:
    """A barrier for two clicks that would both change the same ask."""

    def __init__(self) -> None:
        self._came: set[Any] = set()
        self._met = asyncio.Event()

    async def come(self, click: Any) -> None:
        """Wait for a second click; after the first two, clicks do not wait."""
        self._came.add(click)
        if len(self._came) > 1:
            self._met.set()
        await self._met.wait()


def show_twice(platform: Any) -> None:
    show = platform.show

    async def showing(self: Any, ask: Ask) -> Any:
        revision = ask.interview.revision
        if not ask.messages and revision:
            # It needs another name: Discord drops a second post with the same one.
            await show(self, ask.evolve(interview=ask.interview.evolve(revision=revision + 1000)))
        return await show(self, ask)

    platform.show = showing


def spoil(what: str) -> None:
    match what:
        case "find_posted":

            async def nothing(*_: Any, **__: Any) -> tuple[()]:
                return ()

            SlackPlatform.find_posted = SlackPlatform.remove_strays = nothing  # type: ignore[method-assign,assignment]
        case "ack":
            commit = Clicks.commit_click

            async def committing(self: Clicks, body: Any) -> None:
                self._background.start_soon(commit(self, body), "click")

            Clicks.commit_click = committing  # type: ignore[method-assign]
            take = DiscordClicks._handle_click

            async def taking(self: DiscordClicks, reply: Any, interaction: Any) -> None:
                await reply.try_respond(LATER)
                await take(self, reply, interaction)

            DiscordClicks._handle_click = taking  # type: ignore[method-assign]
        case "stale":
            decide = Store.decide
            meetings: dict[str, Meeting] = {}

            async def on_what_was_seen(
                self: Store, ask_id: str, decision: Any, *, action: Any = None, **more: Any
            ) -> Any:
                seen = await self.get(ask_id)
                if action is None or decision(seen)[0] is None:
                    return await decide(self, ask_id, decision, action=action, **more)
                await meetings.setdefault(ask_id, Meeting()).come((action.actor.id, action.operation))
                return await decide(self, ask_id, lambda _: decision(seen), action=action, **more)

            Store.decide = on_what_was_seen  # type: ignore[method-assign]
        case "step":
            step = deciding.apply_action
            deciding.apply_action = lambda interview, action: step(interview, action.evolve(step=interview.step))
        case "outbox":
            outbox.enqueue_card = lambda connection, ask, **more: (
                None if ask.messages else enqueue_card(connection, ask, **more)
            )
        case "once":
            Deduplicator.enter = lambda *_: nullcontext(True)  # type: ignore[assignment,method-assign,return-value]
            hear = inbox.add

            def hear_again(connection: Any, conversation_id: str, heard: Any) -> bool:
                return hear(connection, conversation_id, heard.evolve(dedupe_key=os.urandom(8).hex()))

            inbox.add = hear_again
        case "granted":
            approval.is_approved = approval.is_approval
            approval.is_allowed = lambda *_, **__: True
        case "digest":
            approval.is_allowed = lambda *_, **__: True
            calls_of = tool_calls.list_of_message

            def other_calls(*args: Any) -> tuple[Any, ...]:
                return tuple(
                    call.evolve(input={**call.input, "version": "another"}) if call.tool == "release" else call
                    for call in calls_of(*args)
                )

            tool_calls.list_of_message = other_calls
        case "vote":
            vote = deciding.apply_vote
            deciding.apply_vote = lambda interview, *args: vote(interview.evolve(votes=()), *args)
        case "person":
            vote_of = deciding.apply_vote

            def masked(votes: Any) -> Any:
                return tuple(one.evolve(by=one.by.evolve(id=f"{n}:{one.by.id}")) for n, one in enumerate(votes))

            def unmasked(votes: Any) -> Any:
                return tuple(one.evolve(by=one.by.evolve(id=one.by.id.rpartition(":")[2])) for one in votes)

            def vote_twice(interview: Any, *args: Any) -> Any:
                after = vote_of(interview.evolve(votes=masked(interview.votes)), *args)
                outcome = after.outcome and after.outcome.evolve(votes=unmasked(after.outcome.votes))
                return after.evolve(votes=unmasked(after.votes), outcome=outcome)

            deciding.apply_vote = vote_twice
        case "nameless":
            deliver = Delivery._deliver_text

            async def deliver_anew(self: Delivery, item: OutboxItem) -> bool:
                if item.outgoing is not None and item.target.startswith(REMINDER):
                    # It posts as at the first try, because Discord also recognizes a message by its text.
                    item = item.evolve(
                        outgoing=item.outgoing.evolve(target=f"{item.target}:{os.urandom(4).hex()}"), attempts=1
                    )
                return await deliver(self, item)

            Delivery._deliver_text = deliver_anew  # type: ignore[method-assign]
        case "overdue":
            deliver_now = Delivery._deliver_text

            async def deliver_late(self: Delivery, item: OutboxItem) -> bool:
                if item.ask_id is not None:
                    # This wait needs no notification.
                    while (ask := await self._store.get(item.ask_id)) is not None and ask.outcome is None:  # noqa: ASYNC110
                        await asyncio.sleep(0.1)
                    await asyncio.sleep(LATE_SECONDS)
                    conversation = None if ask is None else ask.conversation_id
                    item = item.evolve(ask_id=None, conversation_id=conversation)
                return await deliver_now(self, item)

            Delivery._deliver_text = deliver_late  # type: ignore[method-assign]
        case "hushed":
            put_say = outbox.enqueue_message

            def put(connection: Any, say: Any, *args: Any, **more: Any) -> None:
                if not say.target.startswith(REMINDER):
                    put_say(connection, say, *args, **more)

            outbox.enqueue_message = put
        case "forgotten":

            async def keep_away(*_: Any) -> bool:
                return True

            Store.mark_message_missing = keep_away  # type: ignore[method-assign]
        case "twofold":
            for platform in (SlackPlatform, DiscordPlatform):
                show_twice(platform)
        case "unedited":

            async def drop_edit(*_: Any) -> EditResult:
                return EditResult()

            Store.edit = drop_edit  # type: ignore[method-assign]
        case "beside":
            StoredMessage.is_unread = property(lambda _: False)  # type: ignore[assignment]
            StoredMessage.is_read = property(lambda _: True)  # type: ignore[assignment]
        case "again":
            open_stream = messages_api._open_stream

            async def opening(*args: Any) -> Any:
                await (await open_stream(*args)).close()
                return await open_stream(*args)

            messages_api._open_stream = opening
        case _:
            sys.exit(f"There is nothing to spoil in {what!r}.")
