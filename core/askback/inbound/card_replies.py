"""Handles messages that people type under cards that programs posted, where no agent listens."""

from __future__ import annotations

__all__ = ["CardTextAnswers"]

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

from cachetools import FIFOCache

from askback.domain.actions import Action, Operation
from askback.domain.ask import Ask
from askback.domain.choice_words import describe_mention
from askback.domain.click_response import FileErrors, Notice, Redraw
from askback.domain.decision import choose_language
from askback.domain.incoming_message import NO_TEXT, IncomingMessage, MessageResult
from askback.inbound import answer_parser
from askback.inbound.answer_parser import TypedReplies
from askback.inbound.commands import parse_command
from askback.inbound.quoting import quote_question
from askback.internal.clock import utc_now
from askback.text.literal import quote_line
from askback.translations.catalogue import N_, _, use_language

if TYPE_CHECKING:
    from askback.inbound.card_recovery import CardRecovery
    from askback.manager import QuestionManager
    from askback.store.store import Store

log = logging.getLogger("askback.replies")

LABELS = 3
"""Maximum number of option labels in a hint."""
LABEL = 40
MAX_NOTICES = 5000
CLOCKS_APART = timedelta(hours=1)
"""Maximum difference between a platform's clock and the database's."""

BY_CARD = N_("To answer {question}, use its card.")
BY_LABEL = N_("To answer {question}, use its card, or write one of its options here: {labels}.")
BY_FILES = N_("To answer {question}, use its card, or send the files in a message without words.")
NOT_COUNTED = N_("I did not count that as your answer to {question}. Please use its card.")
NOT_VALID = N_("I did not count that as your answer to {question}. {why}")
WHICH = N_("That could answer several questions here. Please use the card of the one that you mean.")


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
        self._notices: FIFOCache[tuple[str, str], None] = FIFOCache(MAX_NOTICES)

    async def receive(self, incoming: IncomingMessage, *, begin: bool) -> MessageResult | None:
        """Take a message as an answer, or explain how to answer. None leaves the message to other listeners.

        The answer is committed when this returns. Raises `StoreError`.
        """
        if begin:
            # After a downtime, the bot may read an answer again that it has already counted.
            since = incoming.at - CLOCKS_APART
            near = await self._store.list_open_for(incoming.place, _get_delivery(incoming), since)
        else:
            near = await self._store.list_open_near(incoming.place)
        if near is None:
            return MessageResult(new=False)
        under = _filter_below_cards(near, incoming, begin=begin)
        if not under:
            return None
        conversation = await self._store.find_conversation(incoming.place)
        if conversation is not None:
            # The transaction that stores the message handles questions in its own place.
            under = tuple(ask for ask in under if ask.place != incoming.place)
        exact = [(ask, operations) for ask in under if (operations := self._parse_answer(ask, incoming))]
        if len(exact) == 1:
            return await self._count(*exact[0], incoming)
        if conversation is not None or (self._agent and begin) or not under:
            return None
        may_answer = any(ask.explain_denial(incoming.author, self._manager.access.is_admitted) is None for ask in under)
        if (
            may_answer
            and not incoming.files
            and parse_command(incoming.text) == "show"
            and await self._cards.show_open_questions(incoming)
        ):
            return MessageResult(new=False)
        ask = exact[0][0] if exact else under[-1]
        with use_language(choose_language(ask, incoming.author)):
            words = _(WHICH) if exact else self._explain(ask, incoming)
        return MessageResult(
            new=False,
            notice=self._limit_to_once(ask, incoming, words),
            # A mention in the channel of a card may be meant for an agent of another process.
            is_for_others=not any(_is_below(ask, incoming) for ask in under),
        )

    def _parse_answer(self, ask: Ask, incoming: IncomingMessage) -> tuple[Operation, ...]:
        """Return the operations with which a message answers. Empty if unclear, or if its author may not answer."""
        if self._typed == "off" or (incoming.text == NO_TEXT and not incoming.files):
            return ()
        if ask.explain_denial(incoming.author, self._manager.access.is_admitted) is not None:
            return ()
        if incoming.files:
            return answer_parser.parse_files(ask.interview, incoming)
        found = answer_parser.parse_answer(ask.interview, incoming.text, incoming.mentions)
        return found or answer_parser.parse_long_answer(ask.interview, incoming.text)

    async def _count(self, ask: Ask, operations: tuple[Operation, ...], incoming: IncomingMessage) -> MessageResult:
        step = ask.typed_step
        for number, operation in enumerate(operations):
            action = Action(
                ask_id=ask.id,
                actor=incoming.author,
                at=utc_now(),
                step=step,
                operation=operation,
                delivery=_get_delivery(incoming, number),
            )
            match await self._manager.act(action):
                case Redraw():
                    pass
                case Notice(text=why) | FileErrors(message=why):
                    return MessageResult(new=False, notice=why)
                case _:  # the answer needs a text field, such as for a reason
                    return MessageResult(new=False, notice=_(NOT_COUNTED).format(question=quote_question(ask)))
        # After a downtime, the bot reads recent messages again. By then, this one would no longer answer anything.
        await self._store.mark_handled(incoming)
        log.info("Applied a typed message as an answer.", extra={"action": "typed_answer", "ask_id": ask.id})
        return MessageResult(new=False)

    def _explain(self, ask: Ask, incoming: IncomingMessage) -> str:
        denial = ask.explain_denial(incoming.author, self._manager.access.is_admitted)
        if denial is not None:
            return denial
        question = ask.interview.question
        if (problem := self._find_long_problem(ask, incoming)) is not None:
            return _(NOT_VALID).format(question=quote_question(ask), why=problem)
        options = question.options if ask.interview.phase == "asking" else ()
        if question.picks is not None and ask.interview.phase == "asking" and self._typed != "off":
            words = describe_mention(question.picks, several=question.multi_select)
            return words.format(question=quote_question(ask))
        if question.files is not None and ask.interview.phase == "asking" and self._typed != "off":
            return _(BY_FILES).format(question=quote_question(ask))
        if not options or self._typed == "off":
            return _(BY_CARD).format(question=quote_question(ask))
        labels = [quote_line(option.label, LABEL) for option in options[:LABELS]]
        more = len(options) - LABELS
        named = _("{names} and {count} more").format(names=", ".join(labels), count=more) if more > 0 else None
        return _(BY_LABEL).format(question=quote_question(ask), labels=named or ", ".join(labels))

    def _find_long_problem(self, ask: Ask, incoming: IncomingMessage) -> str | None:
        """Return the problem with a message that is longer than a text field. None if it may be the answer."""
        if self._typed == "off" or not answer_parser.is_long_answer(ask.interview, incoming.text):
            return None
        return ask.interview.question.rules.find_problem(incoming.text)

    def _limit_to_once(self, ask: Ask, incoming: IncomingMessage, words: str) -> str | None:
        """Return the words, or None if this person has received a notice about this question before."""
        key = (ask.id, incoming.author.id)
        if self._find_long_problem(ask, incoming) is not None:
            return words  # they may write it again
        if key in self._notices:
            return None
        self._notices[key] = None
        return words


def _get_delivery(incoming: IncomingMessage, number: int = 0) -> str:
    """Return the id of an action that a message made."""
    return f"typed:{number}:{incoming.dedupe_key}"


def _filter_below_cards(asks: tuple[Ask, ...], incoming: IncomingMessage, *, begin: bool) -> tuple[Ask, ...]:
    """Return the questions of programs to whose cards a message belongs.

    The message is in the same place as the card, in the thread under it, or refers to it. Or it is written to the bot
    in the card's channel, outside of any thread.
    """
    alone = begin and not incoming.midway
    now = utc_now()
    return tuple(
        ask
        for ask in asks
        if ask.conversation_id is None
        and (_is_below(ask, incoming) or (alone and ask.messages))
        and ask.is_visible(now)
    )


def _is_below(ask: Ask, incoming: IncomingMessage) -> bool:
    """Return True if a message is in the same place as a card, in the thread under it, or refers to it."""
    return ask.place == incoming.place or any(
        one.id == incoming.place.thread or one == incoming.refers_to for one in ask.messages
    )
