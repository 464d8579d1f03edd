"""The tools of `askback mcp`: any MCP client's agent asks people with them."""

from __future__ import annotations

__all__ = ["McpDoor"]

import json
import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)
from pydantic import JsonValue

from askback.client.ask_result import AskResult
from askback.domain.ask import Ask
from askback.domain.ask_page import MOST_LISTED
from askback.doors.ask_lists import CallerAskList, PendingAsk, UnreadAsk
from askback.doors.door import LONGEST_CALL_ID, Call, Door
from askback.doors.mcp_tasks import TASKS, McpTasks, TaskParams, has_tasks
from askback.doors.mcp_tools import INSTRUCTIONS, describe_tools
from askback.doors.permission import deny
from askback.doors.results import QUESTIONS
from askback.doors.tool_inputs import (
    AskInput,
    CancelInput,
    NoInput,
    PermitInput,
    WaitInput,
    build_question,
    parse_input,
    repair_texts,
)
from askback.errors import AskbackError, CallerError, ModelError

log = logging.getLogger("askback.door")

UNKNOWN_SECONDS: Final = 25.0
"""Seconds that a call of an unknown client waits. No known client gives up earlier."""
TASK_TOOLS: Final = frozenset({"ask", QUESTIONS})
"""Tools whose calls become tasks, if the client has tasks. An approval does not: a model gets the result of a task in
words that say that it is nobody's consent."""
PATIENT_CLIENTS: Final = frozenset({"claude-code"})
"""Clients whose calls may take as long as they like while they receive progress."""
SILENT_SECONDS: Final = 1500.0
"""Seconds that a call of such a client waits if it receives no progress. It gives up after half an hour."""
SILENT_HTTP_SECONDS: Final = 240.0
"""The same over HTTP, where it gives up after five minutes."""

_Given = Mapping[str, JsonValue]
_Handler = Callable[[Call, _Given], Awaitable[AskResult | CallerAskList | CallToolResult]]


