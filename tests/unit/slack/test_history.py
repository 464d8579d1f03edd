"""The parsed messages of a thread in Slack."""

from __future__ import annotations

from typing import Any

import pytest

from askback.domain.identity import Place
from askback_slack.history import read_message

PLACE = Place(platform="slack", tenant="T1", channel="C1", thread="1.0")
ME = "U0BOT"


def message(**fields: Any) -> dict[str, Any]:
    return {"type": "message", "ts": "2.0", "user": "U1", **fields}


def test_people_are_named_by_whoever_knows_their_names() -> None:
    found = read_message(message(text="ask <@U2>, <@U0BOT>, or &lt;nobody&gt; in <#C2|general>"), PLACE, ME)
    assert found is not None
    assert (found.message.key, found.message.author.id, found.message.author.name) == ("C1:2.0", "U1", "")
    assert found.message.text == "ask @U2, , or <nobody> in #general"
    assert found.mentioned == ("U2",)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"text": "deploy failed"}, "deploy failed"),
        ({"text": "", "attachments": [{"fallback": "CPU at 99 %"}]}, "CPU at 99 %"),
        ({"text": "", "attachments": [{"title": "CPU", "text": "at 99 %"}]}, "CPU\nat 99 %"),
        (
            {
                "blocks": [
                    {"type": "header", "text": {"type": "plain_text", "text": "Alert"}},
                    {"type": "section", "fields": [{"type": "mrkdwn", "text": "host &amp; disk"}]},
                    {"type": "markdown", "text": "**full**"},
                ]
            },
            "Alert\nhost & disk\n**full**",
        ),
    ],
)
def test_programs_are_heard_wherever_they_write_it(fields: dict[str, Any], text: str) -> None:
    found = read_message(message(user=None, bot_id="B9", bot_profile={"name": "watchdog"}, **fields), PLACE, ME)
    assert found is not None
    assert (found.message.author.id, found.message.author.name, found.message.text) == ("B9", "watchdog", text)


@pytest.mark.parametrize(
    "fields",
    [
        {"subtype": "channel_join", "text": "<@U1> has joined the channel"},
        {"text": ""},
        {"text": "no ts", "ts": None},
        {"text": "nobody wrote it", "user": None},
        {"user": ME, "text": "Which fruit?", "blocks": [{"type": "actions", "block_id": "askback:abc:1:0"}]},
        {"user": ME, "text": "Which fruit?", "metadata": {"event_payload": {"nonce": "abcdefghijklmnopqrstuv"}}},
        {"user": ME, "text": "I am waiting", "metadata": {"event_payload": {"nonce": "wait:abc"}}},
    ],
)
def test_what_nobody_said_is_left_out(fields: dict[str, Any]) -> None:
    assert read_message(message(**fields), PLACE, ME) is None


def test_what_the_agent_said_itself_is_kept() -> None:
    own = message(user=ME, bot_id="B0", text="I think so.", metadata={"event_payload": {"nonce": "say:abc:1"}})
    found = read_message(own, PLACE, ME)
    assert found is not None
    assert found.message.text == "I think so."
