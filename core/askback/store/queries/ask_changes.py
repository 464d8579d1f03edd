"""A query that finds which of many asks have changed. It reads none of them."""

from __future__ import annotations

__all__ = ["AskVersion", "get_version", "list_versions"]

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy import Connection, select

from askback.domain.ask import Ask
from askback.store.schema import asks

AT_ONCE: Final = 500
"""Maximum number of ids in one statement."""
_NO_MESSAGES: Final = "[]"


class AskVersion(NamedTuple):
    """The columns that differ once people, a deadline or a platform have changed an ask."""

    revision: int
    status: str
    is_posted: bool


def get_version(ask: Ask) -> AskVersion:
    """Return the version of an ask that was read."""
    return AskVersion(ask.interview.revision, ask.status, bool(ask.messages))


def list_versions(connection: Connection, ask_ids: Sequence[str]) -> dict[str, AskVersion]:
    """Return the versions of these asks by their ids, without those that do not exist."""
    found: dict[str, AskVersion] = {}
    for at in range(0, len(ask_ids), AT_ONCE):
        query = select(asks.c.id, asks.c.revision, asks.c.status, asks.c.messages).where(
            asks.c.id.in_(ask_ids[at : at + AT_ONCE])
        )
        for ask_id, revision, status, messages in connection.execute(query):
            found[ask_id] = AskVersion(revision, status, messages != _NO_MESSAGES)
    return found
