"""The bot's own sentences in Slack: literal, since they name people and quote them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from askback.domain.outgoing_message import OutgoingMessage
from askback_slack.bot_sentences import build_remark, to_remark


def texts(blocks: Any) -> str:
    (block,) = blocks
    assert block["type"] == "rich_text", "mark-up is read in no other way"
    return "".join(run["text"] for section in block["elements"] for run in section["elements"])


@pytest.mark.parametrize(
    "words", ["*ada* is asked", "`approvers`", "_a_ ~b~ ```c```", "<!channel> <@U0LOCALADA> &amp;"]
)
def test_a_sentence_is_no_mark_up_whether_it_is_posted_edited_or_private(words: str) -> None:
    for shown in (to_remark(OutgoingMessage(target="say:1", text=words, markdown=False)), build_remark(words)):
        assert texts(shown.blocks) == words
        assert "mrkdwn" not in json.dumps(shown.blocks)
        assert "<" not in shown.text
