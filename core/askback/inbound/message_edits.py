"""Handles edits and deletions of messages."""

from __future__ import annotations

__all__ = ["EditRouter"]

import logging

from askback.domain.ask import Ask
from askback.domain.identity import Place
from askback.domain.incoming_message import DeletedMessages, EditedMessage, EditResult, MessageResult
from askback.inbound.card_recovery import CardRecovery
from askback.inbound.message_router import MessageRouter
from askback.internal.throttle import Throttle
from askback.manager import QuestionManager
from askback.store.store import Store
from askback.text.literal import quote_line
from askback.translations.catalogue import N_, _, use_language

log = logging.getLogger("askback.reception")

EDIT_NOTICE_SECONDS = 60.0
"""Seconds between two notices to an author that the agent sees edits of one message."""

SEEN = N_("Got it: the agent will see your edit.")
ANSWERED = N_("That question has already been answered{answer}. Your edit changes nothing.")
COUNTED = N_("Your message has already counted as an answer. To change it, please use the card.")


class EditRouter:
    """Handles edits and deletions that the bots report. Each method returns after the commit."""

    def __init__(
        self, store: Store, manager: QuestionManager, cards: CardRecovery, reception: MessageRouter | None
    ) -> None:
        """`reception` is None where no agent runs; then only cards matter."""
        self._store = store
        self._manager = manager
        self._cards = cards
        self._reception = reception
        self._notices: Throttle[str] = Throttle(EDIT_NOTICE_SECONDS)

    async def is_stored(self, key: str) -> bool:
        """Return True if an edit of this message can change anything. It costs one indexed query."""
        return self._reception is not None and await self._store.is_stored(key)

    async def is_history_due(self) -> bool:
        """Return True if an agent is about to read what was written in some thread before."""
        return self._reception is not None and await self._store.is_history_due()

    async def has_conversation(self, place: Place) -> bool:
        """Return True if an agent has a conversation in a place, so that people's messages there are kept."""
        return self._reception is not None and await self._store.find_conversation(place) is not None

    async def handle_edit(self, edited: EditedMessage, *, is_repeatable: bool = False) -> MessageResult:
        """Handle the edit of a message. Returns after the commit.

        With `is_repeatable`, raises `MembersUnknown` as `AccessControl.identify_author` does.
        """
        reception, incoming = self._reception, edited.message
        if reception is None:
            return MessageResult(new=False)
        access = self._manager.access
        author = await access.identify_author(incoming.author, incoming.place, is_repeatable=is_repeatable)
        incoming = incoming.evolve(author=author)
        if reception.explain_denial(incoming) is not None:
            return MessageResult(new=False)
        edited = edited.evolve(message=incoming)
        with use_language(author.language or self._manager.language):
            revised = await reception.replies.edit(edited)
            if revised.how == "ignored":
                return MessageResult(new=False)
            log.info("Applied the edit of a message.", extra={"action": "message_edited", "how": revised.how})
            return MessageResult(new=revised.how == "heard", notice=self._build_notice(revised, incoming.dedupe_key))

    async def handle_deletion(self, deleted: DeletedMessages) -> bool:
        """Take a deletion. Repost cards of open questions, and remove messages that the agent has not read.

        Return False if it concerns nothing that is known here.
        """
        concerned = await self._store.find_deletion_targets(deleted)
        for ask_id in concerned.posting:
            await self._store.record_deletion(ask_id, deleted.messages)
        for ask_id in (*concerned.asks, *concerned.posting):
            await self._cards.handle_deletion(ask_id, deleted.messages)
        count = 0
        for conversation_id in concerned.conversations:
            count += await self._store.withdraw_messages(conversation_id, deleted.keys)
        if count:
            log.info("Removed a deleted message before the agent read it.", extra={"action": "message_taken_back"})
        elif not concerned.asks:
            log.debug("Ignored a deletion of a message that is not in use.", extra={"action": "deletion_ignored"})
        return bool(concerned.asks or concerned.posting or concerned.conversations)

    def _build_notice(self, revised: EditResult, key: str) -> str | None:
        if revised.how == "too late" and revised.ask is not None:
            if revised.ask.outcome is None:
                return _(COUNTED)
            return _(ANSWERED).format(answer=_format_answer(revised.ask))
        if revised.how != "heard":
            return None
        return _(SEEN) if self._notices.try_allow(key) else None


def _format_answer(ask: Ask) -> str:
    """Return the answer as the end of a sentence; empty unless there is exactly one."""
    answers = () if ask.outcome is None else ask.outcome.answers
    if len(answers) != 1:
        return ""
    answer = answers[0].text or ", ".join(answers[0].labels)
    return f": {quote_line(answer)}" if answer else ""
