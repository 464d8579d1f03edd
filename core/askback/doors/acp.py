"""Lets people in Slack or Discord decide what an editor's agent may do, over the Agent Client Protocol (ACP).

Your program is the ACP client, which starts the agent and talks with it. Its methods for permissions, elicitations and
updates call those of the same name here. The agent waits in its process, so nothing outlives the end of the agent.
"""

from __future__ import annotations

__all__ = ["AcpDoor"]

import logging
import secrets
from collections.abc import Mapping
from typing import Any, Final, Unpack

from pydantic import JsonValue

from askback.domain.approval import compute_digest
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval
from askback.domain.form import Form
from askback.domain.hand_over import HandOverState, name_call
from askback.domain.json_answers import build_instance
from askback.domain.json_schema import read_form
from askback.doors.call_question import CallQuestion
from askback.doors.confirmation import build_confirmation
from askback.doors.door_options import DoorOptions
from askback.doors.framework_door import ClosableDoor, FrameworkDoor
from askback.doors.hand_over import NotClaimed
from askback.internal.extras import import_extra
from askback.text.unseen import strip_text
from askback.translations.catalogue import use_language

with import_extra("acp", "The door for ACP"):
    from acp.schema import (
        AcceptElicitationResponse,
        CancelElicitationResponse,
        CreateElicitationResponse,
        DeclineElicitationResponse,
        DeniedOutcome,
        ElicitationFormRequestMode,
        ElicitationFormSessionMode,
        ElicitationMode,
        PermissionOption,
        RequestPermissionResponse,
        ToolCallProgress,
        ToolCallStart,
        ToolCallUpdate,
    )

    from askback.doors.acp_calls import CallUpdates
    from askback.doors.acp_permissions import read_request

log = logging.getLogger("askback.door")

ENDED: Final[frozenset[HandOverState]] = frozenset({"acknowledged", "unknown"})
"""States of a hand-over after which the same call is another one. Nobody gets an approval twice."""


class AcpDoor(ClosableDoor):
    """Answers the permission requests and elicitations of an ACP agent with what people decide."""

    def __init__(self, *, allow_always: bool = False, name: str = "acp", **options: Unpack[DoorOptions]) -> None:
        """`name` separates agents that share a database. The other options are those of `DoorOptions`.

        `allow_always` lets approvers choose the agent's options that permit later calls, too. Raises `CallerError`.
        """
        super().__init__(FrameworkDoor(name, "report", **options))
        self._allow_always = allow_always
        self._where = options["to"]
        self._process = secrets.token_hex(8)
        self._updates = CallUpdates()

    async def session_update(self, session_id: str, update: object, **_: Any) -> None:
        """Note what the agent says about its calls. A request may leave out what an update has said before."""
        if isinstance(update, ToolCallStart | ToolCallProgress):
            self._updates.note(session_id, update)

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        """Let approvers choose one of the agent's options. It is `cancelled` if nobody decided.

        A cancelled wait settles nothing: the same request finds the card again. Raises `AskbackError`, which the ACP
        library sends as an error, so that nothing is permitted.
        """
        with use_language(self._door.language):
            call = self._updates.complete(session_id, tool_call)
            request = read_request(call, options, allow_always=self._allow_always)
        ask = await self._settle(session_id, f"permission:{tool_call.tool_call_id}", request.question)
        if ask is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return request.build_response(ask, self._where)

    async def create_elicitation(self, message: str, mode: ElicitationMode, **_: Any) -> CreateElicitationResponse:
        """Let people fill in the agent's form, or accept its message if the form has no fields.

        A request to open an address is declined. Raises `AskbackError`, also for a form that people cannot be asked.
        """
        if not isinstance(mode, ElicitationFormSessionMode | ElicitationFormRequestMode):
            log.info("Declined an elicitation that would open an address.", extra={"action": "elicitation_declined"})
            return DeclineElicitationResponse(action="decline")
        schema = mode.requested_schema.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"field_meta"})
        with use_language(self._door.language):
            form, vote = _read_elicitation(strip_text(message), schema)
        digest = compute_digest("elicitation", [message, schema])
        if isinstance(mode, ElicitationFormSessionMode):
            session, call = mode.session_id, mode.tool_call_id or ""
        else:  # a request has its id only within this connection
            session, call = self._process, str(mode.request_id)
        ask = await self._settle(session, f"elicitation:{call}:{digest}", CallQuestion("ask", form, digest, vote))
        outcome = None if ask is None else ask.outcome
        match None if outcome is None else outcome.state:
            case "answered" if outcome is not None:
                content = build_instance(form, outcome.answers) if vote is None else {}
                return AcceptElicitationResponse(action="accept", content=content)
            case "declined" | "refused":
                return DeclineElicitationResponse(action="decline")
            case _:
                return CancelElicitationResponse(action="cancel")

    async def cancel(self, session_id: str) -> None:
        """Withdraw all open questions of a session. Call it when you cancel the session's turn, or close the session.

        Requests that wait are answered with `cancelled`, as the protocol demands.
        """
        known = await self._door.list_hand_overs(session_id)
        await self._door.withdraw(one for one in known if one.state == "asked")

    async def _settle(self, session: str, name: str, question: CallQuestion) -> Ask | None:
        """Ask people, and return the settled ask. None if another request was given this outcome."""
        known = await self._door.list_hand_overs(session)
        call = name_call(self._door.framework, session, name, known, ENDED)
        ask = await self._door.wait(
            await self._door.ask(call, question), shows_presence=True, ends_with_process=session == self._process
        )
        try:
            async with self._door.claim(dict.fromkeys((call,), question.digest)):
                return ask
        except NotClaimed as error:
            log.info("Another request has received this outcome: %s", error, extra={"action": "not_claimed"})
            return None


def _read_elicitation(message: str, schema: Mapping[str, JsonValue]) -> tuple[Form, Approval | None]:
    if not schema.get("properties"):
        _kind, form, vote = build_confirmation(message)
        return form, vote
    return read_form(schema, message=message or None), None
