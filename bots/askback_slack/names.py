"""What people in Slack are called."""

from __future__ import annotations

__all__ = ["Names"]

import asyncio
import logging
import time
from dataclasses import dataclass

from askback.internal.bounded_cache import Recent
from askback.ports.platform import Gone, TryLater, Undeliverable
from askback.text.literal import one_line
from askback_slack.calls import SlackApi
from askback_slack.payloads import Home, at, tenant_of

log = logging.getLogger("askback.slack")

NAME_SECONDS = 1.5
"""How long a name may take to look up: an event waits for its ack meanwhile."""
KEPT_SECONDS = 3600.0
KEPT = 5000


@dataclass(frozen=True, slots=True)
class _Known:
    """What Slack told of a person, and when."""

    at: float
    name: str
    team: str | None
    org: str | None


class Names:
    """Display names by id, remembered for an hour. On one line, since people choose them."""

    def __init__(self, api: SlackApi) -> None:
        self._api = api
        self._known: Recent[str, _Known] = Recent(KEPT)

    async def of(self, user: str) -> str:
        """The name of a person; their id where it cannot be looked up. Never raises."""
        known = self._known.get(user)
        if known is not None and time.monotonic() - known.at < KEPT_SECONDS:
            return known.name
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
        self._known[user] = _Known(
            at=time.monotonic(),
            name=one_line(name) or user,
            team=at(data, "user", "team_id"),
            org=at(data, "user", "enterprise_user", "enterprise_id"),
        )
        return self._known[user].name

    def tenant(self, user: str, home: Home) -> str | None:
        """The tenant of a person whose name was looked up before; None where Slack did not tell."""
        known = self._known.get(user)
        return None if known is None or known.team is None else tenant_of(known.team, None, known.org, home)

    async def filled_in(self, text: str, mentioned: tuple[str, ...]) -> str:
        """A text in which people stand as `@ID`, with their names in the place of those ids."""
        people = tuple(dict.fromkeys(mentioned))
        for person, name in zip(people, await asyncio.gather(*map(self.of, people)), strict=True):
            text = text.replace(f"@{person}", f"@{name}")
        return text
