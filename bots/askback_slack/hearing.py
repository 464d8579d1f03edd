"""What people write in Slack, handed to the agent."""

from __future__ import annotations

__all__ = ["Hearing"]

import asyncio
import logging
import time

from slack_bolt import BoltResponse

from askback.bots import Hear
from askback.conversations import Heard
from askback.platform import Gone, TryLater, Undeliverable
from askback.store.errors import StoreError
from askback_slack.calls import SlackApi
from askback_slack.payloads import NOWHERE, Home, Json, at, written

log = logging.getLogger("askback.slack")

NAME_SECONDS = 1.5
"""How long a name may take to look up: the event waits for its ack meanwhile."""
NAMES_KEPT = 3600.0


class Hearing:
    """Messages and mentions."""

    def __init__(self, api: SlackApi, hear: Hear, me: str, home: Home = NOWHERE) -> None:
        self._api = api
        self._hear = hear
        self._me = me
        self._home = home
        self._names: dict[str, tuple[float, str]] = {}

    async def message(self, body: Json) -> BoltResponse | None:
        """A message or a mention. Stored before it is acked: Slack delivers again what is not."""
        try:
            await self._take(body)
        except StoreError:
            log.exception("A message could not be stored; Slack sends it again.", extra={"action": "message_refused"})
            return BoltResponse(status=503)
        return None

    async def _take(self, body: Json) -> None:
        said = written(body, self._me, self._home)
        if said is None:
            return
        begin = said.direct or said.mentions_bot
        if not begin and not said.in_thread:
            return
        text = said.text
        for person in said.mentioned:
            text = text.replace(f"@{person}", f"@{await self._name(person)}")
        author = said.author.evolve(name=await self._name(said.author.id))
        await self._hear(
            Heard(place=said.place, author=author, text=text, dedupe_key=said.key, at=said.at), begin=begin
        )

    async def ignore(self) -> None:
        """An event that means nothing to us."""

    async def _name(self, user: str) -> str:
        known = self._names.get(user)
        if known is not None and time.monotonic() - known[0] < NAMES_KEPT:
            return known[1]
        try:
            async with asyncio.timeout(NAME_SECONDS):
                data = await self._api.read("users.info", user=user)
        except (Gone, TryLater, Undeliverable, TimeoutError) as error:
            log.info("A name cannot be looked up: %s", error, extra={"action": "no_name"})
            return user
        profile = ("user", "profile")
        name = (
            at(data, *profile, "display_name") or at(data, *profile, "real_name")
            or at(data, "user", "real_name") or at(data, "user", "name") or user
        )  # fmt: skip
        self._names[user] = time.monotonic(), name
        return name
