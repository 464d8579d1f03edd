"""The client's side of the tasks extension of MCP."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp_types import CallToolResult, Request, RequestParams, Result
from pydantic import ConfigDict

from askback.doors.mcp_tasks import TASKS


class Task(Result):
    """A task, or its later state."""

    model_config = ConfigDict(extra="allow")

    result_type: Literal["task"] = "task"
    task_id: str
    status: str


class Reply(Result):
    """Any result."""

    model_config = ConfigDict(extra="allow")


class Params(RequestParams):
    task_id: str


class TasksClient(ClientExtension):
    """The side of the client: it polls until there is a result."""

    identifier = TASKS

    def __init__(self) -> None:
        self.tasks: list[Task] = []

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return (ResultClaim(result_type="task", model=Task, resolve=self._resolve),)

    async def _resolve(self, task: Task, context: ClaimContext) -> CallToolResult:
        self.tasks.append(task)
        while True:
            found = await send(context.session, "get", task.task_id)
            if found["status"] != "working":
                return CallToolResult.model_validate(found["result"])
            await asyncio.sleep(0.1)


async def send(session: Any, method: str, task_id: str) -> dict[str, Any]:
    request: Any = Request[Params, str](method=f"tasks/{method}", params=Params(task_id=task_id))
    return (await session.send_request(request, Reply)).model_dump(by_alias=True)
