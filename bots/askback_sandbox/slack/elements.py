"""The rules by which Slack accepts block elements: buttons, menus, choices, text fields."""

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject, as_object, as_text, objects

from . import limits
from .checks import (
    Problems,
    Rule,
    any_text,
    anything,
    array,
    boolean,
    both,
    by_type,
    identifier,
    integer,
    one_of,
    plain_text,
    shape,
    string,
    web_address,
)

_confirm = shape(
    {
        "title": plain_text(limits.CONFIRM_TITLE),
        "text": any_text(limits.CONFIRM_TEXT),
        "confirm": plain_text(limits.CONFIRM_BUTTON),
        "deny": plain_text(limits.CONFIRM_BUTTON),
    },
    {"style": one_of("primary", "danger")},
)


def _option(text: Rule, description: Rule, *, url: bool = False) -> Rule:
    optional: dict[str, Rule] = {"description": description}
    if url:
        optional["url"] = web_address(limits.BUTTON_URL)
    return shape({"text": text, "value": string(limits.OPTION_VALUE)}, optional)


_menu_option = _option(plain_text(limits.OPTION_TEXT), plain_text(limits.OPTION_DESCRIPTION))
# Only the options of checkboxes and radio buttons may be mrkdwn [ref option-object].
_choice_option = _option(any_text(limits.OPTION_TEXT), any_text(limits.OPTION_DESCRIPTION))
_overflow_option = _option(plain_text(limits.OPTION_TEXT), plain_text(limits.OPTION_DESCRIPTION), url=True)
_group = shape({"label": plain_text(limits.OPTION_TEXT), "options": array(_menu_option, most=limits.MENU_OPTIONS)}, {})


def all_options(element: JsonObject) -> list[JsonObject]:
    """Return the options of an element, including those in groups."""
    grouped = [option for group in objects(element.get("option_groups")) for option in objects(group.get("options"))]
    return [*objects(element.get("options")), *grouped]


def _option_key(option: JsonObject) -> tuple[str, str]:
    return as_text(option.get("value")), as_text(as_object(option.get("text")).get("text"))


def _own_options(value: JsonValue, pointer: str, problems: Problems) -> None:
    """Check that values differ and that the initial choice is among the options."""
    element = as_object(value)
    options = all_options(element)
    values = [as_text(option.get("value")) for option in options]
    if len(set(values)) < len(values):
        problems.add("option values must be unique", f"{pointer}/options")
    known = {_option_key(option) for option in options}
    for name in ("initial_option", "initial_options"):
        chosen = element.get(name)
        if chosen is None:
            continue
        listed = objects(chosen) if isinstance(chosen, list) else [as_object(chosen)]
        if not listed or any(_option_key(option) not in known for option in listed):
            problems.add("must be one of the provided options", f"{pointer}/{name}")


def _static_menu(value: JsonValue, pointer: str, problems: Problems) -> None:
    element = as_object(value)
    if ("options" in element) == ("option_groups" in element):
        problems.add("must define either `options` or `option_groups`", pointer)
    _own_options(value, pointer, problems)


def _lengths(value: JsonValue, pointer: str, problems: Problems) -> None:
    """Check the length limits of a text field, also against its initial value."""
    element = as_object(value)
    least, most = element.get("min_length", 0), element.get("max_length", limits.INPUT_TEXT)
    if isinstance(least, int) and isinstance(most, int) and least > most:
        problems.add("must be less than or equal to `max_length`", f"{pointer}/min_length")
    initial = element.get("initial_value")
    if isinstance(initial, str) and isinstance(most, int) and len(initial) > most:
        problems.add(f"must be less than {most + 1} characters", f"{pointer}/initial_value")


def _initial_ids(value: JsonValue, pointer: str, problems: Problems) -> None:
    """Check that no more people or channels are chosen initially than may be."""
    element = as_object(value)
    most = element.get("max_selected_items")
    for name in ("initial_users", "initial_conversations"):
        chosen = element.get(name)
        if isinstance(chosen, list) and isinstance(most, int) and len(chosen) > most:
            problems.add(f"no more than {most} items allowed", f"{pointer}/{name}")


# A filter of conversations needs at least one field [ref conversation-filter-object].
_conversations = shape(
    {},
    {
        "include": array(one_of("im", "mpim", "private", "public")),
        "exclude_external_shared_channels": boolean,
        "exclude_bot_users": boolean,
    },
)

_menu: dict[str, Rule] = {
    "placeholder": plain_text(limits.PLACEHOLDER),
    "action_id": identifier,
    "confirm": _confirm,
    "focus_on_load": boolean,
}
_many: dict[str, Rule] = {**_menu, "max_selected_items": integer(1, limits.MENU_OPTIONS)}
_type: dict[str, Rule] = {"type": anything}
_lists: dict[str, Rule] = {
    "options": array(_menu_option, most=limits.MENU_OPTIONS),
    "option_groups": array(_group, most=limits.MENU_OPTIONS),
}
_query = integer(0, 1_000)
_choices: dict[str, Rule] = {"action_id": identifier, "confirm": _confirm, "focus_on_load": boolean}
_dispatch = shape({"trigger_actions_on": array(one_of("on_enter_pressed", "on_character_entered"), most=2)}, {})

_line: dict[str, Rule] = {
    "action_id": identifier,
    "placeholder": plain_text(limits.PLACEHOLDER),
    "dispatch_action_config": _dispatch,
    "focus_on_load": boolean,
}

image_element = shape(
    {"type": anything, "alt_text": string(limits.ALT_TEXT, 0)},
    {"image_url": web_address(limits.IMAGE_URL), "slack_file": anything},
)

