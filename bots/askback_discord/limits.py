"""Discord's limits, and checks that reject a message or a modal that breaks one before it is sent.

Sources of the numbers: [ref] docs.discord.com/developers, [api] Discord's OpenAPI document, [live] a published refusal
of the live API with its numbers. Discord counts code points [discord-api-docs#1315]. Here lengths are in UTF-16 units,
which are never fewer.
"""

from __future__ import annotations

__all__ = [
    "BUTTON_LABEL",
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
from askback.text.literal import utf16_length

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
GALLERY_ITEMS: Final = 10  # [ref components/reference#media-gallery]
GALLERY_DESCRIPTION: Final = 1_024  # [ref components/reference#media-gallery]
MEDIA_URL: Final = 2_048  # [api]

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

ROW, BUTTON, MENU, INPUT, DISPLAY, GALLERY, SEPARATOR, LABELLED = 1, 2, 3, 4, 10, 12, 14, 18
"""Types of components [ref components/reference#component-object-component-types]."""

_MESSAGE_FIELDS: Final = frozenset(
    {"flags", "components", "content", "allowed_mentions", "nonce", "enforce_nonce", "message_reference", "tts"}
)
_FIELDS: Final[Mapping[int, frozenset[str]]] = {
    ROW: frozenset({"components"}),
    BUTTON: frozenset({"style", "label", "custom_id", "disabled"}),
    MENU: frozenset({"custom_id", "options", "placeholder", "min_values", "max_values"}),
    INPUT: frozenset({"custom_id", "style", "value", "placeholder", "required", "min_length", "max_length"}),
    DISPLAY: frozenset({"content"}),
    GALLERY: frozenset({"items"}),
    SEPARATOR: frozenset({"divider", "spacing"}),
    LABELLED: frozenset({"label", "description", "component"}),
}
"""The fields that a component of ours may have, next to its type."""


class TooBig(OperatorError):
    """A message or modal that Discord would refuse. It is a bug of askback, found before sending."""


def count(components: Sequence[JsonValue]) -> int:
    """Return the number of components at every depth."""
    return sum(1 for _ in _components(components))


def count_characters(components: Sequence[JsonValue]) -> int:
    """Return the number of text characters that the components display, in UTF-16 units."""
    return sum(utf16_length(_string(one, "content")) for one in _components(components) if one.get("type") == DISPLAY)


def measure(components: Sequence[JsonValue]) -> int:
    """Return what the components count towards `MESSAGE_BYTES`."""
    total = 0
    for thing in _objects(components):
        total += TEXT_WEIGHT if thing.get("type") == DISPLAY else OBJECT_WEIGHT
        total += sum(len(value.encode()) for value in thing.values() if isinstance(value, str))
    return total


def check_message(body: Mapping[str, JsonValue]) -> None:
    """Raise `TooBig` if Discord would refuse to create a message with this body, or to change one to it."""
    components = _list(body.get("components"))
    flags = body.get("flags", 0)
    new_style = isinstance(flags, int) and bool(flags & COMPONENTS_V2)
    _known("a field in a message", set(body) - _MESSAGE_FIELDS)
    if new_style and "content" in body:
        raise _refused("content in a message of components")
    if not (components or _string(body, "content").strip()):
        raise _refused("an empty message")
    _at_most("characters of content", utf16_length(_string(body, "content")), CONTENT)
    _at_most("characters in a nonce", utf16_length(str(body.get("nonce", ""))), NONCE)
    _at_most("components in a message", count(components), COMPONENTS)
    _at_most("characters of text in a message", count_characters(components), TEXT)
    _at_most("bytes in a message", measure(components), MESSAGE_BYTES)
    if not new_style:
        _at_most("rows in a message without IS_COMPONENTS_V2", len(components), LEGACY_ROWS)
    _check_mentions(body.get("allowed_mentions"))
    for component in components:
        _check_part(component, {ROW, DISPLAY, GALLERY, SEPARATOR} if new_style else {ROW})
    _no_repeats(components)


def check_modal(data: Mapping[str, JsonValue]) -> None:
    """Raise `TooBig` if Discord would refuse a modal with this data."""
    _known("a field in a modal", set(data) - {"custom_id", "title", "components"})
    _text("a modal's title", data, "title", MODAL_TITLE)
    _text("a modal's custom_id", data, "custom_id", CUSTOM_ID)
    components = _list(data.get("components"))
    if not components:
        raise _refused("an empty modal")
    _at_most("components in a modal", len(components), MODAL_COMPONENTS)
    _at_most("characters of text in a modal", count_characters(components), TEXT)
    for component in components:
        if _object(component).get("type") == LABELLED:
            label = _object(component)
            _known("a field in a label", set(label) - _FIELDS[LABELLED] - {"type"})
            _text("a label", label, "label", LABEL)
            _text("a label's description", label, "description", LABEL_DESCRIPTION, optional=True)
            _check_part(label.get("component"), {INPUT})
        else:
            _check_part(component, {DISPLAY})
    _no_repeats(components)


def _check_part(value: JsonValue, allowed: set[int]) -> None:
    part = _object(value)
    kind = part.get("type")
    if not isinstance(kind, int) or kind not in allowed:
        raise _refused(f"a component of type {kind} in this place")
    _known("a field in a component", set(part) - _FIELDS[kind] - {"type"})
    match kind:
        case 1:  # ROW
            _check_row(_list(part.get("components")))
        case 2:  # BUTTON
            _text("a button's label", part, "label", BUTTON_LABEL)
            _text("a button's custom_id", part, "custom_id", CUSTOM_ID)
        case 3:  # MENU
            _check_menu(part)
        case 4:  # INPUT
            _text("an input's custom_id", part, "custom_id", CUSTOM_ID)
            _text("an input's placeholder", part, "placeholder", INPUT_PLACEHOLDER, optional=True)
            _at_most("characters in an input", utf16_length(_string(part, "value")), INPUT_VALUE)
            _at_most("characters that an input takes", _number(part, "max_length", 1), INPUT_VALUE)
        case 10:  # DISPLAY
            _text("a text display", part, "content", TEXT)
        case 12:  # GALLERY
            items = _list(part.get("items"))
            _between("pictures in a gallery", len(items), 1, GALLERY_ITEMS)
            for item in items:
                _text("a picture's description", _object(item), "description", GALLERY_DESCRIPTION, optional=True)
                _text("a picture's address", _object(_object(item).get("media")), "url", MEDIA_URL)
        case _:
            pass


def _check_row(parts: Sequence[JsonValue]) -> None:
    kinds = [_object(part).get("type") for part in parts]
    if MENU in kinds:
        _at_most("components in a row with a menu", len(parts), 1)
    _between("buttons in a row", len(parts), 1, ROW_BUTTONS)
    for part in parts:
        _check_part(part, {BUTTON, MENU})


def _check_menu(menu: Mapping[str, JsonValue]) -> None:
    options = [_object(option) for option in _list(menu.get("options"))]
    _text("a menu's custom_id", menu, "custom_id", CUSTOM_ID)
    _text("a menu's placeholder", menu, "placeholder", MENU_PLACEHOLDER, optional=True)
    _between("options in a menu", len(options), 1, MENU_OPTIONS)
    for option in options:
        _text("an option's label", option, "label", OPTION_TEXT)
        _text("an option's value", option, "value", OPTION_TEXT)
        _text("an option's description", option, "description", OPTION_TEXT, optional=True)
    values = [_string(option, "value") for option in options]
    if len(set(values)) < len(values):
        raise _refused("the same value twice in a menu")
    most = _number(menu, "max_values", 1)
    _between("values that a menu takes", most, 1, len(options))
    _between("values that a menu needs", _number(menu, "min_values", 1), 0, most)
    _at_most("options chosen to begin with", sum(option.get("default") is True for option in options), most)


def _check_mentions(value: JsonValue) -> None:
    mentions = _object(value)
    if _list(mentions.get("parse")) or "parse" not in mentions:
        raise _refused("a message whose texts could mention people")
    for name in ("users", "roles"):
        ids = _list(mentions.get(name))
        _at_most(f"{name} in allowed_mentions", len(ids), MENTIONS)
        if len({str(one) for one in ids}) < len(ids):
            raise _refused(f"the same id twice among the {name} of allowed_mentions")


def _components(values: Sequence[JsonValue]) -> Iterator[Mapping[str, JsonValue]]:
    """Return every component at every depth."""
    return (thing for thing in _objects(values) if "type" in thing)


def _objects(values: Sequence[JsonValue]) -> Iterator[Mapping[str, JsonValue]]:
    for value in values:
        if isinstance(value, dict):
            yield value
            yield from _objects([*value.values()])
        elif isinstance(value, list):
            yield from _objects(value)


def _object(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list) else ()


def _string(thing: Mapping[str, JsonValue], name: str) -> str:
    value = thing.get(name)
    return value if isinstance(value, str) else ""


def _number(thing: Mapping[str, JsonValue], name: str, otherwise: int) -> int:
    value = thing.get(name, otherwise)
    return value if isinstance(value, int) else -1


def _text(what: str, thing: Mapping[str, JsonValue], name: str, most: int, *, optional: bool = False) -> None:
    if name not in thing and optional:
        return
    text = _string(thing, name)
    if not text.strip():
        raise _refused(f"{what} without a text")
    _at_most(f"characters in {what}", utf16_length(text), most)


def _known(what: str, strange: set[str]) -> None:
    if strange:
        raise _refused(f"{what} that is called {', '.join(sorted(strange))}")


def _no_repeats(components: Sequence[JsonValue]) -> None:
    ids = [_string(thing, "custom_id") for thing in _components(components) if "custom_id" in thing]
    if len(set(ids)) < len(ids):
        raise _refused("the same custom_id twice")


def _at_most(what: str, found: int, most: int) -> None:
    if found > most:
        raise TooBig(
            f"Discord takes at most {most:,} {what}, and there are {found:,}. Please report this as a bug of askback."
        )


def _between(what: str, found: int, least: int, most: int) -> None:
    _at_most(what, found, most)
    if found < least:
        raise TooBig(
            f"Discord takes at least {least:,} {what}, and there are {found:,}. Please report this as a bug of askback."
        )


def _refused(what: str) -> TooBig:
    return TooBig(f"Discord refuses {what}. Please report this as a bug of askback.")
