"""Let all databases of a test process share the statements that SQLAlchemy has compiled.

A process of askback opens one database and compiles each statement once. A test process opens thousands, one after
another, and compiling would be a fifth of its work.
"""

from __future__ import annotations

from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache

_COMPILED: LRUCache[object, object] = LRUCache(2000)


def share() -> None:
    """Share them from now on. The engines of one kind differ only in their files or servers, which are of one release.

    A compiled statement is kept under its dialect. Every engine has an object of its own for that, so all objects of a
    class count as equal.
    """
    for name, method in (("__hash__", _hash_class), ("__eq__", _has_equal_class)):
        setattr(DefaultDialect, name, method)
    event.listen(Engine, "engine_connect", _use_shared)


def _hash_class(dialect: DefaultDialect) -> int:
    return hash(type(dialect))


def _has_equal_class(dialect: DefaultDialect, other: object) -> bool:
    return type(dialect) is type(other)


def _use_shared(connection: Connection) -> None:
    connection.execution_options(compiled_cache=_COMPILED)
