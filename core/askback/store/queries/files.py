"""Statements about the files of messages. Each function runs inside a caller's transaction.

A worker leases a file before it reads it from the platform, so that one process at a time does that.
"""

from __future__ import annotations

__all__ = [
    "FileOwner",
    "PendingFile",
    "add",
    "delete_of_asks",
    "delete_of_conversations",
    "delete_of_messages",
    "end_all_leases",
    "fail",
    "get_time_until_due",
    "has_pending",
    "lease",
    "list_of_asks",
    "list_of_message",
    "list_read",
    "load_contents",
    "place",
    "reject",
    "retry",
    "store",
]

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, bindparam, delete, or_, select, update
from sqlalchemy import insert as insert_into

from askback.domain.attached_file import AttachedFile, FileProblem, FileState, MessageFile
from askback.domain.file_check import check_claims
from askback.domain.file_kinds import FileKind
from askback.domain.identity import Actor, MessageRef, Place
from askback.internal.clock import MICROSECOND, from_micros, now
from askback.internal.values import Value
from askback.store.database_clock import NOW, get_now_parameter, read_now
from askback.store.queries.platform_claims import ServedPlatforms, is_served
from askback.store.schema import asks, conversations, files, inbox, transcript
from askback.store.statement import Row, Statement
from askback.store.transaction_events import FilesAttached, FileSettled, record_event
from askback.store.unreadable_rows import mark_unreadable
from askback.translations.catalogue import Language

MAX_WAIT = timedelta(hours=2)
"""The longest pause between two tries, even if the platform asks for more. A later time means that the clock went
back."""

_DESCRIBED = tuple(
    getattr(files.c, name)
    for name in ("id", "file", "state", "kind", "size", "tokens", "problem", "seq", "block", "position")
)
"""All columns of `MessageFile`, without the content."""

# Compiled once, since each turn of the model needs these.
_OF_MESSAGE = Statement(select(*_DESCRIBED).where(files.c.inbox_id == bindparam("of")).order_by(files.c.position))
_READ = Statement(
    select(*_DESCRIBED)
    .join(transcript, and_(transcript.c.conversation_id == files.c.conversation_id, transcript.c.seq == files.c.seq))
    .where(files.c.conversation_id == bindparam("of"), transcript.c.hidden.is_(False))
    .order_by(files.c.seq, files.c.block)
)
_HAS_PENDING = Statement(
    select(files.c.id)
    .join(inbox, inbox.c.id == files.c.inbox_id)
    .where(files.c.conversation_id == bindparam("of"), files.c.state == "pending", files.c.seq.is_(None))
    .where(inbox.c.taken_seq.is_(None))
    .limit(1)
)


class FileOwner(Value):
    """The conversation or the ask to which a file belongs, and the message that it is attached to."""

    place: Place
    author: Actor
    message: MessageRef | None = None
    conversation_id: str | None = None
    ask_id: str | None = None
    inbox_id: int | None = None


class PendingFile(Value):
    """A file to read, leased to its reader."""

    id: int
    file: AttachedFile
    author: Actor
    message: MessageRef | None
    conversation_id: str | None
    ask_id: str | None
    language: Language | None = None
    """The language of the conversation."""
    attempts: int
    """Number of tries so far, this one included."""
    first_failed_at: datetime | None


def add(connection: Connection, owner: FileOwner, attached: Sequence[AttachedFile]) -> tuple[MessageFile, ...]:
    """Store the files of a message, as far as they have a content. A worker reads those that may be read."""
    problems = check_claims(attached)
    added: list[MessageFile] = []
    for position, (file, problem) in enumerate(zip(attached, problems, strict=True)):
        if not file.has_content:
            continue
        state: FileState = "pending" if problem is None else "failed"
        result = connection.execute(
            insert_into(files).values(
                conversation_id=owner.conversation_id,
                ask_id=owner.ask_id,
                inbox_id=owner.inbox_id,
                position=position,
                place_key=owner.place.key,
                author=owner.author.model_dump_json(),
                message=None if owner.message is None else owner.message.model_dump_json(),
                file=file.model_dump_json(),
                state=state,
                problem=None if problem is None else problem.model_dump_json(),
                due_at=read_now(connection),
                created_at=now(),
            )
        )
        (row,) = result.inserted_primary_key or (0,)
        added.append(MessageFile(id=int(row), file=file, state=state, problem=problem))
    if any(one.state == "pending" for one in added):
        record_event(FilesAttached())
    return tuple(added)


