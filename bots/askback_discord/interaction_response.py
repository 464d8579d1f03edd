"""Answers an interaction: sends exactly one first answer, within the 3 s that Discord waits."""

from __future__ import annotations

__all__ = ["LATER", "MESSAGE", "MODAL", "UPDATE", "InteractionResponse"]

import asyncio
import logging
import time
from collections.abc import Sequence

import discord
from pydantic import JsonValue

from askback.observability import telemetry
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback.ports.retries import call_again
from askback_discord.api_calls import Body, DiscordApi, File, NotAnswerable
from askback_discord.id_patterns import PLATFORM

log = logging.getLogger("askback.discord")

# https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-callback-type
MESSAGE, LATER, UPDATE, MODAL = 4, 6, 7, 9

ANSWER_SECONDS = 2.7
"""Seconds after receiving an interaction in which it can be answered. Discord waits 3 s from the click."""
SPEAK_SECONDS = 0.7
"""Seconds before that limit at which a process answers an unknown interaction. A commit takes 2 s at most."""
PAUSE = 0.1
FURTHER_SECONDS = 60.0
"""Seconds in which sending a further message is retried. The interaction's token is valid for 15 minutes."""
FURTHER_PAUSE = 1.0


class InteractionResponse:
    """The answer to one interaction."""

    def __init__(self, api: DiscordApi, interaction: discord.Interaction) -> None:
        self._api = api
        self._interaction = interaction
        self._began = time.monotonic()
        self._until = self._began + ANSWER_SECONDS
        self._begun = False

    @property
    def has_responded(self) -> bool:
        """Return True if the first answer was sent or is being sent."""
        return self._begun

    @property
    def seconds_left(self) -> float:
        """Seconds that are left for the first answer."""
        return max(self._until - time.monotonic(), 0.0)

    async def wait_for_other_process(self) -> None:
        """Wait, so that another process of the same app can give the first answer.

        Each process receives every interaction. If another process answers, Discord rejects the answer of this one as a
        second answer.
        """
        await asyncio.sleep(max(self.seconds_left - SPEAK_SECONDS, 0.0))

    async def respond(self, kind: int, data: Body | None = None) -> None:
        """Give the first answer, and retry if necessary. Raises `MessageNotFound`, `RetryableError` or `DeliveryError`.

        If Discord rejects the answer and the interaction stays unanswered, the caller can give another one.
        """
        body: dict[str, JsonValue] = {"type": kind}
        if data is not None:
            body["data"] = dict(data)
        self._begun = True
        in_doubt = False
        while True:
            try:
                await self._api.respond(
                    self._interaction.id, self._interaction.token, body, max(self.seconds_left, PAUSE)
                )
            except NotAnswerable as error:
                # Discord had accepted an earlier try whose result was unknown.
                if in_doubt and error.answered:
                    break
                raise
            except RetryableError as later:
                in_doubt = True
                pause = PAUSE if later.seconds is None else later.seconds
                if pause + PAUSE > self.seconds_left:
                    raise
                await asyncio.sleep(pause)
            except (MessageNotFound, DeliveryError):
                self._begun = False
                raise
            else:
                break
        sent = self._interaction.type is discord.InteractionType.modal_submit
        telemetry.record_ack(PLATFORM, "text" if sent else "press", self._began)

    async def follow_up(self, data: Body, file: File | None = None) -> None:
        """Send another message after the first answer. Raises `MessageNotFound`, `RetryableError` or `DeliveryError`.

        Wait and retry if Discord's rate limit rejects it for now.
        """
        await call_again(
            lambda: self._api.follow_up(self._interaction.application_id, self._interaction.token, data, file),
            within=FURTHER_SECONDS,
            pause=FURTHER_PAUSE,
        )

    async def try_respond(self, kind: int, data: Body | None = None) -> bool:
        """Give the first answer. Return True if it was delivered. Never raises Discord's errors."""
        try:
            await self.respond(kind, data)
        except NotAnswerable as error:
            if error.answered:
                log.debug("Another process has answered the same click.")
            else:
                log.warning("Could not answer a click in time: %s", error, extra={"action": "answer_lost"})
            return False
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            log.warning("Could not answer a click: %s", error, extra={"action": "answer_lost"})
            return False
        return True

    async def try_follow_up(self, more: Sequence[Body], file: File | None = None) -> bool:
        """Send the messages that do not fit into the first answer. A file goes with the last one.

        Return True if all of it was delivered. Never raises Discord's errors.
        """
        for number, words in enumerate(more, 1):
            try:
                await self.follow_up(words, file if number == len(more) else None)
            except (MessageNotFound, RetryableError, DeliveryError) as error:
                log.warning("Could not show the rest of a text: %s", error, extra={"action": "notice_lost"})
                return False
        return True
