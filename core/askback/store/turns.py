"""When the agent is to go on. Each function runs inside a caller's transaction."""

from __future__ import annotations

__all__ = ["wake"]

from sqlalchemy import Connection

from askback.domain.identity import Place
from askback.store import conversations


def wake(connection: Connection, conversation_id: str, place: Place) -> None:
    """The conversation in this place has something to do, since this commit.

    A running turn that finds more to do goes on by itself; this is for everybody else. In SQLite the one worker
    looks at the row; in PostgreSQL it is a job in the same commit, for whichever process of its platform takes it.
    """
    conversations.want_turn(connection, conversation_id, True)
    if connection.dialect.name == "postgresql":
        # Only where it is installed.
        from askback.store.postgres.jobs import defer_turn

        defer_turn(connection, conversation_id, place.platform)
