"""The arguments of a tool call on Slack's card: literal, in monospace, within the limits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from pydantic import JsonValue

from askback.domain.card import Card
from askback.domain.card_labels import EVERYTHING
from askback_slack.render import SlackMessage, render_messages
from support.slack_cards import ADA, accepted, labels, said
from support.tool_arguments import ARGUMENTS, build_approval_card, get_arguments


def asked(data: JsonValue, *, vote: int | None = None) -> Card:
    return build_approval_card(data, ADA, vote=vote)


def drawn(card: Card) -> tuple[SlackMessage, ...]:
    messages = render_messages(card)
    accepted(messages)
    return messages


def read_rows(messages: tuple[SlackMessage, ...]) -> list[tuple[str, str]]:
    """Return the names with the values in monospace."""
    rows: list[tuple[str, str]] = []
    name = ""
    for message in messages:
        blocks: list[Any] = [block for block in message.blocks if block["type"] == "rich_text"]
        for part in [part for block in blocks for part in block["elements"]]:
            first, *others = part["elements"]
            if part["type"] == "rich_text_preformatted":
                rows.append((name, first["text"]))
            elif others and others[-1].get("style") == {"code": True}:
                named = part["elements"]
                places = [at for at, run in enumerate(named) if run.get("style") == {"code": True}]
                rows += [(named[at - 2]["text"], named[at]["text"]) for at in places]
            else:
                name = first.get("text", "")
    return rows


@given(ARGUMENTS)
def test_any_arguments_are_literal_and_every_row_is_on_the_card(data: dict[str, JsonValue]) -> None:
    card = asked(data)
    messages = drawn(card)
    rows = get_arguments(card).rows
    assert read_rows(messages) == [(row.name, row.value) for row in rows]
    texts = said(messages)
    assert all(row.note in texts for row in rows if row.note is not None)
    kinds = {run["type"] for message in messages for run in _list_runs(message)}
    assert kinds <= {"text", "user"}, "the only mention is that of the person who is asked"
    assert sum(run["type"] == "user" for message in messages for run in _list_runs(message)) == 1


def _list_runs(message: SlackMessage) -> list[Any]:
    blocks: list[Any] = [block for block in message.blocks if block["type"] == "rich_text"]
    return [run for block in blocks for part in block["elements"] for run in part["elements"]]


def test_a_short_value_stands_beside_its_name_and_a_long_one_below_it() -> None:
    (message,) = drawn(asked({"version": "1.4.2", "plan": "copy\nrestart"}))
    rows: Any = next(block for block in message.blocks if "1.4.2" in str(block))
    assert rows["elements"] == [
        {
            "type": "rich_text_section",
            "elements": [
                {"type": "text", "text": "version"},
                {"type": "text", "text": "  "},
                {"type": "text", "text": "1.4.2", "style": {"code": True}},
            ],
        },
        {
            "type": "rich_text_section",
            "elements": [{"type": "text", "text": "plan"}],
        },
        {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "copy\nrestart"}]},
    ]
    assert EVERYTHING not in labels([message])
    assert "Run deploy?\nversion: 1.4.2\nplan:\n  copy\n  restart\n" in message.text


@pytest.mark.parametrize(
    "data",
    [
        {f"key {number}": "x" for number in range(5_000)},
        {f"{number}{'k' * 5_000}": "\U0001f469" * 5_000 for number in range(30)},
        {f"{number}": "\u202e" * 5_000 for number in range(30)},
        {f"{number}": "a\n\n\n\n" * 1_000 for number in range(30)},
        {"deep": {"a": [[[[["x" * 90_000]]]]]}},
    ],
    ids=["keys", "long", "invisible", "lines", "deep"],
)
def test_too_much_of_anything_is_within_the_limits_and_can_be_opened(data: dict[str, JsonValue]) -> None:
    messages = drawn(asked(data))
    assert EVERYTHING in labels(messages)
    assert len(messages) <= 2
    notes = [text for text in said(messages) if text.startswith("… and ")]
    assert notes[-1] == (f"… and {len(data) - 20:,} more arguments" if len(data) > 1 else notes[0])


@pytest.mark.parametrize("vote", [0, 1])
def test_a_settled_decision_folds_the_table_behind_show_question(vote: int) -> None:
    data: JsonValue = {"version": "1.4.2", "plan": "copy\n" * 60}
    made = drawn(asked(data, vote=vote))
    assert read_rows(made) == []
    assert labels(made) == ["Show question"]


def test_a_settled_decision_keeps_short_arguments_on_one_line() -> None:
    (made,) = drawn(asked({"version": "1.4.2", "where": "staging"}, vote=0))
    assert not labels((made,))
    assert "version  1.4.2  ·  where  staging" in "".join(said([made]))
    many: JsonValue = {f"{number}": "x" * 20 for number in range(15)}
    others: tuple[JsonValue, ...] = ({"version": "`1.4.2`"}, {"plan": "a\nb"}, many)
    for data in others:
        assert labels(drawn(asked(data, vote=0))) == ["Show question"], "one line would not show these as they are"
