"""The arguments of a tool call on Discord's card: literal, in monospace, within the limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from pydantic import JsonValue

from askback.domain.card import Card
from askback.domain.card_labels import EVERYTHING
from askback_discord.render import render_messages
from support.discord_cards import ADA, Body, accepted, displays, labels, said
from support.discord_markdown import Node, formats, read
from support.tool_arguments import ARGUMENTS, build_approval_card, get_arguments

BREAK = "\u2060"
"""The word joiner that interrupts a code fence in a value."""


def asked(data: JsonValue, *, vote: int | None = None) -> Card:
    return build_approval_card(data, ADA, vote=vote)


def drawn(card: Card) -> tuple[Body, ...]:
    messages = render_messages(card)
    accepted(messages)
    return messages


def list_nodes(messages: tuple[Body, ...]) -> list[Node]:
    return [node for text in displays(messages) for node in read(text)]


def read_rows(messages: tuple[Body, ...]) -> list[tuple[str, str]]:
    """Return the names with the values in monospace."""
    rows: list[tuple[str, str]] = []
    name = ""
    for node in list_nodes(messages):
        if node.kind in {"code", "block of code"}:
            rows.append((name, node.text.replace(BREAK, "")))
        elif node.kind == "plain":
            name = node.text.removesuffix("\n").rpartition("\n")[2].removesuffix("  ")
    return rows


@given(ARGUMENTS)
def test_any_arguments_are_literal_and_every_row_is_on_the_card(data: dict[str, JsonValue]) -> None:
    card = asked(data)
    messages = drawn(card)
    rows = get_arguments(card).rows
    assert read_rows(messages) == [(row.name, row.value) for row in rows]
    words = said(messages)
    assert all(row.note in words for row in rows if row.note is not None)
    assert {*formats(list_nodes(messages))} <= {"heading", "bold", "code", "block of code", "small", "mention"}
    assert [node.text for node in list_mentions(list_nodes(messages))] == [f"<@{ADA.id}>"]


def list_mentions(nodes: list[Node]) -> list[Node]:
    return [one for node in nodes for one in ([node] if node.kind == "mention" else list_mentions(node.children))]


def test_a_short_value_stands_beside_its_name_and_a_long_one_below_it() -> None:
    messages = drawn(asked({"version": "1.4.2", "dry_run": True, "plan": "copy\nrestart", "shell": "echo `date`"}))
    display = next(text for text in displays(messages) if "1.4.2" in text)
    assert display == (
        "version  `1.4.2`\ndry\\_run  `true`\nplan\n```\ncopy\nrestart\n```\nshell\n```\necho `date`\n```"
    )
    assert EVERYTHING not in labels(messages)


@pytest.mark.parametrize(
    "data",
    [
        {f"key {number}": "x" for number in range(5_000)},
        {f"{number}{'k' * 5_000}": "\U0001f469" * 5_000 for number in range(30)},
        {f"{number}": "\u202e" * 5_000 for number in range(30)},
        {f"{number}": "a\n\n\n\n" * 1_000 for number in range(30)},
        {"deep": {"a": [[[[["x" * 90_000]]]]]}},
        {f"`{number}": "```" * 5_000 for number in range(30)},
    ],
    ids=["keys", "long", "invisible", "lines", "deep", "fences"],
)
def test_too_much_of_anything_is_within_the_limits_and_can_be_opened(data: dict[str, JsonValue]) -> None:
    messages = drawn(asked(data))
    assert EVERYTHING in labels(messages)
    assert len(messages) <= 5
    notes = [line for line in said(messages).splitlines() if line.startswith("… and ")]
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
    assert "version  1.4.2  ·  where  staging" in said((made,))
    many: JsonValue = {f"{number}": "x" * 20 for number in range(15)}
    others: tuple[JsonValue, ...] = ({"version": "`1.4.2`"}, {"plan": "a\nb"}, many)
    for data in others:
        assert labels(drawn(asked(data, vote=0))) == ["Show question"], "one line would not show these as they are"
