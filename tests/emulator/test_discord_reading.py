"""Discord's messages as a player reads them: Markdown, components, and what the API refused."""

from __future__ import annotations

import time
from typing import Any

import pytest

from askback_sandbox.discord.controls import controls
from askback_sandbox.discord.drawing import drawn
from askback_sandbox.discord.markdown import read
from askback_sandbox.discord.scene import Discord, scene
from askback_sandbox.play.controls import Control
from askback_sandbox.play.expecting import Seen, missing
from askback_sandbox.play.scenario import Expect
from askback_sandbox.play.scene import Place

NAMES = {"7": "@ada", "8": "@release", "9": "#general"}
GENERAL, THREAD = "9", "20"


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("**bold** *slanted* _too_ __under__ ~~struck~~ ||hidden||", "bold slanted too under struck hidden"),
        ("***both***", "both"),
        (r"\*not\* \_slanted\_ \`code\` \\ \<\@7\>", r"*not* _slanted_ `code` \ <@7>"),
        ("**a \\** b**", "a ** b"),
        ("snake_case_name 2 * 3 * 4", "snake_case_name 2 * 3 * 4"),
        ("<@7> <@!7> <@&8> <#9> <@99>", "@ada @ada @release #general <@99>"),
        ("-# small\n# Large\n> said\n- one\n1. two", "small\nLarge\n  said\n• one\n1. two"),
        ("1\\. first\n\\- second\n\\> third", "1. first\n- second\n> third"),
        ("a `**code**` b", "a **code** b"),
        ("```py\n**code**\n# no heading\n```", "**code**\n# no heading"),
        ("[the words](https://example.com) <https://example.com> <:wave:123>", "the words https://example.com :wave:"),
        ("\\`\\`\\`\nno *fence*\n\\`\\`\\`", "```\nno fence\n```"),
    ],
)
def test_markdown_is_read_as_people_see_it(markdown: str, text: str) -> None:
    assert read(markdown, NAMES) == text


def test_times_are_those_of_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert read("<t:1760000000:f>", {}) == "2025-10-09 17:53"
        assert read("<t:1760000000:s>", {}) == "2025-10-09 17:53"
        assert read(f"<t:{int(time.time()) + 7_201}:R>", {}) == "in 2 hours"
        assert read(f"<t:{int(time.time()) - 61}:R>", {}) == "1 minute ago"
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


def display(content: str) -> dict[str, Any]:
    return {"type": 10, "content": content}


def row(*components: dict[str, Any]) -> dict[str, Any]:
    return {"type": 1, "components": list(components)}


def button(label: str, **more: Any) -> dict[str, Any]:
    return {"type": 2, "style": 2, "label": label, "custom_id": label, **more}


def menu(*labels: str, most: int = 1) -> dict[str, Any]:
    options = [{"label": label, "value": label, "default": label == "B"} for label in labels]
    return {"type": 3, "custom_id": "menu", "placeholder": "Choose…", "max_values": most, "options": options}


def test_cards_are_drawn_with_their_controls() -> None:
    components = [
        display("**Which?**"),
        display("**1\\. A**\nthe first\n\n**2\\. B**\nthe second"),
        {"type": 14},
        row(menu("A", "B", most=2)),
        row(button("◀", disabled=True), button("▶")),
        row(button("Submit"), button("Docs", style=5, url="https://example.com", custom_id=None)),
    ]
    assert drawn(components, {}) == [
        "Which?",
        "1. A",
        "   the first",
        "2. B",
        "   the second",
        "",
        "[ Choose… ▾ ]",
        "    · A",
        "    • B",
        "( ◀ )  [ ▶ ]",
        "[ Submit ]  [ Docs ]",
    ]
    choices, onward, submit = controls(components)
    assert (choices.kind, onward.label, submit.label) == ("menu of several", "▶", "Submit")
    assert choices.pages == (None, onward)


