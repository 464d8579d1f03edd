"""Takes messages as answers if they equal an option, or if their authors say so."""

from __future__ import annotations

__all__ = ["UNKNOWN", "TextAnswers"]

import logging
import secrets
from typing import Literal

from askback.domain.actions import Action, Choose, Decline, Operation
from askback.domain.ask import AdmissionCheck, Ask
from askback.domain.click_response import FieldErrors, FileErrors, Notice, Redraw
from askback.domain.decision import choose_language, decide
from askback.domain.identity import Actor
from askback.domain.incoming_message import (
    NO_TEXT,
    EditedMessage,
    EditResult,
    IncomingMessage,
    Mentions,
    Received,
    Step,
    TextReading,
)
from askback.domain.interview import Interview
from askback.domain.outgoing_message import OFFER, Offer, OfferChoice, OfferResult, OutgoingMessage
from askback.inbound import answer_parser
from askback.inbound.answer_parser import TypedReplies
from askback.inbound.quoting import quote_question
from askback.internal.clock import utc_now
from askback.manager import AccessControl
from askback.store.queries.offers import StoredOffer
from askback.store.store import Store
from askback.text.literal import quote_line
from askback.translations.catalogue import N_, _, get_language, use_language

log = logging.getLogger("askback.replies")

QUESTION = N_("Is this your answer to {question}?")
NOTED = N_("Is {option} your answer to {question}, with the note {note}?")
NOT_TAKEN = N_("I did not count that as your answer to {question}, but kept it as a message. {why}")
USE_CARD = N_("Please use the card.")
UNKNOWN = N_(
    "I don't know what this is about. It may belong to another bot of this app: if nothing changes, click again. If "
    "that does not help, it is closed."
)
"""Also true if another process of the app, with another database, takes the same click."""
NOT_YOURS = N_("Only {name}, who wrote that, can choose here.")
TAKEN = N_("The agent has already read that as a message. To answer, please use the card.")
OVER = N_("That question is already closed, so this stays a message.")
MOVED_ON = N_("The card has moved on to another question, so this stays a message.")

Kind = Literal["answer", "message"]


class TextAnswers:
    """Handles people's messages in places with open questions."""

    def __init__(self, store: Store, access: AccessControl, typed_replies: TypedReplies = "offer") -> None:
        self._store = store
        self._access = access
        self._typed: TypedReplies = typed_replies

    async def receive(self, incoming: IncomingMessage, *, begin: bool) -> Received | None:
        """Store a message, as the answer to an open question if it is one. It is committed when this returns.

        None means that this place has no conversation and `begin` does not start one.
        """
        if self._typed == "off" or (incoming.text == NO_TEXT and not incoming.files):
            return await self._store.receive(incoming, begin=begin)
        received = await self._store.receive(
            incoming,
            begin=begin,
            read=lambda asks: (
                classify_files(incoming, asks, self._access.is_admitted)
                if incoming.files
                else classify_text(incoming, asks, self._typed, self._access.is_admitted)
            ),
        )
        if received is not None and received.answered is not None:
            _log_answer(received.answered)
        return received

    async def edit(self, edited: EditedMessage) -> EditResult:
        """Store the new version of a message. Apply it as the answer if it fits, and the old one was offered as one."""
        incoming = edited.message
        if self._typed == "off" or incoming.files or incoming.text == NO_TEXT:
            return await self._store.edit(edited)
        revised = await self._store.edit(
            edited, lambda asks: classify_text(incoming, asks, self._typed, self._access.is_admitted)
        )
        if revised.how == "answered" and revised.ask is not None:
            _log_answer(revised.ask)
        return revised

    async def choose(self, offer_id: str, by: Actor, choice: OfferChoice) -> OfferResult:
        """Apply a person's choice on an offer: use their message as the answer, leave it a message, or discuss first.

        The choice is committed when this returns. Raises `StoreBusy` if it cannot be committed within 2 s.
        """
        answer, ask = await self._store.choose(
            offer_id, lambda offered, ask: decide_offer(offered, ask, by, self._access.is_admitted, choice)
        )
        if ask is not None:
            _log_answer(ask)
        return answer

    async def is_option_label(self, incoming: IncomingMessage) -> bool:
        """Return True if a message that could be a command is an option of a question that its author may answer."""
        if self._typed == "off":
            return False
        asks = await self._store.list_open(incoming.place)
        mine = (
            ask
            for ask in asks
            if _may_answer(ask.add_participant(incoming.author), incoming.author, self._access.is_admitted)
        )
        return any(answer_parser.is_option_label(ask.interview, incoming.text) for ask in mine)


def _log_answer(ask: Ask) -> None:
    log.info("Applied a typed message as an answer.", extra={"action": "typed_answer", "ask_id": ask.id})


