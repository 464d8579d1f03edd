"""Shows content in several messages: edits existing ones, posts missing ones and deletes surplus ones."""

from __future__ import annotations

__all__ = ["sync_messages"]

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from askback.domain.identity import MessageRef
from askback.ports.platform import DeliveryError, MessageNotFound, Messages

P = TypeVar("P")


async def sync_messages(
    parts: Sequence[P],
    known: Messages,
    *,
    change: Callable[[MessageRef, P], Awaitable[None]],
    post: Callable[[P, int], Awaitable[MessageRef]],
    remove: Callable[[MessageRef], Awaitable[None]],
    done: Messages = (),
) -> Messages:
    """Bring the parts into the `known` messages, except the first parts, whose messages are `done` already.

    Return the messages that hold the parts. A deleted message is posted again, with its number. Raises
    `MessageNotFound` if the first message was deleted, `DeliveryError` if `post` raises `MessageNotFound`, and
    whatever else the three functions raise.
    """
    shown = list(done)
    for number, part in enumerate(parts[len(done) :], len(done)):
        if number < len(known):
            try:
                await change(known[number], part)
            except MessageNotFound:
                if number == 0:
                    raise
            else:
                shown.append(known[number])
                continue
        try:
            shown.append(await post(part, number))
        except MessageNotFound as gone:
            # The target of the post is gone, such as a thread. The card's own messages may still exist.
            raise DeliveryError(str(gone)) from gone
    for surplus in known[len(parts) :]:
        await remove(surplus)
    return tuple(shown)
