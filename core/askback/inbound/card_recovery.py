"""Reposts cards that people deleted, as long as their questions are open."""

from __future__ import annotations

__all__ = ["CardGone", "CardRecovery"]

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from askback.domain.ask import Ask
from askback.domain.identity import Place
from askback.domain.incoming_message import IncomingMessage
from askback.domain.outgoing_message import OutgoingMessage
from askback.manager import QuestionManager
from askback.ports.platform import DeliveryError, MessageNotFound, Messages, Platform, RetryableError
from askback.store.store import Store
from askback.translations.catalogue import N_, _, use_language

log = logging.getLogger("askback.cards")

LOOK_SECONDS = 1.0
"""Maximum time in seconds to look up a card on a platform. The ack of a person's message waits for it."""

HERE = N_("The question is here:")
ABOVE = N_("The question is above. I could not get a link to it just now.")


class CardGone(MessageNotFound):
    """Raised when the first message of a card no longer exists."""

    def __init__(self, ask: Ask, why: MessageNotFound) -> None:
        super().__init__(str(why))
        self.ask = ask
        """The ask as it was when the card should have been drawn."""


@dataclass(frozen=True, slots=True)
class CardCheck:
    """The result of looking up a card."""

    posted_again: bool = False
    link: str | None = None
    """The card's permalink; None if it could not be looked up."""


class CardRecovery:
    """Checks and restores the cards of open questions."""

    def __init__(self, store: Store, manager: QuestionManager, platforms: Mapping[str, Platform]) -> None:
        self._store = store
        self._manager = manager
        self._platforms = platforms

    async def repost_missing(self, ask: Ask, messages: Messages | None = None) -> bool:
        """Repost a card of which these messages are gone, by default the first.

        Return False if the ask has ended and no message of its card remains.
        """
        messages = ask.messages[:1] if messages is None else messages
        if await self._store.mark_message_missing(ask.id, messages):
            if ask.outcome is None:
                log.warning(
                    "Somebody deleted the card of an open question; posting it again.",
                    extra={"action": "card_gone", "ask_id": ask.id},
                )
            return True
        now = await self._store.get(ask.id)
        if now is None or now.outcome is not None:
            return False
        # Another process has handled it.
        await self._manager.cards.leave_to_outbox(ask.id)
        return True

    async def handle_deletion(self, ask_id: str, messages: Messages) -> None:
        """Repost a card after the platform reported that messages of it were deleted."""
        ask = await self._store.get(ask_id)
        gone = () if ask is None else tuple(message for message in messages if message in ask.messages)
        if ask is not None and ask.outcome is None and gone:
            await self.repost_missing(ask, gone)

    async def check_card(self, ask: Ask) -> CardCheck:
        """Check that a card exists, within `LOOK_SECONDS`, and repost it if it does not."""
        platform = self._platforms.get(ask.place.platform)
        if platform is None or not ask.messages:
            return CardCheck()
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                missing = await platform.find_missing(ask.place, ask.messages)
                link = None if missing else await platform.get_permalink(ask.messages[0])
        except MessageNotFound:
            missing, link = ask.messages[:1], None
        except (DeliveryError, RetryableError, TimeoutError) as error:
            why = str(error) or "the platform did not answer in time."
            log.warning(
                "Could not get a question's permalink, so a message refers to it without one: %s",
                why,
                extra={"action": "no_link"},
            )
            return CardCheck()
        if missing:
            return CardCheck(posted_again=await self.repost_missing(ask, missing))
        return CardCheck(link=link)

    async def show_open_questions(self, incoming: IncomingMessage) -> bool:
        """Show the open questions of a place to a person who asks for them. Return False if none is open there."""
        asks = await self._open_in(incoming.place)
        for ask in asks:
            if not ask.messages:
                # Not posted yet, or waiting to be posted again.
                await self._store.enqueue_redraw(ask.id)
                continue
            sight = await self.check_card(ask)
            if not sight.posted_again:
                with use_language(ask.policy.language):
                    text = _(ABOVE if sight.link is None else HERE)
                outgoing = OutgoingMessage(
                    target=f"show:{ask.id}:{incoming.dedupe_key}",
                    text=text,
                    markdown=False,
                    link=sight.link,
                    language=ask.policy.language,
                )
                await self._store.enqueue_message(outgoing, ask_id=ask.id)
        return bool(asks)

    async def _open_in(self, place: Place) -> tuple[Ask, ...]:
        """Return the open asks of a thread, else those of its channel. Programs may omit the tenant."""
        threads = dict.fromkeys((place, place.evolve(thread=None)))
        for where in dict.fromkeys(one for thread in threads for one in (thread, thread.evolve(tenant=None))):
            asks = await self._manager.list_open_asks(where)
            if asks:
                return asks
        return ()
