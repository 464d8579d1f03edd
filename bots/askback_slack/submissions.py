"""Handles submitted and closed modals, and the searches in menus, in Slack: commit, then ack with the result."""

from __future__ import annotations

__all__ = ["Submissions"]

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from slack_bolt.context.ack.async_ack import AsyncAck

from askback.domain import not_now
from askback.domain.actions import (
    Action,
    AttachFiles,
    Choose,
    Decline,
    EditArguments,
    Operation,
    SubmitForm,
    SubmitText,
)
from askback.domain.click_response import FieldErrors, FileErrors, FormErrors, Notice
from askback.domain.decision import UNKNOWN
from askback.domain.identity import Actor, MessageRef
from askback.internal.clock import utc_now
from askback.manager import UNCERTAIN, QuestionManager, describe_failure
from askback.store.errors import StoreError
from askback.translations.catalogue import N_, _, use_language
from askback_slack import control_ids, file_modal, form_modal, not_now_modal, render, text_modal
from askback_slack.blocks import Block
from askback_slack.installation import UNKNOWN_INSTALLATION, Installation, read_actor
from askback_slack.json_access import Json, get_object, get_text
from askback_slack.picked_names import PickedNames
from askback_slack.reader_languages import ReaderLanguages
from askback_slack.task_group import Background
from askback_slack.user_names import UserNames

log = logging.getLogger("askback.slack")

NO_ZONE = N_("Slack did not tell me your time zone. Please choose another way.")
NO_TIME = N_("Please choose the date and the time of the reminder.")
NOT_AT_A_TIME = N_("Clear this, or choose “{way}” above.")


@dataclass(frozen=True, slots=True)
class _Problem:
    """The reasons why a submitted modal stays open."""

    errors: Mapping[str, str]
    """The reason at each block that has one, by the block's id."""


