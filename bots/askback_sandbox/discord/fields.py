"""People's entries and choices: the checks of Discord's client, and the data that the bot receives."""

from pydantic import JsonValue

from askback_sandbox.attached import NoFileError, read_attached
from askback_sandbox.json_values import JsonObject, as_list, as_text, objects, texts
from askback_sandbox.person_error import PersonError

from .components import bound, each_component
from .guild import Guild
from .objects import FORUM, PUBLIC_THREAD, TEXT_CHANNEL, attachment_object
from .values import SELECTS, Kind, Place

INPUT_LENGTH = 4_000


def fields_of(modal: JsonObject) -> list[JsonObject]:
    """Return the fields of a modal: the components with a custom_id."""
    return [one for one, _ in each_component(modal.get("components")) if one.get("custom_id") is not None]


def component_in(components: list[JsonObject], custom_id: str) -> JsonObject:
    """Return the component of a message by its custom_id.

    Raises:
        PersonError: it does not exist, or it is disabled.
    """
    for component, _ in each_component([*components]):
        if component.get("custom_id") == custom_id:
            if component.get("disabled") is True:
                raise PersonError("disabled", f"{custom_id!r} is disabled")
            return component
    raise PersonError("component_not_found", f"there is no {custom_id!r} in this message")


def check_choice(guild: Guild, select: JsonObject, values: list[str]) -> None:
    """Check that a person can choose these values.

    Raises:
        PersonError: a value is not offered, or their number is wrong.
    """
    name = as_text(select.get("custom_id"))
    least, most = bound(select, "min_values", 1), bound(select, "max_values", 1)
    if len(set(values)) != len(values) or not least <= len(values) <= most:
        raise PersonError("wrong_number", f"{name!r} takes {least} to {most} values")
    offered = _offered(guild, select)
    if unknown := [value for value in values if value not in offered]:
        raise PersonError("invalid_choice", f"{name!r} does not offer {unknown[0]!r}")


def _offered(guild: Guild, select: JsonObject) -> list[str]:
    people, roles = [guild.bot.id, *guild.people], list(guild.roles)
    offered = {
        Kind.USER_SELECT: people,
        Kind.ROLE_SELECT: roles,
        Kind.MENTIONABLE_SELECT: [*people, *roles],
        Kind.CHANNEL_SELECT: [place.id for place in guild.places.values() if _fits(place, select)],
    }
    options = [as_text(entry.get("value")) for entry in objects(select.get("options"))]
    kind = select.get("type")
    return next((values for number, values in offered.items() if number == kind), options)


def _fits(place: Place, select: JsonObject) -> bool:
    """Return True if a picker of channels offers a place: of these, threads only if it names their type."""
    number = {"channel": TEXT_CHANNEL, "forum": FORUM, "thread": PUBLIC_THREAD}.get(place.kind)
    kinds = as_list(select.get("channel_types"))
    return number in kinds if kinds else place.kind in ("channel", "forum")


def defaults_of(field: JsonObject) -> list[str]:
    """Return the values that are chosen initially."""
    chosen = [as_text(entry.get("value")) for entry in objects(field.get("options")) if entry.get("default") is True]
    return chosen or [as_text(entry.get("id")) for entry in objects(field.get("default_values"))]


def entered(guild: Guild, field: JsonObject, value: JsonValue) -> JsonObject:
    """Return a field of a modal as a submission contains it; a `value` of None means that it is unchanged.

    Raises:
        PersonError: Discord's client would keep the modal open.
    """
    kind = field.get("type")
    told: JsonObject = {"type": kind, "id": field.get("id"), "custom_id": field.get("custom_id")}
    required = field.get("required", True) is not False
    name = as_text(field.get("custom_id"))
    if kind == Kind.TEXT_INPUT:
        text = as_text(value, as_text(field.get("value")))
        _check_length(field, text, required=required)
        return {**told, "value": text}
    if kind == Kind.CHECKBOX:
        return {**told, "value": value if isinstance(value, bool) else field.get("default") is True}
    if kind == Kind.FILE_UPLOAD:
        return {**told, "values": [*_upload(guild, field, value, required=required)]}
    chosen = [value] if isinstance(value, str) else texts(value) if value is not None else defaults_of(field)
    if required and not chosen:
        raise PersonError("required", f"{name!r} is required")
    if kind == Kind.RADIO_GROUP:
        if chosen:
            check_choice(guild, {**field, "min_values": 0, "max_values": 1}, chosen)
        return {**told, "value": chosen[0] if chosen else None}
    if chosen:
        most = len(objects(field.get("options"))) if kind == Kind.CHECKBOX_GROUP else 1
        check_choice(guild, {"max_values": most, **field}, chosen)
    return {**told, "values": [*chosen]}


def _upload(guild: Guild, field: JsonObject, value: JsonValue, *, required: bool) -> list[str]:
    """Upload the files that a person chose; return the ids of the attachments."""
    name = as_text(field.get("custom_id"))
    try:
        chosen = read_attached(value)
    except NoFileError as error:
        raise PersonError("invalid_files", str(error)) from error
    least, most = bound(field, "min_values", 1), bound(field, "max_values", 1)
    if (required or chosen) and not least <= len(chosen) <= most:
        raise PersonError("wrong_number", f"{name!r} takes {least} to {most} files")
    ids: list[str] = []
    for file in chosen:
        upload: JsonObject = {**attachment_object(guild, file.name, file.size, file.mimetype), "ephemeral": True}
        ids.append(as_text(upload["id"]))
        guild.uploads[ids[-1]] = upload
        if file.content is not None:
            guild.files[ids[-1]] = file.content
    return ids


def _check_length(field: JsonObject, text: str, *, required: bool) -> None:
    name = as_text(field.get("custom_id"))
    if required and not text:
        raise PersonError("required", f"{name!r} is required")
    least, most = bound(field, "min_length", 0), bound(field, "max_length", INPUT_LENGTH)
    if text and len(text) < least:
        raise PersonError("too_short", f"{name!r} takes at least {least} characters")
    if len(text) > most:
        raise PersonError("too_long", f"{name!r} takes at most {most} characters")


def is_select(component: JsonObject) -> bool:
    """Return True if a component of a message takes values."""
    return component.get("type") in SELECTS
