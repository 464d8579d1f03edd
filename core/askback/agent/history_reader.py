"""Reads the earlier messages of a thread that the agent joins."""

from __future__ import annotations

__all__ = ["fetch_thread_history"]

import asyncio
import logging

from askback.agent.thread_history import ThreadHistory
from askback.domain.identity import Place, deduplicate_accounts
from askback.domain.incoming_message import HistoryMessage
from askback.manager import AccessControl
from askback.ports.platform import DeliveryError, HistoryReader, MessageNotFound, RetryableError
from askback.ports.retries import call_again

log = logging.getLogger("askback.agent")

SECONDS = 20.0
"""Seconds for all attempts together. Later attempts would be useless, since the first turn needs the messages."""
PAUSE = 1.0
"""Seconds between two attempts if the platform gives no Retry-After."""


async def fetch_thread_history(reader: HistoryReader, place: Place, access: AccessControl) -> ThreadHistory:
    """Return the earlier messages of the bot and of people who may talk to it.

    A failure is logged, and `ThreadHistory.problem` reports it to the model.
    """
    try:
        async with asyncio.timeout(SECONDS):
            messages = await call_again(lambda: reader.read(place), within=SECONDS, pause=PAUSE)
            return await _omit_strangers(place, access, messages)
    except (DeliveryError, MessageNotFound, RetryableError, TimeoutError) as error:
        why = str(error) or "the platform did not answer in time."
        log.warning(
            "Could not read the earlier messages of a thread, so the model continues without them: %s",
            why,
            extra={"action": "no_earlier"},
        )
        return ThreadHistory(problem=why)


async def _omit_strangers(place: Place, access: AccessControl, messages: tuple[HistoryMessage, ...]) -> ThreadHistory:
    """Leave out messages of people who may not talk to the bot, and of programs that are not allowed.

    That holds for the messages of others that an allowed person shared, too.

    On a platform without access rules, everyone may talk.
    """
    rules = access.get_rules(place.platform)
    if rules is None:
        return ThreadHistory(messages=messages)
    authors = deduplicate_accounts(author for one in messages if not one.ours for author in one.authors)
    if rules.groups:
        unlisted = tuple(author for author in authors if author.id not in rules.people)
        authors = (*authors, *await access.refresh(place, unlisted, rules.groups))
    allowed = {author.id for author in authors if not rules.is_stranger(author)}
    kept: list[HistoryMessage] = []
    left_out = 0
    programs = sorted({one.id for one in authors if one.is_program and one.id not in allowed})
    for one in messages:
        if not one.ours and one.author.id not in allowed:
            left_out += 1
            continue
        quotes = tuple(quote for quote in one.quotes if quote.author.id in allowed)
        left_out += len(one.quotes) - len(quotes)
        one = one.evolve(quotes=quotes)
        if not one.is_empty:
            kept.append(one)
    if left_out:
        log.info(
            "Earlier messages of people and programs that may not talk to the bot were left out: %d.%s",
            left_out,
            f" Ids of programs: {', '.join(programs)}." if programs else "",
            extra={"action": "left_out", "platform": place.platform, "programs": programs},
        )
    return ThreadHistory(messages=tuple(kept), omitted_count=left_out)
