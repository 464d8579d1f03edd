"""Shows the agent's text while it is written, by Slack's streams, or by edits where streams do not exist.

A stream ends automatically after about five minutes, and some workspaces and places have none. The text then continues
by edits. Failures never reach the agent: text that could not be shown is shown at the end. Only `finish` raises.
"""

from __future__ import annotations

__all__ = ["SlackTextStream"]

import logging
import time
from typing import TYPE_CHECKING

from askback.domain.identity import Actor, MessageRef, Place
from askback.ports.platform import DeliveryError, MessageNotFound, Messages, Remainder, RetryableError
from askback_slack.api_calls import SlackApi, SlackRejection
from askback_slack.json_access import get_text
from askback_slack.markdown import count_unfinished, neutralize_markdown

if TYPE_CHECKING:
    from askback_slack.posting import SlackPlatform

log = logging.getLogger("askback.slack")

STREAM_SECONDS = 0.3
"""Seconds between two additions to a stream. Slack allows about a hundred a minute in bursts."""
EDIT_SECONDS = 1.3
"""Seconds between two edits. Slack allows about fifty a minute."""
FIRST_CHARACTERS = 12
"""Minimum number of characters to show first, so that there is something to read."""
NO_STREAMS = frozenset({"unknown_method", "missing_scope", "not_allowed_token_type", "feature_not_enabled"})
"""Rejections that apply to every text."""
HOLD_SECONDS = 5.0
"""Pause in seconds after a failure, unless Slack gives a Retry-After."""
PART = 11_000
"""Characters shown in one message while the text is written. The rest follows when the text is finished."""


