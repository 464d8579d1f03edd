"""Discord's limits, and checks that reject a message or a modal that breaks one before it is sent.

Sources of the numbers: [ref] docs.discord.com/developers, [api] Discord's OpenAPI document, [live] a published error of
the live API with its numbers. Discord counts code points [discord-api-docs#1315]. Here lengths are in UTF-16 units,
which are never fewer.
"""

from __future__ import annotations

__all__ = [
    "BOXES",
    "BUTTON_LABEL",
    "CHANNELS",
    "CHECKBOXES",
    "COLOURS",
    "COMPONENTS",
    "COMPONENTS_V2",
    "CONTENT",
    "CUSTOM_ID",
    "EPHEMERAL",
    "GALLERY_DESCRIPTION",
    "INPUT_PLACEHOLDER",
    "INPUT_VALUE",
    "LABEL",
    "LABEL_DESCRIPTION",
    "MEDIA_URL",
    "MENTIONS",
    "MENU_OPTIONS",
    "MENU_PLACEHOLDER",
    "MESSAGE_BYTES",
    "MODAL_COMPONENTS",
    "MODAL_TITLE",
    "NONCE",
    "OPTION_TEXT",
    "ROW_BUTTONS",
    "TEXT",
    "UPLOAD",
    "UPLOADS",
    "USERS",
    "TooBig",
    "check_message",
    "check_modal",
    "count",
    "count_characters",
    "measure",
]

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from askback.errors import OperatorError
from askback.text.literal import count_utf16_units

# flags of a message [ref resources/message#message-object-message-flags]
EPHEMERAL: Final = 1 << 6
COMPONENTS_V2: Final = 1 << 15

# messages
CONTENT: Final = 2_000  # [ref resources/message#create-message]
COMPONENTS: Final = 40  # at every depth [ref components/reference]
LEGACY_ROWS: Final = 5  # rows of a message without COMPONENTS_V2 [ref components/reference]
TEXT: Final = 4_000  # all text displays of a message together [live discord-api-docs#8562], each alone [api]
MESSAGE_BYTES: Final = 10_000  # answered with an error 500 above 10,170 [live discord-api-docs#8554, #6965]
TEXT_WEIGHT: Final = 12  # what a text display counts besides its text [live #8554]
OBJECT_WEIGHT: Final = 40  # the same for any other object; unpublished, so a generous guess
NONCE: Final = 25  # [ref resources/message#create-message]
MENTIONS: Final = 100  # users, and roles, in allowed_mentions [ref resources/message#allowed-mentions-object]
SECTION_TEXTS: Final = 3  # [ref components/reference#section]
GALLERY_ITEMS: Final = 10  # [ref components/reference#media-gallery]
GALLERY_DESCRIPTION: Final = 1_024  # [ref components/reference#media-gallery]
MEDIA_URL: Final = 2_048  # [api]
COLOURS: Final = 0xFFFFFF  # [ref components/reference#container]

# controls
CUSTOM_ID: Final = 100  # [ref components/reference#anatomy-of-a-component-custom-id]
ROW_BUTTONS: Final = 5  # [ref components/reference#action-row]
BUTTON_LABEL: Final = 80  # [ref components/reference#button]
MENU_OPTIONS: Final = 25  # [ref components/reference#string-select]
MENU_PLACEHOLDER: Final = 150  # [ref components/reference#string-select]
OPTION_TEXT: Final = 100  # label, value, description [ref components/reference#string-select]

# modals
MODAL_TITLE: Final = 45  # [ref interactions/receiving-and-responding#modal]
MODAL_COMPONENTS: Final = 5  # [ref interactions/receiving-and-responding#modal]; the OpenAPI document says 40
LABEL: Final = 45  # [ref components/reference#label]
LABEL_DESCRIPTION: Final = 100  # [ref components/reference#label]
INPUT_VALUE: Final = 4_000  # value and max_length [ref components/reference#text-input]
INPUT_PLACEHOLDER: Final = 100  # [ref components/reference#text-input]

UPLOADS: Final = 10  # [ref components/reference#file-upload]
RADIO_LEAST, RADIO_OPTIONS = 2, 10  # [ref components/reference#radio-group]
CHECKBOXES: Final = 10  # [ref components/reference#checkbox-group]

USERS, CHANNELS = 5, 8
ROW, BUTTON, MENU, INPUT, SECTION, DISPLAY, GALLERY, SEPARATOR, CONTAINER = 1, 2, 3, 4, 9, 10, 12, 14, 17
LABELLED, UPLOAD, RADIO, BOXES = 18, 19, 21, 22
"""Types of components [ref components/reference#component-object-component-types]."""

