"""The tools of `askback mcp`: any MCP client's agent asks people with them."""

from __future__ import annotations

__all__ = ["McpDoor"]

import json
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)
from pydantic import JsonValue

from askback.domain import approval
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval, Policy
from askback.domain.form import Form
from askback.doors.caller_asks import CallerAsks, NewAsk, parse_kind
from askback.doors.mcp_tools import INSTRUCTIONS, describe_tools
from askback.doors.permission import QUESTIONS, answer_questions, answer_request, deny, deny_undecided
from askback.doors.results import CallKind, describe_open, to_result
from askback.doors.rules import AddressBook, Addressees, DoorRules, identify_rules
from askback.doors.tool_inputs import (
    AskInput,
    CancelInput,
    NoInput,
    PermitInput,
    WaitInput,
    build_question,
    check_secrets,
    parse_input,
    repair_texts,
)
from askback.errors import AskbackError, CallerError, ModelError
from askback.text.redaction import contains_known_secret
from askback.tools import get_tool

log = logging.getLogger("askback.door")

UNKNOWN_SECONDS: Final = 25.0
"""Seconds that a call of an unknown client waits. No known client gives up earlier."""
PATIENT: Final = frozenset({"claude-code"})
"""Clients whose calls may take as long as they like while they receive progress."""
SILENT_SECONDS: Final = 1500.0
"""Seconds that a call of such a client waits if it receives no progress. It gives up after half an hour."""
SILENT_HTTP_SECONDS: Final = 240.0
"""The same over HTTP, where it gives up after five minutes."""
PROGRESS_SECONDS: Final = 10.0
LONGEST_CALL_ID: Final = 500
LONGEST_REASON: Final = 500


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of a tool, and its caller."""

    principal: str
    client: str
    id: str | None
    """The client's own id of the call, which is the same when the call is repeated."""
    has_progress: bool
    is_local: bool
    """True over standard input and output."""
    report: Callable[[int, str], Awaitable[None]]


_Handler = Callable[[_Call, Mapping[str, JsonValue]], Awaitable[CallToolResult]]


