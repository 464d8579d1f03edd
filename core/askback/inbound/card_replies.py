"""Handles messages that people type under cards that programs posted, where no agent listens."""

from __future__ import annotations

__all__ = ["CardTextAnswers"]

import logging
from typing import TYPE_CHECKING

from cachetools import FIFOCache

from askback.domain.actions import Action, Operation
from askback.domain.ask import Ask
from askback.domain.card import Notice, Redraw
from askback.domain.incoming_message import NO_TEXT, IncomingMessage, MessageResult
from askback.inbound import answer_parser
from askback.inbound.answer_parser import TypedReplies
from askback.inbound.commands import parse_command
from askback.inbound.quoting import quote_question
from askback.internal.clock import utc_now
from askback.text.literal import quote_line

if TYPE_CHECKING:
    from askback.inbound.card_recovery import CardRecovery
    from askback.manager import QuestionManager
    from askback.store.store import Store

log = logging.getLogger("askback.replies")

LABELS = 3
"""Most option labels in a hint."""
LABEL = 40
REMEMBERED = 5000

BY_CARD = "To answer {question}, use its card."
BY_LABEL = "To answer {question}, use its card, or write one of its options here: {labels}."
NOT_COUNTED = "I did not count that as your answer to {question}. Please use its card."
WHICH = "That could answer several questions here. Please use the card of the one that you mean."


class CardTextAnswers:
    """Takes typed labels as answers, and explains how to answer. A typed label counts like a click by its author."""

    def __init__(
        self, store: Store, manager: QuestionManager, typed_replies: TypedReplies, cards: CardRecovery, *, agent: bool
    ) -> None:
        """`agent` is True if an agent runs here and takes messages to the bot that are not answers."""
        self._store = store
        self._manager = manager
        self._typed = typed_replies
        self._cards = cards
        self._agent = agent
        self._told: FIFOCache[tuple[str, str], None] = FIFOCache(REMEMBERED)

    async def receive(self, heard: IncomingMessage, *, begin: bool) -> MessageResult | None:
        """Take a message as an answer, or explain how to answer. None leaves the message to other listeners.

        The answer is committed when this returns. Raises `StoreError`.
        """
        under = _filter_below_cards(await self._store.list_open_near(heard.place), heard, begin=begin)
        if not under:
            return None
        conversation = await self._store.find_conversation(heard.place)
        if conversation is not None:
            # Questions in the conversation's own place are read together with the message.
            under = tuple(ask for ask in under if ask.place != heard.place)
        exact = [(ask, operations) for ask in under if (operations := self._parse_answer(ask, heard))]
        if len(exact) == 1:
            return await self._count(*exact[0], heard)
        if conversation is not None or (self._agent and begin) or not under:
            return None
        may_answer = any(ask.find_refusal(heard.author, self._manager.access.admits) is None for ask in under)
        if (
            may_answer
            and not heard.files
            and parse_command(heard.text) == "show"
            and await self._cards.show_open_questions(heard)
        ):
            return MessageResult(new=False)
        ask = exact[0][0] if exact else under[-1]
        return MessageResult(
            new=False, notice=self._limit_to_once(ask, heard, WHICH if exact else self._explain(ask, heard))
        )

    def _parse_answer(self, ask: Ask, heard: IncomingMessage) -> tuple[Operation, ...]:
        """Return the operations with which a message answers. Empty if unclear, or if its author may not answer."""
        if self._typed == "off" or heard.files or heard.text == NO_TEXT:
            return ()
        if ask.find_refusal(heard.author, self._manager.access.admits) is not None:
            return ()
        return answer_parser.parse_answer(ask.interview, heard.text)

    async def _count(self, ask: Ask, operations: tuple[Operation, ...], heard: IncomingMessage) -> MessageResult:
        turn = ask.interview.turn
        for number, operation in enumerate(operations):
            action = Action(
                ask_id=ask.id,
                actor=heard.author,
                at=utc_now(),
                turn=turn,
                operation=operation,
                delivery=f"typed:{number}:{heard.dedupe_key}",
            )
            match await self._manager.act(action):
                case Redraw():
                    pass
                case Notice(text=why):
                    return MessageResult(new=False, notice=why)
                case _:  # the answer needs a text field, such as for a reason
                    return MessageResult(new=False, notice=NOT_COUNTED.format(question=quote_question(ask)))
        log.info("A typed message was taken as the answer.", extra={"action": "typed_answer", "ask_id": ask.id})
        return MessageResult(new=False)

    def _explain(self, ask: Ask, heard: IncomingMessage) -> str:
        refusal = ask.find_refusal(heard.author, self._manager.access.admits)
        if refusal is not None:
            return refusal
        options = ask.interview.question.options if ask.interview.phase == "asking" else ()
        if not options or self._typed == "off":
            return BY_CARD.format(question=quote_question(ask))
        labels = [quote_line(option.label, LABEL) for option in options[:LABELS]]
        more = ["…"] if len(options) > LABELS else []
        return BY_LABEL.format(question=quote_question(ask), labels=", ".join([*labels, *more]))

    def _limit_to_once(self, ask: Ask, heard: IncomingMessage, words: str) -> str | None:
        """Return the words, or None if this person has received a notice about this question before."""
        key = (ask.id, heard.author.id)
        if key in self._told:
            return None
        self._told[key] = None
        return words


def _filter_below_cards(asks: tuple[Ask, ...], heard: IncomingMessage, *, begin: bool) -> tuple[Ask, ...]:
    """Return the questions of programs to whose cards a message belongs.

    The message is in the same place as the card, in the thread under it, or refers to it. Or it is written to the bot
    in the card's channel, outside of any thread.
    """
    alone = begin and not heard.midway
    return tuple(
        ask
        for ask in asks
        if ask.conversation_id is None
        and ask.messages
        and (
            ask.place == heard.place
            or alone
            or any(one.id == heard.place.thread or one == heard.refers_to for one in ask.messages)
        )
    )
