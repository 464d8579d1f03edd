"""What people in Slack are called."""

from __future__ import annotations

__all__ = ["Names"]

import asyncio
import logging
import time

from askback.platform import Gone, TryLater, Undeliverable
from askback.recent import Recent
from askback_slack.calls import SlackApi
from askback_slack.payloads import at

log = logging.getLogger("askback.slack")

NAME_SECONDS = 1.5
"""How long a name may take to look up: an event waits for its ack meanwhile."""
KEPT_SECONDS = 3600.0
KEPT = 5000


class Names:
    """Display names by id, remembered for an hour."""

    def __init__(self, api: SlackApi) -> None:
        self._api = api
        self._known: Recent[str, tuple[float, str]] = Recent(KEPT)

    async def of(self, user: str) -> str:
        """The name of a person; their id where it cannot be looked up. Never raises."""
        known = self._known.get(user)
        if known is not None and time.monotonic() - known[0] < KEPT_SECONDS:
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
        self._known[user] = time.monotonic(), name
        return name

    async def filled_in(self, text: str, mentioned: tuple[str, ...]) -> str:
        """A text in which people stand as `@ID`, with their names in the place of those ids."""
        people = tuple(dict.fromkeys(mentioned))
        for person, name in zip(people, await asyncio.gather(*map(self.of, people)), strict=True):
            text = text.replace(f"@{person}", f"@{name}")
        return text
