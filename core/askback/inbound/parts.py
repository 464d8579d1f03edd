"""What stands in several messages: those that are there are changed, what is missing is posted, the rest goes."""

from __future__ import annotations

__all__ = ["bring"]

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from askback.domain.identity import MessageRef
from askback.ports.platform import Gone, Messages, Undeliverable

P = TypeVar("P")


async def bring(
    parts: Sequence[P],
    known: Messages,
    *,
    change: Callable[[MessageRef, P], Awaitable[None]],
    post: Callable[[P, int], Awaitable[MessageRef]],
    remove: Callable[[MessageRef], Awaitable[None]],
    done: Messages = (),
) -> Messages:
    """Bring the parts into the messages that are `known`, but for the first ones, which are `done` already.

    One that was deleted is posted anew, with its number; where it is the first, `Gone` is raised. Raises besides what
    the three functions raise.
    """
    shown = list(done)
    for number, part in enumerate(parts[len(done) :], len(done)):
        if number < len(known):
            try:
                await change(known[number], part)
            except Gone:
                if number == 0:
                    raise
            else:
                shown.append(known[number])
                continue
        try:
            shown.append(await post(part, number))
        except Gone as gone:
            # What it was to be posted to, such as a thread: the messages of the card themselves may stand.
            raise Undeliverable(str(gone)) from gone
    for surplus in known[len(parts) :]:
        await remove(surplus)
    return tuple(shown)