def list_of_message(connection: Connection, inbox_id: int) -> tuple[tuple[int, MessageFile], ...]:
    """Return the files of a message, each with its index among what is attached."""
    return tuple((row["position"], _to_file(row)) for row in _OF_MESSAGE.fetch_rows(connection, of=inbox_id))


def list_of_asks(connection: Connection, ask_ids: Collection[str]) -> tuple[MessageFile, ...]:
    """Return the files that belong to these asks, oldest first."""
    query = select(*_DESCRIBED).where(files.c.ask_id.in_(ask_ids)).order_by(files.c.id)
    return tuple(map(_to_file, connection.execute(query).mappings()))


def list_read(connection: Connection, conversation_id: str) -> tuple[MessageFile, ...]:
    """Return the files of all messages that are sent to the model, in their order."""
    return tuple(map(_to_file, _READ.fetch_rows(connection, of=conversation_id)))


def has_pending(connection: Connection, conversation_id: str) -> bool:
    """Return True if a file is still to be read of a message that no turn has taken up."""
    return bool(_HAS_PENDING.fetch_rows(connection, of=conversation_id))


def place(connection: Connection, seq: int, blocks: Mapping[int, int]) -> None:
    """Record the transcript row that takes up these files, and the index of each file's block in it."""
    for file_id, block in blocks.items():
        connection.execute(update(files).where(files.c.id == file_id).values(seq=seq, block=block))


def load_contents(connection: Connection, ids: Collection[int]) -> dict[int, bytes]:
    """Return the contents of stored files, by their ids."""
    query = select(files.c.id, files.c.content).where(files.c.id.in_(ids), files.c.state == "stored")
    return {row.id: bytes(row.content) for row in connection.execute(query)}


