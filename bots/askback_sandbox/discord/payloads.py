"""INTERACTION_CREATE: the data that the bot receives for a click, a choice or a submission."""

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject, as_object, as_text, copied, objects

from . import limits
from .guild import Guild
from .objects import channel_object, event_object, member_object, owners, role_object, user_object
from .values import Done, Kind, Member, Place, Post

COMPONENT, MODAL_SUBMIT = 3, 5
IN_GUILD, IN_DM = 0, 1


def interaction(guild: Guild, person: Member, place: Place, done: Done, data: JsonObject) -> JsonObject:
    """Return the whole payload.

    In a guild it has the member with roles and permissions, in a direct message the user.
    """
    channel = channel_object(guild, place)
    payload: JsonObject = {
        "id": done.id,
        "application_id": guild.app.id,
        "type": MODAL_SUBMIT if done.kind == "modal_submit" else COMPONENT,
        "token": done.token,
        "version": 1,
        "channel": channel,
        "channel_id": place.id,
        "data": data,
        "locale": person.locale,
        "app_permissions": str(int(guild.permissions(guild.bot, place))),
        "entitlements": [],
        "entitlement_sku_ids": [],
        "authorizing_integration_owners": owners(guild, place),
        "attachment_size_limit": limits.ATTACHMENT_BYTES,
        "context": IN_DM if place.kind == "dm" else IN_GUILD,
    }
    post = guild.posts.get(done.message or "")
    if post is not None:
        payload["message"] = _message(guild, post)
    if place.kind == "dm":
        payload["user"] = user_object(person)
        return payload
    held = str(int(guild.permissions(person, place)))
    payload["member"] = {**member_object(person), "permissions": held}
    channel["permissions"] = held
    payload["guild_id"] = guild.id
    payload["guild"] = {"id": guild.id, "locale": guild.locale, "features": []}
    payload["guild_locale"] = guild.locale
    return payload


def _message(guild: Guild, post: Post) -> JsonObject:
    shown = event_object(guild, post)
    for name in ("member", "guild_id"):  # the payload has them already
        shown.pop(name, None)
    return shown


def component_data(component: JsonObject, values: list[str] | None, resolved: JsonObject) -> JsonObject:
    """Return the `data` of a click or a choice."""
    data: JsonObject = {
        "component_type": component.get("type"),
        "custom_id": component.get("custom_id"),
        "id": component.get("id"),
    }
    if values is not None:
        data["values"] = [*values]
    if resolved:
        data["resolved"] = resolved
    return data


def resolved_data(guild: Guild, kind: object, values: list[str]) -> JsonObject:
    """Return the people, roles and channels of a select that Discord fills, or the files of an upload."""
    if kind == Kind.STRING_SELECT:
        return {}
    found: dict[str, JsonObject] = {}
    for value in values:
        if kind == Kind.FILE_UPLOAD:
            found.setdefault("attachments", {})[value] = copied(guild.uploads[value])
        elif member := guild.member(value):
            found.setdefault("users", {})[value] = user_object(member)
            held = str(int(guild.permissions(member)))
            found.setdefault("members", {})[value] = {**_partial(member), "permissions": held}
        elif role := guild.roles.get(value):
            found.setdefault("roles", {})[value] = role_object(guild, role)
        elif place := guild.places.get(value):
            found.setdefault("channels", {})[value] = channel_object(guild, place)
    return {**found}


def _partial(member: Member) -> JsonObject:
    partial = member_object(member, with_user=False)
    del partial["deaf"], partial["mute"]
    return partial


def modal_data(modal: JsonObject, answers: dict[str, JsonObject], resolved: JsonObject) -> JsonObject:
    """Return the `data` of a submission: the layout as it was sent, with the entered values for its fields."""
    components = [_submitted(component, answers) for component in objects(modal.get("components"))]
    data: JsonObject = {"custom_id": modal.get("custom_id"), "components": [*components]}
    if resolved:
        data["resolved"] = resolved
    return data


def _submitted(component: JsonObject, answers: dict[str, JsonObject]) -> JsonObject:
    shown: JsonObject = {"type": component.get("type"), "id": component.get("id")}
    if component.get("type") == Kind.LABEL:
        shown["component"] = _answer(component.get("component"), answers)
    elif component.get("type") == Kind.ACTION_ROW:
        shown["components"] = [_answer(child, answers) for child in objects(component.get("components"))]
    return shown


def _answer(field: JsonValue, answers: dict[str, JsonObject]) -> JsonObject:
    return copied(answers[as_text(as_object(field).get("custom_id"))])
