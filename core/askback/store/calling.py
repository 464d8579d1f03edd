"""Transactions for calls of the operator's own tools."""

from __future__ import annotations

__all__ = ["NOT_APPROVED", "Calling"]

import logging

from sqlalchemy import Connection

from askback.domain.conversation import ApprovalContext, Blocks, CallsToRun, OutgoingMessage
from askback.domain.requesters import requesters_of
from askback.store import approvals, asks, conversations, outbox
from askback.store.transactions import Transactions

log = logging.getLogger("askback.store")

NOT_APPROVED = "What was approved is not what would run. It was not run."
"""Result of a call that differs from the one that people approved."""


class Calling(Transactions):
    """Transactions for calls of the operator's own tools."""

    async def calls_to_run(self, conversation_id: str) -> CallsToRun | None:
        """Return the calls of the model's newest message that have no result and do not wait for people.

        None if there are none.
        """

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

    async def requested(self, conversation_id: str, tools: frozenset[str]) -> ApprovalContext:
        """Return the people whose request the model's next calls of these tools would be, and the earlier decisions."""

        def work(connection: Connection) -> ApprovalContext:
            conversation = conversations.get(connection, conversation_id)
            settled = asks.answered_of(connection, conversation_id)
            if conversation is None:
                return ApprovalContext(settled=settled)
            read = approvals.words_of(connection, conversation_id)
            past = approvals.past_of(connection, conversation_id, settled)
            return ApprovalContext(
                requesters={tool: requesters_of(tool, conversation.starter, read, past) for tool in tools},
                settled=settled,
            )

        return await self._database.read(work)

    async def is_asking(self, conversation_id: str) -> bool:
        """Return True if this conversation has an open ask."""
        return await self._database.read(lambda connection: bool(asks.open_of(connection, conversation_id)))

    async def start_call(self, conversation_id: str, seq: int, tool_use_id: str, *, again: bool = False) -> bool:
        """Record that a call is about to run. Return False if it must not run, since it has a result or runs already.

        A call about which people were asked runs only if they approved exactly what is stored. Otherwise it ends here
        with an error. `again` allows a call that a process started before it ended.
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
        notice: OutgoingMessage | None = None,
    ) -> bool:
        """Store a call's result, and post the notice if there is one. Return False if the call has a result already."""

        def work(connection: Connection) -> bool:
            ended = conversations.end_call(
                connection, conversation_id, seq, tool_use_id, result, is_error=is_error, blocks=blocks
            )
            if ended and notice is not None:
                outbox.put_say(connection, notice, conversation_id)
            return ended

        return await self._database.run(work)