class McpDoor:
    """Answers the calls of MCP clients."""

    def __init__(
        self,
        door: Door,
        find_principal: Callable[[object], str],
        *,
        find_name: Callable[[object], str | None],
        call_wait: float | None = None,
        permit: bool = False,
    ) -> None:
        self._door = door
        self._find_principal = find_principal
        """Return the principal of a call from its HTTP request, which is None over stdio."""
        self._find_name = find_name
        """Return the operator's name for the caller in the same way; None if it has none."""
        self._call_wait = call_wait
        """The longest time that one call waits, in seconds. None means that it depends on the client."""
        self._tasks = McpTasks(door, lambda context: replace(self._read_call(context), seconds=0), _build_answer)
        self._tools = describe_tools(door.rules.places, permit=permit)
        self._handlers: dict[str, _Handler] = {
            "ask": self._ask,
            QUESTIONS: self._ask_questions,
            "wait": self._wait_for,
            "cancel": self._cancel,
            "pending": self._list_pending,
            "permit": self._permit,
        }

    def create_server(self, version: str) -> Server[dict[str, Any]]:
        """Return the MCP server of this door."""
        server = Server[dict[str, Any]](
            "askback",
            version=version,
            title="askback",
            instructions=INSTRUCTIONS,
            on_list_tools=self._on_list_tools,
        )
        # Not as `on_call_tool`, which cannot return a task.
        server.add_request_handler("tools/call", CallToolRequestParams, self._on_call_tool)
        tasks = self._tasks
        for method, handler in (("get", tasks.get), ("cancel", tasks.cancel), ("update", tasks.update)):
            server.add_request_handler(f"tasks/{method}", TaskParams, handler)
        server.extensions[TASKS] = {}
        return server

    async def _on_list_tools(
        self, context: ServerRequestContext[dict[str, Any]], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=list(self._tools))

    async def _on_call_tool(
        self, context: ServerRequestContext[dict[str, Any]], params: CallToolRequestParams
    ) -> HandlerResult:
        names = [tool.name for tool in self._tools]
        if params.name not in names:
            return _build_error(f"There is no tool {params.name[:60]!r}: use {', '.join(names)}.")
        given = cast("_Given", repair_texts(params.arguments or {}))
        is_task = params.name in TASK_TOOLS and has_tasks(context)
        try:
            call = self._read_call(context)
            call = replace(call, seconds=0) if is_task else call
            result = await self._handlers[params.name](call, given)
            if isinstance(result, CallToolResult):
                return result
            if is_task and isinstance(result, AskResult) and result.status == "open":
                return await self._tasks.create(call, result.id)
            return _build_answer(result)
        except (CallerError, ModelError) as error:
            return _build_error(str(error))
        except AskbackError as error:
            log.warning("A call of %s failed: %s", params.name, error, extra={"action": "call_failed"})
            return _build_error(
                f"askback could not do this: {error} Tell the operator of askback; asking again now does not help."
            )

    def _read_call(self, context: ServerRequestContext[dict[str, Any]]) -> Call:
        meta = cast("Mapping[str, object]", context.meta or {})
        named = meta.get("claudecode/toolUseId")
        number = 0

        async def report(sentence: str) -> None:
            nonlocal number
            number += 1
            await context.session.report_progress(number, None, sentence)

        return Call(
            principal=self._find_principal(context.request),
            id=named if isinstance(named, str) and 0 < len(named) <= LONGEST_CALL_ID else None,
            seconds=self._find_limit(context, has_progress="progress_token" in meta or "progressToken" in meta),
            report=report,
            caller=self._find_name(context.request),
        )

    def _find_limit(self, context: ServerRequestContext[dict[str, Any]], *, has_progress: bool) -> float:
        client = context.session.client_params
        if self._call_wait is not None:
            return self._call_wait
        if client is None or client.client_info.name not in PATIENT_CLIENTS:
            return UNKNOWN_SECONDS
        return math.inf if has_progress else SILENT_SECONDS if context.request is None else SILENT_HTTP_SECONDS

    # Tools

    async def _ask(self, call: Call, given: _Given) -> AskResult:
        parsed = parse_input("ask", AskInput, given)
        kind, form, vote = build_question(parsed)
        self._door.rules.check_default(
            parsed.deadline, parsed.on_timeout, "`deadline` a moment, such as 2026-12-01T17:00:00+01:00"
        )
        return await self._door.ask(
            call, kind, form, vote, parsed.place, limit=parsed.deadline, on_timeout=parsed.on_timeout
        )

    async def _ask_questions(self, call: Call, given: _Given) -> AskResult:
        return await self._door.ask_questions(call, given)

    async def _wait_for(self, call: Call, given: _Given) -> AskResult:
        ask = await self._find(call, "wait", parse_input("wait", WaitInput, given).id)
        return await self._door.wait_for(call, ask)

    async def _cancel(self, call: Call, given: _Given) -> AskResult:
        parsed = parse_input("cancel", CancelInput, given)
        ask = await self._find(call, "cancel", parsed.id)
        return await self._door.cancel(call, ask, parsed.reason)

    async def _find(self, call: Call, tool: str, ask_id: str) -> Ask:
        ask = await self._door.find(call.principal, ask_id)
        if ask is None:
            raise CallerError(
                f"You have no question with the id {ask_id[:60]!r}, so `{tool}` changed nothing: use an id that `ask` "
                "returned, or call `pending` for the open ones."
            )
        return ask

    async def _list_pending(self, call: Call, given: _Given) -> CallerAskList:
        parse_input("pending", NoInput, given)
        found, rest = await self._door.list_pending(call.principal, None, MOST_LISTED)
        unread, unread_rest = await self._door.list_unread(call.principal)
        message = _describe_list(found, rest.more, unread, unread_rest.more)
        return CallerAskList(pending=tuple(found), unread=tuple(unread), message=message)

    async def _permit(self, call: Call, given: _Given) -> CallToolResult:
        try:
            answer = await self._door.request_permission(call, parse_input("permit", PermitInput, given))
        except ModelError as error:
            answer = deny(f"Nobody was asked, so it was not run: {error}")
        # Claude Code accepts one text block, and no structured content.
        return CallToolResult(content=[TextContent(text=json.dumps(answer, ensure_ascii=False))])


def _describe_list(found: Sequence[PendingAsk], newer: int, unread: Sequence[UnreadAsk], older: int) -> str:
    if not found and not unread:
        return "No open questions, and no results that you have not read."
    texts: list[str] = []
    if found:
        texts.append(f"{len(found)} open question{'s' * (len(found) > 1)}: {_dump_list(found)}")
    if newer:
        texts.append(f"{newer} more, which are newer, are not listed: call `pending` again once some of these ended.")
    if unread:
        texts.append(
            f"{len(unread)} question{'s' * (len(unread) > 1)} whose result you have not read: call `wait` with its id. "
            f"{_dump_list(unread)}"
        )
    if older:
        texts.append(f"{older} more, which are older, are not listed: call `pending` again once you have read these.")
    return "\n".join(texts)


def _dump_list(listed: Sequence[PendingAsk | UnreadAsk]) -> str:
    return json.dumps([one.model_dump(mode="json") for one in listed], ensure_ascii=False)


def _build_answer(result: AskResult | CallerAskList) -> CallToolResult:
    # Some clients show the model only the text, others only the data. Both say everything.
    # The tool's output schema is that of the model. It knows no null where a field is left out.
    data = result.model_dump(mode="json", exclude_defaults=True)
    return CallToolResult(content=[TextContent(text=result.message)], structured_content=data)


def _build_error(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=True)
