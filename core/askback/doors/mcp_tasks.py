"""The tasks extension of MCP: a call returns at once, and the client asks for its result later.

So an answer reaches the client even if this server was killed meanwhile. The id of a task is that of its ask.

See https://modelcontextprotocol.github.io/ext-tasks/
"""

from __future__ import annotations

__all__ = ["TASKS", "McpTasks", "TaskParams", "has_tasks"]

from collections.abc import Callable
from typing import Any, Final

from mcp import MCPError
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp_types import INVALID_PARAMS, MISSING_REQUIRED_CLIENT_CAPABILITY, CallToolResult, RequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import JsonValue

from askback.client.ask_result import AskResult
from askback.domain.ask import Ask
from askback.doors.door import Call, Door
from askback.internal.clock import to_iso

Context = ServerRequestContext[dict[str, Any]]

TASKS: Final = "io.modelcontextprotocol/tasks"
POLL_MILLISECONDS: Final = 5000
"""The pause between two requests of a client for a result. Claude Code gives up after five that fail in a row, and a
server restarts in less time than these take."""


class TaskParams(RequestParams):
    """The parameters of `tasks/get`, `tasks/cancel` and `tasks/update`. The last has others, too, which are for tasks
    that wait for input of the client."""

    task_id: str


def has_tasks(context: Context) -> bool:
    """Return True if the client can receive a task as the result of this request."""
    capabilities = context.session.client_capabilities
    extensions = None if capabilities is None else capabilities.extensions
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS and TASKS in (extensions or {})


def _check_capability(context: Context) -> None:
    """Raise `MCPError` if the client has not declared the extension."""
    if not has_tasks(context):
        required: JsonValue = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "Missing required client capability", required)


class McpTasks:
    """Answers the requests about tasks."""

    def __init__(
        self,
        door: Door,
        read_call: Callable[[Context], Call],
        build_answer: Callable[[AskResult], CallToolResult],
    ) -> None:
        self._door = door
        self._read_call = read_call
        """Return the call of a request. It does not wait."""
        self._build_answer = build_answer

    async def create(self, call: Call, ask_id: str) -> HandlerResult:
        """Return an open ask as a new task."""
        ask = await self._find(call, ask_id)
        self._door.note_poll(ask)
        return {"resultType": "task", **_describe(ask, "working", to_iso(ask.created_at))}

    async def get(self, context: Context, params: TaskParams) -> HandlerResult:
        """Answer `tasks/get`."""
        _check_capability(context)
        call = self._read_call(context)
        ask = await self._find(call, params.task_id)
        self._door.note_poll(ask)
        result = await self._door.wait_for(call, ask)
        if result.at is None:
            return _describe(ask, "working", to_iso(ask.created_at))
        settled_at = to_iso(result.at)
        if result.status == "cancelled" and result.by is None:
            return {**_describe(ask, "cancelled", settled_at), "statusMessage": result.message}
        answer = self._build_answer(result).model_dump(by_alias=True, mode="json", exclude_none=True)
        return {**_describe(ask, "completed", settled_at), "result": answer}

    async def cancel(self, context: Context, params: TaskParams) -> HandlerResult:
        """Answer `tasks/cancel`: withdraw the ask, if it is open."""
        _check_capability(context)
        call = self._read_call(context)
        await self._door.cancel(call, await self._find(call, params.task_id), None)
        return {}

    async def update(self, context: Context, params: TaskParams) -> HandlerResult:
        """Answer `tasks/update`. No task here waits for input of the client, so this changes nothing."""
        _check_capability(context)
        await self._find(self._read_call(context), params.task_id)
        return {}

    async def _find(self, call: Call, task_id: str) -> Ask:
        ask = await self._door.find(call.principal, task_id)
        if ask is None:
            raise MCPError(INVALID_PARAMS, "You have no task with this id: use one that a call returned.")
        return ask


def _describe(ask: Ask, status: str, updated_at: str) -> dict[str, Any]:
    return {
        "taskId": ask.id,
        "status": status,
        "createdAt": to_iso(ask.created_at),
        "lastUpdatedAt": updated_at,
        "ttlMs": None,
        "pollIntervalMs": POLL_MILLISECONDS,
    }
