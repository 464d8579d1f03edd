"""Message bodies: the fields of each operation, and the checked result."""

from dataclasses import dataclass

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject, as_list, as_object, as_text, copied, copied_all, objects, texts

from . import limits
from .checks import Rule, anything, array, boolean, integer, one_of, shape, snowflake, string
from .components import check_message_components, numbered
from .refusals import DiscordRefusalError, Found, Path
from .values import Flag, Post

_embed_field = shape(
    {"name": string(limits.EMBED_FIELD_NAME, 1), "value": string(limits.EMBED_FIELD_VALUE, 1)}, {"inline": boolean}
)
_footer = shape({"text": string(limits.EMBED_FOOTER, 1)}, {"icon_url": anything, "proxy_icon_url": anything})
_embed = shape(
    {},
    {
        "title": string(limits.EMBED_TITLE),
        "type": anything,
        "description": string(limits.EMBED_DESCRIPTION),
        "url": string(2_048),
        "timestamp": string(64),
        "color": integer(0, 0xFFFFFF),
        "footer": _footer,
        "image": anything,
        "thumbnail": anything,
        "author": anything,
        "provider": anything,
        "video": anything,
        "fields": array(_embed_field, most=limits.EMBED_FIELDS),
        "flags": anything,
    },
)
_allowed = shape(
    {},
    {
        "parse": array(one_of("users", "roles", "everyone"), most=3),
        "users": array(snowflake, most=100),
        "roles": array(snowflake, most=100),
        "replied_user": boolean,
    },
)
_reference = shape(
    {"message_id": snowflake},
    {"channel_id": snowflake, "guild_id": snowflake, "fail_if_not_exists": boolean, "type": one_of(0)},
)
_attachment = shape({"id": snowflake}, {"filename": string(1_024), "description": string(1_024), "title": anything})


def _nonce(value: JsonValue, path: Path, found: Found) -> None:
    if isinstance(value, str):
        string(limits.NONCE)(value, path, found)
    else:
        integer()(value, path, found)


_fields: dict[str, Rule] = {
    "content": string(limits.CONTENT),
    "embeds": array(_embed, most=limits.EMBEDS),
    "allowed_mentions": _allowed,
    "components": anything,  # checked below, because its rule depends on the flags
    "flags": integer(),
    "attachments": array(_attachment, most=10),
}
_create = {**_fields, "tts": boolean, "poll": anything, "sticker_ids": anything}
_edit = {**_fields, "tts": boolean, "poll": anything, "sticker_ids": anything}
SHAPES: dict[str, Rule] = {
    "create_message": shape(
        {},
        {**_create, "nonce": _nonce, "enforce_nonce": boolean, "message_reference": _reference},
    ),
    "update_message": shape({}, _edit),
    "create_interaction_response": shape({}, _create),
    "execute_webhook": shape(
        {},
        {
            **_create,
            "username": anything,
            "avatar_url": anything,
            "thread_name": anything,
            "applied_tags": anything,
            "with_components": boolean,
        },
    ),
    "update_original_webhook_message": shape({}, _edit),
}


@dataclass(frozen=True, kw_only=True)
class Wording:
    """The content of a message; None leaves a field unchanged."""

    content: str | None = None
    components: tuple[JsonObject, ...] | None = None
    embeds: tuple[JsonObject, ...] | None = None
    attachments: tuple[JsonObject, ...] | None = None
    flags: int | None = None
    allowed: JsonObject | None = None


def read_wording(operation: str, body: JsonObject, *, old: Post | None = None, path: Path = ()) -> Wording:
    """Check a message body and return its content.

    Raises:
        DiscordRefusalError: 50035, with every fault; 50006, for an empty message.
    """
    found = Found()
    SHAPES[operation](body, path, found)
    given_flags = body.get("flags")
    flags = given_flags if isinstance(given_flags, int) else None
    v2 = bool(((flags or 0) | (old.flags if old else 0)) & Flag.COMPONENTS_V2)
    if body.get("components") is not None:
        check_message_components(body["components"], (*path, "components"), found, v2=v2)
    if v2:
        _check_no_legacy(body, path, found)
    _check_embeds(objects(body.get("embeds")), path, found)
    found.check()
    wording = Wording(
        content=(body["content"] or "") if "content" in body and isinstance(body["content"], str | None) else None,
        components=tuple(numbered(as_list(copied(body)["components"]))) if "components" in body else None,
        embeds=tuple(_shown(embed) for embed in copied_all(objects(body["embeds"]))) if "embeds" in body else None,
        attachments=tuple(copied_all(objects(body["attachments"]))) if "attachments" in body else None,
        flags=flags,
        allowed=as_object(body["allowed_mentions"]) if body.get("allowed_mentions") is not None else None,
    )
    _check_not_empty(wording, old)
    return wording


def _check_no_legacy(body: JsonObject, path: Path, found: Found) -> None:
    for name in ("content", "embeds", "poll", "sticker_ids"):
        if body.get(name):
            text = f"The '{name}' field cannot be used when using MessageFlags.IS_COMPONENTS_V2"
            found.add((*path, name), "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", text)


def _check_embeds(embeds: list[JsonObject], path: Path, found: Found) -> None:
    total = 0
    for embed in embeds:
        total += len(as_text(embed.get("title"))) + len(as_text(embed.get("description")))
        total += len(as_text(as_object(embed.get("footer")).get("text")))
        total += len(as_text(as_object(embed.get("author")).get("name")))
        for field in objects(embed.get("fields")):
            total += len(as_text(field.get("name"))) + len(as_text(field.get("value")))
    if total > limits.EMBED_CHARACTERS:
        text = f"Embed size exceeds maximum size of {limits.EMBED_CHARACTERS}"
        found.add((*path, "embeds"), "MAX_EMBED_SIZE_EXCEEDED", text)


def _shown(embed: JsonObject) -> JsonObject:
    return {"type": "rich", **embed}


def _check_not_empty(wording: Wording, old: Post | None) -> None:
    content = wording.content if wording.content is not None else (old.content if old else "")
    rest = (
        wording.components if wording.components is not None else (old.components if old else ()),
        wording.embeds if wording.embeds is not None else (old.embeds if old else ()),
        wording.attachments if wording.attachments is not None else (old.attachments if old else ()),
    )
    if not content.strip() and not any(rest):
        raise DiscordRefusalError(50006)


def allowed_ids(allowed: JsonObject | None, name: str, mentioned: list[str], *, default: bool) -> tuple[str, ...]:
    """Return those of the mentioned ids that are really notified."""
    if allowed is None:
        return tuple(mentioned) if default else ()
    if name in texts(allowed.get("parse")):
        return tuple(mentioned)
    listed = [str(value) for value in as_list(allowed.get(name))]
    return tuple(one for one in mentioned if one in listed)
