"""A small ACP agent, as a process. Each prompt is JSON: the requests that it sends to its client, one after another.

It says the answer to each as its message.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any
from uuid import uuid4

import acp
from acp.schema import (
    ElicitationFormRequestMode,
    ElicitationFormSessionMode,
    ElicitationUrlSessionMode,
    PermissionOption,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
)
from pydantic import TypeAdapter

OPTIONS = [
    PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
    PermissionOption(option_id="always", name="Always allow", kind="allow_always"),
    PermissionOption(option_id="no", name="Reject", kind="reject_once"),
]


UPDATE: TypeAdapter[Any] = TypeAdapter(ToolCallStart | ToolCallProgress)


class Agent(acp.Agent):
    """Asks its client what a prompt says."""

    def __init__(self) -> None:
        self._client: Any = None

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, **_: Any) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id=sys.argv[1] if len(sys.argv) > 1 else uuid4().hex)

    async def prompt(self, session_id: str, prompt: Any, **_: Any) -> acp.PromptResponse:
        wanted = json.loads(prompt[0].text)
        answers = await asyncio.gather(*(self._send(session_id, one) for one in wanted))
        for answer in answers:
            await self._client.session_update(session_id, acp.update_agent_message_text(json.dumps(answer)))
        return acp.PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Do nothing: the requests end by their answers."""

    async def _send(self, session_id: str, wanted: dict[str, Any]) -> Any:
        try:
            if "schema" in wanted:
                if "request" in wanted:
                    mode: Any = ElicitationFormRequestMode.model_validate(
                        {"requestId": wanted["request"], "requestedSchema": wanted["schema"]}
                    )
                else:
                    mode = ElicitationFormSessionMode.model_validate(
                        {"sessionId": session_id, "requestedSchema": wanted["schema"]}
                    )
                answer = await self._client.create_elicitation(wanted["message"], mode)
            elif "url" in wanted:
                mode = ElicitationUrlSessionMode.model_validate(
                    {"sessionId": session_id, "elicitationId": "one", "url": wanted["url"]}
                )
                answer = await self._client.create_elicitation("Open it", mode)
            else:
                for update in wanted.pop("updates", ()):
                    await self._client.session_update(session_id, UPDATE.validate_python(update))
                options = wanted.pop("options", None)
                offered = OPTIONS if options is None else [one for one in OPTIONS if one.option_id in options]
                call = ToolCallUpdate.model_validate({"toolCallId": "call-1", **wanted})
                answer = await self._client.request_permission(session_id, call, offered)
        except acp.RequestError as error:
            return {"error": str(error), "data": error.data}
        return answer.model_dump(mode="json", by_alias=True, exclude_none=True)


if __name__ == "__main__":
    asyncio.run(acp.run_agent(Agent(), use_unstable_protocol=True))
