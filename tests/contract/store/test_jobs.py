"""The agent's turns as jobs: an outage of the database at the wrong moment leaves nothing behind."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import cast

import psycopg
import pytest
from procrastinate.exceptions import ConnectorException
from procrastinate.manager import JobManager
from psycopg.types.json import Jsonb

from askback.runtime import postgres_backend, postgres_turns
from askback.runtime.health import Health
from askback.runtime.postgres_turns import JobTurnScheduler
from askback.store.database import Database
from askback.store.notifications import LISTENING, Signal
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.database import PostgresDatabase
from askback.store.postgres.external_access import list_processes, run_read_only
from askback.store.postgres.jobs import get_queue_name, list_held_jobs, release_jobs, sweep
from askback_sandbox.model.model import Model
from askback_sandbox.model.script import Fault, turn
from askback_sandbox.services import Services
from support.board import Board
from support.engine import engine, eventually
from support.stores import URL_FILE


@pytest.mark.parametrize("case", ["the same session", "the next session", "an unknown error"])
async def test_a_job_whose_end_could_not_be_said_holds_up_no_later_turn(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, case: str
) -> None:
    (tmp_path / URL_FILE).write_text(postgres_url)
    is_unknown = case == "an unknown error"
    monkeypatch.setattr(postgres_turns, "LEFT_SECONDS", 1.0 if is_unknown else 1000.0)
    finish, failed = JobManager.finish_job, 0

    async def away_once(self: JobManager, *arguments: object, **more: object) -> None:
        nonlocal failed
        if not failed:
            failed += 1
            raise RuntimeError if is_unknown else ConnectorException
        await finish(self, *arguments, **more)  # type: ignore[arg-type]

    async def away(self: JobManager, worker_id: int) -> None:
        raise ConnectorException

    monkeypatch.setattr(JobManager, "finish_job", away_once)
    monkeypatch.setattr(JobManager, "unregister_worker", away)
    board = Board()
    async with Services(port=0, model=Model()) as services:
        services.model.script(turn("Hello."), turn("Still here."))
        async with engine(tmp_path, board, services) as one:
            await one.write("hello")
            await one.says("Hello.")

            async def has_failed() -> bool:
                return failed == 1

            await eventually(has_failed)
            turns = cast("JobTurnScheduler", one.worker._turns)
            if case == "the next session" and turns._worker is not None:
                turns._worker.stop()
            await one.write("are you there?")
            await one.says("Still here.")
    actions = [getattr(record, "action", "") for record in caplog.records]
    assert "turns_left" in actions
    assert "turns_taken_over" not in actions, "only after the time in which a process counts as dead"


async def test_a_job_is_given_back_once_whoever_frees_it_first(postgres_url: str) -> None:
    """Two processes may find the same job left. The second one must not fail, nor free it while a third works on it."""
    database = PostgresDatabase(PostgresAddress.read(postgres_url), connections=2)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        add = "INSERT INTO procrastinate_workers DEFAULT VALUES RETURNING id"
        (gone,), (other,) = connection.execute(add).fetchone() or (0,), connection.execute(add).fetchone() or (0,)
        job = (
            "INSERT INTO procrastinate_jobs (queue_name, task_name, lock, status, worker_id) "
            "VALUES ('q', 't', 'c', 'doing', %s) RETURNING id"
        )
        (number,) = connection.execute(job, (gone,)).fetchone() or (0,)
        assert await database.run(lambda one: list_held_jobs(one, gone)) == {number: "c"}
        assert await database.run(lambda one: release_jobs(one, [gone], [number])) == 1
        assert await database.run(lambda one: release_jobs(one, [gone], [number])) == 0
        connection.execute("UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s", (other,))
        assert await database.run(lambda one: release_jobs(one, [gone], [number])) == 0
        assert await database.run(lambda one: list_held_jobs(one, other)) == {number: "c"}
    await database.close()


async def test_a_job_of_a_removed_worker_is_freed_by_a_process_that_has_no_worker_at_the_moment(
    postgres_url: str,
) -> None:
    """After an outage, a process removes its former worker before it registers the next one."""
    database = PostgresDatabase(PostgresAddress.read(postgres_url), connections=1)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        worker = connection.execute("INSERT INTO procrastinate_workers DEFAULT VALUES RETURNING id").fetchone()
        connection.execute(
            "INSERT INTO procrastinate_jobs (queue_name, task_name, lock, status, worker_id) "
            "VALUES (%s, 't', 'c', 'doing', %s)",
            (get_queue_name("discord"), *(worker or ())),
        )
        assert await database.run(lambda one: sweep(one, frozenset({"discord"}), None)) == 0
        connection.execute("DELETE FROM procrastinate_workers")
        assert await database.run(lambda one: sweep(one, frozenset({"discord"}), None)) == 1
    await database.close()


async def test_turns_that_an_earlier_release_left_in_its_queue_are_taken_by_their_platforms_process_alone(
    postgres_url: str, tmp_path: Path
) -> None:
    (tmp_path / URL_FILE).write_text(postgres_url)
    board, wall = Board(), Board()
    wall.name = "wall"
    async with Services(port=0, model=Model()) as services:
        services.model.script(turn("Hello."), turn("Hello."))
        async with engine(tmp_path, board, services, work=False) as one:
            await one.write("hello")
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            moved = connection.execute("UPDATE procrastinate_jobs SET queue_name = 'askback_turns'")
            assert moved.rowcount == 1
        async with engine(tmp_path, wall, services) as other:
            await asyncio.sleep(2 * postgres_turns.SWEEP_SECONDS)
            assert (other.board.texts(), len(services.model.log)) == ([], 0)
            async with engine(tmp_path, board, services) as one:
                await one.says("Hello.")
            assert len(services.model.log) == 1


async def test_a_process_that_was_forgotten_while_it_was_held_up_is_known_again(
    postgres_url: str, tmp_path: Path
) -> None:
    """Otherwise a parallel script would consider it dead, and open a second connection."""
    (tmp_path / URL_FILE).write_text(postgres_url)
    address = PostgresAddress.read(postgres_url)

    async def is_known() -> bool:
        return await asyncio.to_thread(lambda: run_read_only(address, list_processes).serve("board"))

    board = Board()
    async with Services(port=0, model=Model()) as services:
        services.model.script(turn("Hello."))
        async with engine(tmp_path, board, services) as one:
            await eventually(is_known)
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute("DELETE FROM procrastinate_workers")
            assert not await is_known()
            await eventually(is_known)
            await one.write("hello")
            await one.says("Hello.")


HELD_UP = "UPDATE procrastinate_workers SET last_heartbeat = now() - interval '20 s'"


async def test_a_process_that_was_held_up_does_not_take_its_own_turns_for_those_of_one_that_is_gone(
    postgres_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / URL_FILE).write_text(postgres_url)
    board = Board()
    async with Services(port=0, model=Model()) as services:
        services.model.script(turn("Some text before it is silent.", Fault(kind="stall")))
        async with engine(tmp_path, board, services) as one:
            await one.write("hello")
            await one.says("Some text")
            until = asyncio.get_running_loop().time() + 3 * postgres_turns.SWEEP_SECONDS
            async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as connection:
                while asyncio.get_running_loop().time() < until:
                    await connection.execute(HELD_UP)
            assert not [
                record for record in caplog.records if record.getMessage().startswith(("Released", "Took over"))
            ]


async def test_jobs_of_a_newer_release_wait_and_are_told_once(
    postgres_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / URL_FILE).write_text(postgres_url)
    monkeypatch.setattr(postgres_turns, "NEWER_SECONDS", 1)
    postgres_turns._log_newer.cache_clear()
    newer = (
        ("askback.dream", {"conversation_id": "c"}),
        (postgres_turns.TURN, {"conversation_id": "c", "mood": 1}),
        (postgres_turns.TURN, {"conversations": ["c"]}),
        (postgres_turns.TURN, {}),
    )
    board = Board()
    async with Services(port=0, model=Model()) as services:
        services.model.script(turn("Hello."))
        async with engine(tmp_path, board, services) as one:
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                for name, arguments in newer:
                    defer = "INSERT INTO procrastinate_jobs (queue_name, task_name, args) VALUES (%s, %s, %s)"
                    connection.execute(defer, (postgres_turns.get_queue_name("board"), name, Jsonb(arguments)))

                def tried() -> bool:
                    attempts = connection.execute("SELECT attempts FROM procrastinate_jobs WHERE lock IS NULL")
                    return [count > 1 for (count,) in attempts] == [True] * len(newer)

                async def all_tried() -> bool:
                    return await asyncio.to_thread(tried)

                await eventually(all_tried)
            await one.write("hello")
            await one.says("Hello.")
    told = [record.__dict__["task"] for record in caplog.records if record.__dict__.get("action") == "left_to_newer"]
    assert sorted(told) == sorted({name for name, _ in newer})


async def test_what_others_tell_is_heard_again_after_a_fault_and_health_shows_a_hearing_that_has_ended(
    postgres_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_backend, "PAUSE_SECONDS", 0.05)
    heard: list[str] = []

    def recheck(signal: Signal) -> None:
        heard.append(signal.id)
        if signal.id == "broken":
            raise LookupError("a fault of ours")

    async with postgres_backend.listen(PostgresAddress.read(postgres_url), recheck, LISTENING) as task:
        health = Health(cast("Database", Healthy()))
        health.watch((task,), {})

        async def has_heard(id_: str) -> bool:
            return id_ in heard

        await eventually(lambda: has_heard(""))
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            for payload in ("ask broken", "ask  \x7f", "dream c1", "", "stop", "x" * 7000):
                connection.execute("SELECT pg_notify('askback', %s)", (payload,))
            await eventually(lambda: has_heard("broken"))

            async def hears_again() -> bool:
                connection.execute("SELECT pg_notify('askback', 'ask a7')")
                return "a7" in heard

            await eventually(hears_again)
        assert health.check_alive()["signals"] == "ok"
        assert [record.__dict__["action"] for record in caplog.records] == ["signals_failed"]
    assert health.check_alive()["signals"] == "has ended"


class Healthy:
    """A database without any defect."""

    def find_defect(self) -> None:
        return None
