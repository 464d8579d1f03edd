"""The rules for the components of a message, legacy and V2."""

from collections.abc import Iterator

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject, as_list, as_object, as_text, objects

from . import limits
from .checks import Rule, anything, array, boolean, by_type, every, integer, one_of, shape, snowflake, string
from .refusals import Found, Path
from .values import SELECTS, Kind

LINK = 5
PREMIUM = 6

_base = {"id": integer(0, 2**31 - 1)}
_type = {"type": integer()}
_emoji = shape({}, {"id": snowflake, "name": string(100), "animated": boolean})
custom_id = string(limits.CUSTOM_ID, 1)


def _button_parts(value: JsonValue, path: Path, found: Found) -> None:
    button = as_object(value)
    style, has_id = button.get("style"), button.get("custom_id") is not None
    if style == LINK:
        if button.get("url") is None:
            found.add((*path, "url"), "BUTTON_COMPONENT_URL_REQUIRED", "A url is required")
        if has_id:
            text = "A custom id and url cannot both be specified"
            found.add((*path, "custom_id"), "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", text)
    elif style == PREMIUM:
        if button.get("sku_id") is None:
            found.add((*path, "sku_id"), "BASE_TYPE_REQUIRED", "This field is required")
    else:
        if not has_id:
            found.add((*path, "custom_id"), "BUTTON_COMPONENT_CUSTOM_ID_REQUIRED", "A custom id required")
        if button.get("url") is not None:
            text = "A custom id and url cannot both be specified"
            found.add((*path, "url"), "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", text)
    if style != PREMIUM and not button.get("label") and button.get("emoji") is None:
        found.add((*path, "label"), "BUTTON_COMPONENT_INVALID_EMOJI_OR_LABEL", "A label or an emoji is required")


def _web_address(value: JsonValue, path: Path, found: Found) -> None:
    string(limits.BUTTON_URL)(value, path, found)
    if isinstance(value, str) and not value.startswith(("http://", "https://", "discord://")):
        found.add(path, "URL_TYPE_INVALID_SCHEME", 'Scheme must be one of ("http", "https", "discord").')


button = every(
    shape(
        {**_type, "style": one_of(1, 2, 3, 4, LINK, PREMIUM)},
        {
            **_base,
            "custom_id": custom_id,
            "label": string(limits.BUTTON_LABEL),
            "disabled": boolean,
            "url": _web_address,
            "sku_id": snowflake,
            "emoji": _emoji,
        },
    ),
    _button_parts,
)

option = shape(
    {"label": string(limits.OPTION_TEXT, 1), "value": string(limits.OPTION_TEXT, 1)},
    {"description": string(limits.OPTION_TEXT, 1), "emoji": _emoji, "default": boolean},
)


def check_options(value: JsonValue, path: Path, found: Found) -> None:
    """Check that values are unique, that the bounds fit the options, and that not too many are default."""
    select = as_object(value)
    options = objects(select.get("options"))
    seen: set[str] = set()
    for index, entry in enumerate(options):
        chosen = as_text(entry.get("value"))
        if chosen in seen:
            text = "The specified option value is already used"
            found.add((*path, "options", index), "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", text)
        seen.add(chosen)
    default_most = len(options) if select.get("type") == Kind.CHECKBOX_GROUP else 1
    least, most = bound(select, "min_values", 1), bound(select, "max_values", default_most)
    if options and most > len(options):
        found.add(
            (*path, "max_values"),
            "SELECT_COMPONENT_MAX_VALUES_TOO_LARGE",
            f"max_values must be less than or equal to the number of options ({len(options)})",
        )
    if least > most:
        found.add((*path, "min_values"), "SELECT_COMPONENT_MIN_VALUES_TOO_LARGE", f"min_values must be at most {most}")
    if sum(entry.get("default") is True for entry in options) > most:
        found.add((*path, "options"), "SELECT_COMPONENT_DEFAULTS_TOO_MANY", f"at most {most} options can be default")


def bound(component: JsonObject, name: str, default: int) -> int:
    """Return a number of a component, or `default` if it is missing."""
    value = component.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


_default_value = shape({"id": snowflake, "type": one_of("user", "role", "channel")}, {})
_select_fields: dict[str, Rule] = {
    **_base,
    "placeholder": string(limits.PLACEHOLDER),
    "min_values": integer(0, limits.OPTIONS),
    "max_values": integer(1, limits.OPTIONS),
    "disabled": boolean,
    "required": boolean,
}
string_select = every(
    shape({**_type, "custom_id": custom_id, "options": array(option, most=limits.OPTIONS, least=1)}, _select_fields),
    check_options,
)
auto_select = shape(
    {**_type, "custom_id": custom_id},
    {
        **_select_fields,
        "default_values": array(_default_value, most=limits.OPTIONS),
        "channel_types": array(integer(0, 99), most=limits.OPTIONS),
    },
)


def _check_defaults(value: JsonValue, path: Path, found: Found) -> None:
    """Check that the values chosen initially fit the select, in number and in type."""
    select = as_object(value)
    chosen = objects(select.get("default_values"))
    least, most = bound(select, "min_values", 1), bound(select, "max_values", 1)
    # The number must be within the bounds [dd components/reference#user-select].
    if chosen and not least <= len(chosen) <= most:
        text = f"Must be between {least} and {most} in length."
        found.add((*path, "default_values"), "BASE_TYPE_BAD_LENGTH", text)
    kinds = {Kind.USER_SELECT: ("user",), Kind.ROLE_SELECT: ("role",), Kind.CHANNEL_SELECT: ("channel",)}
    fitting = next((names for kind, names in kinds.items() if kind == select.get("type")), ("user", "role"))
    for index, one in enumerate(chosen):
        if one.get("type") not in fitting:
            text = "The type of the default value does not fit the select"
            found.add((*path, "default_values", index, "type"), "SELECT_COMPONENT_DEFAULT_VALUE_TYPE_INVALID", text)
    if "channel_types" in select and select.get("type") != Kind.CHANNEL_SELECT:
        found.add((*path, "channel_types"), "BASE_TYPE_UNKNOWN_FIELD", "Only a channel select has channel types")


