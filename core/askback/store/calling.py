"""Calls of the operator's own tools."""

from __future__ import annotations

__all__ = ["NOT_APPROVED", "Calling"]

import logging

from sqlalchemy import Connection

from askback.domain.conversation import Blocks, CallsToRun, Requested, Say
from askback.domain.requesters import requesters_of
from askback.store import approvals, asks, conversations, outbox
from askback.store.transactions import Transactions

log = logging.getLogger("askback.store")

NOT_APPROVED = "What was approved is not what would run. It was not run."
"""The result of a call that is not the one that people were asked about."""


class Calling(Transactions):
    """Calls of the operator's own tools."""

    async def calls_to_run(self, conversation_id: str) -> CallsToRun | None:
        """The calls of the model's newest message that have no result and wait for nobody. None: there are none."""

        def work(connection: Connection) -> CallsToRun | None:
            conversation = conversations.get(connection, conversation_id)
            last = conversations.last_message(connection, conversation_id)
            if conversation is None or last is None or last.role != "assistant":
                return None
            calls = approvals.calls_of(connection, conversation_id, last.seq)
            to_run = tuple(call for call, _ in calls if call.is_to_run)
            if not to_run:
                return None
            return CallsToRun(conversation=conversation, seq=last.seq, calls=to_run)

        return await self._database.read(work)

    async def requested(self, conversation_id: str, tools: frozenset[str]) -> Requested:
        """Return what stands behind calls of these tools that the model makes next."""

        def work(connection: Connection) -> Requested:
            conversation = conversations.get(connection, conversation_id)
            settled = asks.answered_of(connection, conversation_id)
            if conversation is None:
                return Requested(settled=settled)
            read = approvals.words_of(connection, conversation_id)
            past = approvals.past_of(connection, conversation_id, settled)
            return Requested(
                requesters={tool: requesters_of(tool, conversation.starter, read, past) for tool in tools},
                settled=settled,
            )

        return await self._database.read(work)

    async def is_asking(self, conversation_id: str) -> bool:
        """Whether people are asked in this conversation and have not answered."""
        return await self._database.read(lambda connection: bool(asks.open_of(connection, conversation_id)))

    async def start_call(self, conversation_id: str, seq: int, tool_use_id: str, *, again: bool = False) -> bool:
        """Committed before the call runs. False: it is not to run, since it has a result, or runs, already.

        One about which people were asked begins only if they let it run, and only as they saw it: else it ends here,
        with an error. `again`: it may run although it was started before, by a process that ended.
        """

        def work(connection: Connection) -> bool | None:
            calls = approvals.calls_of(connection, conversation_id, seq)
            call = next((call for call, _ in calls if call.tool_use_id == tool_use_id), None)
            if call is None or not call.is_to_run:
                return False
            if call.ask_id is not None and not approvals.is_approved(connection, conversation_id, seq, call):
                conversations.end_call(connection, conversation_id, seq, tool_use_id, NOT_APPROVED)
                return None
            return conversations.start_call(connection, conversation_id, seq, tool_use_id, again=again)

        started = await self._database.run(work)
        if started is None:
            log.error(
                "What was approved is not what would run: the row of a tool's call was changed. It was not run.",
                extra={"action": "not_approved", "conversation_id": conversation_id, "tool_use_id": tool_use_id},
            )
        return started is True

    async def end_call(
        self,
        conversation_id: str,
        seq: int,
        tool_use_id: str,
        result: str,
        *,
        is_error: bool,
        blocks: Blocks = (),
        notice: Say | None = None,
    ) -> bool:
        """Keep what a call came to, and tell people where there is a notice. False: it has a result already."""

        def work(connection: Connection) -> bool:
            ended = conversations.end_call(
                connection, conversation_id, seq, tool_use_id, result, is_error=is_error, blocks=blocks
            )
            if ended and notice is not None:
                outbox.put_say(connection, notice, conversation_id)
            return ended

        return await self._database.run(work)
