"""The bot calls Slack as its own SDK does, so that a server for one also works for the other."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, cast

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from askback_slack.api_calls import SlackApi

WRITTEN: dict[str, dict[str, Any]] = {
    "auth.test": {},
    "chat.postMessage": {"channel": "C1", "text": "x"},
    "chat.update": {"channel": "C1", "ts": "1.2", "text": "x"},
    "chat.delete": {"channel": "C1", "ts": "1.2"},
    "chat.postEphemeral": {"channel": "C1", "user": "U1", "text": "x"},
    "chat.startStream": {"channel": "C1", "thread_ts": "1.1", "markdown_text": "x"},
    "chat.appendStream": {"channel": "C1", "ts": "1.2", "markdown_text": "x"},
    "chat.stopStream": {"channel": "C1", "ts": "1.2"},
    "views.open": {"trigger_id": "1", "view": {"type": "modal"}},
}
READ: dict[str, dict[str, Any]] = {
    "users.info": {"user": "U1"},
    "conversations.replies": {"channel": "C1", "ts": "1.1"},
    "conversations.history": {"channel": "C1"},
    "chat.getPermalink": {"channel": "C1", "message_ts": "1.2"},
}


class Answered:
    data: ClassVar = {"ok": True}
    status_code = 200


class Recorder(AsyncWebClient):
    """The SDK's client, up to the point where it would send."""

    def __init__(self) -> None:
        super().__init__(token="xoxb-1")
        self.sent: list[tuple[str, str, str]] = []

    async def api_call(self, api_method: str, *, http_verb: str = "POST", **given: Any) -> Any:
        self.sent.append((api_method, http_verb, "json" if given.get("json") is not None else "params"))
        return Answered()


@pytest.mark.parametrize("method", [*WRITTEN, *READ])
def test_with_the_same_verb_and_the_same_kind_of_arguments(method: str) -> None:
    ours, theirs = Recorder(), Recorder()
    api = SlackApi(ours, cast("Any", None))
    given = {**WRITTEN, **READ}[method]

    async def both() -> None:
        await (api.write if method in WRITTEN else api.read)(method, **given)
        await getattr(theirs, method.replace(".", "_"))(**given)

    asyncio.run(both())
    assert ours.sent == theirs.sent
