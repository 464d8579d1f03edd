"""Delivers one item of the outbox: posts or edits a card or a text, without posting it twice."""

from __future__ import annotations

__all__ = ["CardHidden", "Delivery"]

import logging
from collections.abc import Mapping

from askback.domain.ask import Ask
from askback.domain.hand_over import HAND_OVER
from askback.domain.identity import Place
from askback.domain.outgoing_message import OutgoingMessage
from askback.errors import AskbackError
from askback.inbound.card_recovery import CardGone
from askback.manager import QuestionManager
from askback.observability import telemetry
from askback.ports.platform import DeliveryError, MessageNotFound, Messages, Platform
from askback.store.queries.outbox_leases import OutboxItem
from askback.store.store import Store

log = logging.getLogger("askback.worker")


class CardHidden(AskbackError):
    """Raised if it is unknown for now whether a card exists."""


class Delivery:
    """Delivers items of the outbox to the platforms."""

    def __init__(self, store: Store, manager: QuestionManager, platforms: Mapping[str, Platform]) -> None:
        self._store = store
        self._manager = manager
        self._platforms = platforms

    async def deliver(self, item: OutboxItem) -> bool:
        """Deliver an item and delete it. Return True if the platform was called.

        Raises `CardHidden`, `CardGone`, `StoreError` and the errors of the platform.
        """
        return await (self._deliver_card(item) if item.kind == "card" else self._deliver_text(item))

    async def _deliver_card(self, item: OutboxItem) -> bool:
        if item.ask_id is None:
            await self._store.delete_item(item)
            return False
        await self._end_if_late(item.ask_id)
        is_called = False

        async def paint(ask: Ask) -> Messages:
            nonlocal is_called
            platform = self._platforms[ask.place.platform]
            if not ask.messages and item.attempts > 1:
                is_called = True
                ask = ask.evolve(messages=await self._find_card(platform, ask, item))
            if not ask.messages and ask.outcome is not None:
                return ()  # settled before anyone saw it
            is_called = True
            with telemetry.trace_delivery(ask.trace, ask.place.platform):
                try:
                    return await platform.show(ask)
                except MessageNotFound as gone:
                    raise CardGone(ask, gone) from gone

        await self._manager.cards.draw(item.ask_id, paint, anyway=item.contested)
        # Another process may have drawn it meanwhile. Then only the row remains to be deleted.
        ask = await self._store.get(item.ask_id)
        if ask is None or ask.is_drawn:
            await self._store.delete_item(item)
        else:
            # It has changed while it was posted, so it is drawn again.
            await self._store.release_lease(item.target, only_own=True)
        return is_called

    async def _end_if_late(self, ask_id: str) -> None:
        """End an ask that no person saw if its deadline has passed: posting would give it a new one.

        After an outage, the deadline and the first delivery are due in the same moment.
        """
        ask = await self._store.get(ask_id)
        if ask is None or ask.outcome is not None or ask.posted_at is not None or ask.policy.deadline is None:
            return
        if ask.policy.deadline <= await self._store.get_current_time():
            await self._manager.deadlines.apply(ask_id)

    async def _find_card(self, platform: Platform, ask: Ask, item: OutboxItem) -> Messages:
        """Find the card that an earlier attempt may have posted."""
        try:
            return await platform.find_posted(ask.place, ask.id)
        except (DeliveryError, MessageNotFound) as rejection:
            # The first attempt was rejected permanently, and nothing was posted.
            if ask.outcome is not None and item.attempts > 2:
                raise CardHidden(
                    f"A card with live buttons may be in the channel, and the bot cannot look for it: {rejection}"
                ) from None
            # Posting twice is better than not posting.
            log.warning(
                "Could not look up whether a card is already posted, so it may appear twice: %s",
                rejection,
                extra={"action": "find_rejected"},
            )
            return ()

    async def _find_place(self, item: OutboxItem) -> Place | None:
        """Return the place for a text. None if it has none, or if it is about an open question that is settled now."""
        if item.ask_id is not None:
            ask = await self._store.get(item.ask_id)
            is_over = ask is None or (ask.outcome is not None and not item.target.startswith(HAND_OVER))
            return None if ask is None or is_over else ask.place
        return None if item.conversation_id is None else await self._store.get_place(item.conversation_id)

    async def _find_text(
        self, platform: Platform, place: Place, item: OutboxItem, outgoing: OutgoingMessage
    ) -> Messages:
        """Find the messages of a text that an earlier attempt may have posted."""
        try:
            last = None if item.conversation_id is None else await self._store.get_last_text(item.conversation_id)
            return await platform.find_posted(place, outgoing.target, message=outgoing, since=item.tried_at, after=last)
        except (DeliveryError, MessageNotFound) as rejection:
            log.warning(
                "Could not look up whether a text is already posted, so it may appear twice: %s",
                rejection,
                extra={"action": "find_rejected"},
            )
            return ()

    async def _deliver_text(self, item: OutboxItem) -> bool:
        outgoing, place = item.outgoing, await self._find_place(item)
        if outgoing is not None and place is not None and item.attempts > 1:
            found = await self._find_text(self._platforms[place.platform], place, item, outgoing)
            outgoing = outgoing.evolve(messages=max(outgoing.messages, found, key=len))
            if item.ask_id is not None:
                place = await self._find_place(item)  # the search may take long, and the question may end meanwhile
        if outgoing is None or place is None:
            await self._store.delete_item(item)
            return False
        platform = self._platforms[place.platform]
        try:
            messages = await platform.post(place, outgoing)
        except MessageNotFound:
            messages = await platform.post(place, outgoing.evolve(messages=()))
        if outgoing.offer is not None:
            await self._store.mark_offer_posted(outgoing.offer.id, messages)
        await self._store.delete_item(item, messages)
        return True
