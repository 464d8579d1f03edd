"""The database's promises about transactions on PostgreSQL, on a real server, with real threads."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, func, insert, select, text, update

from askback.domain.actions import Action, Choose
from askback.domain.ask import Ask, new_ask_id
from askback.domain.ask_limits import Limits
from askback.domain.ask_policy import Policy, Who
from askback.domain.click_response import Notice
from askback.domain.decision import decide
from askback.domain.form import Form, Option, Question
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.incoming_message import IncomingMessage
from askback.domain.interview import start_interview
from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.turn import Message, ToolCall, Turn, TurnEnd
from askback.errors import OperatorError
from askback.internal.clock import utc_now
from askback.store.errors import StoreBusy, StoreError, StoreUnavailable
from askback.store.migrate import VERSION_TABLE
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.connection import ReconnectingConnection
from askback.store.postgres.database import PostgresDatabase
from askback.store.schema import asks, calls, conversations, inbox, meta, outbox, transcript
from askback.store.store import Store
from faults.failover.proxy import proxy

HERE = Place(platform="board", tenant="T1", channel="C1", thread="1")
ANN = Actor(platform="board", tenant="T1", id="U1", name="Ann")
BEN = Actor(platform="board", tenant="T1", id="U2", name="Ben")
LABELS = (Option(value="g", label="Green"), Option(value="b", label="Blue"))
COLOUR = Form(questions=(Question(id="colour", prompt="Which colour?", options=LABELS),))
NO_LIMITS = Limits(seconds_between_asks=0, pending_per_place=1000)
JOBS = text("SELECT count(*) FROM procrastinate_jobs WHERE lock = :it AND status = 'todo'")
ROUNDS = 15
"""Attempts for each race between two simultaneous operations."""


@asynccontextmanager
async def opened(url: str, **more: Any) -> AsyncIterator[PostgresDatabase]:
    database = await asyncio.to_thread(PostgresDatabase, PostgresAddress.read(url), **more)
    try:
        yield database
    finally:
        await database.close()


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[PostgresDatabase]:
    async with opened(postgres_url) as database:
        yield database


@pytest.fixture
async def pair(postgres_url: str) -> AsyncIterator[tuple[Store, Store]]:
    """The stores of two processes."""
    async with opened(postgres_url, connections=4) as one, opened(postgres_url, connections=4) as other:
        yield Store(one), Store(other)


def add(name: str) -> Callable[[Connection], str]:
    def work(connection: Connection) -> str:
        connection.execute(insert(meta), {"name": name, "value": ""})
        return name

    return work


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


# Transactions


async def test_a_work_that_raises_changed_nothing(database: PostgresDatabase, postgres_url: str) -> None:
    def work(connection: Connection) -> None:
        add("lost")(connection)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await database.run(work)
    assert await database.run(add("kept")) == "kept"
    assert names(postgres_url) == {"kept"}


async def test_a_quiet_process_opens_one_connection_and_a_busy_one_as_many_as_it_may(postgres_url: str) -> None:
    async with opened(postgres_url, connections=4) as database:
        assert len({await database.run(pid) for _ in range(8)}) == 1
        together = threading.Barrier(4)

        def meet(connection: Connection) -> int:
            together.wait(60)
            return pid(connection)

        assert len(set(await asyncio.gather(*(database.run(meet) for _ in range(4))))) == 4


async def test_what_is_not_committed_in_time_is_refused_and_never_committed(
    database: PostgresDatabase, postgres_url: str
) -> None:
    gate = Gate()

    def work(connection: Connection) -> None:
        add("late")(connection)
        gate.stand()

    with pytest.raises(StoreBusy) as refusal:
        await database.run(work, within=0.2)
    assert not refusal.value.in_doubt
    gate.open()
    await database.close()
    assert names(postgres_url) == set()


async def test_a_connection_that_is_lost_before_the_commit_is_opened_anew_and_the_work_run_again(
    database: PostgresDatabase, postgres_url: str
) -> None:
    runs = 0

    def work(connection: Connection) -> None:
        nonlocal runs
        runs += 1
        add("kept")(connection)
        if runs == 1:
            terminate(postgres_url, pid(connection))
            connection.execute(select(1))

    await database.run(work)
    assert (runs, names(postgres_url)) == (2, {"kept"})


async def test_a_transaction_that_the_server_ended_while_it_computed_is_run_again(database: PostgresDatabase) -> None:
    runs = 0

    def work(connection: Connection) -> int:
        nonlocal runs
        runs += 1
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = '50ms'")
        if runs == 1:
            time.sleep(0.5)
        connection.execute(insert(meta).values(name="kept", value="yes"))
        return runs

    assert await database.run(work) == 2
    query = select(meta.c.value).where(meta.c.name == "kept")
    assert await database.read(lambda connection: connection.execute(query).scalar_one()) == "yes"


@pytest.mark.parametrize("within", [None, 30.0], ids=["a work", "a click"])
async def test_a_transaction_that_the_server_ended_before_its_commit_is_not_in_doubt(
    database: PostgresDatabase, postgres_url: str, within: float | None
) -> None:
    """A machine that stalls makes the server count a session as idle. Then it never reads the COMMIT."""
    runs = 0

    def work(connection: Connection) -> None:
        nonlocal runs
        runs += 1
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = '50ms'")
        add("kept")(connection)
        if runs == 1:
            time.sleep(0.5)

    if within is None:
        await database.run(work)
        assert (runs, names(postgres_url)) == (2, {"kept"})
    else:
        with pytest.raises(StoreUnavailable) as refusal:
            await database.run(work, within=within)
        assert not refusal.value.in_doubt
        assert (runs, names(postgres_url)) == (1, set())


async def test_a_long_transaction_whose_connection_was_lost_is_run_again(postgres_url: str) -> None:
    """A machine that stalls can make one try longer than the patience, which counts from the first loss."""
    runs = 0

    def work(connection: Connection) -> None:
        nonlocal runs
        runs += 1
        add("kept")(connection)
        if runs == 1:
            time.sleep(0.6)
            terminate(postgres_url, pid(connection))
            connection.execute(select(1))

    async with opened(postgres_url, patience=0.3) as database:
        await database.run(work)
    assert (runs, names(postgres_url)) == (2, {"kept"})


async def test_a_connection_that_is_lost_in_the_commit_leaves_it_in_doubt(
    database: PostgresDatabase, postgres_url: str
) -> None:
    def work(connection: Connection) -> None:
        add("perhaps")(connection)
        terminate(postgres_url, pid(connection))

    with pytest.raises(StoreUnavailable) as refusal:
        await database.run(work)
    assert refusal.value.in_doubt
    assert "The change may or may not be saved" in str(refusal.value)
    assert await database.run(add("next")) == "next"


@pytest.mark.parametrize("words", [(b"set_config",), (b"statement_timestamp", b"coalesce(state")])
async def test_a_connection_that_falls_silent_at_any_statement_is_given_up(
    postgres_url: str, words: tuple[bytes, ...]
) -> None:
    """At its first statement, or in the middle of a transaction and as the server is asked about that."""
    with psycopg.connect(postgres_url) as known:
        host, port, name = known.info.host, known.info.port, known.info.dbname
    target = Path(host) / f".s.PGSQL.{port}" if host.startswith("/") else (host, port)
    async with proxy(target) as way, opened(way.url(name), connections=1) as database:
        way.swallow_on(*words)
        async with asyncio.timeout(30):
            query = text("SELECT statement_timestamp()")
            assert await database.read(lambda connection: connection.execute(query).scalar_one())


LOSE_CONNECTION = """
    CREATE SEQUENCE commits;
    CREATE FUNCTION lose_connection() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        -- The next value of a sequence survives a rollback.
        IF nextval('commits') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER lose_connection AFTER INSERT ON asks DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION lose_connection();
