"""Discord's objects as its API and gateway send them, with the fields of recorded ones."""

from datetime import UTC, datetime
from urllib.parse import quote

from askback_sandbox.json_values import JsonObject, copied, copied_all, json_list

from .guild import Guild
from .values import Flag, Member, Permission, Place, Post, PostType, Role

TEXT_CHANNEL, DIRECT_MESSAGE, PUBLIC_THREAD, FORUM = 0, 1, 11, 15
JOINED = "2025-01-01T00:00:00.000000+00:00"


def timestamp(seconds: float) -> str:
    """Return a time in Discord's format."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")


def user_object(member: Member) -> JsonObject:
    """Return a user object."""
    return {
        "id": member.id,
        "username": member.name,
        "discriminator": "0000" if member.bot else "0",
        "global_name": None if member.bot else member.global_name,
        "avatar": None,
        "bot": member.bot,
        "system": False,
        "flags": 0,
        "public_flags": 0,
        "banner": None,
        "accent_color": None,
        "avatar_decoration_data": None,
        "collectibles": None,
        "primary_guild": None,
    }


def role_object(guild: Guild, role: Role) -> JsonObject:
    """Return a role object."""
    tags: JsonObject = {"premium_subscriber": None} if role.boosts else {"bot_id": guild.app.id} if role.managed else {}
    return {
        "id": role.id,
        "name": role.name,
        "description": None,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "icon": None,
        "unicode_emoji": None,
        "position": list(guild.roles).index(role.id),
        "permissions": str(role.permissions),
        "managed": role.managed or role.boosts,
        "mentionable": role.id != guild.id,
        "flags": 0,
        **({"tags": tags} if tags else {}),
    }


def member_object(member: Member, *, with_user: bool = True) -> JsonObject:
    """Return a member of the guild; in a message, the member comes without its user."""
    plain: JsonObject = {
        "avatar": None,
        "banner": None,
        "communication_disabled_until": None,
        "flags": 0,
        "joined_at": JOINED,
        "nick": None,
        "pending": False,
        "premium_since": None,
        "roles": list(member.roles),
        "mute": False,
        "deaf": False,
    }
    return {**plain, "user": user_object(member)} if with_user else plain


def channel_object(guild: Guild, place: Place) -> JsonObject:
    """Return a channel, thread or direct message."""
    last = next((post.id for post in reversed(guild.history(place.id))), None)
    if place.kind == "dm":
        person = guild.people[place.person or ""]
        return {
            "id": place.id,
            "type": DIRECT_MESSAGE,
            "last_message_id": last,
            "flags": 0,
            "recipients": [user_object(person)],
        }
    common: JsonObject = {
        "id": place.id,
        "guild_id": guild.id,
        "name": place.name,
        "parent_id": place.parent,
        "last_message_id": last,
        "rate_limit_per_user": 0,
        "flags": 0,
    }
    if place.kind == "thread":
        return {**common, "type": PUBLIC_THREAD, **_thread_fields(guild, place)}
    return {
        **common,
        "type": _TYPES[place.kind],
        "position": next((n for n, known in enumerate(guild.places) if known == place.id), 0),
        "nsfw": False,
        "topic": None,
        "last_pin_timestamp": None,
        "default_auto_archive_duration": 4_320,
        "permission_overwrites": [
            {"id": guild.app.role, "type": 0, "allow": "0", "deny": str(place.denied)},
        ]
        if place.denied
        else [],
    }


def _thread_fields(guild: Guild, place: Place) -> JsonObject:
    # The starter message of a thread is not counted [dd resources/channel].
    count = sum(post.type != PostType.THREAD_STARTER for post in guild.history(place.id))
    created = timestamp((int(place.id) >> 22) / 1000 + 1_420_070_400)
    return {
        "owner_id": place.owner,
        "message_count": count,
        "total_message_sent": count,
        "member_count": 1,
        "thread_metadata": {
            "archived": place.archived,
            "archive_timestamp": timestamp(place.changed) if place.changed else created,
            "auto_archive_duration": place.auto_archive_minutes,
            "locked": place.locked,
            "create_timestamp": created,
        },
        "member": thread_member(place, guild.bot.id),
    }


def thread_member(place: Place, user_id: str) -> JsonObject:
    """Return the membership of a user in a thread."""
    return {
        "id": place.id,
        "user_id": user_id,
        "join_timestamp": timestamp((int(place.id) >> 22) / 1000 + 1_420_070_400),
        "flags": 1,
        "muted": False,
        "mute_config": None,
    }


def post_object(guild: Guild, post: Post) -> JsonObject:
    """Return a message as the REST API sends it."""
    author = guild.member(post.author) or guild.bot
    mentioned = [guild.member(user_id) for user_id in post.mentions]
    shown: JsonObject = {
        "id": post.id,
        "type": post.type,
        "channel_id": post.channel,
        "author": user_object(author),
        "content": post.content,
        "timestamp": timestamp(post.sent),
        "edited_timestamp": timestamp(post.edited) if post.edited is not None else None,
        "tts": False,
        "mention_everyone": post.mention_everyone,
        "mentions": json_list([user_object(member) for member in mentioned if member is not None]),
        "mention_roles": list(post.mention_roles),
        "attachments": json_list([_with_address(guild, one) for one in post.attachments]),
        "embeds": json_list(copied_all(list(post.embeds))),
        "components": json_list(copied_all(list(post.components))),
        "pinned": False,
        "flags": post.flags,
    }
    if post.nonce is not None:
        shown["nonce"] = post.nonce
    if post.snapshots:
        shown["message_snapshots"] = json_list([{"message": one} for one in copied_all(list(post.snapshots))])
    if post.webhook:
        shown["webhook_id"] = shown["application_id"] = guild.app.id
    if post.interaction is not None:
        shown["interaction_metadata"] = _interaction_metadata(guild, post)
    if post.reference is not None:
        shown["message_reference"] = _reference(guild, post)
        referenced = _referenced(guild, post)
        shown["referenced_message"] = None if referenced is None else post_object_without_reference(guild, referenced)
    thread = guild.places.get(post.id)
    if thread is not None and post.flags & Flag.HAS_THREAD:
        shown["thread"] = channel_object(guild, thread)
    return shown


def attachment_object(guild: Guild, name: str, size: int, kind: str) -> JsonObject:
    """Return an attachment of a message."""
    described: JsonObject = {
        "id": guild.next_id(),
        "filename": name,
        "size": size,
        "url": "",
        "proxy_url": "",
        "content_type": kind,
    }
    return _with_address(guild, described)


def _with_address(guild: Guild, attachment: JsonObject) -> JsonObject:
    """Return an attachment with its present addresses. They expire, and each payload has fresh ones."""
    path = f"attachments/0/{attachment['id']}/{quote(str(attachment['filename']))}?ex=0&is=0&hm={guild.files_signature}"
    addresses: JsonObject = {"url": f"{guild.files_url}/{path}", "proxy_url": f"{guild.files_url}/{path}"}
    return {**copied(attachment), **addresses}


def post_object_without_reference(guild: Guild, post: Post) -> JsonObject:
    """Return a message inside another one, without the message that it refers to."""
    shown = post_object(guild, post)
    shown.pop("referenced_message", None)
    return shown


def _reference(guild: Guild, post: Post) -> JsonObject:
    channel = post.reference_channel or post.channel
    reference: JsonObject = {"type": 0, "channel_id": channel, "message_id": post.reference}
    place = guild.places[post.channel]
    return reference if place.kind == "dm" else {**reference, "guild_id": guild.id}


def _referenced(guild: Guild, post: Post) -> Post | None:
    return guild.post(post.reference_channel or post.channel, post.reference or "")


def concerns(guild: Guild, post: Post) -> bool:
    """Return True if the bot sees the content of a message without the privileged intent."""
    place = guild.places[post.channel]
    return place.kind == "dm" or guild.bot.id in (post.author, *post.mentions)


def without_content(guild: Guild, post: Post, shown: JsonObject) -> JsonObject:
    """Return a message as an app without the privileged intent gets it, including the message that it refers to."""
    emptied: JsonObject = {"content": "", "embeds": [], "attachments": [], "components": []}
    if post.snapshots:
        emptied["message_snapshots"] = []
    seen = shown if concerns(guild, post) else {**shown, **emptied}
    referenced, inner = _referenced(guild, post), seen.get("referenced_message")
    if isinstance(inner, dict) and referenced is not None and not concerns(guild, referenced):
        return {**seen, "referenced_message": {**inner, **emptied}}
    return seen


def _interaction_metadata(guild: Guild, post: Post) -> JsonObject:
    done = guild.done_by_id(post.interaction or "")
    person = guild.people.get(done.person) if done else None
    return {
        "id": post.interaction,
        "type": 5 if done and done.kind == "modal_submit" else 3,
        "user": user_object(person) if person else None,
        "authorizing_integration_owners": owners(guild, guild.places[post.channel]),
        "interacted_message_id": done.message if done else None,
    }


def owners(guild: Guild, place: Place) -> JsonObject:
    """Return the owners of the app's installation: the guild, and none in a direct message."""
    return {"0": "0" if place.kind == "dm" else guild.id}


def event_object(guild: Guild, post: Post) -> JsonObject:
    """Return a message as the gateway sends it: with the guild and the author's membership."""
    shown = post_object(guild, post)
    place = guild.places[post.channel]
    shown["channel_type"] = _TYPES[place.kind]
    author = guild.member(post.author)
    if place.kind != "dm":
        shown["guild_id"] = guild.id
        if author is not None:
            shown["member"] = member_object(author, with_user=False)
    return shown


_TYPES = {"channel": TEXT_CHANNEL, "forum": FORUM, "thread": PUBLIC_THREAD, "dm": DIRECT_MESSAGE}


def sees(guild: Guild, place: Place) -> bool:
    """Return True if the bot sees a place."""
    return place.kind == "dm" or Permission.VIEW_CHANNEL in guild.permissions(guild.bot, place)


def typing_object(guild: Guild, place: Place, user_id: str) -> JsonObject:
    """Return the data of TYPING_START."""
    member = guild.member(user_id)
    where: JsonObject = {"channel_id": place.id, "user_id": user_id, "timestamp": int(guild.clock.time())}
    if place.kind == "dm" or member is None:
        return where
    return {**where, "guild_id": guild.id, "member": member_object(member)}
