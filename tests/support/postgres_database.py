"""PostgreSQL databases of a test, what it writes into them, and a work that does not end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from sqlalchemy import Connection, func, select

from askback.domain.form import Form, Option, Question
from askback.domain.identity import Actor, Place
from askback.domain.incoming_message import IncomingMessage
from askback.domain.turn import Message, Turn
from askback.internal.clock import utc_now
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.database import PostgresDatabase
from askback.store.store import Store

HERE = Place(platform="board", tenant="T1", channel="C1", thread="1")
ANN = Actor(platform="board", tenant="T1", id="U1", name="Ann")
BEN = Actor(platform="board", tenant="T1", id="U2", name="Ben")
LABELS = (Option(value="g", label="Green"), Option(value="b", label="Blue"))
COLOUR = Form(questions=(Question(id="colour", prompt="Which colour?", options=LABELS),))


@asynccontextmanager
async def opened(url: str, **more: Any) -> AsyncIterator[PostgresDatabase]:
    database = await asyncio.to_thread(PostgresDatabase, PostgresAddress.read(url), **more)
    try:
        yield database
    finally:
        await database.close()


def names(url: str) -> set[str]:
    """Return the committed names, as another connection sees them."""
    with psycopg.connect(url) as other:
        return {name for (name,) in other.execute("SELECT name FROM meta WHERE name <> 'procrastinate'")}


def pid(connection: Connection) -> int:
    return connection.execute(select(func.pg_backend_pid())).scalar_one()


def terminate(url: str, number: int) -> None:
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [number])


class Gate:
    """A work that blocks a thread of the database until it is released."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._open = threading.Event()

    def stand(self) -> None:
        self._reached.set()
        assert self._open.wait(60)

    async def reached(self) -> None:
        assert await asyncio.to_thread(self._reached.wait, 60)

    def open(self) -> None:
        self._open.set()


def heard(key: str, words: str = "hello", place: Place = HERE) -> IncomingMessage:
    return IncomingMessage(place=place, author=ANN, text=words, dedupe_key=key, at=utc_now())


async def begun(store: Store, conversation_id: str) -> Turn | None:
    message = Message(seq=0, role="user", content=({"type": "text", "text": "told"},))
    return await store.begin_turn(conversation_id, lambda *_: message)
