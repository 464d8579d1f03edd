"""Routes people's messages: it denies strangers access, runs commands, and passes the rest to the agent."""

from __future__ import annotations

__all__ = ["NOT_HERE", "NOT_STOPPED", "MessageRouter"]

import logging
from collections.abc import Mapping, Sequence

from askback.agent.loop import Agent
from askback.domain.ask import Ask
from askback.domain.attached_file import FileProblem
from askback.domain.conversation import Conversation, StopDenial
from askback.domain.file_problems import describe_unread
from askback.domain.identity import Actor, Place
from askback.domain.incoming_message import (
    SHARED_MESSAGES,
    STOP_KEY_PREFIX,
    IncomingMessage,
    MessageResult,
    Received,
)
from askback.domain.outgoing_message import OutgoingMessage
from askback.inbound.answer_parser import TypedReplies
from askback.inbound.card_recovery import CardRecovery
from askback.inbound.commands import parse_command
from askback.inbound.text_answers import TextAnswers
from askback.internal.clock import utc_now
from askback.internal.throttle import Throttle
from askback.manager import QuestionManager
from askback.observability import telemetry
from askback.ports.platform import Platform
from askback.store.store import Store
from askback.text.literal import quote_name
from askback.translations.catalogue import N_, Language, _, get_language, use_language

log = logging.getLogger("askback.reception")

DENIED_AGAIN_SECONDS = 3600.0
"""Seconds between two denials to a person who may not talk to the bot."""
NAMED = 10
"""Maximum number of people or files that a sentence names. It only counts the rest."""
LONGEST_FILE = 80
"""Maximum number of characters of a file's name in a sentence, so that every name fits into a message."""

NOTHING_TO_STOP = N_("There is nothing to stop here.")
NOT_STOPPED = StopDenial(notice=NOTHING_TO_STOP, nothing=True)
NOT_HERE = StopDenial(
    notice=N_("Your stop reached a process that only asks questions for a program. If the work continues, try again."),
    known=False,
)
NEW = N_("This is a new conversation, without what was said before.")
NOT_YOURS_TO_STOP = N_("Only {name}, who began this, or an administrator may stop it.")
NOT_YOURS_TO_END = N_("Only {name}, who began this, or an administrator may start a new conversation here.")
UNSEEN = N_("I do not see what is in {names}. If it matters, please paste the text here.")


