"""Reads the messages of a Slack thread from before somebody mentioned the agent in it."""

from __future__ import annotations

__all__ = ["NO_SCOPE", "PAGES", "History", "iterate_messages", "read_message"]

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape

from askback.agent.thread_history import MAX_MESSAGES, select_newest
from askback.domain.identity import Actor, Place
from askback.domain.incoming_message import SHARED, HistoryMessage, Quote
from askback.domain.outgoing_message import TURN_TEXT
from askback.ports.platform import DeliveryError
from askback_slack import control_ids
from askback_slack.api_calls import SlackApi, SlackRejection
from askback_slack.files import list_files
from askback_slack.id_patterns import PLATFORM
from askback_slack.installation import UNKNOWN_INSTALLATION, Installation, find_tenant
from askback_slack.json_access import get_list, get_text, get_value
from askback_slack.message_events import build_dedupe_key, is_share, to_datetime, to_visible_text
from askback_slack.user_names import UserNames

PAGE = 200
PAGES = 25
"""Maximum number of pages to read of a thread, or of a channel's newest messages, unless a caller asks for fewer."""
_WRITTEN = frozenset({None, "file_share", "thread_broadcast", "bot_message", "me_message"})
"""Subtypes of messages that a person or a program wrote. The others are Slack's own notices."""
NO_SCOPE = (
    "the Slack app lacks the permission to read there: channels:history, or groups:history in a private channel, "
    "im:history and mpim:history in direct messages. My operator has to reinstall it from manifests/slack.json."
)


async def iterate_messages(
    api: SlackApi, place: Place, *, oldest: str | None = None, pages: int = PAGES
) -> AsyncIterator[object]:
    """Yield the messages of a thread from its start, or of a channel from its newest.

    `oldest` leaves out messages that are not newer than it, except a thread's first message. Reads at most `pages`.
    Raises `MessageNotFound`, `RetryableError` or `DeliveryError`.
    """
    where = {"ts": place.thread} if place.thread is not None else {}
    cursor: str | None = None
    for _ in range(pages):
        response = await api.read(
            "conversations.replies" if where else "conversations.history",
            channel=place.channel,
            limit=PAGE,
            include_all_metadata="true",
            cursor=cursor,
            oldest=oldest,
            **where,
        )
        for message in get_list(response, "messages"):
            yield message
        cursor = get_text(response, "response_metadata", "next_cursor")
        if cursor is None:
            return


class History:
    """Reads the earlier messages of threads that the app may read."""

    def __init__(self, api: SlackApi, names: UserNames, me: str, home: Installation = UNKNOWN_INSTALLATION) -> None:
        self._api = api
        self._names = names
        self._me = me
        self._home = home

    async def read(self, place: Place) -> tuple[HistoryMessage, ...]:
        """Return the newest messages of a thread, oldest first.

        Raises `MessageNotFound`, `RetryableError` or `DeliveryError`.
        """
        if place.thread is None:
            return ()
        last: deque[object] = deque(maxlen=MAX_MESSAGES)
        try:
            async for message in iterate_messages(self._api, place):
                last.append(message)
        except SlackRejection as rejection:
            if rejection.code == "missing_scope":
                raise DeliveryError(NO_SCOPE) from rejection
            raise
        return select_newest(
            await self._replace_ids(
                [one for message in last if (one := read_message(message, place, self._me, self._home))]
            )
        )

    async def _replace_ids(self, found: Sequence[Found]) -> tuple[HistoryMessage, ...]:
        """Replace people's ids with their names."""
        people = {author.id for one in found for author in one.message.authors if not author.name}
        people.update(person for one in found for person in one.mentioned)
        await asyncio.gather(*map(self._names.fetch_name, people))  # in parallel; the names are cached from here on
        return tuple([await self._replace_ids_in(one) for one in found])

    async def _replace_ids_in(self, one: Found) -> HistoryMessage:
        quotes = [
            quote.evolve(
                author=await self._identify(quote.author),
                text=await self._names.fill_in_names(quote.text, one.mentioned),
            )
            for quote in one.message.quotes
        ]
        return one.message.evolve(
            author=await self._identify(one.message.author),
            text=await self._names.fill_in_names(one.message.text, one.mentioned),
            quotes=tuple(quotes),
        )

    async def _identify(self, author: Actor) -> Actor:
        return author if author.name else await self._names.identify(author, self._home)


