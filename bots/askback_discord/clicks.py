"""Handles button presses and submitted modals on Discord: commit, then the first answer, which acks and shows.

No state is kept between two interactions. A click's id, its message and the store hold everything that is needed, so a
restart in between does no harm.
"""

from __future__ import annotations

__all__ = ["Clicks"]

import asyncio
import logging
from dataclasses import replace

import discord
from cachetools import FIFOCache

from askback.domain import not_now
from askback.domain.actions import (
    Action,
    Cancel,
    Choose,
    Decline,
    EditArguments,
    Operation,
    Remind,
    SubmitForm,
    SubmitText,
)
from askback.domain.ask import Ask
from askback.domain.choice_words import NOT_PICKED
from askback.domain.click_response import (
    AskFiles,
    AskForm,
    AskText,
    Details,
    FieldErrors,
    FileErrors,
    FormErrors,
    Notice,
    Response,
)
from askback.domain.decision import UNKNOWN
from askback.domain.late_answers import get_closed_notice
from askback.inbound.message_router import NOT_STOPPED
from askback.internal.clock import utc_now
from askback.manager import UNCERTAIN, Paint, QuestionManager, describe_failure
from askback.ports.bot import OfferHandler, StopHandler
from askback.ports.platform import DeliveryError, MessageNotFound, Messages, RetryableError
from askback.store.errors import StoreError
from askback.translations.catalogue import N_, _, use_language
from askback_discord import (
    control_ids,
    ephemeral,
    file_modal,
    form_modal,
    not_now_modal,
    option_search,
    render,
    text_modal,
)
from askback_discord.api_calls import DiscordApi, NotAnswerable
from askback_discord.channels import ChannelCache
from askback_discord.click_notices import ClickNotices
from askback_discord.click_operations import build_operation
from askback_discord.details_modal import build_notice
from askback_discord.interaction_response import LATER, MESSAGE, MODAL, UPDATE, InteractionResponse
from askback_discord.locales import Locales, read_language
from askback_discord.payloads import Click, read_click
from askback_discord.posting import DiscordPlatform
from askback_discord.stop_button import is_placeholder

log = logging.getLogger("askback.discord")

NOT_WHOLE = N_(
    "I could not show the rest: please press the button again. If it is a file, I may lack the permission Attach Files "
    "here."
)
TAKEN = N_("Thank you, your answer is saved.")
MAX_INTERACTIONS = 2000
"""Maximum number of interactions to remember, since a resumed gateway session delivers them again."""
LATER_SECONDS = 0.8
"""Seconds of an interaction's answer time that are kept for a plain ack, in case the drawing takes too long."""


