"""Channels and threads over REST: read, create, archive, reopen; typing; direct messages."""

from dataclasses import replace

from askback_sandbox.json_values import JsonObject, as_text

from . import limits
from .checks import anything, boolean, integer, one_of, shape, snowflake, string
from .gateway import Gateway
from .guild import Guild
from .objects import channel_object, thread_member, typing_object
from .posting import Posting
from .refusals import DiscordRefusalError, Found
from .replies import (
    NOTHING,
    Reply,
    Request,
    check_not_archived,
    check_not_locked,
    known_place,
    known_post,
    need,
    writable_place,
)
from .values import Permission, Place, Post, PostType

_minutes = one_of(*limits.ARCHIVE_MINUTES)
_name = string(limits.CHANNEL_NAME, 1)
_from_message = shape({"name": _name}, {"auto_archive_duration": _minutes, "rate_limit_per_user": integer(0, 21_600)})
_alone = shape(
    {"name": _name},
    {
        "auto_archive_duration": _minutes,
        "rate_limit_per_user": integer(0, 21_600),
        "type": one_of(10, 11, 12),
        "invitable": boolean,
        "location": anything,
    },
)
_thread_edit = shape(
    {},
    {
        "name": _name,
        "archived": boolean,
        "auto_archive_duration": _minutes,
        "locked": boolean,
        "invitable": boolean,
        "rate_limit_per_user": integer(0, 21_600),
        "flags": integer(),
        "applied_tags": anything,
    },
)
_dm = shape({"recipient_id": snowflake}, {})