"""
"""End the connection during the first COMMIT of an ask, which is rolled back."""


def new_ask(key: str | None = None) -> Ask:
    return Ask(
        id=new_ask_id(),
        key=key,
        place=HERE,
        policy=Policy(who=Who(anyone=True)),
        interview=start_interview(COLOUR),
        created_at=utc_now(),
        post_after=utc_now(),
    )


@pytest.mark.parametrize("key", [None, "k"])
async def test_an_ask_whose_connection_is_lost_in_the_commit_is_stored_once(
    database: PostgresDatabase, postgres_url: str, key: str | None
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute(LOSE_CONNECTION)
    store, ask = Store(database), new_ask(key)
    assert (await store.ask(ask, NO_LIMITS)).id == ask.id
    assert [one.id for one in await store.list_open()] == [ask.id]


@pytest.mark.parametrize("key", [None, "k"])
async def test_an_ask_that_was_committed_although_its_connection_was_lost_is_stored_once(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    commit, lost = ReconnectingConnection.commit, False

    def lose_answer(link: ReconnectingConnection) -> None:
        nonlocal lost
        commit(link)
        if not lost:
            lost = True
            raise psycopg.OperationalError("the connection is lost")

    monkeypatch.setattr(ReconnectingConnection, "commit", lose_answer)
    store, ask = Store(database), new_ask(key)
    # The limit counts this ask once, too.
    limits = Limits(seconds_between_asks=0, pending_per_place=1)
    assert (await store.ask(ask, limits)).id == ask.id
    assert lost
    assert [one.id for one in await store.list_open()] == [ask.id]


async def test_two_who_wait_for_each_other_both_come_through(postgres_url: str) -> None:
    async with opened(postgres_url) as one, opened(postgres_url) as other:
        await one.run(add("a"))
        await one.run(add("b"))
        both = threading.Barrier(2, timeout=30)
        runs: list[str] = []

        def work(first: str, second: str) -> Callable[[Connection], None]:
            def change(connection: Connection) -> None:
                connection.execute(update(meta).where(meta.c.name == first).values(value=meta.c.value + "x"))
                runs.append(first)
                if len(runs) <= 2:
                    both.wait()
                connection.execute(update(meta).where(meta.c.name == second).values(value=meta.c.value + "x"))

            return change

        await asyncio.gather(one.run(work("a", "b")), other.run(work("b", "a")))
        assert len(runs) > 2, "one of them was refused, and ran again"
        values = await one.read(
            lambda c: c.execute(select(meta.c.value).where(meta.c.name.in_(("a", "b")))).scalars().all()
        )
        assert values == ["xx", "xx"]


async def test_of_two_who_add_the_same_the_later_one_looks_again(postgres_url: str) -> None:
    async with opened(postgres_url) as one, opened(postgres_url) as other:
        both = threading.Barrier(2, timeout=30)
        runs = 0

        def work(connection: Connection) -> bool:
            nonlocal runs
            runs += 1
            if connection.execute(select(meta).where(meta.c.name == "it")).first() is not None:
                return False
            if runs <= 2:
                both.wait()
            add("it")(connection)
            return True

        assert sorted(await asyncio.gather(one.run(work), other.run(work))) == [False, True]
        assert runs == 3


async def test_reads_see_one_moment_and_cannot_write(database: PostgresDatabase, postgres_url: str) -> None:
    gate = Gate()

    def look(connection: Connection) -> tuple[int, int]:
        before = connection.execute(select(func.count()).select_from(meta)).scalar_one()
        gate.stand()
        return before, connection.execute(select(func.count()).select_from(meta)).scalar_one()

    looking = asyncio.create_task(database.read(look))
    await gate.reached()
    await database.run(add("meanwhile"))
    gate.open()
    before, after = await looking
    assert before == after
    with pytest.raises(Exception, match="read-only"):
        await database.read(add("never"))
    assert names(postgres_url) == {"meanwhile"}


async def test_a_transaction_that_does_not_end_is_named_because_only_a_restart_helps(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(postgres_url, connections=1) as database:
        gate = Gate()
        running = asyncio.create_task(database.run(lambda _: gate.stand()))
        await gate.reached()
        assert database.find_defect() is None
        monkeypatch.setattr("askback.store.postgres.database.STUCK_SECONDS", 0.0)
        assert database.find_defect() == "a transaction has run for 0 s"
        gate.open()
        await running
        assert database.find_defect() is None


async def test_whoever_is_cancelled_drops_what_has_not_started_and_not_what_has(postgres_url: str) -> None:
    async with opened(postgres_url, connections=1) as database:
        gate = Gate()

        def work(connection: Connection) -> None:
            add("started")(connection)
            gate.stand()

        started = asyncio.create_task(database.run(work))
        await gate.reached()
        waiting = asyncio.create_task(database.run(add("waiting")))
        await asyncio.sleep(0)
        for task in (started, waiting):
            task.cancel()
        await asyncio.gather(started, waiting, return_exceptions=True)
        gate.open()
    assert names(postgres_url) == {"started"}


async def test_closing_finishes_what_is_there_refuses_the_rest_and_ends_every_thread(postgres_url: str) -> None:
    before = threading.active_count()
    async with opened(postgres_url) as database:
        waiting = [asyncio.create_task(database.run(add(str(number)))) for number in range(20)]
        await asyncio.sleep(0)
        await database.close()
        assert len(await asyncio.gather(*waiting)) == 20
        with pytest.raises(StoreUnavailable, match="closed"):
            await database.run(add("late"))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("askback-database")]
    assert threading.active_count() <= before + 1  # asyncio's own, which opened it
    with psycopg.connect(postgres_url) as other:
        query = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'askback'"
        )
        deadline = time.monotonic() + 10
        while other.execute(query).fetchone() != (0,):
            assert time.monotonic() < deadline
            other.rollback()


async def test_a_text_with_a_nul_in_it_is_kept_but_for_that(database: PostgresDatabase) -> None:
    store = Store(database)
    received = await store.receive(heard("1", "a\0b"), begin=True)
    assert received is not None
    turn = await begun(store, received.conversation.id)
    assert turn is not None
    assert await store.receive(heard("k\0", "c"), begin=True) is not None
    again = await store.receive(heard("k\0", "c"), begin=True)
    assert again is not None
    assert again.duplicate
    texts = await database.read(lambda c: c.execute(select(inbox.c.text).order_by(inbox.c.id)).scalars().all())
    assert texts == ["a\ufffdb", "c"]


# A server that is away, and the error about it


async def test_a_server_that_is_away_is_said_in_a_sentence_and_comes_back(
    postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Away means that it accepts no connection to this database, and has closed the existing ones."""
    name = PostgresAddress.read(postgres_url).shown.rpartition("/")[2].partition("?")[0]
    admin = psycopg.connect(postgres_url.replace(name, "postgres"), autocommit=True)
    async with opened(postgres_url, patience=0.5) as database:
        await database.run(add("before"))
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        admin.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", [name])
        for within in (None, 0.3):
            with pytest.raises(StoreError) as refusal:
                await database.run(add("never"), within=within)
            assert not refusal.value.in_doubt
            assert "Nothing was changed" in str(refusal.value)
        with pytest.raises(StoreUnavailable, match="did not commit"):
            await database.read(lambda connection: None)
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
        assert await database.run(add("after")) == "after"
    admin.close()
    assert names(postgres_url) == {"before", "after"}


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:tell-n0body@127.0.0.1:1/askback",
        "postgresql://ann:tell-n0body@no-such-host.invalid/askback?connect_timeout=2",
        "postgresql:///askback?host=/nowhere&user=ann&password=tell-n0body",
    ],
)
def test_the_password_is_in_no_message_and_in_no_log(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(OperatorError) as refusal:
        PostgresDatabase(PostgresAddress.read(url))
    told = f"{refusal.value!r} {refusal.value} {refusal.value.__cause__!r} {PostgresAddress.read(url)!r} {caplog.text}"
    assert "tell-n0body" not in told
    assert "Could not open the database" in told


# Opening


async def test_processes_that_open_a_new_database_at_once_all_get_it(empty_url: str) -> None:
    address = PostgresAddress.read(empty_url)
    made = await asyncio.gather(*(asyncio.to_thread(PostgresDatabase, address, connections=1) for _ in range(4)))
    await made[0].run(add("it"))
    for database in made:
        await database.close()
    assert names(empty_url) == {"it"}


async def test_a_migration_that_fails_leaves_nothing_behind(empty_url: str) -> None:
    from askback.store.postgres.prepare import prepare

    def breaks(connection: Connection) -> None:
        prepare(connection)
        raise RuntimeError("the machine went away")

    with pytest.raises(RuntimeError, match="went away"):
        PostgresDatabase(PostgresAddress.read(empty_url), prepare=breaks)
    with psycopg.connect(empty_url) as other:
        assert other.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)


