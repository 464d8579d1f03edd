"""The parsed messages of a thread on Discord."""

from __future__ import annotations

from typing import Any

import pytest

from askback_discord.history import read_message
from askback_discord.stop_button import stop_row
from askback_discord.streaming import WORKING

ME = "1"
ADA = {"id": "7", "username": "ada", "global_name": "Ada Lovelace"}
OWN = {"id": ME, "username": "askback", "bot": True}


def message(**fields: Any) -> dict[str, Any]:
    return {"id": "20", "channel_id": "10", "type": 0, "author": ADA, "content": "", **fields}


def test_people_stand_with_their_names() -> None:
    found = read_message(message(content="<@1> ask <@!8>", mentions=[OWN, {"id": "8", "username": "ben"}]), ME)
    assert found is not None
    assert (found.key, found.author.id, found.author.name, found.text) == ("10:20", "7", "Ada Lovelace", "ask @ben")


def test_programs_are_heard_wherever_they_write_it() -> None:
    embeds = [{"title": "Alert", "description": "CPU at 99 %", "url": "https://example.com"}, {"image": {}}]
    found = read_message(message(author={"id": "9", "username": "watchdog", "bot": True}, embeds=embeds), ME)
    assert found is not None
    assert (found.author.name, found.text) == ("watchdog", "Alert\nCPU at 99 %\nhttps://example.com")


def test_files_and_stickers_are_named() -> None:
    found = read_message(message(attachments=[{"filename": "a.png"}, {}], sticker_items=[{"name": "Wave"}]), ME)
    assert found is not None
    assert found.files == ("a.png", "unnamed file", "the sticker Wave")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"type": 7, "content": "joined"},
        {"type": 21, "content": "the beginning"},
        {"author": None, "content": "nobody wrote it"},
        {"author": OWN, "flags": 1 << 15, "content": "Which fruit?"},
        {"author": OWN, "content": WORKING, "components": [stop_row("say:c:1", placeholder=True)]},
    ],
)
def test_what_nobody_said_is_left_out(fields: dict[str, Any]) -> None:
    assert read_message(message(**fields), ME) is None


def test_an_answer_in_the_words_of_the_placeholder_is_kept() -> None:
    found = read_message(message(author=OWN, content=WORKING, components=[]), ME)
    assert found is not None
    assert found.text == WORKING


def test_what_the_agent_said_itself_is_kept() -> None:
    found = read_message(message(author=OWN, content="I think so."), ME)
    assert found is not None
    assert found.text == "I think so."
