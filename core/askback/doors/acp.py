"""Lets people in Slack or Discord decide what an editor's agent may do, over the Agent Client Protocol (ACP).

Your program is the ACP client, which starts the agent and talks with it. Its methods for permissions and elicitations
call those of the same name here. The agent waits in its process, so nothing outlives the end of the agent.
"""

from __future__ import annotations

__all__ = ["AcpDoor"]

import logging
import secrets
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Self

from askback.client.addressing import Names
from askback.client.duration_parameters import Duration
from askback.domain.approval import compute_digest
from askback.domain.ask import Ask
from askback.domain.ask_policy import Reasons
from askback.domain.hand_over import HandOverState, name_call
from askback.domain.json_answers import build_instance
from askback.domain.json_schema import read_form
from askback.doors.call_question import CallQuestion
from askback.doors.framework_door import FrameworkDoor, build_rules
from askback.doors.hand_over import NotClaimed
from askback.internal.extras import import_extra
from askback.settings.environment import load_settings
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
        ToolCallUpdate,
    )

    from askback.doors.acp_permissions import read_request

log = logging.getLogger("askback.door")

ENDED: Final[frozenset[HandOverState]] = frozenset({"acknowledged", "unknown"})
"""States of a hand-over after which the same call is another one. Nobody gets an approval twice."""


class AcpDoor:
    """Answers the permission requests and elicitations of an ACP agent with what people decide."""

    def __init__(
        self,
        *,
        to: str,
        who: Names = (),
        approvers: Names = (),
        requested_by: Names = (),
        wait: Duration | None = None,
        remind: Duration | Sequence[Duration] = (),
        quorum: int | None = None,
        reasons: Reasons | None = None,
        allow_always: bool = False,
        name: str = "acp",
    ) -> None:
        """`to` is a place such as `slack:#agents`. `who` may answer elicitations, and `approvers` decide about calls.

        `allow_always` lets approvers choose the agent's options that permit later calls, too. `name` separates agents
        that share a database. What is left out comes from the settings. Raises `CallerError`.
        """
        settings = load_settings()
        rules = build_rules(
            settings,
            to=to,
            who=who,
            approvers=approvers,
            requested_by=requested_by,
            wait=wait,
            remind=remind,
            quorum=quorum,
            reasons=reasons,
            on_timeout="report",
        )
        self._door = FrameworkDoor(name, rules, settings)
        self._allow_always = allow_always
        self._where = to
        self._process = secrets.token_hex(8)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop waiting. Open questions stay open, and the same request of a later process finds them."""
        await self._door.close()

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        """Let approvers choose one of the agent's options. It is `cancelled` if nobody decided.

        A cancelled wait settles nothing: the same request finds the card again. Raises `AskbackError`, which the ACP
        library sends as an error, so that nothing is permitted.
        """
        with use_language(self._door.language):
            request = read_request(tool_call, options, allow_always=self._allow_always)
        ask = await self._settle(session_id, f"permission:{tool_call.tool_call_id}", request.question)
        if ask is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return request.build_response(ask, self._where)

    async def create_elicitation(self, message: str, mode: ElicitationMode, **_: Any) -> CreateElicitationResponse:
        """Let people fill in the agent's form. A request to open an address is declined.

        Raises `AskbackError`, also for a form that people cannot be asked.
        """
        if not isinstance(mode, ElicitationFormSessionMode | ElicitationFormRequestMode):
            log.info("Declined an elicitation that would open an address.", extra={"action": "elicitation_declined"})
            return DeclineElicitationResponse(action="decline")
        schema = mode.requested_schema.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"field_meta"})
        with use_language(self._door.language):
            form = read_form(schema, message=message.strip() or None)
        digest = compute_digest("elicitation", [message, schema])
        if isinstance(mode, ElicitationFormSessionMode):
            session, call = mode.session_id, mode.tool_call_id or ""
        else:  # a request has its id only within this connection
            session, call = self._process, str(mode.request_id)
        ask = await self._settle(session, f"elicitation:{call}:{digest}", CallQuestion("ask", form, digest))
        outcome = None if ask is None else ask.outcome
        match None if outcome is None else outcome.status:
            case "answered" if outcome is not None:
                return AcceptElicitationResponse(action="accept", content=build_instance(form, outcome.answers))
            case "declined":
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
        ask = await self._door.wait(await self._door.ask(call, question), shows_presence=True)
        try:
            async with self._door.claim(dict.fromkeys((call,), question.digest)):
                return ask
        except NotClaimed as error:
            log.info("Another request has received this outcome: %s", error, extra={"action": "not_claimed"})
            return None
