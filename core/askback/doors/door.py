"""The service behind each door: it asks by the operator's rules, waits, lists, cancels, and requests permissions."""

from __future__ import annotations

__all__ = ["LONGEST_CALL_ID", "Call", "Door"]

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from pydantic import JsonValue

from askback.client.presence import Loss
from askback.client.result import get_outcome
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval, Policy
from askback.domain.edit_rules import EditRules
from askback.domain.form import Form
from askback.domain.timeout_action import TimeoutAction
from askback.domain.webhook import Webhook
from askback.doors.caller_asks import CallerAsks, NewAsk, parse_kind
from askback.doors.permission import (
    PermissionAnswer,
    answer_questions,
    answer_request,
    build_questions,
    deny,
    deny_undecided,
)
from askback.doors.results import QUESTIONS, CallKind, describe_open, to_result
from askback.doors.rules import AddressBook, Addressees, DoorRules, identify_rules
from askback.doors.tool_decisions import build_call_question
from askback.doors.tool_inputs import PermitInput, check_secrets
from askback.errors import AskbackError, CallerError, ModelError
from askback.text.redaction import contains_known_secret
from askback.tools import get_tool

log = logging.getLogger("askback.door")

REPORT_SECONDS: Final = 10.0
"""Seconds between two reports of a call that waits."""
LONGEST_CALL_ID: Final = 500
LONGEST_REASON: Final = 500
ASKED: Final = "the people who were asked"
"""The people of an ask whose names were not looked up, in words."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a caller."""

    principal: str
    id: str | None
    """The caller's own id of the call, which is the same when the call is repeated."""
    seconds: float
    """The longest time that the call waits for people."""
    report: Callable[[str], Awaitable[None]]
    """Called with a sentence every `REPORT_SECONDS` while the call waits. If it raises an error, the call ends."""


