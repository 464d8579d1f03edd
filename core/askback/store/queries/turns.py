"""Start the agent's turns. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = ["request_turn"]

from sqlalchemy import Connection

from askback.domain.identity import Place
from askback.store.queries import conversations
from askback.store.transaction_events import TurnRequested, record_event


def request_turn(connection: Connection, conversation_id: str, place: Place, *, is_settled: bool = False) -> None:
    """Record that the conversation in this place has something to do after this commit.

    `is_settled` means that a question of the agent was settled, so that its turn starts at once.

    Only a running turn does not need this, since it finds more work itself. On SQLite, the single worker checks the
    row. On PostgreSQL, the same commit queues a job, which a process that serves the platform takes.
    """
    conversations.set_wants_turn(connection, conversation_id, True)
    record_event(TurnRequested(conversation_id, place.platform, is_settled))
    if connection.dialect.name == "postgresql":
        # Imported here because procrastinate may not be installed.
        from askback.store.postgres.jobs import defer_turn

        defer_turn(connection, conversation_id, place.platform)
