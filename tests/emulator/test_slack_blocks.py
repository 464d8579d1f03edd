"""Accepted blocks, and the wording of refusals."""

from __future__ import annotations

from typing import Any

import pytest

from askback_sandbox.slack.blocks import check_message_blocks
from askback_sandbox.slack.checks import SlackRefusalError
from emulator.blocks import (
    CONFIRM,
    IMAGE,
    LIST,
    TABLE,
    TEXT_INPUT,
    accessory,
    actions,
    button,
    container,
    field,
    menu,
    mrkdwn,
    option,
    plain,
    rich,
)

ACCEPTED: dict[str, Any] = {
    "section": {"type": "section", "text": mrkdwn("x" * 3_000), "fields": [plain("x" * 800)] * 10},
    "long field": {"type": "section", "fields": [plain("x" * 2_000)]},
    "section with expand": {"type": "section", "text": mrkdwn(), "expand": True},
    "header": {"type": "header", "text": plain("x" * 150)},
    "context": {"type": "context", "elements": [IMAGE, plain(), mrkdwn(), *[plain()] * 7]},
    "divider": {"type": "divider"},
    "image": {**IMAGE, "title": plain()},
    "actions": actions(*[button(f"b{n}", value="x" * 2_000, style="danger") for n in range(25)]),
    "confirm": actions(button(confirm={**CONFIRM, "style": "primary"})),
    "button link": actions(button(url="https://example.com")),
    "visible to some": actions(button(visible_to_user_ids=["U1"])),
    "menu": actions(menu(options=[option(str(n), description=plain()) for n in range(100)])),
    "menu with groups": actions(
        {
            "type": "static_select",
            "option_groups": [{"label": plain("x" * 75), "options": [option()]}],
            "initial_option": option(),
        }
    ),
    "multi menu": accessory(menu("multi_static_select", max_selected_items=2, initial_options=[option()])),
    "search menu": actions({"type": "external_select", "placeholder": plain(), "min_query_length": 0}),
    "multi search menu": accessory({"type": "multi_external_select", "initial_options": [option()]}),
    "people menu": actions({"type": "users_select", "initial_user": "U1"}),
    "channel menu": actions(
        {
            "type": "conversations_select",
            "initial_conversation": "C1",
            "filter": {"include": ["public", "private"], "exclude_bot_users": True},
        }
    ),
    "menu of several people": accessory(
        {"type": "multi_users_select", "initial_users": ["U1", "U2"], "max_selected_items": 2}
    ),
    "menu of several channels": accessory({"type": "multi_conversations_select", "initial_conversations": ["C1"]}),
    "radio buttons": actions(
        {"type": "radio_buttons", "options": [option(str(n)) for n in range(10)], "initial_option": option("3")}
    ),
    "checkboxes": actions(
        {"type": "checkboxes", "options": [{"text": mrkdwn(), "value": "1", "description": mrkdwn()}]}
    ),
    "overflow": accessory(
        {"type": "overflow", "options": [option(str(n), url="https://example.com") for n in range(5)]}
    ),
    "input": field({**TEXT_INPUT, "multiline": True, "min_length": 0, "max_length": 3_000, "initial_value": ""}),
    "time picker": actions({"type": "datetimepicker", "initial_date_time": 1_800_000_000}),
    "time picker in input": field({"type": "datetimepicker"}),
    "input with dispatch": field(TEXT_INPUT, dispatch_action=True, optional=True, hint=plain()),
    "markdown": {"type": "markdown", "text": "x" * 12_000},
    "rich text": {
        "type": "rich_text",
        "elements": [
            {
                "type": "rich_text_section",
                "elements": [
                    {"type": "text", "text": "a", "style": {"bold": True}},
                    {"type": "link", "url": "https://example.com", "text": "b"},
                    {"type": "user", "user_id": "U1"},
                    {"type": "usergroup", "usergroup_id": "S1"},
                    {"type": "channel", "channel_id": "C1"},
                    {"type": "emoji", "name": "eyes"},
                    {"type": "date", "timestamp": 1, "format": "{date}", "fallback": "then"},
                    {"type": "broadcast", "range": "here"},
                ],
            },
            LIST,
            {"type": "rich_text_quote", "elements": [{"type": "text", "text": "q"}]},
            {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "c"}], "border": 0},
        ],
    },
    "card": {"type": "card", "title": mrkdwn("x" * 150), "body": mrkdwn("x" * 200), "actions": [button()]},
    "container": container(actions(button()), TABLE, width="wide", is_collapsible=True, default_collapsed=True),
    "table": TABLE,
}