class Door:
    """Asks people for callers to whom the same rules apply."""

    def __init__(self, rules: DoorRules, asks: CallerAsks, *, quotes_names: bool = True) -> None:
        """`quotes_names` is for callers that are models: see `to_result`."""
        self.rules = rules
        self._quotes_names = quotes_names
        self._asks = asks
        self._book = AddressBook(rules)

    async def ask(
        self,
        call: Call,
        kind: CallKind,
        form: Form,
        vote: Approval | None = None,
        place: str | None = None,
        *,
        limit: float | None = None,
        on_timeout: TimeoutAction = "report",
        webhook: Webhook | None = None,
    ) -> dict[str, JsonValue]:
        """Ask a form in a place, which is one of the operator's. Wait, and return the result.

        Without a `vote`, the first answer decides. `limit` is the caller's wish: the question times out after that many
        seconds, if the operator does not set less. `on_timeout` decides what follows then. A `webhook` gets the
        outcome, too. Raises `AskbackError`.
        """
        people = await self._book.look_up(self.rules.find_place(place))
        ask = await self._submit(call, kind, people, form, vote, limit=limit, on_timeout=on_timeout, webhook=webhook)
        return self._build_result(call, await self._wait(call, ask, people.asked), people.asked)

    async def ask_questions(self, call: Call, given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Ask the input of `AskUserQuestion` in the default place. Raises `AskbackError`."""
        return await self.ask(call, "questions", get_tool(QUESTIONS).parse(given))

    async def wait_for(self, call: Call, ask: Ask) -> dict[str, JsonValue]:
        """Wait for an ask of this caller, and return the result."""
        await self._learn_name(ask)
        return self._build_result(call, await self._wait(call, ask, ASKED), ASKED)

    def note_poll(self, ask: Ask) -> None:
        """Count the caller as waiting for an ask, since its protocol lets it ask again every few seconds."""
        self._asks.note_poll(ask)

    async def cancel(self, call: Call, ask: Ask, reason: str | None) -> dict[str, JsonValue]:
        """Withdraw an ask of this caller, if it is open, and return the result. Raises `CallerError`."""
        reason = _repair_reason(reason)
        await self._learn_name(ask)
        newest = await self._asks.cancel(ask, f"The agent withdrew it{f': {reason}' if reason else '.'}")
        return self._build_result(call, newest, ASKED)

    async def find(self, principal: str, ask_id: str) -> Ask | None:
        """Return an ask of this caller; None if the caller has none with that id."""
        return await self._asks.find(principal, ask_id.strip())

    async def list_pending(self, principal: str) -> list[JsonValue]:
        """Return the open asks of a caller, oldest first."""
        found = await self._asks.list_pending(principal)
        for ask in found:
            await self._learn_name(ask)
        return [
            {
                "id": ask.id,
                "question": ask.interview.form.questions[0].prompt,
                "where": self._name_place(ask),
                "since": ask.created_at.isoformat(),
                "deadline": None if ask.policy.deadline is None else ask.policy.deadline.isoformat(),
            }
            for ask in found
        ]

    async def request_permission(self, call: Call, given: PermitInput) -> PermissionAnswer:
        """Let people approve a call of a tool, or answer the questions of `AskUserQuestion`.

        Every error denies the call, and the message says that nobody did.
        """
        try:
            return await self._decide(call, given)
        except (CallerError, ModelError) as error:
            return deny(f"Nobody was asked, so it was not run: {error}")
        except AskbackError as error:
            log.warning("A request for permission failed: %s", error, extra={"action": "call_failed"})
            return deny(f"askback could not ask for permission, so it was not run. Nobody denied it: {error}")

    async def _decide(self, call: Call, given: PermitInput) -> PermissionAnswer:
        people = await self._book.look_up(self.rules.places[0])
        call_id = given.tool_use_id if given.tool_use_id is not None else call.id
        # The same id may also name the call of a tool here.
        call = replace(call, id=None if call_id is None else f"permit:{call_id[:LONGEST_CALL_ID]}")
        if given.tool_name == QUESTIONS:
            ask = await self._submit(call, "questions", people, build_questions(given.input), None)
            newest = await self._wait(call, ask, people.asked)
            if newest.outcome is None:
                return deny(str(describe_open(newest, people.asked, people.found.name)["message"]))
            self._asks.claim(newest, call.id)
            return answer_questions(given.input, newest, newest.outcome)
        decisions = ("approve", "reject", "edit") if given.tool_name in self.rules.editable else ("approve", "reject")
        question = build_call_question(given.tool_name, given.input, decisions, None)
        ask = await self._submit(
            call, "permit", people, question.form, None, subject=question.digest, edits=question.edits
        )
        # Without an id of the call, only this process knows which call is the same.
        newest = await self._wait(call, ask, "approvers", "with process" if call.id is None else None)
        if newest.outcome is None:
            return deny_undecided(given.tool_name, newest)
        if not self._asks.claim(newest, call.id):
            return deny(
                "The approval was given to an earlier call that is the same. Make the call again, and people are asked."
            )
        return answer_request(given.tool_name, given.input, newest, newest.outcome)

    async def _submit(
        self,
        call: Call,
        kind: CallKind,
        people: Addressees,
        form: Form,
        vote: Approval | None,
        *,
        subject: str | None = None,
        edits: EditRules | None = None,
        limit: float | None = None,
        on_timeout: TimeoutAction = "report",
        webhook: Webhook | None = None,
    ) -> Ask:
        check_secrets(form)

        def build_policy() -> Policy:
            if subject is not None:
                return people.build_approval_policy(self.rules, subject, edits)
            return people.build_policy(self.rules.limit_wait(limit), vote, on_timeout)

        policy = build_policy()
        policy.check(form)
        new = NewAsk(kind, form, people.found.place, build_policy, identify_rules(policy), call.id, webhook)
        return await self._asks.ask(call.principal, new)

    async def _wait(self, call: Call, ask: Ask, asked: str, loss: Loss | None = None) -> Ask:
        """Return the ask once it is settled, or as it is when this call must end. Report meanwhile."""

        async def report() -> None:
            await call.report(f"Waiting for {asked} in {self._name_place(ask)}.")

        return await self._asks.wait(ask, call.seconds, REPORT_SECONDS, report, loss)

    async def describe(self, ask: Ask) -> dict[str, JsonValue]:
        """Return the result of an ask of this caller, which counts as received by nobody."""
        await self._learn_name(ask)
        return self._describe(ask, ASKED)

    def _describe(self, ask: Ask, asked: str) -> dict[str, JsonValue]:
        where = self._name_place(ask)
        if ask.outcome is None:
            return describe_open(ask, asked, where)
        kind = parse_kind(ask) or "ask"
        result = to_result(ask, ask.outcome, kind, where, quotes_names=self._quotes_names)
        if kind == "ask" and ask.policy.approval is not None and (outcome := get_outcome(ask)) is not None:
            result["approved"] = outcome.approved
        return result

    def note_received(self, ask: Ask, call_id: str | None = None) -> None:
        """Record that the caller has received the outcome, so that the same question is asked again from now on."""
        self._asks.claim(ask, call_id)

    def _build_result(self, call: Call, ask: Ask, asked: str) -> dict[str, JsonValue]:
        if ask.outcome is not None and parse_kind(ask) != "permit":  # an approval is for the call that asked for it
            self.note_received(ask, call.id)
        return self._describe(ask, asked)

    async def _learn_name(self, ask: Ask) -> None:
        """Look up the name of an ask's place, if an earlier process asked it."""
        if self._book.get_name(ask.place.key) is None:
            await self._book.look_up_all()

    def _name_place(self, ask: Ask) -> str:
        return self._book.get_name(ask.place.key) or f"{ask.place.platform}:{ask.place.channel}"


def _repair_reason(reason: str | None) -> str:
    """Return a caller's reason on one line, of limited length. Raises `CallerError` if people would read a secret."""
    found = " ".join((reason or "").split())[:LONGEST_REASON]
    if contains_known_secret(found):
        raise CallerError("The reason contains a secret of askback's process, which people would read: take it out.")
    return found