def lease(
    connection: Connection, length: timedelta, at_most: int, served: ServedPlatforms = None
) -> tuple[PendingFile, ...]:
    """Lease at most `at_most` files that are due to be read on these platforms, the oldest first."""
    given = {"now": get_now_parameter(connection)}
    query = (
        select(*(column for column in files.c if column is not files.c.content), conversations.c.language)
        .outerjoin(conversations, conversations.c.id == files.c.conversation_id)
        .where(files.c.state == "pending", _is_due(), is_served(files.c.place_key, served))
        .order_by(files.c.due_at, files.c.id)
        .limit(at_most)
        .with_for_update(of=files, skip_locked=True)
    )
    found = tuple(map(_to_pending, connection.execute(query, given).mappings().all()))
    if found:
        connection.execute(
            update(files)
            .where(files.c.id.in_([one.id for one in found]))
            .values(leased_until=NOW + length // MICROSECOND, attempts=files.c.attempts + 1),
            given,
        )
    return found


def _is_due() -> ColumnElement[bool]:
    """Return an SQL condition. A time too far ahead was written before the clock went back."""
    far = NOW + MAX_WAIT // MICROSECOND
    return and_(
        or_(files.c.due_at <= NOW, files.c.due_at > far),
        or_(files.c.leased_until.is_(None), files.c.leased_until <= NOW, files.c.leased_until > far),
    )


def get_time_until_due(connection: Connection, served: ServedPlatforms = None) -> timedelta | None:
    """Return the time until the next file is due to be read. None if there is none."""
    query = select(files.c.due_at, files.c.leased_until).where(
        files.c.state == "pending", is_served(files.c.place_key, served)
    )
    times = [max(row.due_at, row.leased_until or 0) for row in connection.execute(query)]
    return (min(times) - read_now(connection)) * MICROSECOND if times else None


def end_all_leases(connection: Connection) -> None:
    """End every lease, because the processes that held them have ended."""
    held = update(files).where(files.c.state == "pending", files.c.leased_until.is_not(None))
    connection.execute(held.values(leased_until=None, due_at=NOW), {"now": get_now_parameter(connection)})


def retry(connection: Connection, item: PendingFile, after: timedelta) -> None:
    """Schedule another try."""
    given = {"now": get_now_parameter(connection)}
    first = NOW if item.first_failed_at is None else files.c.first_failed_at
    connection.execute(
        update(files)
        .where(files.c.id == item.id, files.c.state == "pending")
        .values(leased_until=None, due_at=NOW + min(after, MAX_WAIT) // MICROSECOND, first_failed_at=first),
        given,
    )


def store(connection: Connection, item: PendingFile, content: bytes, kind: FileKind, tokens: int) -> bool:
    """Store the content of a file. Return False if it was deleted meanwhile, or another process was faster."""
    return _settle(
        connection,
        item,
        {"state": "stored", "content": content, "kind": kind, "size": len(content), "tokens": tokens},
    )


def fail(connection: Connection, item: PendingFile, problem: FileProblem) -> bool:
    """Record the reason for which a file has no content. Returns False as `store` does."""
    return _settle(connection, item, {"state": "failed", "problem": problem.model_dump_json()})


def _settle(connection: Connection, item: PendingFile, values: dict[str, object]) -> bool:
    settled = connection.execute(
        update(files).where(files.c.id == item.id, files.c.state == "pending").values(leased_until=None, **values)
    )
    record_event(FileSettled(item.conversation_id, item.ask_id))
    return settled.rowcount > 0


def reject(connection: Connection, ids: Collection[int], problem: FileProblem) -> None:
    """Delete the contents of stored files, and record the reason."""
    connection.execute(
        update(files).where(files.c.id.in_(ids)).values(state="failed", problem=problem.model_dump_json(), content=None)
    )


def delete_of_messages(connection: Connection, inbox_ids: Collection[int]) -> None:
    """Delete the files of messages that no turn reads any more."""
    connection.execute(delete(files).where(files.c.inbox_id.in_(inbox_ids), files.c.seq.is_(None)))


def delete_of_conversations(connection: Connection, ids: Iterable[str]) -> None:
    """Delete the files of these conversations, and those of conversations that an earlier release has deleted."""
    lost = and_(
        files.c.conversation_id.is_not(None),
        ~select(conversations.c.id).where(conversations.c.id == files.c.conversation_id).exists(),
    )
    connection.execute(delete(files).where(or_(files.c.conversation_id.in_([*ids]), lost)))


def delete_of_asks(connection: Connection, ids: Iterable[str]) -> None:
    """Delete the files of these asks, and those of asks that an earlier release has deleted."""
    lost = and_(files.c.ask_id.is_not(None), ~select(asks.c.id).where(asks.c.id == files.c.ask_id).exists())
    connection.execute(delete(files).where(or_(files.c.ask_id.in_([*ids]), lost)))


def _to_file(row: Row | RowMapping) -> MessageFile:
    with mark_unreadable(f"The file {row['id']}"):
        return MessageFile(
            id=row["id"],
            file=AttachedFile.model_validate_json(row["file"]),
            state=row["state"],
            kind=row["kind"],
            size=row["size"],
            tokens=row["tokens"],
            problem=None if row["problem"] is None else FileProblem.model_validate_json(row["problem"]),
            seq=row["seq"],
            block=row["block"],
        )


def _to_pending(row: RowMapping) -> PendingFile:
    with mark_unreadable(f"The file {row['id']}"):
        return PendingFile(
            id=row["id"],
            file=AttachedFile.model_validate_json(row["file"]),
            author=Actor.model_validate_json(row["author"]),
            message=None if row["message"] is None else MessageRef.model_validate_json(row["message"]),
            conversation_id=row["conversation_id"],
            ask_id=row["ask_id"],
            language=row["language"],
            attempts=row["attempts"] + 1,
            first_failed_at=None if row["first_failed_at"] is None else from_micros(row["first_failed_at"]),
        )
