"""Cards for the Slack tests, and the rules for every rendered message."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import blockkit
from slack_sdk.models import blocks as sdk
from slack_sdk.models.views import View

from askback.domain.ask_policy import Policy
from askback.domain.identity import Actor
from askback.domain.who import Who
from askback_sandbox.slack.blocks import check_message_blocks, check_options
from askback_sandbox.slack.blocks import check_view as accept_view
from askback_slack import limits
from askback_slack.render import SlackMessage
from support.card_player import Player
from support.card_player import interview as interview
from support.card_player import options as options
from support.card_player import question as question

ASK = "Abc-_0123456789Abc-_01"
ADA = Actor(platform="slack", id="U0ADA", tenant="T1", name="Ada")
NOW = datetime(2026, 11, 20, 15, 2, tzinfo=UTC)
POLICY = Policy(who=Who.from_people(ADA))
PLAYER = Player(ASK, ADA, NOW, POLICY, {"people": "U0123456{}", "channels": "C0123456{}"})
do, card, pick, walk = PLAYER.do, PLAYER.card, PLAYER.pick, PLAYER.walk


def strings(value: Any) -> Iterator[str]:
    """Yield every text that people can read in blocks."""
    if isinstance(value, dict):
        for name, entry in value.items():
            if name in ("text", "alt_text") and isinstance(entry, str):
                yield entry
            else:
                yield from strings(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from strings(entry)


def said(messages: Sequence[SlackMessage]) -> list[str]:
    return [text for message in messages for text in strings(message.blocks)]


def elements(messages: Sequence[SlackMessage]) -> list[dict[str, Any]]:
    """Return every control."""
    found: list[Any] = []
    for message in messages:
        for block in message.blocks:
            if block["type"] == "actions":
                found += block["elements"]  # pyright: ignore[reportOperatorIssue]
            elif "accessory" in block:
                found.append(block["accessory"])
    return found


def labels(messages: Sequence[SlackMessage]) -> list[str]:
    """Return the labels of the buttons."""
    return [entry["text"]["text"] for entry in elements(messages) if entry["type"] == "button"]


def accepted(messages: Sequence[SlackMessage]) -> None:
    """Check that our limits, slack_sdk, blockkit and the local workspace all accept the messages."""
    assert messages
    for message in messages:
        limits.check_message(message.text, message.blocks)
        check_message_blocks([*message.blocks])
        assert message.text.strip()
        for block in message.blocks:
            understood = sdk.Block.parse(block)
            assert understood is not None
            assert understood.to_dict() == block
        blockkit.Message(text=message.text[:3000], blocks=[kit(block) for block in message.blocks]).build()
    assert not any(elements([message]) for message in messages[1:]), "controls stand in the first message only"


def accepted_view(view: Any) -> None:
    limits.check_view(view)
    accept_view(view)
    View(**view).validate_json()
    for block in view["blocks"]:
        understood = sdk.Block.parse(block)
        assert understood is not None
        assert understood.to_dict() == block
    kinds = {"type", "private_metadata"}
    made = {name: kit(entry) for name, entry in view.items() if name not in kinds}
    blockkit.Modal(**made).build()


def accepted_options(found: Any) -> None:
    check_options({"options": found})


_KIT: dict[str, Any] = {
    "rich_text": blockkit.RichText,
    "rich_text_section": blockkit.RichTextSection,
    "rich_text_quote": blockkit.RichTextQuote,
    "rich_text_preformatted": blockkit.RichTextPreformatted,
    "text": blockkit.RichTextEl,
    "user": blockkit.RichUserEl,
    "channel": blockkit.RichChannelEl,
    "usergroup": blockkit.RichUserGroupEl,
    "date": blockkit.RichDateEl,
    "actions": blockkit.Actions,
    "section": blockkit.Section,
    "context": blockkit.Context,
    "header": blockkit.Header,
    "divider": blockkit.Divider,
    "image": blockkit.Image,
    "input": blockkit.Input,
    "button": blockkit.Button,
    "checkboxes": blockkit.Checkboxes,
    "static_select": blockkit.StaticSelect,
    "multi_static_select": blockkit.MultiStaticSelect,
    "external_select": blockkit.ExternalSelect,
    "multi_external_select": blockkit.MultiExternalSelect,
    "users_select": blockkit.UsersSelect,
    "multi_users_select": blockkit.MultiUsersSelect,
    "conversations_select": blockkit.ConversationsSelect,
    "multi_conversations_select": blockkit.MultiConversationsSelect,
    "plain_text_input": blockkit.PlainTextInput,
    "radio_buttons": blockkit.RadioButtons,
    "datetimepicker": blockkit.DatetimePicker,
    "datepicker": blockkit.DatePicker,
    "timepicker": blockkit.TimePicker,
    "number_input": blockkit.NumberInput,
    "email_text_input": blockkit.EmailInput,
    "plain_text": blockkit.Text,
}


def kit(value: Any) -> Any:
    """Return the value as blockkit objects, which run their checks on construction."""
    if isinstance(value, list | tuple):
        return [kit(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    if kind is None:
        make: Any = blockkit.RichStyle
        if "value" in value:
            make = blockkit.Option
        elif "include" in value:
            make = blockkit.ConversationFilter
    else:
        make = _KIT[kind]
    known = dict(inspect.signature(make.__init__).parameters)
    if value.get("min_query_length") == 0:
        del known["min_query_length"]  # Slack accepts it, blockkit does not know it
    if kind == "number_input":  # Slack takes numbers as texts, blockkit as numbers
        number = float if value["is_decimal_allowed"] else int
        value = {name: number(entry) if name.endswith("_value") else entry for name, entry in value.items()}
    return make(**{name: kit(entry) for name, entry in value.items() if name in known})