class McpDoor:
    """Answers the calls of MCP clients."""

    def __init__(
        self,
        rules: DoorRules,
        asks: CallerAsks,
        find_principal: Callable[[object], str],
        *,
        call_wait: float | None = None,
        permit: bool = False,
    ) -> None:
        self._rules = rules
        self._asks = asks
        self._find_principal = find_principal
        """Return the principal of a call from its HTTP request, which is None over stdio."""
        self._call_wait = call_wait
        """The longest time that one call waits, in seconds. None means that it depends on the client."""
        self._book = AddressBook(rules)
        self._tools = describe_tools(rules.places, permit=permit)
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
        return Server(
            "askback",
            version=version,
            title="askback",
            instructions=INSTRUCTIONS,
            on_list_tools=self._on_list_tools,
            on_call_tool=self._on_call_tool,
        )

    async def _on_list_tools(
        self, context: ServerRequestContext[dict[str, Any]], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=list(self._tools))

    async def _on_call_tool(
        self, context: ServerRequestContext[dict[str, Any]], params: CallToolRequestParams
    ) -> CallToolResult:
        names = [tool.name for tool in self._tools]
        if params.name not in names:
            return _build_error(f"There is no tool {params.name[:60]!r}: use {', '.join(names)}.")
        given = cast("Mapping[str, JsonValue]", repair_texts(params.arguments or {}))
        try:
            return await self._handlers[params.name](self._read_call(context), given)
        except (CallerError, ModelError) as error:
            return _build_error(str(error))
        except AskbackError as error:
            log.warning("A call of %s failed: %s", params.name, error, extra={"action": "call_failed"})
            return _build_error(
                f"askback could not do this: {error} Tell the operator of askback; asking again now does not help."
            )

    def _read_call(self, context: ServerRequestContext[dict[str, Any]]) -> _Call:
        meta = cast("Mapping[str, object]", context.meta or {})
        named = meta.get("claudecode/toolUseId")
        client = context.session.client_params

        async def report(number: int, text: str) -> None:
            await context.session.report_progress(number, None, text)

        return _Call(
            principal=self._find_principal(context.request),
            client="" if client is None else client.client_info.name,
            id=named if isinstance(named, str) and 0 < len(named) <= LONGEST_CALL_ID else None,
            has_progress="progress_token" in meta or "progressToken" in meta,
            is_local=context.request is None,
            report=report,
        )

    # Tools

    async def _ask(self, call: _Call, given: Mapping[str, JsonValue]) -> CallToolResult:
        parsed = parse_input("ask", AskInput, given)
        form, vote = build_question(parsed)
        place = self._rules.find_place(parsed.place)
        return await self._ask_people(call, "ask" if parsed.form is None else "form", place, form, vote)

    async def _ask_questions(self, call: _Call, given: Mapping[str, JsonValue]) -> CallToolResult:
        return await self._ask_people(call, "questions", self._rules.places[0], get_tool(QUESTIONS).parse(given), None)

    async def _ask_people(
        self, call: _Call, kind: CallKind, place: str, form: Form, vote: Approval | None
    ) -> CallToolResult:
        people = await self._book.look_up(place)
        ask = await self._submit(call, kind, people, form, vote)
        newest = await self._wait(call, ask, people.asked)
        return self._build_result(call, newest, people.asked)

    async def _wait_for(self, call: _Call, given: Mapping[str, JsonValue]) -> CallToolResult:
        ask = await self._find(call, "wait", parse_input("wait", WaitInput, given).id)
        asked = "the people who were asked"
        return self._build_result(call, await self._wait(call, ask, asked), asked)

    async def _cancel(self, call: _Call, given: Mapping[str, JsonValue]) -> CallToolResult:
        parsed = parse_input("cancel", CancelInput, given)
        ask = await self._find(call, "cancel", parsed.id)
        reason = " ".join((parsed.reason or "").split())[:LONGEST_REASON]
        if contains_known_secret(reason):
            raise CallerError(
                "The reason contains a secret of askback's process, which people would read: take it out."
            )
        newest = await self._asks.cancel(ask, f"The agent withdrew it{f': {reason}' if reason else '.'}")
        return self._build_result(call, newest, "the people who were asked")

    async def _list_pending(self, call: _Call, given: Mapping[str, JsonValue]) -> CallToolResult:
        parse_input("pending", NoInput, given)
        found: list[JsonValue] = [
            {
                "id": ask.id,
                "question": ask.interview.form.questions[0].prompt,
                "where": self._name_place(ask),
                "since": ask.created_at.isoformat(),
                "deadline": None if ask.policy.deadline is None else ask.policy.deadline.isoformat(),
            }
            for ask in await self._asks.list_pending(call.principal)
        ]
        text = (
            f"{len(found)} open questions: {json.dumps(found, ensure_ascii=False)}" if found else "No open questions."
        )
        return _build_answer({"pending": found, "message": text})

    async def _permit(self, call: _Call, given: Mapping[str, JsonValue]) -> CallToolResult:
        try:
            answer = await self._decide(call, parse_input("permit", PermitInput, given))
        except (CallerError, ModelError) as error:
            answer = deny(f"Nobody was asked, so it was not run: {error}")
        except AskbackError as error:
            log.warning("A request for permission failed: %s", error, extra={"action": "call_failed"})
            answer = deny(f"askback could not ask for permission, so it was not run. Nobody denied it: {error}")
        # Claude Code accepts one text block, and no structured content.
        return CallToolResult(content=[TextContent(text=json.dumps(answer, ensure_ascii=False))])

    async def _decide(self, call: _Call, given: PermitInput) -> dict[str, JsonValue]:
        people = await self._book.look_up(self._rules.places[0])
        call_id = given.tool_use_id if given.tool_use_id is not None else call.id
        # The same id may also name the call of a tool here.
        call_id = None if call_id is None else f"permit:{call_id[:LONGEST_CALL_ID]}"
        call = replace(call, id=call_id)
        if given.tool_name == QUESTIONS:
            ask = await self._submit(call, "questions", people, get_tool(QUESTIONS).parse(given.input), None)
            newest = await self._wait(call, ask, people.asked)
            if newest.outcome is None:
                return deny(str(describe_open(newest, people.asked, people.found.name)["message"]))
            self._asks.claim(newest, call.id)
            return answer_questions(given.input, newest, newest.outcome)
        form = approval.build_form(given.tool_name, given.input)
        subject = approval.compute_digest(given.tool_name, given.input)
        ask = await self._submit(call, "permit", people, form, None, subject=subject)
        newest = await self._wait(call, ask, "approvers")
        if newest.outcome is None:
            return deny_undecided(given.tool_name, newest)
        if not self._asks.claim(newest, call.id):
            return deny(
                "The approval was given to an earlier call that is the same. Make the call again, and people are asked."
            )
        return answer_request(given.tool_name, given.input, newest, newest.outcome)

    # What they share

    async def _submit(
        self,
        call: _Call,
        kind: CallKind,
        people: Addressees,
        form: Form,
        vote: Approval | None,
        *,
        subject: str | None = None,
    ) -> Ask:
        check_secrets(form)

        def build_policy() -> Policy:
            if subject is not None:
                return people.build_approval_policy(self._rules.approvals, subject)
            return people.build_policy(self._rules, vote)

        policy = build_policy()
        policy.check(form)
        new = NewAsk(kind, form, people.found.place, build_policy, identify_rules(policy), call.id)
        return await self._asks.ask(call.principal, new)

    async def _find(self, call: _Call, tool: str, ask_id: str) -> Ask:
        ask = await self._asks.find(call.principal, ask_id.strip())
        if ask is None:
            raise CallerError(
                f"You have no question with the id {ask_id[:60]!r}, so `{tool}` changed nothing: use an id that `ask` "
                "returned, or call `pending` for the open ones."
            )
        return ask

    async def _wait(self, call: _Call, ask: Ask, asked: str) -> Ask:
        """Return the ask once it is settled, or as it is when this call must end. Report progress meanwhile."""
        number = 0

        async def report() -> None:
            nonlocal number
            number += 1
            await call.report(number, f"Waiting for {asked} in {self._name_place(ask)}.")

        return await self._asks.wait(ask, self._find_limit(call), PROGRESS_SECONDS, report)

    def _find_limit(self, call: _Call) -> float:
        if self._call_wait is not None:
            return self._call_wait
        if call.client not in PATIENT:
            return UNKNOWN_SECONDS
        return math.inf if call.has_progress else SILENT_SECONDS if call.is_local else SILENT_HTTP_SECONDS

    def _build_result(self, call: _Call, ask: Ask, asked: str) -> CallToolResult:
        where = self._name_place(ask)
        if ask.outcome is None:
            return _build_answer(describe_open(ask, asked, where))
        kind = parse_kind(ask) or "ask"
        if kind != "permit":  # an approval is for the call that asked for it
            self._asks.claim(ask, call.id)
        return _build_answer(to_result(ask, ask.outcome, kind, where))

    def _name_place(self, ask: Ask) -> str:
        return self._book.get_name(ask.place.key) or f"{ask.place.platform}:{ask.place.channel}"


def _build_answer(data: dict[str, JsonValue]) -> CallToolResult:
    # Some clients show the model only the text, others only the data. Both say everything.
    return CallToolResult(content=[TextContent(text=str(data["message"]))], structured_content=data)


def _build_error(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=True)
