"""Handles button presses in Slack: commit, ack, then show.

Slack waits for a listener to return, so a listener only commits. Calls to Slack run behind the ack, in a task of the
connection.
"""

from __future__ import annotations

__all__ = ["Clicks"]

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from askback.domain.actions import (
    Action,
    Choose,
    GoTo,
    Operation,
    Pick,
    Select,
    ShowDetails,
)
from askback.domain.ask import Ask
from askback.domain.choice_words import NOT_PICKED
from askback.domain.click_response import AskFiles, AskForm, AskText, Details, Notice, Redraw, Response
from askback.domain.decision import UNKNOWN
from askback.domain.file_field import FileField
from askback.domain.form_fields import FormFields
from askback.domain.identity import MessageRef, Place
from askback.domain.outgoing_message import OfferResult
from askback.domain.text_field import TextField
from askback.internal.clock import utc_now
from askback.internal.throttle import Throttle
from askback.manager import NOTICE_SECONDS, UNCERTAIN, QuestionManager, describe_failure
from askback.ports.bot import OfferHandler
from askback.ports.controls import OPERATIONS
from askback.ports.platform import DeliveryError, MessageNotFound, Messages, RetryableError
from askback.ports.retries import call_again
from askback.store.errors import StoreError
from askback.translations.catalogue import N_, _, use_language
from askback_slack import control_ids, details_modal, file_modal, form_modal, not_now_modal, render, text_modal
from askback_slack.api_calls import SlackApi, SlackRejection
from askback_slack.blocks import Block
from askback_slack.bot_sentences import build_remark
from askback_slack.click_payloads import Click, parse_indexes, read_click
from askback_slack.id_patterns import PLATFORM
from askback_slack.installation import UNKNOWN_INSTALLATION, Installation
from askback_slack.json_access import Json
from askback_slack.picked_names import PickedNames
from askback_slack.posting import SlackPlatform
from askback_slack.reader_languages import ReaderLanguages
from askback_slack.task_group import Background

log = logging.getLogger("askback.slack")