def classify_text(
    incoming: IncomingMessage, asks: tuple[Ask, ...], mode: TypedReplies, is_admitted: AdmissionCheck
) -> TextReading:
    """Classify a message by the open asks of its place, oldest first. Pure; runs inside the commit.

    By writing it, its author becomes a participant of the thread.

    A message that answers exactly one ask is its answer. Otherwise, in mode `answer`, it is the written answer if the
    agent waits for exactly one ask that names its author. Otherwise its author is asked about the oldest ask that it
    could answer.

    If a program asks and the agent does not wait, people continue to talk to the agent. Then only an exact answer
    counts. The same holds for people whom the card does not name, unless it asks for a text. Among several who may
    answer, one person's message is seldom the answer.
    """
    asks = tuple(ask.add_participant(incoming.author) for ask in asks)
    mine = tuple(ask for ask in asks if _may_answer(ask, incoming.author, is_admitted))
    exact = [
        steps
        for ask in mine
        if (operations := _parse_exact(ask, incoming))
        and _is_certain(ask, incoming.text, incoming.mentions)
        and isinstance(steps := _build_steps(ask, operations, incoming.author, is_admitted), tuple)
    ]
    if len(exact) == 1:
        return TextReading(steps=exact[0])
    rejected = None if exact else _build_vote_rejection(mine, incoming, is_admitted)
    if rejected is not None:
        return TextReading(outgoing=rejected)
    waited_for = tuple(ask for ask in mine if ask.conversation_id is not None and _may_be_answer(ask, incoming.author))
    named = tuple(ask for ask in waited_for if ask.policy.who.is_asked(incoming.author))
    if mode == "answer" and len(named) == 1 and named[0].messages and not exact:
        (ask,) = named
        found = _find_steps(ask, incoming.text, incoming.author, is_admitted)
        if isinstance(found, tuple) and _is_certain(ask, incoming.text):
            return TextReading(steps=found)
        if isinstance(found, str):
            why = _(NOT_TAKEN).format(question=quote_question(ask), why=found)
            return TextReading(outgoing=_build_notice(incoming, why, f"why:{incoming.dedupe_key}"))
    for ask in waited_for:
        if isinstance(_find_steps(ask, incoming.text, incoming.author, is_admitted), tuple):
            offer = Offer(id=secrets.token_urlsafe(16), ask_id=ask.id, text=incoming.text, turn=ask.interview.step)
            outgoing = _build_notice(incoming, _ask_if_answer(ask, incoming.text), f"{OFFER}{offer.id}")
            return TextReading(outgoing=outgoing.evolve(offer=offer))
    return TextReading()


def classify_files(incoming: IncomingMessage, asks: tuple[Ask, ...], is_admitted: AdmissionCheck) -> TextReading:
    """Classify a message with files by the open asks of its place. Pure; runs inside the commit.

    It is the answer to the only question that asks for files, unless it says more. If its files cannot be one, its
    author learns why.
    """
    asks = tuple(ask.add_participant(incoming.author) for ask in asks)
    asked = [
        (ask, operations)
        for ask in asks
        if _may_answer(ask, incoming.author, is_admitted)
        and (operations := answer_parser.parse_files(ask.interview, incoming))
        and _is_only_file_question(ask)
    ]
    if len(asked) != 1:
        return TextReading()
    ((ask, operations),) = asked
    steps = _build_steps(ask, operations, incoming.author, is_admitted)
    if isinstance(steps, tuple):
        return TextReading(steps=steps)
    why = _(NOT_TAKEN).format(question=quote_question(ask), why=steps)
    return TextReading(outgoing=_build_notice(incoming, why, f"why:{incoming.dedupe_key}"))


def _is_only_file_question(ask: Ask) -> bool:
    """Return True if files surely belong to the current question. A card that is being redrawn shows another."""
    interview = ask.interview
    others = (index for index in interview.visible if index != interview.current)
    return ask.is_drawn or all(interview.form.questions[index].files is None for index in others)


def _parse_exact(ask: Ask, incoming: IncomingMessage) -> tuple[Operation, ...]:
    """Return the operations of a message that is surely the answer. Empty if it is not.

    Nobody is asked about a message to a program's question, so a text that its field cannot hold counts at once.
    """
    found = answer_parser.parse_answer(ask.interview, incoming.text, incoming.mentions)
    if found or ask.conversation_id is not None:
        return found
    return answer_parser.parse_long_answer(ask.interview, incoming.text)


def _ask_if_answer(ask: Ask, text: str) -> str:
    match answer_parser.parse_noted_choice(ask.interview, text):
        case (Choose(index=index, note=str(note)),):
            option = ask.interview.question.options[index].label
            return _(NOTED).format(option=quote_line(option), question=quote_question(ask), note=quote_line(note))
        case _:
            pass
    asked = _(QUESTION).format(question=quote_question(ask))
    # The quoted question has its own question mark.
    return asked[:-1] if asked.endswith("?”?") else asked


def decide_offer(
    offered: StoredOffer | None, ask: Ask | None, by: Actor, is_admitted: AdmissionCheck, choice: OfferChoice
) -> tuple[OfferResult, Kind | None, tuple[Step, ...]]:
    """Return the response to a choice on an offer, the message's kind from then on, and the steps of an answer.

    Pure; runs inside the commit.
    """
    with use_language(choose_language(ask, by)):
        return _decide_offer(offered, ask, by, is_admitted, choice)