class Submissions:
    """Listeners for modals and for searches in menus. Each of them always acks."""

    def __init__(
        self,
        manager: QuestionManager,
        background: Background,
        names: UserNames,
        languages: ReaderLanguages,
        picked_names: PickedNames,
        home: Installation = UNKNOWN_INSTALLATION,
    ) -> None:
        self._manager = manager
        self._background = background
        self._names = names
        self._languages = languages
        self._picked_names = picked_names
        self._home = home

    async def handle_submission(self, ack: AsyncAck, body: Json) -> None:
        """Handle a submitted text field."""
        who = read_actor(body, self._home)
        who = None if who is None else self._languages.add(who)
        with use_language(None if who is None else who.language):
            await self._handle_submission(ack, body, who)

    async def _handle_submission(self, ack: AsyncAck, body: Json, who: Actor | None) -> None:
        block = form_modal.find_error_block(get_object(body, "view"))
        problem: _Problem | None = _Problem({block: _(UNCERTAIN)})
        try:
            problem = await self._submit(body, who)
        except StoreError as error:
            log.error("Could not commit a text; the modal shows that: %s", error, extra={"action": "click_rejected"})
            problem = _Problem({block: describe_failure(error)})
        except Exception:
            log.exception("A text failed because of a bug; the modal shows that.", extra={"action": "click_failed"})
        finally:
            if problem is None:
                await ack()
            else:
                await ack(response_action="errors", errors={**problem.errors})

    async def _submit(self, body: Json, who: Actor | None) -> _Problem | None:
        """Commit a text. If it is rejected, return the reason, which the modal shows while it stays open."""
        view = get_object(body, "view")
        ref, block = text_modal.parse_ref(view), form_modal.find_error_block(view)
        if ref is None or who is None:
            log.warning("Ignored a text: its field does not belong to askback.", extra={"action": "unknown_view"})
            return _Problem({block: _(UNKNOWN)})
        text = text_modal.read_text(view)
        if ref.declines:
            operation = await self._build_way_operation(view, who)
        elif ref.takes_files:
            operation = AttachFiles(files=file_modal.read_files(view))
        elif ref.is_edit:
            operation = EditArguments(answers=form_modal.read_answers(view))
            text = "\n".join(operation.texts)
        elif ref.is_form:
            operation = SubmitForm(answers=form_modal.read_answers(view), revision=ref.revision)
            operation = await self._picked_names.read_form(operation)
            text = "\n".join(operation.texts)
        else:
            operation = _build_text_operation(ref, text, text_modal.read_choice(view))
        if isinstance(operation, _Problem):
            return operation
        action = Action(
            ask_id=ref.ask_id,
            actor=who,
            at=utc_now(),
            step=ref.step,
            operation=operation,
            message=MessageRef(channel=ref.channel, id=ref.message_ts),
            delivery=get_text(body, "trigger_id"),
        )
        response = await self._manager.act(action)
        if action.picked:
            self._background.start_soon(self._picked_names.name_later(ref.ask_id, action.picked), "name")
        if isinstance(response, Notice):
            if not text or response.kept:
                return _Problem({block: response.text})
            with use_language(response.language):
                kept = _("Your text is still here: copy it if you need it.")
            return _Problem({block: f"{response.text} {kept}"})
        # A modal's submission has no response URL for the card, so the outbox draws it at once.
        self._background.start_soon(self._manager.cards.leave_to_outbox(ref.ask_id), "click")
        match response:
            case FieldErrors(message=message) | FileErrors(message=message):
                return _Problem({block: message})
            case FormErrors(problems=problems, fields=fields):
                return _Problem(form_modal.build_errors(problems, fields))
            case _:
                return None

    async def _build_way_operation(self, view: Json, who: Actor) -> Operation | _Problem:
        """Return the action of the way that a person chose to leave a question for now, or what is wrong with it."""
        sent = not_now_modal.parse_sent(view)
        if sent.way is None:
            return Decline(reason=sent.note or None)  # the modal of an earlier release had no ways
        now, at = utc_now(), sent.when
        if at is not None and sent.way != "time":
            problem = _(NOT_AT_A_TIME).format(way=_(not_now.WAYS["time"].label))
            return _Problem({not_now_modal.WHEN: problem})
        if sent.way == "tomorrow":
            zone = await self._names.fetch_zone(who.id)
            at = None if zone is None else not_now.find_next_morning(now, zone)
        operation = not_now.build_operation(sent.way, sent.note, now=now, at=at)
        if operation is not None:
            return operation
        if sent.way == "tomorrow":
            return _Problem({not_now_modal.WAY: _(NO_ZONE)})
        return _Problem({not_now_modal.WHEN: _(NO_TIME)})

    async def handle_unknown_view(self, ack: AsyncAck) -> None:
        """Ack a view that belongs to another app or to an older release."""
        await ack()

    async def ack_closed_view(self, ack: AsyncAck) -> None:
        """Ack a closed text field. Nothing else is needed: the card with the options is still there."""
        await ack()

    async def suggest_options(self, ack: AsyncAck, body: Json) -> None:
        """Return the options of a menu that searches while the person types."""
        options: list[Block] = []
        try:
            control, who = control_ids.parse(get_text(body, "action_id") or ""), read_actor(body, self._home)
            ask = None if control is None else await self._manager.get(control.ask_id)
            if ask is not None and who is not None and await self._manager.access.explain_denial(ask, who) is None:
                options.extend(render.list_suggestions(ask.to_card(), get_text(body, "value") or ""))
        except Exception:
            log.exception("A search in a menu failed because of a bug.", extra={"action": "suggest_failed"})
        finally:
            await ack(options=options)


def _build_text_operation(ref: text_modal.FieldRef, text: str, chosen: int | None) -> Operation:
    """Return the action for a sent text field. `chosen` is the option to which the text is a note."""
    if ref.choice is not None:
        return Choose(index=ref.choice, reason=text)
    return SubmitText(text=text) if chosen is None else Choose(index=chosen, note=text)
