"""Calls of the operator's own tools."""

from __future__ import annotations

__all__ = ["Calling"]


from sqlalchemy import Connection

from askback.clock import utc_now
from askback.conversations import Blocks, CallsToRun, Say
from askback.store import asks, conversations, outbox
from askback.store.transactions import Transactions


class Calling(Transactions):
    """Calls of the operator's own tools."""

    async def calls_to_run(self, conversation_id: str) -> CallsToRun | None:
        """The calls of the model's newest message that have no result and wait for nobody. None: there are none."""

        def work(connection: Connection) -> CallsToRun | None:
            conversation = conversations.get(connection, conversation_id)
            last = conversations.last_message(connection, conversation_id)
            if conversation is None or last is None or last.role != "assistant":
                return None
            calls = conversations.calls_of(connection, conversation_id, last.seq)
            to_run = tuple(call for call in calls if call.is_to_run)
            if not to_run:
                return None
            return CallsToRun(conversation=conversation, seq=last.seq, calls=to_run)

        return await self._writer.read(work)

    async def is_asking(self, conversation_id: str) -> bool:
        """Whether people are asked in this conversation and have not answered."""
        return await self._writer.read(lambda connection: bool(asks.open_of(connection, conversation_id)))

    async def start_call(self, conversation_id: str, seq: int, tool_use_id: str) -> bool:
        """Committed before the call runs. False: it is not to run, since it has a result already."""
        return await self._writer.run(
            lambda connection: conversations.start_call(connection, conversation_id, seq, tool_use_id)
        )

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
                outbox.put_say(connection, notice, conversation_id, utc_now(), None)
            return ended

        return await self._writer.run(work)
