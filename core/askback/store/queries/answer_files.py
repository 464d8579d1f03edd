"""Statements about the files of answers. Each function runs inside a caller's transaction.

The rows of these files have the id of their ask, and hold the addresses, which the ask itself does not.
"""

from __future__ import annotations

__all__ = ["find_problem", "get_content", "list_stored", "replace"]

from collections.abc import Collection

from sqlalchemy import Connection, delete, select

from askback.domain.actions import Action, AttachFiles
from askback.domain.ask import Ask
from askback.domain.attached_file import FileProblem, MessageFile
from askback.domain.file_kinds import FileKind
from askback.domain.interview import Interview
from askback.store.queries import asks, files
from askback.store.queries.files import FileOwner
from askback.store.schema import files as table


def replace(connection: Connection, before: Ask, after: Ask, action: Action | None) -> None:
    """Store the files that an action gives for a worker to read, and delete those that they replace."""
    earlier, later = _list_ids(before.interview), _list_ids(after.interview)
    if earlier == later:
        return
    if action is not None and later - earlier:
        owner = FileOwner(
            place=after.place,
            author=action.actor,
            message=action.operation.message if isinstance(action.operation, AttachFiles) else None,
            conversation_id=after.conversation_id,
            ask_id=after.id,
        )
        files.add(connection, owner, [file for file in action.files if file.id in later - earlier])
    if replaced := [row.id for row in files.list_of_asks(connection, [after.id]) if row.file.id not in later]:
        connection.execute(delete(table).where(table.c.id.in_(replaced)))


def find_problem(ask: Ask, file_id: str, kind: FileKind) -> FileProblem | None:
    """Return a problem if the question that a file answers does not ask for files of this kind."""
    for question, draft in zip(ask.interview.form.questions, ask.interview.drafts, strict=True):
        if any(file.id == file_id for file in draft.files) and question.files is not None:
            return None if question.files.takes(kind) else FileProblem(code="not_asked")
    return None


def list_stored(connection: Connection, ask_ids: Collection[str]) -> tuple[MessageFile, ...]:
    """Return the files of the answers to these asks whose contents were read, oldest first."""
    return tuple(one for one in files.list_of_asks(connection, ask_ids) if one.state == "stored")


def get_content(connection: Connection, ask_id: str, file_id: str) -> tuple[MessageFile, bytes] | None:
    """Return a file of the answers to an ask with its contents. None if there is none, or if it was not read.

    Files count as an answer once people have submitted them.
    """
    ask = asks.get(connection, ask_id)
    if ask is None or ask.outcome is None or all(file.id != file_id for file in ask.outcome.files):
        return None
    row = next((one for one in files.list_of_asks(connection, [ask_id]) if one.file.id == file_id), None)
    if row is None or row.state != "stored":
        return None
    return row, connection.execute(select(table.c.content).where(table.c.id == row.id)).scalar_one()


def _list_ids(interview: Interview) -> frozenset[str]:
    return frozenset(file.id for draft in interview.drafts for file in draft.files)
