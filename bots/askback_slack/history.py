"""What was written in Slack before: for the agent that is called into the middle of a thread."""

from __future__ import annotations

__all__ = ["History", "messages", "said"]

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape

from askback.agent.history import MESSAGES, newest
from askback.domain.conversation import PROSE, Said
from askback.domain.identity import Actor, Place
from askback.ports.platform import Undeliverable
from askback_slack import ids
from askback_slack.calls import Refused, SlackApi
from askback_slack.names import Names
from askback_slack.payloads import NOWHERE, PLATFORM, Home, at, dig, file_names, items, key_of, tenant_of, text_of

PAGE = 200
PAGES = 25
"""How much of a thread, or of the newest of a channel, is read."""
_WRITTEN = frozenset({None, "file_share", "thread_broadcast", "bot_message", "me_message"})
"""Subtypes of what somebody wrote; the others are Slack's own remarks."""
_NO_SCOPE = (
    "the Slack app lacks the permission to read there: channels:history, or groups:history in a private channel, "
    "im:history and mpim:history in direct messages. Whoever runs me: install it anew from manifests/slack.json."
)


async def messages(api: SlackApi, place: Place) -> AsyncIterator[object]:
    """A thread from its beginning, or a channel from its end. Raises `Gone`, `TryLater` or `Undeliverable`."""
    where = {"ts": place.thread} if place.thread is not None else {}
    cursor: str | None = None
    for _ in range(PAGES):
        response = await api.read(
            "conversations.replies" if where else "conversations.history",
            channel=place.channel,
            limit=PAGE,
            include_all_metadata="true",
            cursor=cursor,
            **where,
        )
        for message in items(response, "messages"):
            yield message
        cursor = at(response, "response_metadata", "next_cursor")
        if cursor is None:
            return


class History:
    """Threads, as far as the app may read them."""

    def __init__(self, api: SlackApi, names: Names, me: str, home: Home = NOWHERE) -> None:
        self._api = api
        self._names = names
        self._me = me
        self._home = home

    async def earlier(self, place: Place) -> tuple[Said, ...]:
        """The newest of a thread, oldest first. Raises `Gone`, `TryLater` or `Undeliverable`."""
        if place.thread is None:
            return ()
        last: deque[object] = deque(maxlen=MESSAGES)
        try:
            async for message in messages(self._api, place):
                last.append(message)
        except Refused as refusal:
            if refusal.code == "missing_scope":
                raise Undeliverable(_NO_SCOPE) from refusal
            raise
        return newest(
            await self._named([one for message in last if (one := said(message, place, self._me, self._home))])
        )

    async def _named(self, found: Sequence[Found]) -> tuple[Said, ...]:
        """With the names of people in the place of their ids."""
        people = {one.said.author.id for one in found if not one.said.author.name}
        people.update(person for one in found for person in one.mentioned)
        await asyncio.gather(*map(self._names.of, people))  # side by side; from here on they are known
        return tuple([await self._filled(one) for one in found])

    async def _filled(self, one: Found) -> Said:
        author = one.said.author
        if not author.name:
            name = await self._names.of(author.id)
            # Messages may come without a team, such as those with files, and never tell the organisation.
            tenant = self._names.tenant(author.id, self._home) or author.tenant
            author = author.evolve(name=name, tenant=tenant)
        return one.said.evolve(author=author, text=await self._names.filled_in(one.said.text, one.mentioned))


@dataclass(frozen=True, slots=True)
class Found:
    """Something that was written, and whose ids still stand in it as `@ID`."""

    said: Said
    mentioned: tuple[str, ...]


def said(message: object, place: Place, me: str, home: Home = NOWHERE) -> Found | None:
    """What somebody wrote. None: a remark of Slack's, a card or a notice of ours, or nothing."""
    ts, author = at(message, "ts"), _author(message, home)
    if ts is None or author is None or at(message, "subtype") not in _WRITTEN or _is_ours_alone(message, me):
        return None
    text, mentioned = text_of(_text(message), me)
    files = file_names(message)
    if not text and not files:
        return None
    key, ours = key_of(place.channel, ts), author.id == me
    return Found(Said(key=key, author=author, text=text, files=files, ours=ours), mentioned)


def _author(message: object, home: Home) -> Actor | None:
    """Who wrote it; programs have no name that could be looked up, but tell it."""
    user, program = at(message, "user"), at(message, "bot_id")
    name = at(message, "bot_profile", "name") or at(message, "username") or ("a program" if program else "")
    identity = user or program
    if identity is None:
        return None
    own = at(message, "user_team") or at(message, "source_team") or at(message, "team")
    if program:
        own = at(message, "bot_profile", "team_id") or own or home.team
    tenant = None if own is None else tenant_of(own, None, None, home)
    return Actor(
        platform=PLATFORM,
        id=identity,
        tenant=tenant,
        name=name if program else "",
        is_program=program is not None,
    )


def _is_ours_alone(message: object, me: str) -> bool:
    """Whether it is a card, or one of the bot's remarks, which the model knows in another way or need not know."""
    if at(message, "user") != me:
        return False
    nonce = at(message, "metadata", "event_payload", "nonce")
    if nonce is not None:
        return not nonce.startswith(PROSE)
    return any(ids.revision(dig(block, "block_id")) is not None for block in items(message, "blocks"))


def _text(message: object) -> str:
    """What can be read. Programs often write it into attachments or blocks alone."""
    text = at(message, "text")
    if text is not None:
        return text
    attached = [
        at(one, "fallback") or "\n".join(filter(None, (at(one, "title"), at(one, "text"))))
        for one in items(message, "attachments")
    ]
    return "\n".join(filter(None, [*attached, *map(unescape, _texts(items(message, "blocks")))]))


def _texts(blocks: Iterable[object]) -> Iterator[str]:
    for block in blocks:
        text = at(block, "text") or at(block, "text", "text")
        if text is not None:
            yield text
        for field in items(block, "fields"):
            yield at(field, "text") or ""