class Clicks:
    """The handler for all components and modals."""

    def __init__(
        self,
        manager: QuestionManager,
        platform: DiscordPlatform,
        api: DiscordApi,
        choose: OfferHandler,
        stop: StopHandler,
        locales: Locales | None = None,
    ) -> None:
        self._locales = locales or Locales()
        self._choose = choose
        self._stop = stop
        self._places = ChannelCache(platform)
        self._manager = manager
        self._platform = platform
        self._api = api
        self._seen: FIFOCache[int, None] = FIFOCache(MAX_INTERACTIONS)
        self._notices = ClickNotices()

    async def handle_interaction(self, interaction: discord.Interaction) -> None:
        """Handle a person's action on one of the bot's messages. Never raises, and always tries to answer."""
        if interaction.type not in {discord.InteractionType.component, discord.InteractionType.modal_submit}:
            return
        if interaction.id in self._seen:
            return
        self._seen[interaction.id] = None
        self._locales.remember(interaction)
        with use_language(read_language(interaction)):
            await self._handle_once(interaction)

    async def _handle_once(self, interaction: discord.Interaction) -> None:
        reply = InteractionResponse(self._api, interaction)
        try:
            await self._handle_click(reply, interaction)
        except StoreError as error:
            log.error(
                "Could not commit a click; the person got a notice: %s", error, extra={"action": "click_rejected"}
            )
            await self._notices.reject(reply, interaction, describe_failure(error))
        except Exception:
            log.exception("A click failed because of a bug; the person got a notice.", extra={"action": "click_failed"})
            await self._notices.reject(reply, interaction, _(UNCERTAIN))

    async def _handle_click(self, reply: InteractionResponse, interaction: discord.Interaction) -> None:
        pressed = read_click(interaction)
        control = pressed.control
        if control is not None and pressed.unplaced is not None:
            ask = await self._manager.get(control.ask_id)
            known = () if ask is None else ask.messages
            pressed = replace(pressed, message=next((one for one in known if one.id == pressed.unplaced), None))
        if control is not None and control.kind in ("use", "keep", "discuss"):
            chosen = await self._choose(control.ask_id, pressed.actor, control.kind)
            if not chosen.known:
                await reply.wait_for_other_process()
            # The outbox deletes the offer, and the card shows the result.
            if chosen.notice is None:
                await reply.try_respond(LATER, None)
            else:
                await self._notices.notify_denial(reply, pressed, control.ask_id, chosen.notice)
            return
        if control is not None and control.kind == "stop":
            await self._stop_work(reply, pressed, interaction)
            return
        if control is not None and control.kind == "page":
            await self._show_page(reply, pressed, control.ask_id, control.arg or 0)
            return
        if control is not None and control.kind in ("search", "query"):
            await self._search(reply, pressed, control, interaction)
            return
        operation = None if control is None else build_operation(control, pressed, interaction)
        if control is None or operation is None:
            log.warning("Ignored a click: the control does not belong to askback.", extra={"action": "unknown_control"})
            await reply.wait_for_other_process()
            why = UNKNOWN if control is None else NOT_PICKED.get(control.kind, UNKNOWN)
            await self._notices.notify_denial(reply, pressed, why, _(why))
            return
        response = await self._manager.act(
            Action(
                ask_id=control.ask_id,
                actor=pressed.actor,
                at=utc_now(),
                step=control.step,
                operation=operation,
                message=pressed.message,
                delivery=str(interaction.id),
            )
        )
        if isinstance(response, Notice) and response.denied == "unknown":
            await reply.wait_for_other_process()
        await self._respond(reply, pressed, control, operation, response)

    async def _stop_work(self, reply: InteractionResponse, pressed: Click, interaction: discord.Interaction) -> None:
        """Stop the work in the place where the Stop button below an unfinished text was pressed."""
        place = await self._places.to_place(interaction)
        denial = NOT_STOPPED.evolve(notice=_(NOT_STOPPED.notice))
        if place is not None:
            denial = await self._stop(place, pressed.actor, key=str(interaction.id))
        if denial is not None and not denial.known:
            await reply.wait_for_other_process()
        if denial is not None and not denial.nothing:
            await self._notices.notify_denial(reply, pressed, "stop" if place is None else place.key, denial.notice)
            return
        message = interaction.message
        placeholder = message is not None and is_placeholder([one.to_dict() for one in message.components])
        if message is None or placeholder:
            given = await reply.try_respond(LATER, None)  # the whole message will be deleted
        else:
            given = await reply.try_respond(UPDATE, {"components": [], "allowed_mentions": {"parse": []}})
        if denial is None or not given:
            return
        # The message is left over from a process that ended, and no other process removes its button.
        try:
            if placeholder and pressed.message is not None:
                await self._platform.remove_stop_button((pressed.message,), worded=False)
            await reply.follow_up(ephemeral.build_notice(denial.notice))
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            log.warning("Could not show a notice to a person: %s", error, extra={"action": "notice_lost"})

    async def _respond(
        self,
        reply: InteractionResponse,
        pressed: Click,
        control: control_ids.Control,
        operation: Operation,
        response: Response,
    ) -> None:
        """Show the result of a committed action."""
        match response:
            case AskText(field=field):
                modal = not_now_modal.build_modal(field, utc_now()) if field.declines else text_modal.build_modal(field)
                if modal is None:
                    await self._notices.notify(reply, pressed, ephemeral.build_notice(_(not_now.TOO_SOON)))
                else:
                    await reply.try_respond(MODAL, modal)
            case AskFiles(field=field):
                await reply.try_respond(MODAL, file_modal.build_modal(field))
            case FileErrors(message=message, field=field):
                await self._notices.notify(reply, pressed, ephemeral.build_file_errors(message, field))
            case AskForm(fields=fields):
                await reply.try_respond(MODAL, form_modal.build_modal(fields))
            case FormErrors(problems=problems, fields=fields) if isinstance(operation, EditArguments):
                again = ephemeral.edit_again(fields.ask_id, fields.step)
                why = ephemeral.describe_edit_errors(problems)
                written = ephemeral.format_edits(operation.answers, None, fields)
                await self._notices.return_text(reply, pressed, why, written, again)
            case FormErrors(problems=problems, fields=fields):
                await self._notices.notify(reply, pressed, ephemeral.build_form_errors(problems, fields))
                await self._manager.cards.leave_to_outbox(control.ask_id)
            case FieldErrors(message=message, field=field) if field.choice is not None:
                # An invalid reason is not kept on the card.
                again = ephemeral.retry(field.ask_id, field.step, field.choice)
                await self._notices.return_text(reply, pressed, message, field.value, again)
                await self._manager.cards.leave_to_outbox(control.ask_id)
            case FieldErrors(message=message, field=field):
                await self._notices.notify(reply, pressed, ephemeral.try_again(message, field))
                await self._manager.cards.leave_to_outbox(control.ask_id)
            case Notice(is_repeated=True):
                await reply.try_respond(LATER, None)
            case Notice(card=card):
                await self._notify_or_return(reply, pressed, operation, response)
                if card is not None and pressed.message is not None:
                    await self._manager.cards.leave_to_outbox(control.ask_id)
            case Details():
                first, *more = (made := build_notice(response))[0]
                if await reply.try_respond(MESSAGE, first) and not await reply.try_follow_up(more, made[1]):
                    await reply.try_follow_up([ephemeral.build_notice(_(NOT_WHOLE))])
            case _ if pressed.on_notice and control.kind == "tick":
                await reply.try_respond(LATER, None)  # the notice with the menu stays for further ticks
                await self._manager.cards.leave_to_outbox(control.ask_id)
            case _ if pressed.message is None:
                # The person pressed a button of a private notice, which is not the card.
                await self._notices.notify(reply, pressed, ephemeral.build_notice(_(TAKEN)))
                await self._manager.cards.leave_to_outbox(control.ask_id)
            case _:
                await self._show(reply, pressed, control.ask_id)

    async def _notify_or_return(
        self, reply: InteractionResponse, pressed: Click, operation: Operation, notice: Notice
    ) -> None:
        """Show a notice, with the text that a person wrote in vain so that they can copy it."""
        match operation:
            case _ if notice.kept:
                written = None
            case SubmitText():
                written = operation.text
            case EditArguments():
                written = ephemeral.format_edits(operation.answers, notice.card)
            case SubmitForm():
                written = "\n\n".join(operation.texts)
            case Choose() if operation.note is not None:
                written = operation.note
            case Decline() | Choose() | Cancel() | Remind():
                written = operation.reason or ""
            case _:
                written = None
        if written is None:
            await self._notices.notify(reply, pressed, ephemeral.build_notice(notice.text))
        else:
            await self._notices.return_text(reply, pressed, notice.text, written)

    async def _show(self, reply: InteractionResponse, pressed: Click, ask_id: str, page: int | None = None) -> None:
        """Ack a click by drawing its result, in one request.

        If that fails or is late, a later drawing shows the result.

        `page` is a page of a long menu, which is drawn although the ask has not changed.
        """

        async def paint(ask: Ask) -> Messages:
            parts = render.render_messages(ask.to_card(), _find_page(pressed, ask) if page is None else page)
            done: Messages = ()
            if ask.messages[:1] == (pressed.message,) and not reply.has_responded:
                await reply.respond(UPDATE, parts[0])
                done = ask.messages[:1]
            return await self._platform.show_parts(ask, parts, done)

        async with asyncio.TaskGroup() as tasks:
            drawing = tasks.create_task(self._render_committed(ask_id, paint, anyway=page is not None))
            # Another task may be drawing this ask slowly, and the ack must not wait for that.
            await asyncio.wait({drawing}, timeout=max(reply.seconds_left - LATER_SECONDS, 0.0))
            if not reply.has_responded:
                await reply.try_respond(LATER, None)

    async def _render_committed(self, ask_id: str, paint: Paint, *, anyway: bool) -> None:
        """Draw the committed state. Never raises, because the answer to the click no longer depends on it."""
        try:
            try:
                await self._manager.cards.draw(ask_id, paint, anyway=anyway, by_click=not anyway)
            except NotAnswerable as error:
                # Another process received the same click and answered it. It draws the card, or else the outbox does
                # after the lease.
                if not error.answered:
                    await self._leave(ask_id, error)
            except (MessageNotFound, RetryableError, DeliveryError) as error:
                await self._leave(ask_id, error)
        except Exception:
            # The row still exists, and the outbox draws the card when the lease ends.
            log.exception(
                "Could not redraw a card because of a bug; the outbox does it.",
                extra={"action": "card_left", "ask_id": ask_id},
            )

    async def _leave(self, ask_id: str, error: Exception) -> None:
        log.warning(
            "Could not redraw a card after a click; the outbox does it: %s",
            error,
            extra={"action": "card_left", "ask_id": ask_id},
        )
        await self._manager.cards.leave_to_outbox(ask_id)

    async def _show_page(self, reply: InteractionResponse, pressed: Click, ask_id: str, page: int) -> None:
        """Show another page of a long menu. Nothing is committed, because the ask does not change."""
        if await self._find_ask(reply, pressed, ask_id) is not None:
            await self._show(reply, pressed, ask_id, page)

    async def _search(
        self,
        reply: InteractionResponse,
        pressed: Click,
        control: control_ids.Control,
        interaction: discord.Interaction,
    ) -> None:
        """Open the field to search a long menu, or show what was found. Nothing is committed."""
        ask = await self._find_ask(reply, pressed, control.ask_id)
        if ask is None:
            return
        card = ask.to_card()
        if ask.outcome is not None:
            await self._notices.notify(reply, pressed, ephemeral.build_notice(get_closed_notice(ask)))
        elif control.step != card.step or card.view != "question":
            await self._notices.notify_denial(reply, pressed, control.ask_id, _(option_search.STALE))
        elif control.kind == "search":
            await reply.try_respond(MODAL, option_search.build_modal(card))
        else:
            found = option_search.build_result(card, option_search.read_query(interaction.data or {}))
            await reply.try_respond(MESSAGE, found)

    async def _find_ask(self, reply: InteractionResponse, pressed: Click, ask_id: str) -> Ask | None:
        """Return the ask if this person may act on it. Otherwise tell them why not, and return None."""
        ask = await self._manager.get(ask_id)
        denial = _(UNKNOWN) if ask is None else await self._manager.access.explain_denial(ask, pressed.actor)
        if ask is None:
            await reply.wait_for_other_process()
        if denial is None:
            return ask
        await self._notices.notify_denial(reply, pressed, ask_id, denial)
        return None


def _find_page(pressed: Click, ask: Ask) -> int | None:
    """Return the page of a long menu that the person sees, or None if the card now shows another question."""
    return pressed.page if pressed.control is not None and pressed.control.step == ask.interview.step else None
