"""Posts to which Discord answers briefly, or with a refusal."""

from __future__ import annotations

from typing import Any

import pytest

from askback.domain.identity import MessageRef, Place
from askback_discord.api_calls import DiscordRejection
from askback_discord.channels import ChannelCache
from askback_discord.events import MessageListener
from askback_discord.message_positions import MessagePositions
from askback_discord.posting import DiscordPlatform

PLACE = Place(platform="discord", tenant="8", channel="100", thread="300")
BODY: dict[str, Any] = {"content": "Hello", "allowed_mentions": {"parse": []}}


class Api:
    """An API that gives scripted answers, and records its calls."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.called: list[tuple[str, str, Any]] = []

    async def call(self, verb: str, path: str, body: Any = None, **ids: str) -> Any:
        self.called.append((verb, path.format(**ids), body))
        answer = self.answers.get("threads" if path.endswith("/threads") else verb)
        if isinstance(answer, Exception):
            raise answer
        return answer or {"id": "400"}


@pytest.mark.parametrize(
    ("answer", "changes"),
    [
        ({"id": "400"}, 0),
        ({"id": "400", "channel_id": "300"}, 0),
        ({"id": "400", "content": "Hello", "components": []}, 0),
        ({"id": "400", "content": "What an earlier try said"}, 1),
    ],
)
async def test_a_message_is_changed_only_where_discord_gave_an_earlier_one_back(
    answer: dict[str, Any], changes: int
) -> None:
    api: Any = Api(POST=answer)
    assert await DiscordPlatform(api, 1).post_message(PLACE, BODY, "name", 0) == MessageRef(channel="300", id="400")
    assert [verb for verb, _, _ in api.called].count("PATCH") == changes


async def test_a_thread_that_may_not_be_started_is_said_in_the_channel() -> None:
    api: Any = Api(threads=DiscordRejection(50013, "I lack one of these permissions there."))

    async def hear(*_: object, **__: object) -> bool:
        return True

    changes: Any = None
    platform = DiscordPlatform(api, 1)
    hearing = MessageListener(
        platform, hear, changes, ChannelCache(platform), MessagePositions(), reads_everything=True
    )
    await hearing._open(PLACE, "hello", MessageRef(channel="100", id="300"))
    (said,) = [body for verb, path, body in api.called if (verb, path) == ("POST", "/channels/100/messages")]
    assert "I lack one of these permissions there" in said["content"]
    assert said["allowed_mentions"] == {"parse": []}
