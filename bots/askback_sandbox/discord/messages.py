"""Messages over REST: create, read, edit, delete; and the contents of a new message."""

from dataclasses import replace

from askback_sandbox.json_values import JsonObject, as_object, as_text, json_list, texts

from . import limits
from .bodies import Wording, allowed_ids, read_wording
from .checks import integer, snowflake
from .components import each_component
from .guild import Guild
from .objects import post_object, without_content
from .posting import Posting, mentioned
from .refusals import DiscordRefusalError, Fault, Found
from .replies import NOTHING, Reply, Request, check_not_archived, known_place, known_post, need, writable_place
from .values import Flag, Intent, Permission, Place, Post, PostType

_SETTABLE = Flag.SUPPRESS_EMBEDS | Flag.SUPPRESS_NOTIFICATIONS | Flag.COMPONENTS_V2


class Writer:
    """Makes messages from their wordings."""

    def __init__(self, guild: Guild, posting: Posting) -> None:
        self._guild = guild
        self._posting = posting

    def new(self, place: Place, wording: Wording, *, files: tuple[JsonObject, ...], by_interaction: bool) -> Post:
        """Return a new message of the bot, not posted yet."""
        post = Post(
            id=self._guild.next_id(),
            channel=place.id,
            author=self._guild.bot.id,
            sent=self._guild.clock.time(),
            webhook=by_interaction,
        )
        flags = (wording.flags or 0) & _SETTABLE
        return replace(self._worded(post, wording, files, everyone=not by_interaction), flags=int(flags))

    def newer(self, post: Post, wording: Wording, *, files: tuple[JsonObject, ...] = ()) -> Post:
        """Return a newer version of a message; a V2 message stays V2."""
        newer = self._worded(post, wording, files, everyone=not post.webhook)
        flags = post.flags & ~Flag.LOADING
        if wording.flags is not None:
            flags = flags & ~Flag.SUPPRESS_EMBEDS | wording.flags & (Flag.SUPPRESS_EMBEDS | Flag.COMPONENTS_V2)
        return replace(newer, flags=int(flags), edited=self._guild.clock.time())

    def _worded(self, post: Post, wording: Wording, files: tuple[JsonObject, ...], *, everyone: bool) -> Post:
        content = post.content if wording.content is None else wording.content
        shown = post.components if wording.components is None else wording.components
        displayed = [as_text(one.get("content")) for one, _ in each_component([*shown])]
        users, roles, all_of_them = mentioned("\n".join([content, *displayed]))
        allowed = wording.allowed
        users = [user for user in users if self._guild.member(user)]
        roles = [role for role in roles if role in self._guild.roles]
        # By default a message notifies everyone it mentions; the answer to an interaction notifies users only [dd
        # message].
        may = Permission.MENTION_EVERYONE in self._guild.permissions(self._guild.bot) and everyone and all_of_them
        told = allowed is None or "everyone" in texts(allowed.get("parse"))
        kept = post.attachments if wording.attachments is None else self._attachments(post, wording)
        return replace(
            post,
            content=content,
            components=shown,
            embeds=post.embeds if wording.embeds is None else wording.embeds,
            attachments=(*kept, *files),
            mentions=allowed_ids(allowed, "users", users, default=True),
            mention_roles=allowed_ids(allowed, "roles", roles, default=everyone),
            mention_everyone=may and told,
        )

    @staticmethod
    def _attachments(post: Post, wording: Wording) -> tuple[JsonObject, ...]:
        kept = {str(one.get("id")) for one in wording.attachments or ()}
        return tuple(one for one in post.attachments if str(one["id"]) in kept)


