"""Content that spans several messages is delivered part by part."""

from __future__ import annotations

import pytest

from askback.domain.identity import MessageRef
from askback.inbound.message_parts import sync_messages
from askback.ports.platform import MessageNotFound, Messages


def refs(*ids: str) -> Messages:
    return tuple(MessageRef(channel="C1", id=one) for one in ids)


class Wall:
    """Messages by their ids, and the changes to them."""

    def __init__(self, *ids: str) -> None:
        self.shown = dict.fromkeys(ids, "old")

    async def change(self, message: MessageRef, part: str) -> None:
        if message.id not in self.shown:
            raise MessageNotFound("It was deleted.")
        self.shown[message.id] = part

    async def post(self, part: str, number: int) -> MessageRef:
        self.shown[f"new-{number}"] = part
        return MessageRef(channel="C1", id=f"new-{number}")

    async def remove(self, message: MessageRef) -> None:
        del self.shown[message.id]

    async def bring(self, parts: list[str], known: Messages, done: Messages = ()) -> Messages:
        return await sync_messages(parts, known, change=self.change, post=self.post, remove=self.remove, done=done)


async def test_what_is_there_is_changed_and_what_is_missing_posted() -> None:
    wall = Wall("1")
    assert await wall.bring(["a", "b", "c"], refs("1")) == refs("1", "new-1", "new-2")
    assert wall.shown == {"1": "a", "new-1": "b", "new-2": "c"}


async def test_messages_that_are_too_many_go() -> None:
    wall = Wall("1", "2", "3")
    assert await wall.bring(["a"], refs("1", "2", "3")) == refs("1")
    assert wall.shown == {"1": "a"}


async def test_a_later_one_that_was_deleted_is_posted_anew() -> None:
    wall = Wall("1", "3")
    assert await wall.bring(["a", "b", "c"], refs("1", "2", "3")) == refs("1", "new-1", "3")
    assert wall.shown == {"1": "a", "3": "c", "new-1": "b"}


async def test_where_the_first_was_deleted_nothing_else_is_touched() -> None:
    wall = Wall("2")
    with pytest.raises(MessageNotFound):
        await wall.bring(["a", "b"], refs("1", "2"))
    assert wall.shown == {"2": "old"}


async def test_what_is_done_already_is_left_as_it_is() -> None:
    wall = Wall("1", "2")
    assert await wall.bring(["a", "b"], refs("1", "2"), done=refs("1")) == refs("1", "2")
    assert wall.shown == {"1": "old", "2": "b"}