class SlackTextStream:
    """One text of the agent. See `askback.ports.platform.TextStream`."""

    def __init__(
        self,
        platform: SlackPlatform,
        api: SlackApi,
        place: Place,
        name: str,
        reader: Actor,
        messages: Messages | None,
        *,
        resumed: bool,
    ) -> None:
        """See `askback.ports.platform.Platform.open_stream`."""
        self._platform = platform
        self._api = api
        self._place = place
        self._name = name
        self._reader = reader
        self._messages: Messages = messages or ()
        self._text = ""
        self._shown = ""
        """The shown text, in the form in which Slack has it."""
        self._streaming = False
        self._resumed = bool(messages)
        self._open = self._resumed
        """True if the message may be a stream that was not ended."""
        self._unsure = messages is None
        """True if an unknown beginning may already exist, because Slack's response was lost or the process ended."""
        self._is_marked = False
        """True if this process marked the message as unfinished, because it writes it by edits."""
        self._has_stray = resumed or self._resumed or self._unsure
        """True if a further beginning may exist.

        Slack may accept a call whose answer never arrived, and a process that lost the turn may have begun the text.
        """
        self._quiet_until = 0.0

    @property
    def messages(self) -> Messages:
        return self._messages

    async def append(self, text: str) -> None:
        self._text += text
        now = time.monotonic()
        if now < self._quiet_until or self._resumed:
            return  # keep a text that a restart interrupted unchanged until the new one is complete
        safe = neutralize_markdown(_cut_unfinished(self._text))[:PART]
        if len(safe.strip()) < FIRST_CHARACTERS or safe == self._shown:
            return
        try:
            await self._show(safe)
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            log.warning("Could not show more of a text; trying again later: %s", error, extra={"action": "text_held"})
            if isinstance(error, RetryableError) and error.seconds is None:
                # Slack may have accepted it all the same: look for it, or continue with edits of the whole text.
                self._unsure, self._streaming = not self._messages, False
                self._has_stray = self._has_stray or self._unsure
            seconds = error.seconds if isinstance(error, RetryableError) and error.seconds else HOLD_SECONDS
            self._quiet_until = now + seconds
        else:
            self._quiet_until = now + (STREAM_SECONDS if self._streaming else EDIT_SECONDS)

    async def finish(self, text: str) -> Messages:
        self._is_marked = False  # from now on, the whole text takes the mark away, here or in another process
        await self._find_existing()
        safe = neutralize_markdown(text)
        if self._streaming:
            self._streaming = False
            rest = safe[len(self._shown) :] if safe.startswith(self._shown) else None
            if rest is not None and len(safe) <= PART and await self._stop(rest):
                await self._remove_stray()
                return self._messages
        await self._write(text)
        await self._remove_stray()
        return self._messages

    async def abandon(self, keep: Remainder = "text") -> None:
        if keep == "stream" and (self._streaming or self._is_marked):
            self._streaming = False
            return  # `find_posted` recognizes the message by its open stream or its mark
        try:
            await self._find_existing()
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            log.info("Could not look up an abandoned text: %s", error, extra={"action": "stream_broken"})
        is_open = self._streaming or self._open
        self._streaming = False
        try:
            if keep == "nothing":
                # If this process could end the stream, no other process has ended it, so no other uses the message. It
                # stays marked until it is deleted: if the process ends before that, the next turn deletes it.
                if (is_open and await self._stop("", unfinished=True)) or self._is_marked:
                    await self._platform.remove_unfinished(self._place, self._messages)
            elif is_open and await self._stop(""):
                return
            elif self._is_marked and await self._platform.has_unfinished(self._place, self._messages):
                # Another process has not finished the text. Without the mark, no later turn takes it for its own.
                await self._write(self._text[:PART])
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            log.warning("Could not end an abandoned text: %s", error, extra={"action": "text_stays"})

    async def _remove_stray(self) -> None:
        """Delete further beginnings of this text. No other text of the conversation is written at the same time."""
        if not self._has_stray:
            return
        self._has_stray = False
        try:
            await self._platform.remove_strays(self._place, self._messages)
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            log.warning("Could not delete the beginning of a text: %s", error, extra={"action": "text_stays"})

    async def _find_existing(self) -> None:
        """Find a beginning that may exist. It stays unchanged until the text is complete."""
        if self._unsure:
            self._messages = await self._platform.find_posted(self._place, self._name)
            self._unsure = False
            self._resumed = self._open = bool(self._messages)

    async def _show(self, safe: str) -> None:
        await self._find_existing()
        if self._resumed:
            return
        if not self._messages:
            if not (self._platform.streams and self._place.thread and await self._start(safe)):
                await self._write(safe, unfinished=True)
        elif self._streaming:
            await self._add(safe)
        else:
            await self._write(safe, unfinished=True)
        self._shown = safe

    async def _write(self, markdown: str, *, unfinished: bool = False) -> None:
        self._is_marked = self._is_marked or unfinished
        self._messages = await self._platform.write_text(
            self._place, markdown, self._messages, self._name, unfinished=unfinished
        )
        self._open, self._is_marked = False, unfinished

    async def _start(self, safe: str) -> bool:
        """Start a stream. Return False if Slack has none here."""
        try:
            response = await self._api.write(
                "chat.startStream",
                channel=self._place.channel,
                thread_ts=self._place.thread,
                recipient_user_id=self._reader.id,
                recipient_team_id=self._reader.tenant or self._place.tenant,
                markdown_text=safe,
            )
        except (MessageNotFound, DeliveryError) as error:
            log.info("Slack has no stream here; showing the text with edits: %s", error, extra={"action": "no_stream"})
            if isinstance(error, SlackRejection) and error.code in NO_STREAMS:
                self._platform.streams = False
            return False
        ts = get_text(response, "ts")
        if ts is None:
            raise RetryableError("Slack did not say which message it began.", in_doubt=True)
        self._messages = (MessageRef(channel=self._place.channel, id=ts),)
        self._streaming = self._open = True
        return True

    async def _add(self, safe: str) -> None:
        if not safe.startswith(self._shown):
            return  # Slack's form changed earlier text; `finish` corrects it
        message = self._messages[0]
        try:
            await self._api.write(
                "chat.appendStream", channel=message.channel, ts=message.id, markdown_text=safe[len(self._shown) :]
            )
        except (MessageNotFound, DeliveryError):
            self._streaming = False  # the stream has already ended, so continue with edits
            await self._write(safe, unfinished=True)

    async def _stop(self, rest: str, *, unfinished: bool = False) -> bool:
        message = self._messages[0]
        try:
            await self._api.write(
                "chat.stopStream",
                channel=message.channel,
                ts=message.id,
                markdown_text=rest or None,
                metadata=self._platform.to_metadata(self._name, 0, unfinished=unfinished),
            )
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            log.info("Could not end a stream: %s", error, extra={"action": "stream_broken"})
            return False
        self._open = False
        return True


def _cut_unfinished(text: str) -> str:
    """Return the text without an end that further text could still turn into a mention."""
    return text[: len(text) - count_unfinished(text)].rstrip()
