"""The rules for the contents of a modal."""

from pydantic import JsonValue

from askback_sandbox.json_values import as_object, objects

from . import limits
from .checks import Rule, array, boolean, by_type, every, integer, one_of, shape, string
from .components import auto_select, bound, check_custom_ids, check_options, custom_id, string_select
from .refusals import Found, Path
from .values import SELECTS, Kind

_base = {"id": integer(0, 2**31 - 1)}
_type = {"type": integer()}


def _input_lengths(value: JsonValue, path: Path, found: Found) -> None:
    field = as_object(value)
    least, most = bound(field, "min_length", 0), bound(field, "max_length", limits.INPUT_VALUE)
    if least > most:
        text = f"min_length must be at most max_length ({most})"
        found.add((*path, "min_length"), "TEXT_INPUT_COMPONENT_MIN_LENGTH_TOO_LARGE", text)
    given = field.get("value")
    if isinstance(given, str) and given and not least <= len(given) <= most:
        text = f"Must be between {least} and {most} in length."
        found.add((*path, "value"), "BASE_TYPE_BAD_LENGTH", text)


def _not_disabled(value: JsonValue, path: Path, found: Found) -> None:
    field = as_object(value)
    if field.get("disabled") is True:
        text = "Modals cannot have disabled components"
        found.add((*path, "disabled"), "MODAL_COMPONENT_DISABLED", text)
    if field.get("min_values") == 0 and field.get("required", True) is not False:
        text = "min_values must be at least 1 when the component is required"
        found.add((*path, "min_values"), "NUMBER_TYPE_MIN", text)


def _one_default(value: JsonValue, path: Path, found: Found) -> None:
    if sum(entry.get("default") is True for entry in objects(as_object(value).get("options"))) > 1:
        found.add((*path, "options"), "SELECT_COMPONENT_DEFAULTS_TOO_MANY", "at most 1 option can be default")


_input_fields: dict[str, Rule] = {
    **_base,
    "value": string(limits.INPUT_VALUE),
    "placeholder": string(limits.INPUT_PLACEHOLDER),
    "required": boolean,
    "min_length": integer(0, limits.INPUT_VALUE),
    "max_length": integer(1, limits.INPUT_VALUE),
}
_input_needs: dict[str, Rule] = {**_type, "custom_id": custom_id, "style": one_of(1, 2)}
_old_input = every(shape({**_input_needs, "label": string(limits.LABEL, 1)}, _input_fields), _input_lengths)
_input = every(shape(_input_needs, {**_input_fields, "label": string(limits.LABEL, 1)}), _input_lengths)
_choice = shape(
    {"label": string(limits.OPTION_TEXT, 1), "value": string(limits.OPTION_TEXT, 1)},
    {"description": string(limits.OPTION_TEXT), "default": boolean},
)
_radio = every(
    shape(
        {
            **_type,
            "custom_id": custom_id,
            "options": array(_choice, most=limits.GROUP_OPTIONS, least=limits.RADIO_LEAST),
        },
        {**_base, "required": boolean},
    ),
    check_options,
    _one_default,
)
_boxes = every(
    shape(
        {**_type, "custom_id": custom_id, "options": array(_choice, most=limits.GROUP_OPTIONS, least=1)},
        {
            **_base,
            "min_values": integer(0, limits.GROUP_OPTIONS),
            "max_values": integer(1, limits.GROUP_OPTIONS),
            "required": boolean,
        },
    ),
    check_options,
    _not_disabled,
)
_checkbox = shape({**_type, "custom_id": custom_id}, {**_base, "default": boolean})
_upload = shape(
    {**_type, "custom_id": custom_id},
    {**_base, "min_values": integer(0, 10), "max_values": integer(1, 10), "required": boolean},
)
_fields: dict[int, Rule] = {
    **{kind: every(auto_select, _not_disabled) for kind in SELECTS},
    Kind.STRING_SELECT: every(string_select, _not_disabled),
    Kind.TEXT_INPUT: _input,
    Kind.RADIO_GROUP: _radio,
    Kind.CHECKBOX_GROUP: _boxes,
    Kind.CHECKBOX: _checkbox,
    Kind.FILE_UPLOAD: _upload,
}
_label = shape(
    {**_type, "label": string(limits.LABEL, 1), "component": by_type(_fields)},
    {**_base, "description": string(limits.LABEL_DESCRIPTION, 1)},
)
_text = shape({**_type, "content": string(limits.TEXT_DISPLAYS, 1)}, _base)
# Text inputs in action rows are deprecated but still accepted [dd components/reference].
_row = shape({**_type, "components": array(by_type({Kind.TEXT_INPUT: _old_input}), most=1, least=1)}, _base)
_modal = shape(
    {
        "custom_id": custom_id,
        "title": string(limits.MODAL_TITLE, 1),
        "components": array(
            by_type({Kind.ACTION_ROW: _row, Kind.LABEL: _label, Kind.TEXT_DISPLAY: _text}),
            most=limits.MODAL_COMPONENTS,
            least=1,
        ),
    },
    {},
)


def check_modal(value: JsonValue, path: Path, found: Found) -> None:
    """Check a modal as `data` of callback 9."""
    _modal(value, path, found)
    check_custom_ids(as_object(value).get("components"), (*path, "components"), found)