class Messages:
    """The operations on messages."""

    def __init__(self, guild: Guild, posting: Posting, writer: Writer) -> None:
        self._guild = guild
        self._posting = posting
        self._writer = writer

    def create(self, request: Request) -> Reply:
        """create_message"""
        place = writable_place(self._guild, request.parts["channel_id"])
        body = request.body
        wording = read_wording("create_message", request.body)
        request.approve()
        if (earlier := self._same_nonce(place, body)) is not None:
            return Reply(post_object(self._guild, earlier))
        post = self._writer.new(place, wording, files=request.files, by_interaction=False)
        post = self._with_reference(place, post, as_object(body.get("message_reference")), wording)
        nonce = body.get("nonce")
        post = replace(post, nonce=None if nonce is None else str(nonce))
        if not self._guild.faults.take("swallow", "create_message"):
            self._posting.post(post)
        return Reply(post_object(self._guild, post))

    def _same_nonce(self, place: Place, body: JsonObject) -> Post | None:
        nonce = body.get("nonce")
        if nonce is None or body.get("enforce_nonce") is not True:
            return None
        since = self._guild.clock.time() - limits.NONCE_SECONDS
        for post in reversed(self._guild.history(place.id)):
            if post.nonce == str(nonce) and post.author == self._guild.bot.id and post.sent >= since:
                return post
        return None

    def _with_reference(self, place: Place, post: Post, reference: JsonObject, wording: Wording) -> Post:
        if not reference:
            return post
        target = self._guild.post(place.id, str(reference.get("message_id")))
        if target is None:
            if reference.get("fail_if_not_exists", True) is False:
                return post
            fault = Fault(("message_reference",), "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
            raise DiscordRefusalError(50035, faults=[fault])
        need(self._guild, place, Permission.READ_MESSAGE_HISTORY)
        mentions = post.mentions
        pings = wording.allowed is None or wording.allowed.get("replied_user") is True
        if pings and target.author not in mentions:
            mentions = (*mentions, target.author)
        return replace(post, type=PostType.REPLY, reference=target.id, mentions=mentions)

    def get(self, request: Request) -> Reply:
        """get_message"""
        place = known_place(self._guild, request.parts["channel_id"])
        need(self._guild, place, Permission.READ_MESSAGE_HISTORY)
        return Reply(self._shown(known_post(self._guild, place, request.parts["message_id"])))

    def list_all(self, request: Request) -> Reply:
        """list_messages"""
        place = known_place(self._guild, request.parts["channel_id"])
        found = Found()
        query = request.query
        limit = int(query["limit"]) if _is_number(query.get("limit", "")) else query.get("limit", 50)
        integer(1, limits.LIST_LIMIT)(limit, ("limit",), found)
        for name in ("before", "after", "around"):
            if name in query:
                snowflake(query[name], (name,), found)
        found.check()
        if place.kind != "dm" and Permission.READ_MESSAGE_HISTORY not in self._guild.permissions(
            self._guild.bot, place
        ):
            return Reply([])  # without the permission there is nothing to see, and no refusal [dd get-channel-messages]
        posts = _paged(self._guild.history(place.id)[::-1], query, int(limit))
        return Reply(json_list([self._shown(post) for post in posts]))

    def _shown(self, post: Post) -> JsonObject:
        """Return a message as the bot may read it.

        Without the privileged intent, content that does not concern the bot is empty in the API as well.
        """
        shown = post_object(self._guild, post)
        if self._guild.app.privileged & Intent.MESSAGE_CONTENT:
            return shown
        return without_content(self._guild, post, shown)

    def update(self, request: Request) -> Reply:
        """update_message"""
        place = known_place(self._guild, request.parts["channel_id"])
        post = known_post(self._guild, place, request.parts["message_id"])
        if post.author != self._guild.bot.id:
            raise DiscordRefusalError(50005)
        check_not_archived(place)
        wording = read_wording("update_message", request.body, old=post)
        request.approve()
        newer = self._writer.newer(post, wording, files=request.files)
        if not self._guild.faults.take("swallow", "update_message"):
            self._posting.change(newer)
        return Reply(post_object(self._guild, newer))

    def delete(self, request: Request) -> Reply:
        """delete_message"""
        place = known_place(self._guild, request.parts["channel_id"])
        post = known_post(self._guild, place, request.parts["message_id"])
        if post.author != self._guild.bot.id:
            if place.kind == "dm":
                raise DiscordRefusalError(50003)
            need(self._guild, place, Permission.MANAGE_MESSAGES)
        check_not_archived(place)
        if not self._guild.faults.take("swallow", "delete_message"):
            self._posting.remove(post)
        return NOTHING


def _is_number(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdigit()


def _paged(posts: list[Post], query: dict[str, str], count: int) -> list[Post]:
    """Return one page, newest first; with `after` it ends with the oldest newer message."""
    if before := query.get("before"):
        return [post for post in posts if int(post.id) < int(before)][:count]
    if after := query.get("after"):
        return [post for post in posts if int(post.id) > int(after)][-count:]
    if around := query.get("around"):
        near = sorted(posts, key=lambda post: abs(int(post.id) - int(around)))[:count]
        return sorted(near, key=lambda post: -int(post.id))
    return posts[:count]
