"""The page's view of Discord, as one JSON object."""

from askback_sandbox.json_values import JsonList, JsonObject, copied, copied_all, json_list

from .guild import Guild
from .objects import timestamp
from .values import Done, OpenModal, Place, Post

SHOWN_DONE = 500
POSTED_AS = 22
"""The characters at the start of a nonce that name a message. The rest numbers its parts."""


def state_object(guild: Guild) -> JsonObject:
    """Return the guild as people see it."""
    posts = sorted(guild.posts.values(), key=lambda post: int(post.id))
    return {
        "revision": guild.revision,
        "guild": {"id": guild.id, "name": guild.name},
        "roles": [{"id": role.id, "name": role.name} for role in guild.roles.values()],
        "bot": {"id": guild.bot.id, "name": guild.bot.name},
        "people": [
            {"id": person.id, "name": person.name, "global_name": person.global_name, "roles": list(person.roles)}
            for person in guild.people.values()
        ],
        "channels": json_list([_place(place) for place in guild.places.values()]),
        "messages": json_list([_post(guild, post) for post in posts]),
        "modals": json_list([_modal(modal) for modal in guild.modals.values()]),
        "interactions": json_list([_done(done) for done in guild.done[-SHOWN_DONE:]]),
        "typing": [{"channel": typing.channel, "user": typing.user} for typing in guild.typing],
    }


def _place(place: Place) -> JsonObject:
    return {
        "id": place.id,
        "name": place.name,
        "kind": place.kind,
        "parent": place.parent,
        "archived": place.archived,
        "locked": place.locked,
        "person": place.person,
    }


def _post(guild: Guild, post: Post) -> JsonObject:
    author = guild.member(post.author)
    pings: JsonList = [*(["@everyone"] if post.mention_everyone else []), *post.mentions, *post.mention_roles]
    return {
        "id": post.id,
        "channel": post.channel,
        "author": post.author,
        "name": author.name if author else "",
        "bot": post.author == guild.bot.id,
        "sent": timestamp(post.sent),
        "content": post.content,
        "components": json_list(copied_all(list(post.components))),
        "embeds": json_list(copied_all(list(post.embeds))),
        "attachments": json_list(copied_all(list(post.attachments))),
        "snapshots": json_list(copied_all(list(post.snapshots))),
        "flags": post.flags,
        "type": post.type,
        "edited": post.edited is not None,
        "ephemeral_to": post.ephemeral_to,
        "reference": post.reference,
        "posted_as": None if post.nonce is None else post.nonce[:POSTED_AS],
        "pings": pings,
    }


def _modal(modal: OpenModal) -> JsonObject:
    shown = copied(modal.modal)
    return {
        "person": modal.person,
        "modal": {
            "title": shown.get("title"),
            "custom_id": shown.get("custom_id"),
            "components": shown.get("components"),
        },
    }


def _done(done: Done) -> JsonObject:
    return {
        "id": done.id,
        "kind": done.kind,
        "person": done.person,
        "custom_id": done.custom_id,
        "message": done.message,
        "acked": done.acked,
        "ack_ms": done.ack_ms,
        "error": done.error,
    }
