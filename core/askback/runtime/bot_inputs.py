"""Passes the messages, stops and choices that bots receive to the parts that act on them."""

from __future__ import annotations

__all__ = ["BotInputs"]

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from aiohttp import web

from askback.domain.conversation import RECENT, RecentConversation, StopDenial
from askback.domain.identity import Actor, Place
from askback.domain.incoming_message import IncomingMessage, MessageResult
from askback.domain.outgoing_message import OfferChoice, OfferResult
from askback.inbound.card_replies import CardTextAnswers
from askback.inbound.message_edits import EditRouter
from askback.inbound.message_router import NOT_HERE, MessageRouter
from askback.inbound.text_answers import UNKNOWN
from askback.internal.clock import utc_now
from askback.manager import QuestionManager
from askback.ports.bot import BotServices
from askback.runtime.deleted_cards import DeletedCardChecker
from askback.store.store import Store
from askback.translations.catalogue import _, use_language


@dataclass(frozen=True, slots=True)
class BotInputs:
    """The handlers of everything that bots receive, in the language of the person who did it."""

    store: Store
    manager: QuestionManager
    card_answers: CardTextAnswers
    router: MessageRouter | None
    """The part that gives messages to the agent. None if no agent runs here."""
    edits: EditRouter
    deleted_cards: DeletedCardChecker
    takes_typed_answers: bool
    routes: Sequence[web.RouteDef]

    def build_services(self, platform: str) -> BotServices:
        """Return the functions and objects for the bot of a platform."""
        return BotServices(
            manager=self.manager,
            has_agent=self.router is not None,
            receive=self._receive,
            stop=self._stop,
            choose=self._choose,
            changes=self.edits,
            missed=partial(self.deleted_cards.schedule_check, platform),
            list_recent=partial(self._list_recent, platform),
            takes_typed_answers=self.takes_typed_answers,
            routes=self.routes,
        )

    async def _receive(self, incoming: IncomingMessage, *, begin: bool, is_repeatable: bool = False) -> MessageResult:
        author = await self.manager.access.identify_author(
            incoming.author, incoming.place, begin=begin, is_repeatable=is_repeatable
        )
        incoming = incoming.evolve(author=author)
        with use_language(author.language or self.manager.language):
            counted = None if incoming.hidden else await self.card_answers.receive(incoming, begin=begin)
            if counted is not None:
                return counted
            if self.router is None:
                return MessageResult(new=False, is_for_others=True)
            return await self.router.receive(incoming, begin=begin)

    async def _stop(self, place: Place, by: Actor, *, key: str) -> StopDenial | None:
        with use_language(by.language or self.manager.language):
            if self.router is None:
                return NOT_HERE.evolve(notice=_(NOT_HERE.notice))
            return await self.router.stop(place, await self.manager.access.identify_author(by, place), key=key)

    async def _choose(self, offer_id: str, by: Actor, choice: OfferChoice, /) -> OfferResult:
        if self.router is None:
            with use_language(by.language):
                return OfferResult(over=False, notice=_(UNKNOWN), known=False)
        sender = await self.manager.access.identify(by, offer_id)
        return await self.router.replies.choose(offer_id, sender.people[0], choice)

    async def _list_recent(self, platform: str) -> tuple[RecentConversation, ...]:
        return () if self.router is None else await self.store.list_recent(platform, utc_now() - RECENT)
