"""The requests and answers of the REST API, and the checks of the places that a bot may use."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject

from .guild import Guild
from .objects import sees
from .refusals import DiscordRefusalError
from .values import Permission, Place, Post


def _approved() -> None:
    """Approve every body, because no document is given."""


@dataclass(frozen=True)
class Request:
    """One request of the bot: the parts of its path, its query, its body and its files.

    The handler of the body calls `approve` after its rules and before any change. `approve` checks the body against
    Discord's OpenAPI document, and refuses with 50035 a body that the rules have not refused.
    """

    operation: str
    parts: dict[str, str]
    query: dict[str, str]
    body: JsonObject
    files: tuple[JsonObject, ...] = ()
    approve: Callable[[], None] = _approved


@dataclass(frozen=True)
class Reply:
    """An answer; a body of None means no content."""

    body: JsonValue = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])


NOTHING = Reply(status=204)


def known_place(guild: Guild, place_id: str) -> Place:
    """Return a channel, thread or direct message that the bot sees.

    Raises:
        DiscordRefusalError: 10003, 50001.
    """
    place = guild.places.get(place_id)
    if place is None:
        raise DiscordRefusalError(10003)
    if not sees(guild, place):
        raise DiscordRefusalError(50001)
    return place


def need(guild: Guild, place: Place, *permissions: Permission) -> None:
    """Refuse an act if the bot lacks a permission for it; in a direct message it may do everything.

    Raises:
        DiscordRefusalError: 50013.
    """
    held = guild.permissions(guild.bot, place)
    if place.kind != "dm" and any(permission not in held for permission in permissions):
        raise DiscordRefusalError(50013)


def writable_place(guild: Guild, place_id: str) -> Place:
    """Return a place where the bot may send messages.

    Raises:
        DiscordRefusalError: 10003, 50001, 50008, 50013, 160005.
    """
    place = known_place(guild, place_id)
    if place.kind == "forum":
        raise DiscordRefusalError(50008)
    sending = Permission.SEND_MESSAGES_IN_THREADS if place.kind == "thread" else Permission.SEND_MESSAGES
    need(guild, place, sending)
    check_not_locked(guild, place)
    return place


def check_not_locked(guild: Guild, place: Place) -> None:
    """Refuse a message in a thread that is archived and locked; a message reopens one that is only archived.

    Raises:
        DiscordRefusalError: 160005.
    """
    if place.archived and place.locked and Permission.MANAGE_THREADS not in guild.permissions(guild.bot, place):
        raise DiscordRefusalError(160005)


def check_not_archived(place: Place) -> None:
    """Refuse to change a message in an archived thread.

    Raises:
        DiscordRefusalError: 50083.
    """
    if place.archived:
        raise DiscordRefusalError(50083)


def known_post(guild: Guild, place: Place, message_id: str) -> Post:
    """Return a message that the bot can see; its token does not reach ephemeral ones.

    Raises:
        DiscordRefusalError: 10008.
    """
    post = guild.post(place.id, message_id)
    if post is None or post.ephemeral_to is not None:
        raise DiscordRefusalError(10008)
    return post