OPENED = "exchanged_trigger_id"
"""Slack's error code when a click has already opened a modal."""
TRIGGER_SECONDS = 2.8
"""Seconds after a click in which a modal can be opened. Slack accepts the trigger for 3 s, less the way there."""
OPEN_PAUSE = 0.3
TELL_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""Pauses in seconds between tries to show a private notice while Slack does not answer."""
MOST_DOUBTS = 4
"""Tries of a notice that Slack may have shown without confirming it. Further ones would only repeat it."""
NO_FIELD = N_("Slack did not open the text field in time. Please click again.")
NO_MODAL = N_("Slack did not open it in time. Please click again.")


class Clicks:
    """The handler of button presses, choices in menus, and ticks."""

    def __init__(
        self,
        manager: QuestionManager,
        platform: SlackPlatform,
        api: SlackApi,
        background: Background,
        choose: OfferHandler,
        languages: ReaderLanguages,
        picked_names: PickedNames,
        home: Installation = UNKNOWN_INSTALLATION,
        *,
        takes_messages: bool = True,
    ) -> None:
        """`takes_messages` is True if a message can be the answer to a question."""
        self._takes_messages = takes_messages
        self._choose = choose
        self._languages = languages
        self._picked_names = picked_names
        self._home = home
        self._manager = manager
        self._platform = platform
        self._api = api
        self._background = background
        self._notices: Throttle[tuple[str, str]] = Throttle(NOTICE_SECONDS)

    async def commit_click(self, body: Json) -> None:
        """Commit a press of a button, a choice in a menu, or ticks.

        If that fails, the person gets a notice, and this raises nothing.
        """
        pressed = read_click(body, self._home)
        if pressed is not None:
            pressed = replace(pressed, actor=self._languages.add(pressed.actor))
        with use_language(None if pressed is None else pressed.actor.language):
            await self._commit_or_notify(pressed)

    async def _commit_or_notify(self, pressed: Click | None) -> None:
        try:
            if pressed is not None:
                await self._commit_click(pressed)
        except StoreError as error:
            log.error(
                "Could not commit a click; the person got a notice: %s", error, extra={"action": "click_rejected"}
            )
            self._background.start_soon(self._explain(pressed, partial(describe_failure, error)), "click")
        except Exception:
            log.exception("A click failed because of a bug; the person got a notice.", extra={"action": "click_failed"})
            self._background.start_soon(self._explain(pressed, partial(_, UNCERTAIN)), "click")

    async def _commit_click(self, pressed: Click) -> None:
        control = pressed.control
        if control is not None and control.kind in ("use", "keep", "discuss"):
            chosen = await self._choose(control.ask_id, pressed.actor, control.kind)
            if chosen.notice is not None and not self._notices.try_allow((pressed.actor.id, control.ask_id)):
                return
            self._background.start_soon(self._show_choice(pressed, chosen), "click")
            return
        pick = await self._picked_names.read(pressed.pick)
        operation = None if control is None else pick or _build_operation(control, pressed)
        if control is None or operation is None:
            log.warning("Ignored a click: the control does not belong to askback.", extra={"action": "unknown_control"})
            why = UNKNOWN if control is None else NOT_PICKED.get(control.kind, UNKNOWN)
            if self._notices.try_allow((pressed.actor.id, why)):
                self._background.start_soon(self._explain(pressed, partial(_, why)), "click")
            return
        action = Action(
            ask_id=control.ask_id,
            actor=pressed.actor,
            at=utc_now(),
            step=control.step,
            operation=operation,
            ticks=None if isinstance(operation, Select | Pick) else await self._picked_names.read_ticks(pressed.ticks),
            message=pressed.message,
            delivery=pressed.trigger,
        )
        response = await self._manager.act(action)
        self._background.start_soon(self._show_result(pressed, control, action, response), "click")
        if action.picked:
            self._background.start_soon(self._picked_names.name_later(control.ask_id, action.picked), "name")

    async def _show_choice(self, pressed: Click, chosen: OfferResult) -> None:
        """Run behind the ack: show the notice, if any, and delete the offer once it is settled.

        The card itself shows the result.
        """
        if chosen.notice is not None:
            await self._notify(pressed, chosen.notice)
        if chosen.over and pressed.response_url is not None:
            try:
                await self._api.delete_clicked_message(pressed.response_url)
            except (MessageNotFound, RetryableError, DeliveryError) as error:
                log.info("Could not delete a settled offer, so it stays: %s", error, extra={"action": "offer_left"})

    async def _show_result(
        self, pressed: Click, control: control_ids.Control, action: Action, response: Response
    ) -> None:
        """Run behind the ack: show the result of a click."""
        response = await self._translate(action, response)
        with use_language(response.language):
            await self._show_response(pressed, control, response)

    async def _translate(self, action: Action, response: Response) -> Response:
        """Return the response in the language of the person, of whom the click may have been the first sign."""
        if isinstance(response, Redraw) or action.actor.language is not None:
            return response
        language = await self._languages.find(action.actor)
        if language is None or language == response.language:
            return response
        try:
            again = await self._manager.restate(action.evolve(actor=action.actor.evolve(language=language)), response)
        except StoreError as error:
            log.info("Could not translate a notice, so it stays: %s", error, extra={"action": "not_translated"})
            return response
        is_repeated = isinstance(response, Notice) and response.is_repeated
        return again.evolve(is_repeated=True) if is_repeated and isinstance(again, Notice) else again

    async def _explain(self, pressed: Click | None, describe: Callable[[], str]) -> None:
        """Run behind the ack: show a sentence about the click, in the language of the person."""
        language = None if pressed is None else await self._languages.find(pressed.actor)
        with use_language(language):
            words = describe()
        await self._notify(pressed, words)

    async def _show_response(self, pressed: Click, control: control_ids.Control, response: Response) -> None:
        if isinstance(response, Details):
            await self._show_whole(pressed, details_modal.build_view(response, control.arg or 0))
            return
        if isinstance(response, AskText | AskFiles):
            await self._open_modal(pressed, response.field)
        elif isinstance(response, AskForm):
            await self._open_modal(pressed, response.fields)
        elif isinstance(response, Notice) and not response.is_repeated:
            await self._notify(pressed, response.text)
        if not isinstance(response, Notice) or response.card is not None:
            await self._render_card(pressed, control.ask_id)

    async def _render_card(self, pressed: Click, ask_id: str) -> None:
        async def paint(ask: Ask) -> Messages:
            parts = render.render_messages(ask.to_card())
            here = pressed.message is not None and ask.messages == (pressed.message,)
            if not here or len(parts) != 1 or pressed.response_url is None:
                return await self._platform.show(ask)
            await self._api.respond(pressed.response_url, parts[0].text, blocks=parts[0].blocks, replace_original=True)
            return ask.messages

        try:
            await self._manager.cards.draw(ask_id, paint, by_click=True)
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            log.warning(
                "Could not redraw a card after a click; the outbox does it: %s",
                error,
                extra={"action": "card_left", "ask_id": ask_id},
            )
            await self._manager.cards.leave_to_outbox(ask_id)

    async def _open_modal(self, pressed: Click, field: TextField | FileField | FormFields) -> None:
        if pressed.message is None:
            await self._notify(pressed, _(NO_FIELD))
            return
        await self._open_view(pressed, self._build_modal(field, pressed.message), _(NO_FIELD))

    def _build_modal(self, field: TextField | FileField | FormFields, message: MessageRef) -> Block:
        ref = text_modal.FieldRef(ask_id=field.ask_id, step=field.step, channel=message.channel, message_ts=message.id)
        match field:
            case FormFields(is_edit=True):
                return form_modal.build_view(field, ref.evolve(is_edit=True))
            case FormFields():
                return form_modal.build_view(field, ref.evolve(is_form=True, revision=field.revision))
            case FileField():
                return file_modal.build_view(field, ref.evolve(takes_files=True))
            case TextField():
                ref = ref.evolve(declines=field.declines, choice=field.choice)
                if field.declines:
                    return not_now_modal.build_view(field, ref, utc_now())
                return text_modal.build_view(field, ref, takes_messages=self._takes_messages)

    async def _show_whole(self, pressed: Click, view: Block) -> None:
        if pressed.view is None:
            await self._open_view(pressed, view, _(NO_MODAL))
            return
        try:
            await self._api.write("views.update", view_id=pressed.view, view=view)
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            log.warning("Could not show another part of the details: %s", error, extra={"action": "no_part"})

    async def _open_view(self, pressed: Click, view: Block, otherwise: str) -> None:
        if pressed.trigger is None:
            await self._notify(pressed, otherwise)
            return
        left = pressed.at + TRIGGER_SECONDS - time.monotonic()
        try:
            await call_again(
                lambda: self._api.write("views.open", trigger_id=pressed.trigger, view=view),
                within=left,
                pause=OPEN_PAUSE,
            )
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            if isinstance(error, SlackRejection) and error.code == OPENED:
                return  # an earlier try opened it, or another process that also received the click
            log.warning("Could not open a modal; the person got a notice: %s", error, extra={"action": "no_field"})
            await self._notify(pressed, otherwise)

    async def _notify(self, pressed: Click | None, text: str) -> None:
        """Show a sentence only to the person who clicked, in the place where they clicked.

        The response URL writes into the channel, where people in a thread would not see it. In a thread it is therefore
        tried second.
        """
        if pressed is None:
            return
        doubts = 0
        for pause in (*TELL_PAUSES, None):
            later: RetryableError | None = None
            ways = [self._notify_by_url, self._notify_by_message]
            for notify in reversed(ways) if pressed.thread is not None else ways:
                try:
                    if await notify(pressed, text):
                        return
                except RetryableError as error:
                    log.info("One way to show a notice failed: %s", error, extra={"action": "notice_rejected"})
                    later, doubts = error, doubts + error.in_doubt
                except (MessageNotFound, DeliveryError) as error:
                    log.info("One way to show a notice failed: %s", error, extra={"action": "notice_rejected"})
            if later is None or pause is None or doubts >= MOST_DOUBTS:
                break
            await asyncio.sleep(max(pause, min(later.seconds or 0.0, TELL_PAUSES[-1])))
        log.warning("Gave up on showing a notice about a click.", extra={"action": "notice_lost"})

    async def _notify_by_message(self, pressed: Click, text: str) -> bool:
        if pressed.message is None:
            return False
        place = Place(platform=PLATFORM, channel=pressed.message.channel, thread=pressed.thread)
        await self._platform.post_ephemeral(place, pressed.actor.id, build_remark(text))
        return True

    async def _notify_by_url(self, pressed: Click, text: str) -> bool:
        if pressed.response_url is None:
            return False
        words = build_remark(text)
        await self._api.respond(
            pressed.response_url, words.text, blocks=words.blocks, response_type="ephemeral", replace_original=False
        )
        return True


def _build_operation(control: control_ids.Control, pressed: Click) -> Operation | None:
    """Return the action of a pressed control, or None if the payload does not fit the control."""
    picked = parse_indexes(pressed.picked)
    match control.kind:
        case "choose" if control.arg is not None:
            return Choose(index=control.arg)
        case "pick" if len(picked) == 1:
            return Choose(index=picked[0])
        case "tick":
            return Select(chosen=picked, base=pressed.base, revision=pressed.revision, order=pressed.order)
        case "goto" if control.arg is not None:
            return GoTo(index=control.arg)
        case "part":
            return ShowDetails()
        case _:
            return OPERATIONS.get(control.kind)