class Threads:
    """The operations on channels."""

    def __init__(self, guild: Guild, gateway: Gateway, posting: Posting) -> None:
        self._guild = guild
        self._gateway = gateway
        self._posting = posting

    def get(self, request: Request) -> Reply:
        """get_channel"""
        place = known_place(self._guild, request.parts["channel_id"])
        return Reply(channel_object(self._guild, place))

    def update(self, request: Request) -> Reply:
        """update_channel"""
        place = known_place(self._guild, request.parts["channel_id"])
        body = request.body
        if place.kind == "dm":
            raise DiscordRefusalError(50024)
        if place.kind == "channel":
            raise DiscordRefusalError(50013)  # this bot does not manage channels
        found = Found()
        _thread_edit(body, (), found)
        found.check()
        request.approve()
        self._check_may_change(place, body)
        if place.archived and body.get("archived") is not False:
            raise DiscordRefusalError(50083)
        newer = replace(
            place,
            name=as_text(body.get("name"), place.name),
            archived=_flag(body, "archived", place.archived),
            locked=_flag(body, "locked", place.locked),
            auto_archive_minutes=_number(body, "auto_archive_duration", place.auto_archive_minutes),
        )
        if not self._guild.faults.take("swallow", "update_channel"):
            newer = self._posting.change_place(newer)
        return Reply(channel_object(self._guild, newer))

    def _check_may_change(self, place: Place, body: JsonObject) -> None:
        """Check that the bot may change a thread [dd].

        To reopen an unlocked thread, it needs the permission to send. For other changes it has to own the thread, or
        needs
        MANAGE_THREADS; only the latter may change `locked` or a locked thread.
        """
        if Permission.MANAGE_THREADS in self._guild.permissions(self._guild.bot, place):
            return
        opens = set(body) <= {"archived", "auto_archive_duration"} and body.get("archived") is False
        if opens and not place.locked:
            need(self._guild, place, Permission.SEND_MESSAGES_IN_THREADS)
            return
        if place.owner != self._guild.bot.id or "locked" in body or place.locked:
            raise DiscordRefusalError(50013)

    def delete(self, request: Request) -> Reply:
        """delete_channel"""
        place = known_place(self._guild, request.parts["channel_id"])
        if place.kind == "dm":
            return Reply(channel_object(self._guild, place))
        need(self._guild, place, Permission.MANAGE_THREADS)
        if place.kind == "channel":
            raise DiscordRefusalError(50013)
        shown = channel_object(self._guild, place)
        self._posting.remove_place(place)
        return Reply(shown)

    def from_message(self, request: Request) -> Reply:
        """create_thread_from_message: the thread has the id of the message from which it was started."""
        place = self._parent(request)
        starter = known_post(self._guild, place, request.parts["message_id"])
        found = Found()
        _from_message(request.body, (), found)
        found.check()
        request.approve()
        if starter.id in self._guild.places:
            raise DiscordRefusalError(160004)
        thread = self._thread(starter.id, place, request.body)
        if not self._guild.faults.take("swallow", "create_thread_from_message"):
            self._posting.start_thread(thread, starter)
        return Reply(channel_object(self._guild, thread), status=201)

    def alone(self, request: Request) -> Reply:
        """create_thread"""
        place = self._parent(request)
        found = Found()
        _alone(request.body, (), found)
        if request.body.get("type") not in (None, 11):
            found.add(("type",), "BASE_TYPE_CHOICES", "Only public threads can be had here (11).")
        found.check()
        request.approve()
        thread = self._thread(self._guild.next_id(), place, request.body)
        self._posting.start_thread(thread, None)
        told = Post(
            id=self._guild.next_id(),
            channel=place.id,
            author=self._guild.bot.id,
            sent=self._guild.clock.time(),
            type=PostType.THREAD_CREATED,
            content=thread.name,
        )
        self._posting.post(told)
        return Reply(channel_object(self._guild, thread), status=201)

    def _parent(self, request: Request) -> Place:
        place = known_place(self._guild, request.parts["channel_id"])
        if place.kind != "channel":
            raise DiscordRefusalError(50024)
        need(self._guild, place, Permission.CREATE_PUBLIC_THREADS)
        return place

    def _thread(self, thread_id: str, parent: Place, body: JsonObject) -> Place:
        return Place(
            id=thread_id,
            name=as_text(body.get("name")),
            kind="thread",
            parent=parent.id,
            owner=self._guild.bot.id,
            auto_archive_minutes=_number(body, "auto_archive_duration", 4_320),
        )

    def join(self, request: Request) -> Reply:
        """join_thread, add_thread_member"""
        place = known_place(self._guild, request.parts["channel_id"])
        if place.kind != "thread":
            raise DiscordRefusalError(50024)
        user_id = request.parts.get("user_id", self._guild.bot.id)
        if self._guild.member(user_id) is None:
            raise DiscordRefusalError(10013)
        check_not_archived(place)
        check_not_locked(self._guild, place)
        return NOTHING

    def member(self, request: Request) -> Reply:
        """get_thread_member"""
        place = known_place(self._guild, request.parts["channel_id"])
        if place.kind != "thread":
            raise DiscordRefusalError(50024)
        return Reply(thread_member(place, request.parts["user_id"]))

    def typing(self, request: Request) -> Reply:
        """trigger_typing_indicator"""
        place = writable_place(self._guild, request.parts["channel_id"])
        self._guild.set_typing(place.id, self._guild.bot.id)
        self._gateway.dispatch_in(place, "TYPING_START", typing_object(self._guild, place, self._guild.bot.id))
        return NOTHING

    def open_dm(self, request: Request) -> Reply:
        """create_dm"""
        found = Found()
        _dm(request.body, (), found)
        found.check()
        request.approve()
        user_id = str(request.body["recipient_id"])
        place = self._guild.dm(user_id)
        if place is None:
            raise DiscordRefusalError(50007 if user_id == self._guild.bot.id else 10013)
        return Reply(channel_object(self._guild, place))


def _flag(body: JsonObject, name: str, old: bool) -> bool:
    value = body.get(name)
    return value if isinstance(value, bool) else old


def _number(body: JsonObject, name: str, old: int) -> int:
    value = body.get(name)
    return value if isinstance(value, int) else old