class MessageRouter:
    """Handles people's messages that the bots receive. Each method returns after the commit."""

    def __init__(
        self,
        store: Store,
        manager: QuestionManager,
        agent: Agent,
        platforms: Mapping[str, Platform],
        typed: TypedReplies = "offer",
        cards: CardRecovery | None = None,
    ) -> None:
        self.replies = TextAnswers(store, manager.access, typed)
        self._store = store
        self._agent = agent
        self._cards = cards or CardRecovery(store, manager, platforms)
        self._access = manager.access
        self._language: Language | None = manager.language
        self._denied: Throttle[tuple[str, str]] = Throttle(DENIED_AGAIN_SECONDS)

    async def receive(self, incoming: IncomingMessage, *, begin: bool) -> MessageResult:
        """Handle a message from a person. Returns after the commit. If `begin` is True, it may start a conversation."""
        denial = self.explain_denial(incoming)
        if denial is not None:
            return MessageResult(new=False, notice=self._limit_to_once(incoming, denial) if begin else None)
        if incoming.hidden:
            await self._store.mark_handled(incoming)
            return MessageResult(new=False)
        span = telemetry.MessageSpan(incoming.place.platform)
        if span.trace is not None:
            incoming = incoming.evolve(trace=span.trace)
        command = parse_command(incoming.text) if not incoming.files else None
        if command is not None and await self.replies.is_option_label(incoming):
            command = None
        if command == "stop":
            return await self._stop_by_word(incoming, begin=begin)
        if command == "new":
            return await self._start_over(incoming, span, begin=begin)
        if command == "show" and await self._show_once(incoming):
            return MessageResult(new=False)
        received = await self.replies.receive(incoming, begin=begin)
        if received is None or received.duplicate:
            return MessageResult(new=False)
        if incoming.files:
            await self._notify_about_files(received, incoming)
        if received.waiting_for and not received.is_notified:
            await self._notify_about_waiting(received, incoming)
        span.end(received.conversation.trace)
        return MessageResult(new=True)

    async def _show_once(self, incoming: IncomingMessage) -> bool:
        """Show the open questions, unless this message was carried out before. Return False if none is open."""
        if await self._store.is_stored(incoming.dedupe_key):
            return True
        shown = await self._cards.show_open_questions(incoming)
        if shown:
            await self._store.mark_handled(incoming)
        return shown

    async def _start_over(
        self, incoming: IncomingMessage, span: telemetry.MessageSpan, *, begin: bool
    ) -> MessageResult:
        """Replace the current conversation with a new one. This ends current work, so it needs the right to stop it."""
        before = await self._store.find_conversation(incoming.place)
        if before is not None and not self._may_stop(before, incoming.author):
            return MessageResult(
                new=False,
                notice=_format_denial(before, NOT_YOURS_TO_END),
            )
        with use_language(self._language or incoming.author.language):
            welcome = _(NEW)
        received = await self._store.start_over(incoming, welcome, begin=begin)
        if received is None or received.duplicate:
            return MessageResult(new=False)
        span.end(received.conversation.trace)
        return MessageResult(new=True)

    async def stop(self, place: Place, by: Actor, *, key: str) -> StopDenial | None:
        """End the turn, tools and questions of a place. Return None, or the reason for this person that nothing was
        stopped.

        `key` is the platform's own name for this stop. It deduplicates repeated deliveries, also across processes.
        """
        conversation = await self._store.find_conversation(place)
        if conversation is None:
            return _build_not_stopped()
        incoming = IncomingMessage(
            place=conversation.place, author=by, text="stop", dedupe_key=f"{STOP_KEY_PREFIX}{key}", at=utc_now()
        )
        return await self._stop(conversation, by, incoming)

    async def _stop(self, conversation: Conversation, by: Actor, incoming: IncomingMessage) -> StopDenial | None:
        if not self._may_stop(conversation, by):
            return StopDenial(notice=_format_denial(conversation, NOT_YOURS_TO_STOP))
        # Everybody there reads who stopped it.
        with use_language(self._language or conversation.language):
            stopped = await self._store.stop(conversation.id, by, incoming=incoming)
        if stopped is None:
            return _build_not_stopped()
        if stopped.duplicate:
            return None  # the current work began after this stop
        return None

    async def _stop_by_word(self, incoming: IncomingMessage, *, begin: bool) -> MessageResult:
        conversation = await self._store.find_conversation(incoming.place)
        if conversation is None:
            return MessageResult(new=False, notice=_(NOTHING_TO_STOP) if begin else None)
        denied = await self._stop(conversation, incoming.author, incoming)
        return MessageResult(new=False, notice=None if denied is None else denied.notice)

    def _may_stop(self, conversation: Conversation, by: Actor) -> bool:
        return conversation.starter.is_same_person(by) or self._access.is_admin(by)

    def explain_denial(self, incoming: IncomingMessage) -> str | None:
        """Return the reason this person may not talk to the bot there; None if they may.

        On a platform without access rules, anyone may talk to the bot.
        """
        rules = self._access.get_rules(incoming.place.platform)
        return None if rules is None else rules.explain_denial(incoming.author, incoming.place, direct=incoming.direct)

    def _limit_to_once(self, incoming: IncomingMessage, denial: str) -> str | None:
        """Return the denial, or None if this person has received it lately."""
        author, rules = incoming.author, self._access.get_rules(incoming.place.platform)
        if not self._denied.try_allow((author.platform, author.id)):
            return None
        line = None if rules is None else rules.suggest_setting(author, incoming.place, direct=incoming.direct)
        extra = {"action": "stranger_denied", "platform": author.platform, "set": line}
        if line is not None:
            log.warning("Rejected a message: nobody may talk to the bot yet. To allow it, set %s", line, extra=extra)
        else:
            log.info("Rejected a message: its author may not talk to the bot.", extra=extra)
        return denial

    async def _notify_about_files(self, received: Received, incoming: IncomingMessage) -> None:
        """Tell the author which files the agent does not get. The others are read later, and may still fail then."""
        unseen = tuple(file.name for file in incoming.files if not file.has_content)
        unread: dict[FileProblem, list[str]] = {}
        for one in received.files:
            if one.problem is not None:
                unread.setdefault(one.problem, []).append(one.file.name)
        if not (unseen or unread):
            return
        with use_language(self._language or received.conversation.language):
            sentences = [describe_unread(_format_files(names), problem) for problem, names in unread.items()]
            if unseen:
                sentences.append(_(UNSEEN).format(names=_format_files(unseen)))
            outgoing = OutgoingMessage(
                target=f"files:{incoming.dedupe_key}",
                text=" ".join(sentences),
                markdown=False,
                only_for=incoming.author,
                reply_to=incoming.ref,
                language=get_language(),
            )
        await self._store.enqueue_message(outgoing, received.conversation.id)

    async def _notify_about_waiting(self, received: Received, incoming: IncomingMessage) -> None:
        """Tell people once which answer the conversation waits for. Their messages are kept for later."""
        ask = received.waiting_for[0]
        sight = await self._cards.check_card(ask)
        with use_language(self._language or received.conversation.language):
            outgoing = OutgoingMessage(
                target=f"wait:{ask.id}",
                text=_describe_wait(ask, incoming.author, len(received.waiting_for) - 1, again=sight.posted_again),
                markdown=False,
                link=sight.link,
                language=get_language(),
            )
        await self._store.enqueue_waiting_notice(received.conversation.id, outgoing, ask.id)


def _build_not_stopped() -> StopDenial:
    return NOT_STOPPED.evolve(notice=_(NOT_STOPPED.notice))


def _format_files(files: Sequence[str]) -> str:
    names = [_(name) if name in SHARED_MESSAGES else quote_name(name, LONGEST_FILE) for name in files[:NAMED]]
    more = len(files) - NAMED
    return _("{names} and {count} more").format(names=", ".join(names), count=more) if more > 0 else ", ".join(names)


def _describe_wait(ask: Ask, author: Actor, more: int, *, again: bool) -> str:
    """Return the sentence about the question that the conversation waits for, and `more` others."""
    who = ask.policy.who
    count = _(" (and {count} more)").format(count=more) if more else ""
    if who.is_asked(author):
        sentence = (
            _("Got it. A question was deleted{more}: I will post it again, and continue once you answer it.")
            if again
            else _("Got it. I will continue once you answer the question above{more}.")
        )
        return sentence.format(more=count)
    sentence = (
        _("Got it. A question was deleted{more}: I will post it again, and continue once {name} answers it.")
        if again
        else _("Got it. I will continue once {name} answers the question above{more}.")
    )
    # If many may answer, the first person named is only one of them.
    return sentence.format(name=_format_people(who.people if who.open_to is None else ()), more=count)


def _format_denial(conversation: Conversation, sentence: str) -> str:
    return _(sentence).format(name=conversation.starter.display_name)


def _format_people(people: tuple[Actor, ...]) -> str:
    if len(people) > NAMED:
        return _("one of {count} people").format(count=len(people))
    return _(" or ").join(one.display_name for one in people) or _("somebody")