@dataclass(frozen=True, slots=True)
class Found:
    """A message in which people still appear as `@ID`."""

    message: HistoryMessage
    mentioned: tuple[str, ...]


def read_message(message: object, place: Place, me: str, home: Installation = UNKNOWN_INSTALLATION) -> Found | None:
    """Read a message that a person or a program wrote.

    Return None for a notice of Slack's, the bot's own card or notice, or a message without content.
    """
    ts, author = get_text(message, "ts"), _read_author(message, home)
    if ts is None or author is None or get_text(message, "subtype") not in _WRITTEN or _is_ours_alone(message, me):
        return None
    text, mentioned = to_visible_text(_read_text(message, author), me)
    quotes: list[Quote] = []
    files = tuple(file.name for file in list_files(message))
    for one in get_list(message, "attachments"):
        if not _is_of_others(one, author):
            continue
        quoted, named = to_visible_text(get_text(one, "text") or get_text(one, "fallback") or "", me)
        sharer = _read_quoted_author(one)
        if quoted and sharer is not None:
            quotes.append(Quote(author=sharer, text=quoted))
            mentioned += named
        else:
            files = (*files, SHARED)  # nobody could answer for these words
    found = HistoryMessage(
        key=build_dedupe_key(place.channel, ts),
        author=author,
        text=text,
        files=files,
        quotes=tuple(quotes),
        edited_at=None if (edited := get_text(message, "edited", "ts")) is None else to_datetime(edited),
        ours=author.id == me,
    )
    return None if found.is_empty else Found(found, mentioned)


def _is_of_others(attachment: object, author: Actor) -> bool:
    """Return True if an attachment contains words of somebody other than the author of its message.

    Programs write attachments of their own. Of people there are only shared messages, and previews of links.
    """
    if is_share(attachment):
        return True
    return author.is_program and get_text(attachment, "author_id") is not None


def _read_quoted_author(attachment: object) -> Actor | None:
    """Return the author of a shared message. None if Slack does not name them."""
    person, program = get_text(attachment, "author_id"), get_text(attachment, "bot_id")
    identity = person or program
    if identity is None:
        return None
    if program is None:
        return Actor(platform=PLATFORM, id=identity)  # their name and tenant are looked up
    return Actor(
        platform=PLATFORM, id=identity, name=get_text(attachment, "author_name") or "a program", is_program=True
    )


def _read_author(message: object, home: Installation) -> Actor | None:
    """Return the author. A program's name comes from the message, since it cannot be looked up."""
    user, program = get_text(message, "user"), get_text(message, "bot_id")
    name = get_text(message, "bot_profile", "name") or get_text(message, "username") or ("a program" if program else "")
    identity = user or program
    if identity is None:
        return None
    own = get_text(message, "user_team") or get_text(message, "source_team") or get_text(message, "team")
    if program:
        own = get_text(message, "bot_profile", "team_id") or own or home.team
    tenant = None if own is None else find_tenant(own, None, None, home)
    return Actor(
        platform=PLATFORM,
        id=identity,
        tenant=tenant,
        name=name if program else "",
        is_program=program is not None,
    )


def _is_ours_alone(message: object, me: str) -> bool:
    """Return True for the bot's cards and notices. The model already knows them, or does not need them."""
    if get_text(message, "user") != me:
        return False
    nonce = get_text(message, "metadata", "event_payload", "nonce")
    if nonce is not None:
        return not nonce.startswith(TURN_TEXT)
    return any(
        control_ids.parse_revision(get_value(block, "block_id")) is not None for block in get_list(message, "blocks")
    )


def _read_text(message: object, author: Actor) -> str:
    """Return the readable text of the author's own. Programs often write only attachments or blocks."""
    text = get_text(message, "text")
    if text is not None:
        return text
    attached = [
        get_text(one, "fallback") or "\n".join(filter(None, (get_text(one, "title"), get_text(one, "text"))))
        for one in get_list(message, "attachments")
        if author.is_program and not _is_of_others(one, author)
    ]
    return "\n".join(filter(None, [*attached, *map(unescape, _iter_texts(get_list(message, "blocks")))]))


def _iter_texts(blocks: Iterable[object]) -> Iterator[str]:
    for block in blocks:
        text = get_text(block, "text") or get_text(block, "text", "text")
        if text is not None:
            yield text
        for field in get_list(block, "fields"):
            yield get_text(field, "text") or ""