selects: dict[int, Rule] = {
    **dict.fromkeys(SELECTS, every(auto_select, _check_defaults)),
    Kind.STRING_SELECT: string_select,
}


def _row_width(value: JsonValue, path: Path, found: Found) -> None:
    kinds = [as_object(child).get("type") for child in as_list(as_object(value).get("components"))]
    if any(kind in SELECTS for kind in kinds) and len(kinds) > 1:
        for index in range(1, len(kinds)):
            text = "The specified component exceeds the maximum width"
            found.add((*path, "components", index), "COMPONENT_LAYOUT_WIDTH_EXCEEDED", text)


row = every(
    shape(
        {
            **_type,
            "components": array(by_type({Kind.BUTTON: button, **selects}), most=limits.ROW_BUTTONS, least=1),
        },
        _base,
    ),
    _row_width,
)
text_display = shape({**_type, "content": string(limits.TEXT_DISPLAYS, 1)}, _base)
_media = shape({"url": string(2_048, 1)}, {})
_thumbnail = shape({**_type, "media": _media}, {**_base, "description": string(1_024), "spoiler": boolean})
_section = shape(
    {
        **_type,
        "components": array(by_type({Kind.TEXT_DISPLAY: text_display}), most=limits.SECTION_TEXTS, least=1),
        "accessory": by_type({Kind.BUTTON: button, Kind.THUMBNAIL: _thumbnail}),
    },
    _base,
)
_separator = shape(_type, {**_base, "divider": boolean, "spacing": one_of(1, 2)})
_gallery_item = shape({"media": _media}, {"description": string(1_024), "spoiler": boolean})
_gallery = shape({**_type, "items": array(_gallery_item, most=10, least=1)}, _base)
_file = shape({**_type, "file": _media}, {**_base, "spoiler": boolean, "name": anything, "size": anything})
_inside: dict[int, Rule] = {
    Kind.ACTION_ROW: row,
    Kind.SECTION: _section,
    Kind.TEXT_DISPLAY: text_display,
    Kind.MEDIA_GALLERY: _gallery,
    Kind.FILE: _file,
    Kind.SEPARATOR: _separator,
}
_container = shape(
    {**_type, "components": array(by_type(_inside), most=limits.COMPONENTS, least=1)},
    {**_base, "accent_color": integer(0, 0xFFFFFF), "spoiler": boolean},
)
_legacy = array(by_type({Kind.ACTION_ROW: row}), most=limits.LEGACY_ROWS)
_v2 = array(by_type({**_inside, Kind.CONTAINER: _container}), most=limits.COMPONENTS)


def each_component(value: JsonValue, path: Path = ()) -> Iterator[tuple[JsonObject, Path]]:
    """Yield every component of a message or a modal, from the outside in, with its path."""
    for index, entry in enumerate(as_list(value)):
        if isinstance(entry, dict):
            yield from _down(entry, (*path, index))


def _down(component: JsonObject, path: Path) -> Iterator[tuple[JsonObject, Path]]:
    yield component, path
    yield from each_component(component.get("components"), (*path, "components"))
    for name in ("accessory", "component"):
        inner = component.get(name)
        if isinstance(inner, dict):
            yield from _down(inner, (*path, name))


def check_custom_ids(value: JsonValue, path: Path, found: Found) -> None:
    """Check that every custom_id and every id is unique."""
    seen: set[str] = set()
    numbers: set[int] = set()
    for component, where in each_component(value, path):
        name = component.get("custom_id")
        if isinstance(name, str) and name:
            if name in seen:
                text = "Component custom id cannot be duplicated"
                found.add((*where, "custom_id"), "COMPONENT_CUSTOM_ID_DUPLICATED", text)
            seen.add(name)
        number = component.get("id")
        if isinstance(number, int) and number:
            if number in numbers:
                found.add((*where, "id"), "COMPONENT_ID_DUPLICATED", "Component id cannot be duplicated")
            numbers.add(number)


def check_message_components(value: JsonValue, path: Path, found: Found, *, v2: bool) -> None:
    """Check the components of a message."""
    (_v2 if v2 else _legacy)(value, path, found)
    check_custom_ids(value, path, found)
    if not v2:
        return
    everything = [component for component, _ in each_component(value)]
    if len(everything) > limits.COMPONENTS:
        text = f"The total number of components cannot exceed {limits.COMPONENTS}."
        found.add(path, "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED", text)
    texts = [as_text(one.get("content")) for one in everything if one.get("type") == Kind.TEXT_DISPLAY]
    if sum(len(text) for text in texts) > limits.TEXT_DISPLAYS:
        text = f"The total length of displayable text cannot exceed {limits.TEXT_DISPLAYS}."
        found.add(path, "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED", text)


def numbered(value: JsonValue) -> list[JsonObject]:
    """Return components as Discord does: each has an `id`, and missing ids are counted up."""
    taken = [component.get("id") for component, _ in each_component(value)]
    components = objects(value)
    following = 0
    for component, _ in each_component([*components]):
        if not component.get("id"):
            following += 1
            while following in taken:
                following += 1
            component["id"] = following
        if component.get("type") in SELECTS:
            component.setdefault("min_values", 1)
            component.setdefault("max_values", 1)
    return components
