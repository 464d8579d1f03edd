"""Names picked people and channels, of which Slack's payloads say only the ids."""

from __future__ import annotations

__all__ = ["PickedNames"]

import asyncio
import logging
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from cachetools import TTLCache

from askback.domain.actions import FieldAnswer, Pick, Select, SubmitForm
from askback.domain.form_limits import MAX_PICKED
from askback.domain.incoming_message import Mentions
from askback.domain.outcome import Picked
from askback.manager import QuestionManager
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback.store.errors import StoreError
from askback_slack import id_patterns
from askback_slack.api_calls import SlackApi
from askback_slack.json_access import get_text
from askback_slack.user_names import CACHE_SECONDS, MAX_NAMES, NAME_SECONDS, UserNames

log = logging.getLogger("askback.slack")

WAIT_SECONDS: Final = 0.6
"""Seconds that a click waits for names before its commit, which may take 2 s of the 3 s for an ack."""
LATER_PAUSES: Final = (0.0, 2.0, 10.0, 60.0)
"""Pauses in seconds between later tries to look up the names that a click did not wait for."""
HIDDEN_SECONDS: Final = 60.0
"""Seconds for which a channel counts as hidden. Somebody may invite the bot there."""
_PERSON: Final = re.compile(id_patterns.PERSON)


class PickedNames:
    """Names of people and channels by id. They are data for the model and the card, and grant no rights."""

    def __init__(self, api: SlackApi, people: UserNames, manager: QuestionManager) -> None:
        self._api = api
        self._people = people
        self._manager = manager
        self._channels = TTLCache[str, str](MAX_NAMES, CACHE_SECONDS)
        self._hidden = TTLCache[str, None](MAX_NAMES, HIDDEN_SECONDS)
        """The channels that the bot does not see, such as private ones that it is not in."""

    async def read(self, pick: Pick | None) -> Pick | None:
        """Return what a person picked, with the names that Slack tells in time. None if a bot is among them."""
        if pick is None:
            return None
        named = await self._fill_in(pick)
        return named if named == self._drop_programs(named) else None

    async def read_ticks(self, ticks: Select | Pick | None) -> Select | Pick | None:
        """Return the other ticks on a card. People who are picked get their names, and bots are left out."""
        return self._drop_programs(await self._fill_in(ticks)) if isinstance(ticks, Pick) else ticks

    async def read_form(self, sent: SubmitForm) -> SubmitForm:
        """Return the answers to a form with the names that Slack tells in time. An answer with a bot is `rejected`."""
        answers = tuple(one.evolve(picked=one.picked[: MAX_PICKED + 1]) for one in sent.answers)
        sent = sent.evolve(answers=answers)
        if not sent.picked:
            return sent
        kept = {one.id: one for one in self._drop_programs(await self._fill_in(Pick(picked=sent.picked))).picked}

        def fill(answer: FieldAnswer) -> FieldAnswer:
            picked = tuple(kept[one.id] for one in answer.picked if one.id in kept)
            return answer.evolve(picked=picked, rejected=answer.rejected or len(picked) < len(answer.picked))

        return sent.evolve(answers=tuple(map(fill, answers)))

    async def read_mentions(self, mentions: Mentions | None) -> Mentions | None:
        """Return the people or channels that a message mentions, with their names. None if a bot is among them."""
        if mentions is None:
            return None
        pick = await self.read(Pick(picked=mentions.picked))
        return None if pick is None else mentions.evolve(picked=pick.picked)

    async def _fill_in(self, pick: Pick) -> Pick:
        """Return the pick with the names that are cached, or that Slack tells within `WAIT_SECONDS`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT_SECONDS):
                await self._find_names(one.id for one in pick.picked if not one.name)
        return pick.evolve(picked=tuple(one.evolve(name=self._get_known(one.id) or one.name) for one in pick.picked))

    def _drop_programs(self, pick: Pick) -> Pick:
        """Return the pick without Slack's own user, and without users that are known to be bots."""
        left = (one for one in pick.picked if one.id != id_patterns.SLACKBOT and not self._people.is_program(one.id))
        return pick.evolve(picked=tuple(left))

    async def name_later(self, ask_id: str, picked: tuple[Picked, ...]) -> None:
        """Look up the names that a click did not wait for, and store them. Runs behind the ack."""
        left = tuple(dict.fromkeys(one.id for one in picked if not one.name))
        if not left:
            return
        for pause in LATER_PAUSES:
            await asyncio.sleep(pause)
            found = await self._find_names(left)
            try:
                if any(found.values()):
                    await self._manager.add_names(ask_id, {one: name for one, name in found.items() if name})
            except StoreError as error:
                log.info("Could not store names, so this is tried again: %s", error, extra={"action": "no_name"})
                continue
            left = tuple(one for one in left if not found[one] and one not in self._hidden)
            if not left:
                self._manager.awaited_names.forget(ask_id)
                return
        log.info("Slack tells no name of what a person picked, so its id stays.", extra={"action": "no_name"})

    async def _find_names(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the names by id. A name is empty if its look-up fails."""
        wanted = tuple(ids)
        found = await asyncio.gather(*map(self._find_name, wanted))
        return dict(zip(wanted, found, strict=True))

    async def _find_name(self, picked: str) -> str:
        if _PERSON.fullmatch(picked):
            return await self._people.find_name(picked)
        if picked in self._hidden:
            return ""
        return self._channels.get(picked) or await self._read_channel(picked)

    def _get_known(self, picked: str) -> str:
        return self._people.get_known_name(picked) or self._channels.get(picked) or ""

    async def _read_channel(self, channel: str) -> str:
        try:
            async with asyncio.timeout(NAME_SECONDS):
                answer = await self._api.read("conversations.info", channel=channel)
        except (MessageNotFound, RetryableError, DeliveryError, TimeoutError) as error:
            log.info("Could not look up a channel's name, so its id is shown: %s", error, extra={"action": "no_name"})
            if isinstance(error, MessageNotFound | DeliveryError):
                self._hidden[channel] = None
            return ""
        name = get_text(answer, "channel", "name")
        if name is not None:
            self._channels[channel] = f"#{name}"
        return self._channels.get(channel, "")
