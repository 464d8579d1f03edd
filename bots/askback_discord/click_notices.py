"""Notices about a click, which only the person who clicked sees. A rejected text comes back with the reason."""

from __future__ import annotations

__all__ = ["ClickNotices"]

import logging

import discord

from askback.domain.actions import SubmitForm
from askback.internal.throttle import Throttle
from askback.manager import NOTICE_SECONDS
from askback_discord import ephemeral, form_modal, text_modal
from askback_discord.api_calls import Body
from askback_discord.interaction_response import LATER, MESSAGE, UPDATE, InteractionResponse
from askback_discord.payloads import Click, read_click

log = logging.getLogger("askback.discord")


class ClickNotices:
    """Shows notices as answers to clicks. A denial is shown once in a while."""

    def __init__(self) -> None:
        self._throttle: Throttle[tuple[str, str]] = Throttle(NOTICE_SECONDS)

    async def notify_denial(self, reply: InteractionResponse, pressed: Click, about: str, text: str) -> None:
        """Tell a person why the action does not count. If they were told recently, only ack."""
        if self._throttle.try_allow((pressed.actor.id, about)):
            await reply.try_respond(MESSAGE, ephemeral.build_notice(text))
        else:
            await reply.try_respond(LATER, None)

    async def reject(self, reply: InteractionResponse, interaction: discord.Interaction, text: str) -> None:
        """Tell the person that the click failed, unless it was already answered. Never raises."""
        if reply.has_responded:
            return
        try:
            pressed = read_click(interaction)
            control = pressed.control
            if control is not None and control.kind == "field":
                again = ephemeral.retry(control.ask_id, control.step)
                await self.return_text(reply, pressed, text, text_modal.read_text(interaction.data or {}), again)
            elif control is not None and control.kind == "vote":
                again = ephemeral.retry(control.ask_id, control.step, control.arg)
                await self.return_text(reply, pressed, text, text_modal.read_text(interaction.data or {}), again)
            elif control is not None and control.kind == "edits":
                again = ephemeral.edit_again(control.ask_id, control.step)
                written = ephemeral.format_edits(form_modal.read_answers(interaction.data or {}), None)
                await self.return_text(reply, pressed, text, written, again)
            elif control is not None and control.kind == "fields":
                sent = SubmitForm(answers=form_modal.read_answers(interaction.data or {}))
                await self.return_text(reply, pressed, text, "\n\n".join(sent.texts))
            elif control is not None and control.kind == "decline":
                await self.return_text(reply, pressed, text, text_modal.read_text(interaction.data or {}))
            else:
                await self.notify(reply, pressed, ephemeral.build_notice(text))
        except Exception:
            log.exception("Could not tell a person that their click failed.", extra={"action": "answer_lost"})

    async def notify(self, reply: InteractionResponse, pressed: Click, words: Body) -> bool:
        """Show a sentence only to the person who clicked.

        It replaces the notice if the text was written from there. It does not replace a notice whose button was only
        now pressed, because that may still hold the text. Return True if it was delivered.
        """
        if (
            pressed.on_notice
            and pressed.control is not None
            and pressed.control.kind in {"field", "fields", "edits", "upload", "vote", "pick"}
        ):
            return await reply.try_respond(UPDATE, ephemeral.to_replacement(words))
        return await reply.try_respond(MESSAGE, words)

    async def return_text(
        self,
        reply: InteractionResponse,
        pressed: Click,
        text: str,
        written: str,
        again: ephemeral.Component | None = None,
    ) -> None:
        """Return a rejected text with the reason. Its field is closed, and the text must not be lost."""
        first, *more = ephemeral.build_rejection(text, written, again)
        if await self.notify(reply, pressed, first):
            await reply.try_follow_up(more)
