"""Looks up the names of people in Slack."""

from __future__ import annotations

__all__ = ["UserNames"]

import asyncio
import logging
import time
from dataclasses import dataclass
from datetime import timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from cachetools import FIFOCache

from askback.domain.identity import Actor
from askback.internal.throttle import Throttle
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback.text.literal import to_single_line
from askback.translations.catalogue import Language, find_language
from askback_slack.api_calls import SlackApi
from askback_slack.installation import Installation, find_tenant
from askback_slack.json_access import get_text, get_value

log = logging.getLogger("askback.slack")

NAME_SECONDS = 1.5
"""Seconds that a name lookup may take. An event waits for its ack during that time."""
CACHE_SECONDS = 3600.0
LOOKED_UP_SECONDS = 600.0
"""Seconds between two tries to look up a person of whom only a click is known."""
MAX_NAMES = 5000
DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class _Known:
    """A person as Slack described them. `at` is the time of the lookup by `time.monotonic()`."""

    at: float
    name: str
    team: str | None
    org: str | None
    is_program: bool
    zone: str | None
    offset: object
    """Seconds between UTC and their time, as Slack says it."""
    language: Language | None


class UserNames:
    """Display names by id, cached for an hour. People choose them, so they are reduced to one line."""

    def __init__(self, api: SlackApi) -> None:
        self._api = api
        self._known: FIFOCache[str, _Known] = FIFOCache(MAX_NAMES)
        self._looked_up: Throttle[str] = Throttle(LOOKED_UP_SECONDS)

    async def fetch_name(self, user: str) -> str:
        """Return the name of a person, or their id if the lookup fails. Never raises."""
        return await self.find_name(user) or user

    async def find_name(self, user: str) -> str:
        """Return the name of a person, empty if the lookup fails. Never raises."""
        known = self._known.get(user)
        if known is not None and time.monotonic() - known.at < CACHE_SECONDS:
            return known.name
        try:
            async with asyncio.timeout(NAME_SECONDS):
                data = await self._api.read("users.info", user=user, include_locale="true")
        except (MessageNotFound, RetryableError, DeliveryError, TimeoutError) as error:
            log.info("Could not look up a person's name, so their id is shown: %s", error, extra={"action": "no_name"})
            return ""
        profile = ("user", "profile")
        name = (
            get_text(data, *profile, "display_name") or get_text(data, *profile, "real_name")
            or get_text(data, "user", "real_name") or get_text(data, "user", "name") or user
        )  # fmt: skip
        self._known[user] = _Known(
            at=time.monotonic(),
            name=to_single_line(name) or user,
            team=get_text(data, "user", "team_id"),
            org=get_text(data, "user", "enterprise_user", "enterprise_id"),
            is_program=get_value(data, "user", "is_bot") is True,
            zone=get_text(data, "user", "tz"),
            offset=get_value(data, "user", "tz_offset"),
            language=find_language(get_text(data, "user", "locale")),
        )
        return self._known[user].name

    def get_known_name(self, user: str) -> str:
        """Return the name of a person as it was looked up before, empty if it was not."""
        known = self._known.get(user)
        return "" if known is None else known.name

    def is_program(self, user: str) -> bool:
        """Return True if a user whose name was looked up before is a bot."""
        known = self._known.get(user)
        return known is not None and known.is_program

    def add_language(self, person: Actor) -> Actor:
        """Return the person with their language, if they were looked up before."""
        known = self._known.get(person.id)
        return person if known is None else person.evolve(language=known.language)

    def get_language(self, user: str) -> Language | None:
        """Return the language of a person who was looked up before, if it is one of askback's."""
        known = self._known.get(user)
        return None if known is None else known.language

    def is_look_up_due(self, user: str) -> bool:
        """Return True if a person is unknown here, and was not looked up just now."""
        return user not in self._known and self._looked_up.try_allow(user)

    async def look_up(self, user: str) -> None:
        """Look a person up, for later. Never raises."""
        await self.fetch_name(user)

    async def fetch_zone(self, user: str) -> tzinfo | None:
        """Return the time zone of a person. None if the lookup fails, or if Slack does not say it. Never raises."""
        await self.fetch_name(user)
        known = self._known.get(user)
        return None if known is None else _build_zone(known.zone, known.offset)

    def _get_tenant(self, user: str, home: Installation) -> str | None:
        """Return the tenant of a person whose name was looked up before, or None if it is unknown."""
        known = self._known.get(user)
        return None if known is None or known.team is None else find_tenant(known.team, None, known.org, home)

    async def identify(self, author: Actor, home: Installation) -> Actor:
        """Return the author of a message that was read, with their name, and their tenant as a look-up tells it.

        Some messages carry no team, such as those with files. No message carries the organisation.
        """
        name = await self.fetch_name(author.id)
        tenant = self._get_tenant(author.id, home) or author.tenant
        return self.add_language(author.evolve(name=name, tenant=tenant))

    async def fill_in_names(self, text: str, mentioned: tuple[str, ...]) -> str:
        """Replace each `@ID` in a text with the person's name."""
        people = tuple(dict.fromkeys(mentioned))
        for person, name in zip(people, await asyncio.gather(*map(self.fetch_name, people)), strict=True):
            text = text.replace(f"@{person}", f"@{name}")
        return text


def _build_zone(name: str | None, seconds: object) -> tzinfo | None:
    """Return the time zone of that name, which knows daylight saving time, or else one of that offset.

    None means that neither is known.
    """
    try:
        if name is not None:
            return ZoneInfo(name)
    except (ValueError, OSError, LookupError) as error:
        log.debug("Could not load a time zone, so its offset counts: %s", error)
    if not isinstance(seconds, int) or abs(seconds) >= DAY_SECONDS:
        return None
    return timezone(timedelta(seconds=seconds))