button = shape(
    {**_type, "text": plain_text(limits.BUTTON_TEXT)},
    {
        "action_id": identifier,
        "url": web_address(limits.BUTTON_URL),
        "value": string(limits.BUTTON_VALUE, 0),
        "style": one_of("primary", "danger"),
        "confirm": _confirm,
        "accessibility_label": string(limits.ACCESSIBILITY_LABEL),
        "agent_prompt": string(limits.AGENT_PROMPT),
        "agent_prompt_display": anything,
        "visible_to_user_ids": array(string(limits.ID_LENGTH)),
    },
)

ELEMENTS: dict[str, Rule] = {
    "button": button,
    "image": image_element,
    "overflow": both(
        shape(
            {**_type, "options": array(_overflow_option, most=limits.OVERFLOW_OPTIONS)},
            {"action_id": identifier, "confirm": _confirm},
        ),
        _own_options,
    ),
    "static_select": both(shape(_type, {**_menu, **_lists, "initial_option": _menu_option}), _static_menu),
    "multi_static_select": both(
        shape(_type, {**_many, **_lists, "initial_options": array(_menu_option)}), _static_menu
    ),
    "external_select": shape(_type, {**_menu, "initial_option": _menu_option, "min_query_length": _query}),
    "multi_external_select": shape(
        _type, {**_many, "initial_options": array(_menu_option), "min_query_length": _query}
    ),
    "users_select": shape(_type, {**_menu, "initial_user": string(limits.ID_LENGTH)}),
    "multi_users_select": both(shape(_type, {**_many, "initial_users": array(string(limits.ID_LENGTH))}), _initial_ids),
    "conversations_select": shape(
        _type, {**_menu, "initial_conversation": string(limits.ID_LENGTH), "filter": _conversations}
    ),
    "multi_conversations_select": both(
        shape(_type, {**_many, "initial_conversations": array(string(limits.ID_LENGTH)), "filter": _conversations}),
        _initial_ids,
    ),
    "radio_buttons": both(
        shape(
            {**_type, "options": array(_choice_option, most=limits.CHOICES)},
            {**_choices, "initial_option": _choice_option},
        ),
        _own_options,
    ),
    "checkboxes": both(
        shape(
            {**_type, "options": array(_choice_option, most=limits.CHOICES)},
            {**_choices, "initial_options": array(_choice_option)},
        ),
        _own_options,
    ),
    "datetimepicker": shape(_type, {**_choices, "initial_date_time": integer(*limits.DATE_TIME)}),
    "datepicker": shape(
        _type, {**_choices, "placeholder": plain_text(limits.PLACEHOLDER), "initial_date": string(limits.DATE)}
    ),
    "timepicker": shape(
        _type,
        {
            **_choices,
            "placeholder": plain_text(limits.PLACEHOLDER),
            "initial_time": string(limits.TIME),
            "timezone": string(limits.TIME_ZONE),
        },
    ),
    "number_input": shape(
        {**_type, "is_decimal_allowed": boolean},
        {**_line, **{name: string(limits.NUMBER) for name in ("initial_value", "min_value", "max_value")}},
    ),
    "email_text_input": shape(_type, {**_line, "initial_value": string(limits.INPUT_TEXT)}),
    "url_text_input": shape(_type, {**_line, "initial_value": string(limits.INPUT_TEXT)}),
    # A modal with it needs the scope files:read [ref file-input-element].
    "file_input": shape(
        _type,
        {
            "action_id": identifier,
            "filetypes": array(string(limits.FILE_TYPE)),
            "max_files": integer(1, limits.FILES),
        },
    ),
    "plain_text_input": both(
        shape(
            _type,
            {
                "action_id": identifier,
                "placeholder": plain_text(limits.PLACEHOLDER),
                "initial_value": string(limits.INPUT_TEXT, 0),
                "multiline": boolean,
                "min_length": integer(0, limits.INPUT_TEXT),
                "max_length": integer(1, limits.INPUT_TEXT),
                "dispatch_action_config": _dispatch,
                "focus_on_load": boolean,
            },
        ),
        _lengths,
    ),
}

# Multi-select menus are refused in an actions block [ref multi-select-menu-element; python-slack-sdk#1631].
IN_ACTIONS = (
    "button",
    "overflow",
    "static_select",
    "external_select",
    "users_select",
    "conversations_select",
    "radio_buttons",
    "checkboxes",
    "datepicker",
    "timepicker",
    "datetimepicker",
)
# A section holds no time picker [ref datetime-picker-element].
_ANYWHERE = tuple(kind for kind in IN_ACTIONS if kind != "datetimepicker")
IN_SECTION = (
    *_ANYWHERE,
    "image",
    "multi_static_select",
    "multi_external_select",
    "multi_users_select",
    "multi_conversations_select",
)
# An input block holds no button, no overflow menu and no image [ref input-block].
IN_INPUT = (
    "plain_text_input",
    "number_input",
    "email_text_input",
    "url_text_input",
    "datepicker",
    "timepicker",
    "static_select",
    "multi_static_select",
    "external_select",
    "multi_external_select",
    "users_select",
    "multi_users_select",
    "conversations_select",
    "multi_conversations_select",
    "radio_buttons",
    "checkboxes",
    "datetimepicker",
)
IN_MODAL_INPUT = (*IN_INPUT, "file_input")


def elements(allowed: tuple[str, ...]) -> Rule:
    """Return the rule for the elements that one kind of block may contain."""
    return by_type({kind: ELEMENTS[kind] for kind in allowed})


option_list = array(_menu_option, most=limits.MENU_OPTIONS, least=0)
group_list = array(_group, most=limits.MENU_OPTIONS, least=0)
