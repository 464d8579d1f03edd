"""A query that finds which of many asks have changed. It returns none of the others."""

from __future__ import annotations

__all__ = ["AskVersion", "get_version", "list_changed"]

from collections.abc import Mapping
from functools import cache
from typing import Final, NewType

from pydantic_core import to_json
from sqlalchemy import Connection, Select, Text, bindparam, case, cast, func, or_, select
from sqlalchemy.dialects.postgresql import JSONB

from askback.domain.ask import Ask
from askback.store.schema import asks

AskVersion = NewType("AskVersion", str)
"""A text that differs once people, a deadline or a platform have changed an ask."""
_POSTED, _NOT_POSTED = "posted", "new"
_NO_MESSAGES: Final = "[]"
_VERSION: Final = (
    cast(asks.c.revision, Text)
    + " "
    + asks.c.status
    + " "
    + case((asks.c.messages == _NO_MESSAGES, _NOT_POSTED), else_=_POSTED)
)


def get_version(ask: Ask) -> AskVersion:
    """Return the version of an ask that was read."""
    return AskVersion(f"{ask.interview.revision} {ask.status} {_POSTED if ask.messages else _NOT_POSTED}")


def list_changed(connection: Connection, known: Mapping[str, AskVersion]) -> frozenset[str]:
    """Return the ids of those asks that have another version than the known one, or do not exist."""
    # A process may wait for thousands of asks. One parameter holds all their versions.
    query = _select_changed(connection.dialect.name)
    return frozenset(connection.execute(query, {"known": to_json(known).decode()}).scalars())


@cache
def _select_changed(dialect: str) -> Select[str]:
    given = bindparam("known", type_=Text())
    each = func.jsonb_each_text(cast(given, JSONB)) if dialect == "postgresql" else func.json_each(given)
    one = each.table_valued("key", "value", name="one")
    key, value = cast(one.c.key, Text), cast(one.c.value, Text)
    return (
        select(key)
        .select_from(one.outerjoin(asks, asks.c.id == key))
        .where(or_(asks.c.id.is_(None), value != _VERSION))
    )
