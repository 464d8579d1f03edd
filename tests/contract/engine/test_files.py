"""Files in the store alone: they are stored with their message, read once, and deleted with their conversation."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import JsonValue
from sqlalchemy import func, select, text

from askback.agent.file_blocks import add_references, render_file
from askback.domain.attached_file import AttachedFile, FileProblem
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.incoming_message import IncomingMessage
from askback.domain.turn import Message, Turn, TurnInput
from askback.internal.clock import utc_now
from askback.store.errors import FilesPending
from askback.store.schema import files
from askback.store.store import Store

HERE = Place(platform="board", tenant="T1", channel="C1", thread="1")
ANN = Actor(platform="board", tenant="T1", id="U1", name="Ann")
NOTES = AttachedFile(name="notes.txt", id="F1", media_type="text/plain", size=5, address="https://board.example/F1")
FILM = AttachedFile(name="film.mp4", id="F2", media_type="video/mp4", size=5)
SHARED = AttachedFile(name="a shared message")


async def write(store: Store, key: str, *attached: AttachedFile) -> str:
    """Write a message with files, and return the conversation's id."""
    incoming = IncomingMessage(
        place=HERE,
        author=ANN,
        text="look",
        dedupe_key=key,
        at=utc_now(),
        files=attached,
        ref=MessageRef(channel="C1", id=key),
    )
    received = await store.receive(incoming, begin=True)
    assert received is not None
    return received.conversation.id


async def begin(store: Store, conversation_id: str, *, waits: bool = False) -> Turn:
    def compose(news: TurnInput) -> Message:
        content: list[dict[str, JsonValue]] = []
        blocks: dict[int, int] = {}
        for one in news.written:
            content.append({"type": "text", "text": f"{one.text} {one.files}"})
            for file in one.attached:
                blocks[file.id] = len(content)
                content.append(render_file(file))
        return Message(seq=0, role="user", content=tuple(content), authors=(ANN,), files=blocks)

    turn = await store.begin_turn(conversation_id, compose, waits_for_files=waits)
    assert turn is not None
    return turn


async def count(store: Store) -> int:
    return await store._database.read(  # pyright: ignore[reportPrivateUsage]
        lambda connection: connection.execute(select(func.count()).select_from(files)).scalar_one()
    )


async def execute(store: Store, statement: str) -> None:
    await store._database.run(  # pyright: ignore[reportPrivateUsage]
        lambda connection: connection.execute(text(statement)).rowcount
    )


async def test_a_turn_waits_for_files_and_refers_to_them_where_they_were_attached(store: Store) -> None:
    conversation_id = await write(store, "1", SHARED, FILM, NOTES)
    with pytest.raises(FilesPending):
        await begin(store, conversation_id, waits=True)
    assert await store.has_pending_files(conversation_id)
    (item,) = await store.lease_files(5, "board")
    assert (item.file, item.message, item.author.id) == (NOTES, MessageRef(channel="C1", id="1"), "U1")
    await store.store_file(item, b"words", "text")
    assert not await store.has_pending_files(conversation_id)
    turn = await begin(store, conversation_id, waits=True)
    assert turn.history[0].content == (
        {"type": "text", "text": "look ('a shared message',)"},
        {"type": "text", "text": "[attached file: film.mp4]"},
        {"type": "text", "text": "[attached file: notes.txt]"},
    ), "an earlier release reads the names"
    sent = add_references(turn.history, turn.files)[0].content
    assert sent[1]["text"] == (
        "[attached file: film.mp4. You cannot read it. Only pictures (PNG, JPEG, GIF, WebP), PDF and text can be read.]"
    )
    assert sent[3] == {
        "type": "askback_file", "file": item.id, "seq": 0, "kind": "text", "title": "notes.txt", "tokens": 3
    }  # fmt: skip
    assert await store.load_file_contents([item.id]) == {item.id: b"words"}


async def test_a_leased_file_is_read_by_nobody_else_until_its_holder_is_gone(store: Store) -> None:
    await write(store, "1", NOTES)
    assert len(await store.lease_files(5, "board")) == 1
    assert await store.lease_files(5, "board") == ()
    assert await store.lease_files(5, "elsewhere") == ()
    await store.end_all_file_leases()
    (again,) = await store.lease_files(5, "board")
    assert again.attempts == 2


async def test_a_failed_try_is_due_again_after_its_pause(store: Store) -> None:
    await write(store, "1", NOTES)
    (item,) = await store.lease_files(5, "board")
    await store.retry_file(item, timedelta(minutes=1))
    assert await store.lease_files(5, "board") == ()
    due = await store.get_time_until_file_due("board")
    assert due is not None
    assert timedelta(seconds=30) < due <= timedelta(minutes=1)


async def test_a_clock_that_was_set_back_puts_no_file_off(store: Store) -> None:
    await write(store, "1", NOTES)
    await execute(store, "UPDATE files SET due_at = due_at + 100000000000, leased_until = due_at + 100000000000")
    assert len(await store.lease_files(5, "board")) == 1


async def test_a_file_of_a_message_that_was_deleted_unread_is_deleted(store: Store) -> None:
    conversation_id = await write(store, "1", NOTES)
    (item,) = await store.lease_files(5, "board")
    assert await store.withdraw_messages(conversation_id, ("1",)) == 1
    assert await count(store) == 0
    await store.store_file(item, b"words", "text")
    await store.fail_file(item, FileProblem(code="deleted"))
    assert await count(store) == 0


async def test_what_the_service_rejects_is_no_longer_stored(store: Store) -> None:
    conversation_id = await write(store, "1", NOTES)
    (item,) = await store.lease_files(5, "board")
    await store.store_file(item, b"words", "text")
    await store.reject_files([item.id], FileProblem(code="refused"))
    turn = await begin(store, conversation_id)
    assert (turn.files[0].state, turn.files[0].problem) == ("failed", FileProblem(code="refused"))
    assert await store.load_file_contents([item.id]) == {}


async def test_retention_deletes_files_with_their_conversation(store: Store) -> None:
    await write(store, "1", NOTES)
    await execute(store, "UPDATE conversations SET wants_turn = false, updated_at = 1")
    await store.prune(utc_now(), 10)
    assert await count(store) == 0


async def test_files_of_conversations_that_an_earlier_release_deleted_are_deleted_too(store: Store) -> None:
    await write(store, "1", NOTES)
    await execute(store, "DELETE FROM inbox")
    await execute(store, "DELETE FROM conversations")
    await store.prune(utc_now(), 10)
    assert await count(store) == 0


async def test_a_message_of_an_earlier_release_has_only_names(store: Store) -> None:
    conversation_id = await write(store, "1", NOTES, SHARED)
    await execute(store, "DELETE FROM files")
    turn = await begin(store, conversation_id, waits=True)
    assert turn.history[0].content == ({"type": "text", "text": "look ('notes.txt', 'a shared message')"},)
    assert turn.files == ()