def test_modals_are_drawn_with_their_labels() -> None:
    field = {"type": 4, "custom_id": "text", "style": 2, "value": "kept"}
    components = [
        display("**Which?**"),
        {"type": 18, "label": "Your answer", "description": "Up to 10.", "component": field},
    ]
    assert drawn(components, {}) == ["Which?", "Your answer", "Up to 10.", "[ kept ]"]
    assert controls(components) == (
        Control(kind="field", label="Your answer", handle={"custom_id": "text"}, value="kept"),
    )


def message(identifier: str, *components: dict[str, Any], channel: str = THREAD, **more: Any) -> dict[str, Any]:
    return {"id": identifier, "channel": channel, "bot": True, "type": 0, "components": list(components), **more}


def state(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    channels = [
        {"id": GENERAL, "name": "general", "kind": "channel", "parent": None},
        {"id": THREAD, "name": "A talk", "kind": "thread", "parent": GENERAL},
    ]
    people = [{"id": "7", "name": "ada", "global_name": "Ada"}]
    return {"messages": list(messages), "channels": channels, "people": people, "bot": {"name": "askback"}, **more}


def test_a_thread_is_the_conversation_of_the_message_that_it_hangs_from() -> None:
    first = message(THREAD, channel=GENERAL, bot=False, name="ada", content="hi <@7>")
    found = scene(state(first, message("9", display("a card")), message("100", display("later"), type=18)))
    assert [one.lines for one in found.messages] == [("a card",), ("hi @ada",)]
    place = Place(GENERAL, THREAD)
    assert [(place.holds(one), one.begins) for one in found.messages] == [(True, False), (True, True)]
    assert [channel.name for channel in found.channels] == ["general"]


def test_a_private_notice_that_offers_to_try_again_is_an_error_of_the_field() -> None:
    refused = message("30", row(button("Try again")), content="It is empty.", ephemeral_to="7")
    told = message("31", content="It is empty.", ephemeral_to="7")

    def lacking(expect: Expect, *messages: dict[str, Any], known: frozenset[tuple[str, str]] = frozenset()) -> bool:
        place = Place(GENERAL, THREAD)
        return bool(missing(expect, Seen(scene(state(*messages)), place, "7", known_notices=known)))

    assert not lacking(Expect(field_error="empty"), refused)
    assert not lacking(Expect(field_error=True, dialog=False), refused)
    assert lacking(Expect(field_error="too long"), refused)
    assert lacking(Expect(field_error=True), told)
    assert lacking(Expect(field_error=True), refused, known=frozenset({(THREAD, "30")}))


def call(status: int, code: int = 0, text: str = "No", **more: Any) -> dict[str, Any]:
    return {"operation": "update_message", "status": status, "answer": {"code": code, "message": text}, **more}


def test_refused_calls_are_judged() -> None:
    done = [
        {"id": "1", "kind": "component", "person": "7", "acked": True, "ack_ms": 5.0},
        {"id": "2", "kind": "component", "person": "7", "acked": False},
    ]
    wrong = {"components": {"0": {"content": {"_errors": [{"code": "X", "message": "Must be shorter."}]}}}}
    calls = [
        call(200),
        call(403, 50013, "Missing Permissions"),
        call(429, 0, "You are being rate limited."),
        call(400, 50083, "Thread is archived"),
        {**call(400), "answer": {"code": 50035, "message": "Invalid Form Body", "errors": wrong}},
        call(400, 40060, "Acknowledged", path="/interactions/1/…/callback"),
        call(404, 10062, "Unknown interaction", path="/interactions/2/…/callback"),
        {"operation": "get_channel", "status": 502, "answer": "Bad Gateway"},
    ]
    found = Discord().refusals(calls, scene(state(interactions=done)), ("ratelimited", "50083"))
    assert found == [
        "Discord refused update_message: 50013 Missing Permissions",
        "Discord refused update_message: 50035 Invalid Form Body (components.0.content: Must be shorter.)",
        "Discord refused update_message: 10062 Unknown interaction",
        "Discord refused get_channel: HTTP 502",
    ]