def _decide_offer(
    offered: StoredOffer | None, ask: Ask | None, by: Actor, is_admitted: AdmissionCheck, choice: OfferChoice
) -> tuple[OfferResult, Kind | None, tuple[Step, ...]]:
    if offered is None:
        return OfferResult(over=False, notice=_(UNKNOWN), known=False), None, ()
    if not offered.author.is_same_person(by):
        return OfferResult(over=False, notice=_(NOT_YOURS).format(name=offered.author.display_name)), None, ()
    if choice == "keep" or offered.state == "answer":
        return OfferResult(over=True), "message", ()
    problem: str | None = None
    if ask is None or ask.outcome is not None:
        problem = _(OVER)
    elif offered.state != "open" or offered.turn != ask.interview.step:
        problem = _(MOVED_ON)
    elif offered.taken and ask.conversation_id == offered.conversation_id:
        problem = _(TAKEN)
    else:
        steps = (
            _find_steps(ask, offered.text, by, is_admitted)
            if choice == "use"
            else _build_steps(ask, (Decline(reason=offered.text, discuss=True),), by, is_admitted)
        )
        if isinstance(steps, tuple):
            return OfferResult(over=True), "answer", steps
        problem = steps
    return OfferResult(over=True, notice=problem), "message", ()


def _may_answer(ask: Ask, author: Actor, is_admitted: AdmissionCheck) -> bool:
    """Return True if this person may answer and the card is posted or due. An unseen card cannot be answered."""
    return ask.explain_denial(author, is_admitted) is None and ask.is_visible(utc_now())


def _may_be_answer(ask: Ask, author: Actor) -> bool:
    """Return True if this person's text may be meant as an answer although it equals no option."""
    interview = ask.interview
    return ask.policy.who.is_asked(author) or (interview.phase == "asking" and interview.question.asks_for_text)


def _is_certain(ask: Ask, text: str, mentions: Mentions | None = None) -> bool:
    """Return True if the text surely belongs to the current question, and not to the one before it.

    While the card is being redrawn for the next question, a text that fits another question of the form is ambiguous.
    """
    interview = ask.interview
    if ask.is_drawn or interview.form.is_single:
        return True
    others = (index for index in interview.visible if interview.phase == "reviewing" or index != interview.current)
    return not any(answer_parser.parse_answer(_move_to(interview, index), text, mentions) for index in others)


def _move_to(interview: Interview, index: int) -> Interview:
    return interview.evolve(current=index, phase="asking")


def _find_steps(ask: Ask, text: str, author: Actor, is_admitted: AdmissionCheck) -> tuple[Step, ...] | str:
    """Return the steps that follow if this text is the answer, or the reason it cannot be one."""
    operations = (
        answer_parser.parse_answer(ask.interview, text)
        or answer_parser.parse_noted_choice(ask.interview, text)
        or answer_parser.parse_written_answer(ask.interview, text)
    )
    return _build_steps(ask, operations, author, is_admitted)


def _build_steps(
    ask: Ask, operations: tuple[Operation, ...], author: Actor, is_admitted: AdmissionCheck
) -> tuple[Step, ...] | str:
    """Return the steps of these operations, or why one changes nothing. The rules are those of a click."""
    if not operations:
        return _(USE_CARD)
    steps: list[Step] = []
    now = ask
    for operation in operations:
        action = Action(ask_id=ask.id, actor=author, at=utc_now(), step=now.typed_step, operation=operation)
        after, response = decide(now, action, is_admitted=is_admitted)
        match response:
            case Redraw() if after is not None:
                pass
            case Notice(text=why) | FieldErrors(message=why) | FileErrors(message=why):
                return why
            case _:
                return _(USE_CARD)
        steps.append(Step(before=now, after=after, action=action))
        now = after
    return tuple(steps)


def _build_vote_rejection(
    mine: tuple[Ask, ...], incoming: IncomingMessage, is_admitted: AdmissionCheck
) -> OutgoingMessage | None:
    """Return the notice to its author about a typed vote that does not count, such as one without a required reason."""
    for ask in mine:
        operations = () if ask.policy.approval is None else answer_parser.parse_answer(ask.interview, incoming.text)
        if any(isinstance(operation, Choose) for operation in operations):
            steps = _build_steps(ask, operations, incoming.author, is_admitted)
            if isinstance(steps, str):
                why = _(NOT_TAKEN).format(question=quote_question(ask), why=steps)
                return _build_notice(incoming, why, f"why:{incoming.dedupe_key}")
    return None


def _build_notice(incoming: IncomingMessage, text: str, target: str) -> OutgoingMessage:
    return OutgoingMessage(
        target=target,
        text=text,
        markdown=False,
        only_for=incoming.author,
        reply_to=incoming.ref,
        language=get_language(),
    )
