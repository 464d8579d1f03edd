"""Store the agent's turns as jobs of procrastinate, deferred in the transaction that gives the agent something to do.

A job's `lock` is its conversation. Procrastinate never runs two jobs with the same lock at once, in any process.
"""

from __future__ import annotations

__all__ = ["TURN", "defer_turn", "get_queue_name", "has_heartbeat", "list_held_jobs", "release_jobs", "sweep"]

import json
from collections.abc import Iterable
from functools import cache

import psycopg
from procrastinate import App, SyncPsycopgConnector
from procrastinate.exceptions import ConnectorException
from sqlalchemy import Connection, text

from askback.store.queries.platform_claims import STALLED_SECONDS, parse_platform, to_key_prefix

TURN = "askback.turn"
_QUEUE = "askback_turns"

# Free the jobs of processes without a recent heartbeat, and delete the rows of processes that died long ago. This is
# one statement, so that concurrent sweeps take different jobs and never free a job that was taken again. The sweeping
# process is alive, so its own jobs stay, however late its heartbeat is.
_RELEASE = text(
    """
    WITH dead AS (
        SELECT job.id FROM procrastinate_jobs job LEFT JOIN procrastinate_workers worker ON worker.id = job.worker_id
        WHERE job.status = 'doing' AND job.queue_name = ANY(:queues)
          AND (worker.id IS NULL OR (
            worker.last_heartbeat < now() - make_interval(secs => :seconds)
            AND worker.id IS DISTINCT FROM CAST(:own AS bigint)
          ))
        FOR UPDATE OF job SKIP LOCKED
    ), released AS (
        SELECT procrastinate_retry_job_v2(dead.id, NULL, NULL, NULL, NULL) FROM dead
    ), pruned AS (
        SELECT procrastinate_prune_stalled_workers_v1(:seconds * 10)
    )
    SELECT (SELECT count(*) FROM released) + 0 * (SELECT count(*) FROM pruned)
    """
)
# An earlier release used one queue for all platforms.
_ADOPT = text(
    f"""
    UPDATE procrastinate_jobs job SET queue_name = '{_QUEUE}:' || split_part(place_key, ':', 1) FROM conversations
    WHERE job.queue_name = '{_QUEUE}' AND job.status = 'todo' AND conversations.id = job.lock
      AND split_part(place_key, ':', 1) = ANY(:keys)
    """  # noqa: S608 - a constant
)
# Conversations that have something to do but no job, because the job was lost, or failed and was postponed.
_MISSING = text(
    """
    SELECT id, place_key FROM conversations
    WHERE wants_turn AND split_part(place_key, ':', 1) = ANY(:keys)
      AND (turn_after IS NULL OR turn_after <= CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint))
      AND NOT EXISTS (SELECT 1 FROM procrastinate_jobs WHERE lock = conversations.id AND status IN ('todo', 'doing'))
    ORDER BY updated_at
    LIMIT 100
    """
)

_BEATS = text(
    "SELECT last_heartbeat >= now() - make_interval(secs => :seconds) FROM procrastinate_workers WHERE id = :worker"
)
_HELD = text("SELECT id, lock FROM procrastinate_jobs WHERE worker_id = :worker AND status = 'doing'")
# Another process may free, or even take, one of these jobs at the same time. Procrastinate raises an error for a job
# that is not being done.
_RETRY = text(
    """
    WITH unworked AS (
        SELECT id FROM procrastinate_jobs
        WHERE id = ANY(:jobs) AND status = 'doing' AND worker_id = ANY(CAST(:workers AS bigint[]))
        FOR UPDATE SKIP LOCKED
    )
    SELECT count(procrastinate_retry_job_v2(id, NULL, NULL, NULL, NULL)) FROM unworked
    """
)


def get_queue_name(platform: str) -> str:
    """Return the name of the queue that holds the turns of a platform."""
    return f"{_QUEUE}:{to_key_prefix(platform)}"


def defer_turn(connection: Connection, conversation_id: str, platform: str) -> None:
    """Queue a job for a process of this platform to advance the conversation after this commit."""
    raw = connection.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    job = _open_for_deferring().configure_task(
        TURN, queue=get_queue_name(platform), lock=conversation_id, connection=raw
    )
    try:
        job.defer(conversation_id=conversation_id)
    except ConnectorException as error:
        # The driver's own error decides if the transaction is retried.
        raise (error.__cause__ or error) from None


def sweep(connection: Connection, served: frozenset[str], own: int | None) -> int:
    """Free the jobs of dead processes on these platforms, and queue the jobs that are missing.

    `own` is the id of this process's worker, whose jobs stay; None if it has no worker at the moment. Returns the
    number of jobs that were freed.
    """
    keys = [to_key_prefix(name) for name in sorted(served)]
    queues = [_QUEUE, *map(get_queue_name, sorted(served))]
    released = connection.execute(_RELEASE, {"queues": queues, "seconds": STALLED_SECONDS, "own": own}).scalar_one()
    connection.execute(_ADOPT, {"keys": keys})
    for row in connection.execute(_MISSING, {"keys": keys}).all():
        defer_turn(connection, row.id, parse_platform(row.place_key))
    return int(released)


def has_heartbeat(connection: Connection, worker_id: int) -> bool | None:
    """Return True if a process has a recent heartbeat in the database, and False if it is too old.

    None if the other processes have deleted its row.
    """
    found = connection.execute(_BEATS, {"worker": worker_id, "seconds": STALLED_SECONDS})
    return found.scalar_one_or_none()


def list_held_jobs(connection: Connection, worker_id: int) -> dict[int, str]:
    """Return the unfinished jobs that a process has taken, as a mapping of job id to conversation id."""
    return {row.id: row.lock for row in connection.execute(_HELD, {"worker": worker_id})}


def release_jobs(connection: Connection, worker_ids: Iterable[int], job_ids: Iterable[int]) -> int:
    """Release those of these jobs that these workers still hold. Return the number of released jobs."""
    return int(connection.execute(_RETRY, {"workers": list(worker_ids), "jobs": list(job_ids)}).scalar_one())


@cache
def _open_for_deferring() -> App:
    # This app is never opened. It only writes on connections that it is given.
    return App(connector=SyncPsycopgConnector(json_dumps=json.dumps))
