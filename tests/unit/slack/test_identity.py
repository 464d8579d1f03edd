"""The bot's identity in Slack, its own messages, and its owner."""

from __future__ import annotations

from typing import Any, cast

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from askback.domain.identity import MessageRef, Place
from askback.errors import OperatorError
from askback_slack.api_calls import SlackApi
from askback_slack.app import _read_identity  # pyright: ignore[reportPrivateUsage]
from askback_slack.directory import SlackDirectory
from askback_slack.installation import Installation
from askback_slack.posting import SlackPlatform

PLACE = Place(platform="slack", tenant="T1", channel="C1", thread="1.0")


class Answered:
    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.status_code = 200


class Answering(AsyncWebClient):
    """The SDK's client, up to the point where it would send."""

    def __init__(self, **data: Any) -> None:
        super().__init__(token="xoxb-1")
        self._data = {"ok": True, **data}

    async def api_call(self, api_method: str, **given: Any) -> Any:
        del api_method, given
        return Answered(self._data)


def api(**data: Any) -> SlackApi:
    return SlackApi(Answering(**data), cast("Any", None))


def posted(user: str, ts: str, name: str) -> dict[str, Any]:
    metadata = {"event_type": "askback", "event_payload": {"nonce": name, "part": 0}}
    return {"type": "message", "user": user, "ts": ts, "metadata": metadata}


@pytest.mark.parametrize(("theirs", "found"), [("UBOT", "1.1"), ("UOTHER", "1.2")])
async def test_a_message_of_another_app_under_the_name_of_ours_is_not_ours(theirs: str, found: str) -> None:
    """Anyone who reads a card's metadata can write the same; changing such a message would fail permanently."""
    slack = api(messages=[posted(theirs, "1.1", "ask"), posted("UBOT", "1.2", "ask")])
    platform = SlackPlatform(slack, "UBOT")
    assert await platform.find_posted(PLACE, "ask") == (MessageRef(channel="C1", id=found),)


async def test_a_bot_that_does_not_know_its_workspace_does_not_take_everybody_for_a_member() -> None:
    with pytest.raises(OperatorError, match="does not name the bot's workspace"):
        await _read_identity(api(user_id="UBOT"), "xoxb-1")
    assert (await _read_identity(api(user_id="UBOT", team_id="T1"), "xoxb-1")).team_id == "T1"


@pytest.mark.parametrize(
    ("user", "called"),
    [
        ({"id": "U0ADA1234", "name": "ada"}, "@ada"),
        ({"id": "U0ADA1234", "profile": {"display_name": "", "real_name": "Ada L."}}, "@Ada L."),
        ({"id": "U0ADA1234"}, "@U0ADA1234"),
    ],
)
async def test_a_person_without_a_name_is_called_by_another_one_or_by_the_id(user: dict[str, Any], called: str) -> None:
    found = await SlackDirectory(api(user=user), Installation(team="T1")).find_addressee("U0ADA1234", PLACE)
    assert (found.name, found.person and found.person.id) == (called, "U0ADA1234")


async def test_an_answer_that_names_nobody_is_no_person() -> None:
    with pytest.raises(OperatorError, match="does not say which person"):
        await SlackDirectory(api(user={}), Installation(team="T1")).find_addressee("U0ADA1234", PLACE)