_MESSAGE_FIELDS: Final = frozenset(
    {"flags", "components", "content", "allowed_mentions", "nonce", "enforce_nonce", "message_reference", "tts"}
)
_FIELDS: Final[Mapping[int, frozenset[str]]] = {
    ROW: frozenset({"components"}),
    BUTTON: frozenset({"style", "label", "custom_id", "disabled"}),
    MENU: frozenset({"custom_id", "options", "placeholder", "min_values", "max_values", "required"}),
    USERS: frozenset({"custom_id", "placeholder", "min_values", "max_values", "default_values", "required"}),
    CHANNELS: frozenset(
        {"custom_id", "placeholder", "min_values", "max_values", "default_values", "required", "channel_types"}
    ),
    INPUT: frozenset({"custom_id", "style", "value", "placeholder", "required", "min_length", "max_length"}),
    SECTION: frozenset({"components", "accessory"}),
    DISPLAY: frozenset({"content"}),
    GALLERY: frozenset({"items"}),
    SEPARATOR: frozenset({"divider", "spacing"}),
    CONTAINER: frozenset({"components", "accent_color"}),
    LABELLED: frozenset({"label", "description", "component"}),
    UPLOAD: frozenset({"custom_id", "min_values", "max_values", "required"}),
    RADIO: frozenset({"custom_id", "options", "required"}),
    BOXES: frozenset({"custom_id", "options", "min_values", "max_values", "required"}),
}
"""The fields that askback's components may have, in addition to the type."""
_CONTENT: Final = frozenset({ROW, SECTION, DISPLAY, GALLERY, SEPARATOR})
"""The components that a container may have, too [ref components/reference#container]."""


class TooBig(OperatorError):
    """A message or modal that Discord would reject. It is a bug of askback, found before sending."""


def count(components: Sequence[JsonValue]) -> int:
    """Return the number of components at every depth."""
    return sum(1 for _ in _iter_components(components))


def count_characters(components: Sequence[JsonValue]) -> int:
    """Return the number of text characters that the components display, in UTF-16 units."""
    return sum(
        count_utf16_units(_get_string(one, "content"))
        for one in _iter_components(components)
        if one.get("type") == DISPLAY
    )


def measure(components: Sequence[JsonValue]) -> int:
    """Return the size of the components, which `MESSAGE_BYTES` limits."""
    total = 0
    for thing in _iter_objects(components):
        total += TEXT_WEIGHT if thing.get("type") == DISPLAY else OBJECT_WEIGHT
        total += sum(len(value.encode()) for value in thing.values() if isinstance(value, str))
    return total


def check_message(body: Mapping[str, JsonValue]) -> None:
    """Raise `TooBig` if Discord would reject a new message with this body, or a change to it."""
    components = _list(body.get("components"))
    flags = body.get("flags", 0)
    new_style = isinstance(flags, int) and bool(flags & COMPONENTS_V2)
    _check_keys("a field in a message", set(body) - _MESSAGE_FIELDS)
    if new_style and "content" in body:
        raise _build_error("content in a message of components")
    if not (components or _get_string(body, "content").strip()):
        raise _build_error("an empty message")
    _check_maximum("characters of content", count_utf16_units(_get_string(body, "content")), CONTENT)
    _check_maximum("characters in a nonce", count_utf16_units(str(body.get("nonce", ""))), NONCE)
    _check_maximum("components in a message", count(components), COMPONENTS)
    _check_maximum("characters of text in a message", count_characters(components), TEXT)
    _check_maximum("bytes in a message", measure(components), MESSAGE_BYTES)
    if not new_style:
        _check_maximum("rows in a message without IS_COMPONENTS_V2", len(components), LEGACY_ROWS)
    _check_mentions(body.get("allowed_mentions"))
    for component in components:
        _check_part(component, {*_CONTENT, CONTAINER} if new_style else {ROW})
    _check_unique(components)


