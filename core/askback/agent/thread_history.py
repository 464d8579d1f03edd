"""Reads the thread that the agent was called into the middle of."""

from __future__ import annotations

__all__ = ["read_earlier"]

import asyncio
import logging

from askback.agent.history import Earlier
from askback.domain.access import Access
from askback.domain.conversation import Said
from askback.domain.identity import Place, each
from askback.ports.platform import Gone, Platform, TryLater, Undeliverable

log = logging.getLogger("askback.agent")

SECONDS = 20.0
"""How long it is tried: the model is told it now or never."""
PAUSE = 1.0
"""Between two tries, where the platform names no time of its own."""


async def read_earlier(platform: Platform, place: Place, access: Access | None) -> Earlier:
    """What was said there earlier by people who may talk to the bot, and by itself.

    Where that cannot be read, the model and the log are told why. `access` None: everybody may talk.
    """
    try:
        async with asyncio.timeout(SECONDS):
            said = await _patiently(platform, place)
            return Earlier(said=said) if access is None else await _without_strangers(platform, place, access, said)
    except (Undeliverable, Gone, TryLater, TimeoutError) as error:
        why = str(error) or "the platform does not answer."
        log.warning("What was said earlier cannot be read: %s", why, extra={"action": "no_earlier"})
        return Earlier(problem=why)


async def _without_strangers(platform: Platform, place: Place, access: Access, said: tuple[Said, ...]) -> Earlier:
    """What is left without the words of people who may not talk to the bot, and of programs that are not allowed."""
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


async def _patiently(platform: Platform, place: Place) -> tuple[Said, ...]:
    loop = asyncio.get_running_loop()
    end = loop.time() + SECONDS
    while True:
        try:
            return await platform.earlier(place)
        except TryLater as later:
            pause = PAUSE if later.seconds is None else later.seconds
            if loop.time() + pause >= end:
                raise
            await asyncio.sleep(pause)
