"""Transactions for the files of messages: lease, store, fail, and load their contents."""

from __future__ import annotations

__all__ = ["FILE_LEASE_SECONDS", "FileTransactions"]

from collections.abc import Collection
from datetime import timedelta

from sqlalchemy import Connection

from askback.domain.answer_file import FileReading
from askback.domain.attached_file import FileProblem
from askback.domain.file_kinds import FileKind, estimate_tokens
from askback.domain.outgoing_message import OutgoingMessage
from askback.store.queries import answer_files, asks, decisions, files, locks, outbox
from askback.store.queries.files import PendingFile
from askback.store.transactions import Transactions

FILE_LEASE_SECONDS = 120
"""Seconds for which no other process reads a leased file. One try takes less."""


class FileTransactions(Transactions):
    """Transactions for the files of messages."""

    async def lease_files(self, at_most: int, platform: str) -> tuple[PendingFile, ...]:
        """Lease the files that are due to be read on a platform."""
        length = timedelta(seconds=FILE_LEASE_SECONDS)
        return await self._run(lambda connection: files.lease(connection, length, at_most, frozenset({platform})))

    async def get_time_until_file_due(self, platform: str) -> timedelta | None:
        """Return the time until the next file of a platform is due to be read. None if there is none."""
        return await self._database.read(lambda connection: files.get_time_until_due(connection, frozenset({platform})))

    async def end_all_file_leases(self) -> None:
        """End every lease. A worker that runs alone calls this once, since the process that held them has ended."""
        await self._run(files.end_all_leases)

    async def store_file(self, item: PendingFile, content: bytes, kind: FileKind) -> None:
        """Store the content of a file."""
        tokens = estimate_tokens(kind, content)

        def work(connection: Connection) -> None:
            _lock(connection, item)
            problem = _find_problem(connection, item, kind)
            if problem is not None:
                _fail(connection, item, problem)
            elif files.store(connection, item, content, kind, tokens) and item.ask_id is not None:
                reading = FileReading(kind=kind, size=len(content))
                decisions.save_reading(connection, item.ask_id, item.file.id, reading)

        await self._run(work)

    async def fail_file(self, item: PendingFile, problem: FileProblem, notice: OutgoingMessage | None = None) -> None:
        """Record the reason for which a file has no content, and queue the notice about that."""

        def work(connection: Connection) -> None:
            _lock(connection, item)
            if _fail(connection, item, problem) and notice is not None and item.ask_id is None:
                outbox.enqueue_message(connection, notice, item.conversation_id)

        await self._run(work)

    async def reject_files(self, ids: Collection[int], problem: FileProblem) -> None:
        """Delete the contents of stored files which the model's service does not accept."""
        await self._run(lambda connection: files.reject(connection, ids, problem))

    async def retry_file(self, item: PendingFile, after: timedelta) -> None:
        """Schedule another try to read a file."""
        await self._run(lambda connection: files.retry(connection, item, after))

    async def has_pending_files(self, conversation_id: str) -> bool:
        """Return True if a file is still to be read of a message that no turn has taken up."""
        return await self._database.read(lambda connection: files.has_pending(connection, conversation_id))

    async def load_file_contents(self, ids: Collection[int]) -> dict[int, bytes]:
        """Return the contents of stored files, by their ids."""
        return await self._database.read(lambda connection: files.load_contents(connection, ids)) if ids else {}


def _lock(connection: Connection, item: PendingFile) -> None:
    """Lock the ask whose answer has the file, as each decision about an ask does."""
    if item.ask_id is not None:
        locks.lock_ask(connection, item.ask_id)


def _find_problem(connection: Connection, item: PendingFile, kind: FileKind) -> FileProblem | None:
    """Return a problem if the file is an answer to a question that does not take files of this kind."""
    if item.ask_id is None:
        return None
    ask = asks.get(connection, item.ask_id)
    return None if ask is None else answer_files.find_problem(ask, item.file.id, kind)


def _fail(connection: Connection, item: PendingFile, problem: FileProblem) -> bool:
    failed = files.fail(connection, item, problem)
    if failed and item.ask_id is not None:
        # The card shows the reason with the file, so its author gets no notice.
        decisions.save_reading(connection, item.ask_id, item.file.id, FileReading(problem=problem))
    return failed