def check_modal(data: Mapping[str, JsonValue]) -> None:
    """Raise `TooBig` if Discord would reject a modal with this data."""
    _check_keys("a field in a modal", set(data) - {"custom_id", "title", "components"})
    _check_text("a modal's title", data, "title", MODAL_TITLE)
    _check_text("a modal's custom_id", data, "custom_id", CUSTOM_ID)
    components = _list(data.get("components"))
    if not components:
        raise _build_error("an empty modal")
    _check_maximum("components in a modal", len(components), MODAL_COMPONENTS)
    _check_maximum("characters of text in a modal", count_characters(components), TEXT)
    for component in components:
        if _to_object(component).get("type") == LABELLED:
            label = _to_object(component)
            _check_keys("a field in a label", set(label) - _FIELDS[LABELLED] - {"type"})
            _check_text("a label", label, "label", LABEL)
            _check_text("a label's description", label, "description", LABEL_DESCRIPTION, optional=True)
            _check_part(label.get("component"), {INPUT, UPLOAD, RADIO, BOXES, MENU, USERS, CHANNELS})
        else:
            _check_part(component, {DISPLAY})
    _check_unique(components)


def _check_part(value: JsonValue, allowed: set[int]) -> None:
    part = _to_object(value)
    kind = part.get("type")
    if not isinstance(kind, int) or kind not in allowed:
        raise _build_error(f"a component of type {kind} in this place")
    _check_keys("a field in a component", set(part) - _FIELDS[kind] - {"type"})
    match kind:
        case 1:  # ROW
            _check_row(_list(part.get("components")))
        case 2:  # BUTTON
            _check_text("a button's label", part, "label", BUTTON_LABEL)
            _check_text("a button's custom_id", part, "custom_id", CUSTOM_ID)
        case 3:  # MENU
            _check_menu(part)
        case 5 | 8:  # USERS, CHANNELS
            _check_picker(part)
        case 4:  # INPUT
            _check_text("an input's custom_id", part, "custom_id", CUSTOM_ID)
            _check_text("an input's placeholder", part, "placeholder", INPUT_PLACEHOLDER, optional=True)
            _check_maximum("characters in an input", count_utf16_units(_get_string(part, "value")), INPUT_VALUE)
            _check_maximum("characters that an input takes", _get_number(part, "max_length", 1), INPUT_VALUE)
        case 19:  # UPLOAD
            _check_text("a file upload's custom_id", part, "custom_id", CUSTOM_ID)
            most = _get_number(part, "max_values", 1)
            _check_range("files that an upload takes", most, 1, UPLOADS)
            _check_range("files that an upload needs", _get_number(part, "min_values", 1), 0, most)
        case 21:  # RADIO
            _check_text("a radio group's custom_id", part, "custom_id", CUSTOM_ID)
            _check_range("options in a radio group", len(_list(part.get("options"))), RADIO_LEAST, RADIO_OPTIONS)
            _check_options(part)
        case 22:  # BOXES
            _check_text("a checkbox group's custom_id", part, "custom_id", CUSTOM_ID)
            _check_range("options in a checkbox group", len(_list(part.get("options"))), 1, CHECKBOXES)
            _check_options(part)
            _check_values(part)
        case 9:  # SECTION
            texts = _list(part.get("components"))
            _check_range("texts in a section", len(texts), 1, SECTION_TEXTS)
            for text in texts:
                _check_part(text, {DISPLAY})
            _check_part(part.get("accessory"), {BUTTON})
        case 10:  # DISPLAY
            _check_text("a text display", part, "content", TEXT)
        case 12:  # GALLERY
            items = _list(part.get("items"))
            _check_range("pictures in a gallery", len(items), 1, GALLERY_ITEMS)
            for item in items:
                _check_text(
                    "a picture's description", _to_object(item), "description", GALLERY_DESCRIPTION, optional=True
                )
                _check_text("a picture's address", _to_object(_to_object(item).get("media")), "url", MEDIA_URL)
        case 17:  # CONTAINER
            _check_range("colours", _get_number(part, "accent_color", 0), 0, COLOURS)
            for child in _list(part.get("components")):
                _check_part(child, {*_CONTENT})
        case _:
            pass


def _check_row(parts: Sequence[JsonValue]) -> None:
    kinds = [_to_object(part).get("type") for part in parts]
    if {MENU, USERS, CHANNELS}.intersection(kinds):
        _check_maximum("components in a row with a menu", len(parts), 1)
    _check_range("buttons in a row", len(parts), 1, ROW_BUTTONS)
    for part in parts:
        _check_part(part, {BUTTON, MENU, USERS, CHANNELS})


