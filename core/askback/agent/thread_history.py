"""Reads the earlier messages of a thread that the agent joins."""

from __future__ import annotations

__all__ = ["read_earlier"]

import asyncio
import logging

from askback.agent.history import Earlier
from askback.domain.access import Access
from askback.domain.conversation import HistoryMessage
from askback.domain.identity import Place, each
from askback.ports.platform import DeliveryError, MessageNotFound, Platform, RetryableError

log = logging.getLogger("askback.agent")

SECONDS = 20.0
"""Seconds for all attempts together. The model gets the messages now or never."""
PAUSE = 1.0
"""Seconds between two attempts if the platform gives no Retry-After."""


async def read_earlier(platform: Platform, place: Place, access: Access | None) -> Earlier:
    """Return the earlier messages of the bot and of people who may talk to it.

    A failure is logged, and `Earlier.problem` reports it to the model. `access` None means that everyone may talk.
    """
    try:
        async with asyncio.timeout(SECONDS):
            said = await _patiently(platform, place)
            return Earlier(said=said) if access is None else await _without_strangers(platform, place, access, said)
    except (DeliveryError, MessageNotFound, RetryableError, TimeoutError) as error:
        why = str(error) or "the platform does not answer."
        log.warning("What was said earlier cannot be read: %s", why, extra={"action": "no_earlier"})
        return Earlier(problem=why)


async def _without_strangers(
    platform: Platform, place: Place, access: Access, said: tuple[HistoryMessage, ...]
) -> Earlier:
    """Leave out messages of people who may not talk to the bot, and of programs that are not allowed."""
    if not access.judges_people:
        return Earlier(said=said)
    authors = each(one.author for one in said if not one.ours)
    if access.groups:
        unlisted = tuple(author for author in authors if author.id not in access.people)
        authors = (*authors, *await platform.grouped(place, unlisted, access.groups))
    allowed = {author.id for author in authors if not access.is_stranger(author)}
    kept = tuple(one for one in said if one.ours or one.author.id in allowed)
    left_out = len(said) - len(kept)
    if left_out:
        log.info(
            "Earlier messages of people who may not talk to the bot were left out: %d.",
            left_out,
            extra={"action": "left_out", "platform": place.platform},
        )
    return Earlier(said=kept, left_out=left_out)


async def _patiently(platform: Platform, place: Place) -> tuple[HistoryMessage, ...]:
    loop = asyncio.get_running_loop()
    end = loop.time() + SECONDS
    while True:
        try:
            return await platform.earlier(place)
        except RetryableError as later:
            pause = PAUSE if later.seconds is None else later.seconds
            if loop.time() + pause >= end:
                raise
            await asyncio.sleep(pause)
