"""Transactions for calls of the operator's own tools."""

from __future__ import annotations

__all__ = ["NOT_APPROVED", "ToolCallTransactions"]

import logging
from collections.abc import Sequence

from sqlalchemy import Connection

from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.requesters import find_requesters
from askback.domain.turn import ApprovalContext, Blocks, CallsToRun, NextStep
from askback.store.queries import approvals, asks, conversations, outbox, tool_calls, transcript
from askback.store.transactions import Transactions

log = logging.getLogger("askback.store")

REVOKED = (
    "The call was not run, because the approval of all calls of this tool was revoked. Make the call again, and people "
    "are asked."
)
NOT_APPROVED = "The call was not run, because it is not the call that people approved."
"""Result of a call that differs from the one that people approved."""


class ToolCallTransactions(Transactions):
    """Transactions for calls of the operator's own tools."""

    async def get_next_step(self, conversation_id: str) -> NextStep:
        """Return the work with which the agent's next step begins.

        That is the calls of the model's newest message that have no result and do not wait for people.
        """

        def work(connection: Connection) -> NextStep:
            conversation = conversations.get(connection, conversation_id)
            if conversation is None:
                return NextStep()
            known = NextStep(stops=conversation.stops, language=conversation.language)
            last = transcript.get_last(connection, conversation_id)
            if last is None:
                return known.evolve(history_place=conversation.place if conversation.midway else None)
            if last.role != "assistant":
                return known
            calls = approvals.list_calls_with_asks(connection, conversation_id, last.seq)
            to_run = tuple(call for call, _ in calls if call.is_to_run)
            if not to_run:
                return known
            return known.evolve(calls=CallsToRun(conversation=conversation, seq=last.seq, calls=to_run))

        return await self._database.read(work)

    async def get_approval_context(self, conversation_id: str, tools: frozenset[str]) -> ApprovalContext:
        """Return the requesters of the model's next calls of these tools, and the earlier decisions."""

        def work(connection: Connection) -> ApprovalContext:
            conversation = conversations.get(connection, conversation_id)
            settled = asks.list_answered_of(connection, conversation_id)
            if conversation is None:
                return ApprovalContext(settled=settled)
            read = approvals.list_message_authors(connection, conversation_id)
            past = approvals.list_past_calls(connection, conversation_id, settled)
            return ApprovalContext(
                requesters={tool: find_requesters(tool, conversation.starter, read, past) for tool in tools},
                settled=settled,
            )

        return await self._database.read(work)

    async def list_askers(self, names: Sequence[str]) -> dict[str, str | None]:
        """Return those of these names that are ids of asks, each with the id of the model's call that asked.

        None means an ask of a program.
        """
        return await self._database.read(lambda connection: tool_calls.list_askers(connection, names))

    async def has_open_asks(self, conversation_id: str) -> bool:
        """Return True if this conversation has an open ask."""
        return await self._database.read(lambda connection: bool(asks.list_open_of(connection, conversation_id)))

    async def start_call(self, conversation_id: str, seq: int, tool_use_id: str, *, again: bool = False) -> bool:
        """Record that a call is about to run. Return False if it must not run, since it has a result or runs already.

        A call about which people were asked runs only if they approved exactly what is stored. Otherwise it ends here
        with an error. `again` allows a call that a process started before it ended.
        """

        def work(connection: Connection) -> bool | None:
            calls = approvals.list_calls_with_asks(connection, conversation_id, seq)
            call = next((call for call, _ in calls if call.tool_use_id == tool_use_id), None)
            if call is None or not call.is_to_run:
                return False
            if call.ask_id is not None and not approvals.is_approved(connection, conversation_id, seq, call):
                if call.approved is not None and call.approved.outcome is not None and call.approved.outcome.revoked:
                    tool_calls.end(connection, conversation_id, seq, tool_use_id, REVOKED)
                    return False
                tool_calls.end(connection, conversation_id, seq, tool_use_id, NOT_APPROVED)
                return None
            return tool_calls.start(connection, conversation_id, seq, tool_use_id, again=again)

        started = await self._run(work)
        if started is None:
            log.error(
                "A tool was not run: its stored call differs from the one that people approved. Check who changed the "
                "database.",
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
            ended = tool_calls.end(
                connection, conversation_id, seq, tool_use_id, result, is_error=is_error, blocks=blocks
            )
            if ended and notice is not None:
                outbox.enqueue_message(connection, notice, conversation_id)
            return ended

        return await self._run(work)