def _check_options(chooser: Mapping[str, JsonValue]) -> None:
    options = [_to_object(option) for option in _list(chooser.get("options"))]
    for option in options:
        _check_text("an option's label", option, "label", OPTION_TEXT)
        _check_text("an option's value", option, "value", OPTION_TEXT)
        _check_text("an option's description", option, "description", OPTION_TEXT, optional=True)
    values = [_get_string(option, "value") for option in options]
    if len(set(values)) < len(values):
        raise _build_error("two options with the same value")


def _check_menu(menu: Mapping[str, JsonValue]) -> None:
    options = [_to_object(option) for option in _list(menu.get("options"))]
    _check_text("a menu's custom_id", menu, "custom_id", CUSTOM_ID)
    _check_text("a menu's placeholder", menu, "placeholder", MENU_PLACEHOLDER, optional=True)
    _check_range("options in a menu", len(options), 1, MENU_OPTIONS)
    _check_options(menu)
    _check_values(menu)


def _check_values(chooser: Mapping[str, JsonValue]) -> None:
    options = [_to_object(option) for option in _list(chooser.get("options"))]
    most = _get_number(chooser, "max_values", 1)
    _check_range("values that a control takes", most, 1, len(options))
    _check_range("values that a control needs", _get_number(chooser, "min_values", 1), 0, most)
    _check_maximum("options chosen to begin with", sum(option.get("default") is True for option in options), most)


def _check_picker(picker: Mapping[str, JsonValue]) -> None:
    _check_text("a picker's custom_id", picker, "custom_id", CUSTOM_ID)
    _check_text("a picker's placeholder", picker, "placeholder", MENU_PLACEHOLDER, optional=True)
    most = _get_number(picker, "max_values", 1)
    _check_range("values that a picker takes", most, 1, MENU_OPTIONS)
    _check_range("values that a picker needs", _get_number(picker, "min_values", 1), 0, most)
    _check_maximum("values chosen to begin with", len(_list(picker.get("default_values"))), most)


def _check_mentions(value: JsonValue) -> None:
    mentions = _to_object(value)
    if _list(mentions.get("parse")) or "parse" not in mentions:
        raise _build_error("a message whose texts could mention people")
    for name in ("users", "roles"):
        ids = _list(mentions.get(name))
        _check_maximum(f"{name} in allowed_mentions", len(ids), MENTIONS)
        if len({str(one) for one in ids}) < len(ids):
            raise _build_error(f"the same id twice among the {name} of allowed_mentions")


def _iter_components(values: Sequence[JsonValue]) -> Iterator[Mapping[str, JsonValue]]:
    """Return every component at every depth."""
    return (thing for thing in _iter_objects(values) if "type" in thing)


def _iter_objects(values: Sequence[JsonValue]) -> Iterator[Mapping[str, JsonValue]]:
    for value in values:
        if isinstance(value, dict):
            yield value
            yield from _iter_objects([*value.values()])
        elif isinstance(value, list):
            yield from _iter_objects(value)


def _to_object(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list) else ()


def _get_string(thing: Mapping[str, JsonValue], name: str) -> str:
    value = thing.get(name)
    return value if isinstance(value, str) else ""


def _get_number(thing: Mapping[str, JsonValue], name: str, otherwise: int) -> int:
    value = thing.get(name, otherwise)
    return value if isinstance(value, int) else -1


def _check_text(what: str, thing: Mapping[str, JsonValue], name: str, most: int, *, optional: bool = False) -> None:
    if name not in thing and optional:
        return
    text = _get_string(thing, name)
    if not text.strip():
        raise _build_error(f"{what} without a text")
    _check_maximum(f"characters in {what}", count_utf16_units(text), most)


def _check_keys(what: str, strange: set[str]) -> None:
    if strange:
        raise _build_error(f"{what} that is called {', '.join(sorted(strange))}")


def _check_unique(components: Sequence[JsonValue]) -> None:
    ids = [_get_string(thing, "custom_id") for thing in _iter_components(components) if "custom_id" in thing]
    if len(set(ids)) < len(ids):
        raise _build_error("the same custom_id twice")


def _check_maximum(what: str, found: int, most: int) -> None:
    if found > most:
        raise TooBig(
            f"Discord accepts at most {most:,} {what}, and there are {found:,}. Please report this as a bug in askback."
        )


def _check_range(what: str, found: int, least: int, most: int) -> None:
    _check_maximum(what, found, most)
    if found < least:
        raise TooBig(
            f"Discord needs at least {least:,} {what}, and there are {found:,}. Please report this as a bug in askback."
        )


def _build_error(what: str) -> TooBig:
    return TooBig(f"Discord rejects {what}. Please report this as a bug in askback.")
