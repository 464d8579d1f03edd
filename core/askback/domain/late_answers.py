"""Handles answers that come too late: writes the notice to the person, and keeps a text as a message. No I/O."""

from __future__ import annotations

__all__ = ["get_closed_notice", "get_late_text_notice", "get_text", "to_message"]

import hashlib

from askback.domain.actions import Action, Cancel, Choose, Decline, Remind, SubmitForm, SubmitText
from askback.domain.apply_action import is_click_recorded
from askback.domain.ask import AdmissionCheck, Ask
from askback.domain.incoming_message import IncomingMessage
from askback.text.literal import quote_line
from askback.text.unseen import strip_text
from askback.translations.catalogue import N_, _

KEPT = N_("I have kept what you wrote as a message, which the agent reads.")
LOST = N_("Nobody received what you wrote.")


def get_text(action: Action) -> str:
    """Return the text that a person wrote to an ask; empty if they wrote nothing."""
    match action.operation:
        case SubmitText(text=written):
            return strip_text(written)
        case SubmitForm() as sent:
            return "\n".join(sent.texts)
        case Choose(note=str(note)):
            return strip_text(note)
        case Decline(reason=reason) | Choose(reason=reason) | Cancel(reason=reason) | Remind(reason=reason):
            return strip_text(reason)
        case _:
            return ""


def to_message(ask: Ask, action: Action, is_admitted: AdmissionCheck) -> IncomingMessage | None:
    """Return the message to keep from a late action: a text by a person who had the right to answer. None if none.

    The same text by the same person is one message, however often it is delivered or sent.
    """
    written = _describe_text(ask, action)
    if is_click_recorded(ask.interview, action):
        return None  # the click was applied as the answer, or as a part of it
    if (
        ask.outcome is None
        or ask.conversation_id is None
        or not written
        or ask.explain_denial(action.actor, is_admitted)
    ):
        return None
    interview = ask.interview
    prompt = quote_line(interview.question.prompt) if interview.form.is_single else "your questions"
    digest = hashlib.sha256(f"{action.actor.id}\0{written}".encode("utf-8", "surrogatepass")).hexdigest()
    return IncomingMessage(
        place=ask.place,
        author=action.actor,
        text=f"(too late to be an answer to {prompt}) {written}",
        dedupe_key=f"late:{ask.id}:{digest}",
        at=action.at,
    )


def _describe_text(ask: Ask, action: Action) -> str:
    """Return the text that a person wrote, with the option of a note; empty if they wrote nothing."""
    written, operation = get_text(action), action.operation
    options = ask.interview.question.options
    if not written or not isinstance(operation, Choose) or operation.note is None:
        return written
    if not ask.interview.form.is_single or not 0 <= operation.index < len(options):
        return written
    return f"{options[operation.index].label}, {written}"


def get_closed_notice(ask: Ask) -> str:
    """Return the notice for a click on a closed ask."""
    return f"{_describe_ending(ask)} {_('Your click changed nothing.')}"


def get_late_text_notice(ask: Ask, *, kept: bool = False) -> str:
    """Return the notice for a text that came too late."""
    return f"{_describe_ending(ask)} {_(KEPT if kept else LOST)}"


def _describe_ending(ask: Ask) -> str:
    outcome = ask.outcome
    if outcome is None:
        return _("This question is closed.")
    match outcome.status:
        case "answered":
            return _("This question has already been answered.")
        case "cancelled":
            return _("This question was cancelled.")
        case "declined" if outcome.discuss:
            return _("This question is closed: somebody wants to discuss it first.")
        case "declined":
            return _("This question was declined.")
        case "timed_out":
            return _("This question has timed out: nobody answered in time.")
        case "undeliverable":
            return _("This question could not be delivered, and is closed.")
