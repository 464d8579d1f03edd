"""The queries for work that is due: each condition under which an ask or a conversation is due, or is not."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from sqlalchemy import Connection, Executable, update

from askback.domain.ask import Ask
from askback.domain.form import Form, Question
from askback.domain.identity import Actor, Place
from askback.domain.who import Who
from askback.internal.clock import to_micros, utc_now
from askback.manager import build_ask, build_policy
from askback.store.database import Database
from askback.store.queries import asks, conversations
from askback.store.queries.conversations import FARTHEST
from askback.store.queries.platform_claims import ServedPlatforms
from askback.store.schema import asks as asks_table
from askback.store.schema import conversations as conversations_table
from askback.store.unreadable_rows import SkippedRows

pytestmark = pytest.mark.usefixtures("stored")

COLOUR = Form(questions=(Question(id="colour", prompt="Which colour?"),))
HOUR = timedelta(hours=1)
NEVER = timedelta.max
ONE, TWO = frozenset({"one"}), frozenset({"two"})


def person(platform: str) -> Actor:
    return Actor(platform=platform, tenant="T1", id="U1", name="Ann")


def place(platform: str, thread: str = "1") -> Place:
    return Place(platform=platform, tenant="T1", channel="C1", thread=thread)


async def add(database: Database, platform: str, due: timedelta) -> Ask:
    """Store an open ask whose deadline is `due` from now. A negative time is in the past."""
    policy = build_policy(Who.from_people(person(platform)), 60).evolve(deadline=utc_now() + due)
    ask = build_ask(COLOUR, to=place(platform), policy=policy)
    await database.run(lambda connection: asks.insert(connection, ask))
    return ask


async def execute(database: Database, change: Executable) -> None:
    def work(connection: Connection) -> None:
        connection.execute(change)

    await database.run(work)


async def list_due(
    database: Database, at_most: int = 10, *, served: ServedPlatforms = None, left: SkippedRows | None = None
) -> list[str]:
    return list(await database.read(lambda connection: asks.list_due(connection, at_most, served, left)))


async def get_time(
    database: Database, within: timedelta, *, served: ServedPlatforms = None, left: SkippedRows | None = None
) -> timedelta:
    """Return the time until the first ask is due, or `NEVER`."""
    found = await database.read(lambda connection: asks.get_time_until_due(connection, within, served, left))
    return NEVER if found is None else found


@pytest.fixture
async def unreadable(database: Database) -> Ask:
    """An ask that has been due the longest, and that only a newer release can read."""
    ask = await add(database, "one", -3 * HOUR)
    change = update(asks_table).where(asks_table.c.id == ask.id).values(form='{"of": "a newer release"}')
    await execute(database, change)
    return ask


async def test_asks_are_due_from_their_time_on_and_the_earliest_comes_first(database: Database) -> None:
    later, earlier = await add(database, "one", -HOUR), await add(database, "one", -2 * HOUR)
    await add(database, "one", HOUR)
    assert await list_due(database) == [earlier.id, later.id]
    assert await list_due(database, at_most=1) == [earlier.id]


async def test_a_process_sees_the_asks_of_its_platforms_alone(database: Database) -> None:
    one, two = await add(database, "one", -HOUR), await add(database, "two", -2 * HOUR)
    assert await list_due(database, served=ONE) == [one.id]
    assert await list_due(database, served=TWO) == [two.id]
    assert await list_due(database, served=ONE | TWO) == [two.id, one.id]
    assert await list_due(database, served=frozenset()) == []

    assert -2 * HOUR < await get_time(database, HOUR, served=ONE) <= -HOUR
    assert await get_time(database, HOUR, served=TWO) <= -2 * HOUR
    assert await get_time(database, HOUR) <= -2 * HOUR
    assert await get_time(database, HOUR, served=frozenset()) == NEVER


async def test_an_ask_that_is_left_to_a_newer_release_holds_up_no_other(database: Database, unreadable: Ask) -> None:
    left = SkippedRows()
    readable = await add(database, "one", -HOUR)
    assert await list_due(database, left=left) == [readable.id]
    assert left.get_ids("ask", str) == [unreadable.id]
    # Now that it is known, it takes no place among those that are read, and nobody wakes up for it.
    assert await list_due(database, at_most=1, left=left) == [readable.id]
    assert -2 * HOUR < await get_time(database, HOUR, left=left) <= -HOUR


async def test_an_ask_that_is_due_later_is_not_read_before_it_is_near(database: Database) -> None:
    await add(database, "one", 2 * HOUR)

    assert await get_time(database, HOUR) == NEVER
    assert HOUR < await get_time(database, 3 * HOUR) <= 2 * HOUR


async def start(database: Database, platform: str, thread: str, **columns: object) -> str:
    """Store a conversation that wants a turn."""
    started = await database.run(
        lambda connection: conversations.start(connection, place(platform, thread), person(platform))
    )
    change = update(conversations_table).where(conversations_table.c.id == started.id)
    await execute(database, change.values(wants_turn=True, **columns))
    return started.id


async def test_turns_run_the_longest_waiting_first_on_the_platforms_of_the_process(database: Database) -> None:
    second = await start(database, "one", "2", updated_at=2)
    first = await start(database, "two", "1", updated_at=1)
    await start(database, "one", "3", updated_at=3)
    idle = update(conversations_table).where(conversations_table.c.updated_at == 3).values(wants_turn=False)
    await execute(database, idle)

    async def list_runnable(served: ServedPlatforms) -> list[str]:
        return list(await database.read(lambda one: conversations.list_runnable(one, utc_now(), served)))

    assert await list_runnable(None) == [first, second]
    assert await list_runnable(ONE) == [second]
    assert await list_runnable(TWO) == [first]


async def test_a_postponed_turn_waits_for_its_time_but_not_for_a_clock_that_was_set_back(database: Database) -> None:
    now = utc_now()
    minute = timedelta(minutes=1)
    ids = {
        delay: await start(database, "one", f"{delay}", updated_at=number, turn_after=to_micros(now + delay))
        for number, delay in enumerate((-minute, minute, FARTHEST + minute))
    }

    async def list_runnable() -> list[str]:
        return list(await database.read(lambda connection: conversations.list_runnable(connection, now)))

    async def get_next(served: ServedPlatforms = None) -> datetime | None:
        return await database.read(lambda connection: conversations.get_next_turn_at(connection, now, served))

    assert await list_runnable() == [ids[-minute], ids[FARTHEST + minute]]
    assert await get_next() == now + minute
    assert await get_next(TWO) is None