REFUSED: dict[str, tuple[Any, str]] = {
    "unknown block": ({"type": "poll"}, "unsupported type: poll [json-pointer:/blocks/0/type]"),
    "no type": ({"text": mrkdwn()}, "missing required field: type [json-pointer:/blocks/0]"),
    "unknown field": (
        {"type": "divider", "color": "red"},
        "invalid additional property: color [json-pointer:/blocks/0]",
    ),
    "section without content": (
        {"type": "section"},
        "must define either `text` or `fields` [json-pointer:/blocks/0/type]",
    ),
    "empty text": (
        {"type": "section", "text": mrkdwn("")},
        "must be more than 0 characters [json-pointer:/blocks/0/text/text]",
    ),
    "long text": (
        {"type": "section", "text": mrkdwn("x" * 3_001)},
        "must be less than 3001 characters [json-pointer:/blocks/0/text/text]",
    ),
    "long field": (
        {"type": "section", "fields": [plain("x" * 2_001)]},
        "must be less than 2001 characters [json-pointer:/blocks/0/fields/0/text]",
    ),
    "eleven fields": (
        {"type": "section", "fields": [plain()] * 11},
        "no more than 10 items allowed [json-pointer:/blocks/0/fields]",
    ),
    "mrkdwn header": (
        {"type": "header", "text": mrkdwn()},
        "unsupported type: mrkdwn [json-pointer:/blocks/0/text/type]",
    ),
    "long header": (
        {"type": "header", "text": plain("x" * 151)},
        "must be less than 151 characters [json-pointer:/blocks/0/text/text]",
    ),
    "empty context": (
        {"type": "context", "elements": []},
        "must provide at least 1 items [json-pointer:/blocks/0/elements]",
    ),
    "26 buttons": (
        actions(*[button(f"b{n}") for n in range(26)]),
        "no more than 25 items allowed [json-pointer:/blocks/0/elements]",
    ),
    "long button": (
        actions({**button(), "text": plain("x" * 76)}),
        "must be less than 76 characters [json-pointer:/blocks/0/elements/0/text/text]",
    ),
    "long button value": (
        actions(button(value="x" * 2_001)),
        "must be less than 2001 characters [json-pointer:/blocks/0/elements/0/value]",
    ),
    "button style": (
        actions(button(style="default")),
        "must be one of: primary, danger [json-pointer:/blocks/0/elements/0/style]",
    ),
    "button address": (
        actions(button(url="javascript:alert(1)")),
        "must be a valid url [json-pointer:/blocks/0/elements/0/url]",
    ),
    "same action_id twice": (
        actions(button(), button()),
        "`action_id` must be unique within a block [json-pointer:/blocks/0/elements]",
    ),
    "long action_id": (
        actions(button("x" * 256)),
        "must be less than 256 characters [json-pointer:/blocks/0/elements/0/action_id]",
    ),
    "multi menu in actions": (
        actions(menu("multi_static_select")),
        "unsupported type: multi_static_select [json-pointer:/blocks/0/elements/0/type]",
    ),
    "menu of several people in actions": (
        actions({"type": "multi_users_select"}),
        "unsupported type: multi_users_select [json-pointer:/blocks/0/elements/0/type]",
    ),
    "more people than may be chosen": (
        accessory({"type": "multi_users_select", "initial_users": ["U1", "U2"], "max_selected_items": 1}),
        "no more than 1 items allowed [json-pointer:/blocks/0/accessory/initial_users]",
    ),
    "unknown kind of conversation": (
        actions({"type": "conversations_select", "filter": {"include": ["public_channel"]}}),
        "must be one of: im, mpim, private, public [json-pointer:/blocks/0/elements/0/filter/include/0]",
    ),
    "text field in actions": (
        actions(TEXT_INPUT),
        "unsupported type: plain_text_input [json-pointer:/blocks/0/elements/0/type]",
    ),
    "time picker in section": (
        accessory({"type": "datetimepicker"}),
        "unsupported type: datetimepicker [json-pointer:/blocks/0/accessory/type]",
    ),
    "time in milliseconds": (
        field({"type": "datetimepicker", "initial_date_time": 1_800_000_000_000}),
        "must be less than 10000000000 [json-pointer:/blocks/0/element/initial_date_time]",
    ),
    "button in input": (field(button()), "unsupported type: button [json-pointer:/blocks/0/element/type]"),
    "no options": (
        actions(menu(options=[])),
        "must provide at least 1 items [json-pointer:/blocks/0/elements/0/options]",
    ),
    "101 options": (
        actions(menu(options=[option(str(n)) for n in range(101)])),
        "no more than 100 items allowed [json-pointer:/blocks/0/elements/0/options]",
    ),
    "11 checkboxes": (
        actions({"type": "checkboxes", "options": [option(str(n)) for n in range(11)]}),
        "no more than 10 items allowed [json-pointer:/blocks/0/elements/0/options]",
    ),
    "6 overflow options": (
        accessory({"type": "overflow", "options": [option(str(n)) for n in range(6)]}),
        "no more than 5 items allowed [json-pointer:/blocks/0/accessory/options]",
    ),
    "long option": (
        actions(menu(options=[{"text": plain("x" * 76), "value": "1"}])),
        "must be less than 76 characters [json-pointer:/blocks/0/elements/0/options/0/text/text]",
    ),
    "long option value": (
        actions(menu(options=[option("x" * 151)])),
        "must be less than 151 characters [json-pointer:/blocks/0/elements/0/options/0/value]",
    ),
    "long option description": (
        actions(menu(options=[option(description=plain("x" * 76))])),
        "must be less than 76 characters [json-pointer:/blocks/0/elements/0/options/0/description/text]",
    ),
    "mrkdwn menu option": (
        actions(menu(options=[{"text": mrkdwn(), "value": "1"}])),
        "unsupported type: mrkdwn [json-pointer:/blocks/0/elements/0/options/0/text/type]",
    ),
    "option url in menu": (
        actions(menu(options=[option(url="")])),
        "invalid additional property: url [json-pointer:/blocks/0/elements/0/options/0]",
    ),
    "same value twice": (
        actions(menu(options=[option(), option()])),
        "option values must be unique [json-pointer:/blocks/0/elements/0/options]",
    ),
    "initial option of another menu": (
        actions(menu(initial_option=option("2"))),
        "must be one of the provided options [json-pointer:/blocks/0/elements/0/initial_option]",
    ),
    "empty initial options": (
        accessory(menu("multi_static_select", initial_options=[])),
        "must be one of the provided options [json-pointer:/blocks/0/accessory/initial_options]",
    ),
    "options and groups": (
        actions(menu(option_groups=[{"label": plain(), "options": [option("2")]}])),
        "must define either `options` or `option_groups` [json-pointer:/blocks/0/elements/0]",
    ),
    "long confirm": (
        actions(button(confirm={**CONFIRM, "text": plain("x" * 301)})),
        "must be less than 301 characters [json-pointer:/blocks/0/elements/0/confirm/text/text]",
    ),
    "long placeholder": (
        actions(menu(placeholder=plain("x" * 151))),
        "must be less than 151 characters [json-pointer:/blocks/0/elements/0/placeholder/text]",
    ),
    "no most at all": (
        accessory(menu("multi_static_select", max_selected_items=0)),
        "must be greater than 0 [json-pointer:/blocks/0/accessory/max_selected_items]",
    ),
    "text longer than its field": (
        field({**TEXT_INPUT, "max_length": 2, "initial_value": "abc"}),
        "must be less than 3 characters [json-pointer:/blocks/0/element/initial_value]",
    ),
    "long max_length": (
        field({**TEXT_INPUT, "max_length": 3_001}),
        "must be less than 3001 [json-pointer:/blocks/0/element/max_length]",
    ),
    "empty rich text": (
        rich({"type": "text", "text": ""}),
        "must be more than 0 characters [json-pointer:/blocks/0/elements/0/elements/0/text]",
    ),
    "unknown rich text": (
        rich({"type": "image", "url": "x"}),
        "unsupported type: image [json-pointer:/blocks/0/elements/0/elements/0/type]",
    ),
    "list in a list": (
        {"type": "rich_text", "elements": [{**LIST, "elements": [LIST]}]},
        "unsupported type: rich_text_list [json-pointer:/blocks/0/elements/0/elements/0/type]",
    ),
    "unknown style": (
        rich({"type": "text", "text": "a", "style": {"blink": True}}),
        "invalid additional property: blink [json-pointer:/blocks/0/elements/0/elements/0/style]",
    ),
    "container in a container": (
        container(container(plain())),
        "unsupported type: container [json-pointer:/blocks/0/child_blocks/0/type]",
    ),
    "11 children": (
        container(*[{"type": "divider"}] * 11),
        "no more than 10 items allowed [json-pointer:/blocks/0/child_blocks]",
    ),
    "container without a title": (
        {"type": "container", "child_blocks": [{"type": "divider"}]},
        "must define either `title` or `rich_text_title` [json-pointer:/blocks/0]",
    ),
    "empty card": (
        {"type": "card", "subtitle": mrkdwn()},
        "must define at least one of `hero_image`, `title`, `actions`, `body` [json-pointer:/blocks/0]",
    ),
    "long card": (
        {"type": "card", "body": mrkdwn("x" * 201)},
        "must be less than 201 characters [json-pointer:/blocks/0/body/text]",
    ),
    "image without a source": (
        {"type": "image", "alt_text": "x"},
        "must define either `image_url` or `slack_file` [json-pointer:/blocks/0]",
    ),
    "alert in a message": (
        {"type": "alert", "text": plain()},
        "unsupported type: alert [json-pointer:/blocks/0/type]",
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    assert check_message_blocks([ACCEPTED[name]])


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_place_and_reason(name: str) -> None:
    block, problem = REFUSED[name]
    with pytest.raises(SlackRefusalError) as caught:
        check_message_blocks([block])
    assert caught.value.code == "invalid_blocks"
    assert problem in [str(found) for found in caught.value.problems]


def test_fifty_blocks_and_no_more() -> None:
    assert len(check_message_blocks([{"type": "divider"}] * 50)) == 50
    with pytest.raises(SlackRefusalError) as caught:
        check_message_blocks([{"type": "divider"}] * 51)
    assert [str(p) for p in caught.value.problems] == ["no more than 50 items allowed [json-pointer:/blocks]"]


def test_a_block_id_stands_once_in_a_message_also_in_containers() -> None:
    with pytest.raises(SlackRefusalError) as caught:
        check_message_blocks([container(actions(button())), actions(button())])
    assert "`block_id` must be unique" in str(caught.value.problems[0])


def test_one_table_in_a_message() -> None:
    with pytest.raises(SlackRefusalError):
        check_message_blocks([TABLE, TABLE])


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(SlackRefusalError) as caught:
        check_message_blocks([{"type": "poll"}, {"type": "section"}])
    assert len(caught.value.problems) == 2


def test_ids_are_filled_in_and_never_the_same() -> None:
    blocks = [{"type": "actions", "elements": [{"type": "button", "text": plain()}]}]
    one, two = check_message_blocks(blocks)[0], check_message_blocks(blocks)[0]
    assert one["block_id"]
    assert one["block_id"] != two["block_id"]
    assert one["elements"][0]["action_id"]
    assert one["elements"][0]["text"]["emoji"] is True
    assert "block_id" not in blocks[0]
