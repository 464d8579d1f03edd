"""Cards for the Discord tests, and the rules for every rendered message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from askback.domain.ask_policy import Policy
from askback.domain.identity import Actor
from askback.domain.who import Who
from askback_discord import control_ids, limits
from askback_sandbox.discord.bodies import read_wording
from askback_sandbox.discord.modal_rules import check_modal as accept_modal
from askback_sandbox.discord.openapi import OpenApi
from askback_sandbox.discord.refusals import Found
from support.card_player import Player
from support.card_player import interview as interview
from support.card_player import options as options
from support.card_player import question as question
from support.discord_markdown import read, seen

ASK = "Abc-_0123456789Abc-_01"
ADA = Actor(platform="discord", id="100000000000000001", name="Ada")
NOW = datetime(2026, 11, 20, 15, 2, tzinfo=UTC)
POLICY = Policy(who=Who.from_people(ADA))
OPENAPI = Path(__file__).parents[3] / "shared/schemas/discord-openapi.json"
Body = dict[str, Any]
HOSTILE = st.text(
    st.one_of(
        st.characters(codec="utf-8"),
        st.sampled_from("\0\x1b\r\n\t<>&@*_~`#-|:\\[]().1 \u202e\u2066\u2069\u200d\u0301\U0001f469"),
    ),
    min_size=1,
    max_size=60,
)
PLAYER = Player(ASK, ADA, NOW, POLICY, {"people": "11000000000000002{}", "channels": "11000000000000003{}"})
do, card, pick, walk = PLAYER.do, PLAYER.card, PLAYER.pick, PLAYER.walk


def components(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every component at every depth."""
    if isinstance(value, dict):
        if "type" in value:
            yield value
        for entry in value.values():
            yield from components(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from components(entry)


def displays(messages: Sequence[Body]) -> list[str]:
    """Return the Markdown of every text."""
    return [entry["content"] for entry in components(list(messages)) if entry["type"] == limits.DISPLAY]


def said(messages: Sequence[Body]) -> str:
    """Return the text that people see, as lines."""
    return "\n".join(seen(read(text)) for text in displays(messages))


def squeezed(text: str) -> str:
    """Return the text without white space and invisible characters: direction marks and fence separators."""
    return re.sub("[\\s\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069]", "", text)


def elements(messages: Sequence[Body]) -> list[dict[str, Any]]:
    """Return every control."""
    return [
        entry
        for entry in components(list(messages))
        if entry["type"] in {limits.BUTTON, limits.MENU, limits.USERS, limits.CHANNELS}
    ]


def labels(messages: Sequence[Body]) -> list[str]:
    """Return the labels of the buttons."""
    return [entry["label"] for entry in elements(messages) if entry["type"] == limits.BUTTON]


def menus(messages: Sequence[Body]) -> list[dict[str, Any]]:
    return [entry for entry in elements(messages) if entry["type"] == limits.MENU]


def control(element: dict[str, Any]) -> control_ids.Control:
    found = control_ids.parse(element["custom_id"])
    assert found is not None
    return found


def accepted(messages: Sequence[Body]) -> None:
    """Check that our limits, the local service and Discord's OpenAPI document (if available) accept the messages."""
    assert messages
    for body in messages:
        limits.check_message(body)
        read_wording("create_message", body)
        if OPENAPI.exists():
            OpenApi(OPENAPI).check("create_message", body)
        (frame,) = body["components"]
        assert frame["type"] == limits.CONTAINER
        kinds = {entry["type"] for entry in frame["components"]}
        assert kinds <= {limits.ROW, limits.SECTION, limits.DISPLAY, limits.GALLERY, limits.SEPARATOR}
    assert not elements(messages[1:]), "controls stand in the first message only"


def accepted_modal(modal: Body) -> None:
    limits.check_modal(modal)
    found = Found()
    accept_modal(modal, (), found)
    found.check()
    if OPENAPI.exists():
        OpenApi(OPENAPI).check("create_interaction_response", {"type": 9, "data": modal})