async def test_a_database_of_a_newer_askback_is_refused_and_left_alone(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute(f"UPDATE {VERSION_TABLE} SET version_num = '0099_from_tomorrow'".encode())
        with pytest.raises(OperatorError, match="A newer askback wrote"):
            PostgresDatabase(PostgresAddress.read(postgres_url))
        found = other.execute(f"SELECT version_num FROM {VERSION_TABLE}".encode()).fetchone()
    assert found == ("0099_from_tomorrow",)


# Two processes at the same instant


def heard(key: str, words: str = "hello", place: Place = HERE) -> IncomingMessage:
    return IncomingMessage(place=place, author=ANN, text=words, dedupe_key=key, at=utc_now())


def asked(number: int = 0, **more: Any) -> Ask:
    now = utc_now()
    fields: dict[str, Any] = {
        "place": HERE.evolve(thread=str(number)),
        "policy": Policy(who=Who(anyone=True)),
        "interview": start_interview(COLOUR),
        "created_at": now,
        "post_after": now,
    }
    return Ask(id=new_ask_id(), **(fields | more))


async def begun(store: Store, conversation_id: str) -> Turn | None:
    message = Message(seq=0, role="user", content=({"type": "text", "text": "told"},))
    return await store.begin_turn(conversation_id, lambda *_: message)


async def clicked(store: Store, ask: Ask, by: Actor, index: int) -> bool:
    """Return True if the click counted."""
    action = Action(ask_id=ask.id, actor=by, at=utc_now(), step=ask.interview.step, operation=Choose(index=index))
    acted = await store.decide(ask.id, lambda found: decide(found, action, admits=lambda *_: False), action=action)
    assert acted.settled != isinstance(acted.answer, Notice)
    return acted.settled


async def waiting(store: Store, number: int, **call: Any) -> tuple[str, int, Ask]:
    """Make a conversation whose model has asked, and waits."""
    place = HERE.evolve(thread=f"waits {number}")
    received = await store.receive(heard("1", place=place), begin=True)
    assert received is not None
    turn = await begun(store, received.conversation.id)
    assert turn is not None
    ask = asked(place=place, conversation_id=received.conversation.id)
    made = ToolCall(tool_use_id="t", tool="AskUserQuestion", input={}, **({"ask": ask} | call))
    end = TurnEnd(
        conversation_id=received.conversation.id,
        content=({"type": "text", "text": "hm"},),
        calls=(made,),
        after=turn.history[-1].seq,
    )
    assert await store.end_turn(end, NO_LIMITS) is not None
    return received.conversation.id, 1, ask


async def test_an_answer_in_the_instant_in_which_a_turn_begins_is_never_slept_through(
    pair: tuple[Store, Store],
) -> None:
    one, other = pair
    for number in range(ROUNDS):
        conversation_id, _, ask = await waiting(one, number)
        turn, counted = await asyncio.gather(begun(one, conversation_id), clicked(other, ask, ANN, 0))
        assert counted
        if turn is None:
            assert conversation_id in await one.list_runnable(utc_now())
            assert await one._database.read(lambda c, it=conversation_id: c.execute(JOBS, {"it": it}).scalar_one())
            assert await begun(one, conversation_id) is not None


async def test_two_clicks_in_the_same_instant_make_one_outcome(pair: tuple[Store, Store]) -> None:
    one, other = pair
    for number in range(ROUNDS):
        ask = await one.ask(asked(number), NO_LIMITS)
        assert sorted(await asyncio.gather(clicked(one, ask, ANN, 0), clicked(other, ask, BEN, 1))) == [False, True]


async def test_a_card_that_changes_while_its_drawing_is_confirmed_is_drawn_again(pair: tuple[Store, Store]) -> None:
    one, other = pair
    for number in range(ROUNDS):
        ask = await one.ask(asked(number), NO_LIMITS)
        (item,) = await one.lease(1)
        shown = (MessageRef(channel="C1", id=str(number)),)
        await asyncio.gather(one.mark_rendered(ask.id, 0, shown), clicked(other, ask, ANN, 0))
        await one.delete_item(item)
        left = await one._database.read(lambda c: c.execute(select(outbox.c.revision)).scalars().all())
        newest = await one.get(ask.id)
        assert newest is not None
        assert left == [newest.interview.revision]
        await one.mark_rendered(ask.id, newest.interview.revision, shown)
        assert await one.lease(1) == ()


async def test_what_two_take_at_once_each_takes_alone(pair: tuple[Store, Store]) -> None:
    one, other = pair
    for number in range(40):
        await one.enqueue_message(OutgoingMessage(target=f"say {number}", text="x", markdown=False))
    taken = await asyncio.gather(*(store.lease(4) for store in pair * 6))
    targets = [item.target for items in taken for item in items]
    assert len(targets) == len(set(targets))
    while items := await one.lease(16):
        targets += [item.target for item in items]
    assert len(targets) == len(set(targets)) == 40
    assert await other.lease(16) == ()


async def test_what_is_taken_is_anybodys_when_its_time_is_over(pair: tuple[Store, Store]) -> None:
    one, other = pair
    await one.enqueue_message(OutgoingMessage(target="it", text="x", markdown=False))
    assert len(await one.lease(16)) == 1
    assert await other.lease(16) == ()
    await one._database.run(lambda c: c.execute(update(outbox).values(leased_until=1)).rowcount)
    taken = await other.lease(16)
    assert [(item.target, item.attempts) for item in taken] == [("it", 2)]


async def test_a_message_that_comes_while_its_conversation_is_deleted_is_kept(pair: tuple[Store, Store]) -> None:
    one, other = pair
    for number in range(ROUNDS):
        place = HERE.evolve(thread=f"old {number}")
        assert await one.receive(heard("1", place=place), begin=True) is not None
        await one._database.run(lambda c: c.execute(update(conversations).values(wants_turn=False)) and None)
        future = utc_now() + timedelta(hours=1)
        received, _ = await asyncio.gather(one.receive(heard("2", place=place), begin=True), other.prune(future, 20))
        assert received is not None
        kept = select(inbox.c.conversation_id).where(inbox.c.dedupe_key == "2", inbox.c.taken_seq.is_(None))
        assert received.conversation.id in await one._database.read(lambda c, q=kept: c.execute(q).scalars().all())
        assert await begun(one, received.conversation.id) is not None


async def test_one_key_asks_once_however_many_ask_at_once(pair: tuple[Store, Store]) -> None:
    one, other = pair
    for number in range(ROUNDS):
        made = await asyncio.gather(
            *(
                store.ask(asked(index, key=f"k{number}"), NO_LIMITS)
                for index, store in enumerate((one, other, one, other))
            )
        )
        assert len({ask.id for ask in made}) == 1
    assert await one.count_open() == ROUNDS


async def test_a_mention_that_two_hear_begins_one_conversation_and_is_kept_once(pair: tuple[Store, Store]) -> None:
    for number in range(ROUNDS):
        place = HERE.evolve(thread=f"new {number}")
        received = await asyncio.gather(*(store.receive(heard("1", place=place), begin=True) for store in pair * 2))
        assert len({one.conversation.id for one in received if one is not None}) == 1
        assert sorted(one.duplicate for one in received if one is not None) == [False, True, True, True]


async def test_a_turn_that_another_process_has_ended_is_not_ended_again(pair: tuple[Store, Store]) -> None:
    one, other = pair
    for number in range(ROUNDS):
        place = HERE.evolve(thread=f"zombie {number}")
        received = await one.receive(heard("1", place=place), begin=True)
        assert received is not None
        turn = await begun(one, received.conversation.id)
        again = await begun(other, received.conversation.id)
        assert turn is not None
        assert again == turn.evolve(resumed=True)
        ends = [
            TurnEnd(
                conversation_id=received.conversation.id,
                content=({"type": "text", "text": text_},),
                after=turn.history[-1].seq,
            )
            for text_ in ("mine", "yours")
        ]
        ended = await asyncio.gather(one.end_turn(ends[0], NO_LIMITS), other.end_turn(ends[1], NO_LIMITS))
        assert sorted(end is None for end in ended) == [False, True]
        query = select(func.count()).where(
            transcript.c.conversation_id == received.conversation.id, transcript.c.role == "assistant"
        )
        assert await one._database.read(lambda c, q=query: c.execute(q).scalar_one()) == 1


async def test_a_call_that_two_begin_runs_once_and_has_one_result(pair: tuple[Store, Store]) -> None:
    one, other = pair
    for number in range(ROUNDS):
        conversation_id, seq, _ = await waiting(one, number, ask=None)
        key = (conversation_id, seq, "t")
        assert sorted(await asyncio.gather(one.start_call(*key), other.start_call(*key))) == [False, True]
        ends = (one.end_call(*key, "mine", is_error=False), other.end_call(*key, "yours", is_error=True))
        assert sorted(await asyncio.gather(*ends)) == [False, True]
        query = select(func.count()).select_from(calls).where(calls.c.conversation_id == conversation_id)
        assert await one._database.read(lambda c, q=query: c.execute(q).scalar_one()) == 1


async def test_too_many_at_once_in_one_place_are_refused_by_whoever_comes_last(pair: tuple[Store, Store]) -> None:
    limits = Limits(seconds_between_asks=0, pending_per_place=3)
    made = await asyncio.gather(*(store.ask(asked(), limits) for store in pair * 4), return_exceptions=True)
    assert sum(isinstance(one, Ask) for one in made) == 3
    query = select(func.count()).select_from(asks)
    assert await pair[0]._database.read(lambda c: c.execute(query).scalar_one()) == 3
