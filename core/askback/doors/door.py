"""The service behind each door: it asks by the operator's rules, waits, lists, cancels, and requests permissions."""

from __future__ import annotations

__all__ = ["LONGEST_CALL_ID", "Call", "Door"]

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from pydantic import JsonValue

from askback.client.ask_result import AskResult
from askback.client.presence import Loss
from askback.client.result import get_outcome
from askback.domain.approval import is_approved
from askback.domain.ask import Ask
from askback.domain.ask_page import AskPage, Cursor
from askback.domain.ask_policy import Approval, Policy
from askback.domain.edit_rules import EditRules
from askback.domain.form import Form
from askback.domain.timeout_action import TimeoutAction
from askback.domain.wait import Wait
from askback.domain.webhook import Webhook
from askback.doors.ask_lists import PendingAsk, UnreadAsk
from askback.doors.caller_asks import CallerAsks
from askback.doors.new_ask import NewAsk, parse_kind
from askback.doors.permission import (
    PermissionAnswer,
    answer_questions,
    answer_request,
    build_questions,
    deny,
    deny_undecided,
)
from askback.doors.receipts import get_receipts
from askback.doors.results import QUESTIONS, CallKind, describe_open, to_result
from askback.doors.rules import AddressBook, Addressees, DoorRules, identify_rules
from askback.doors.tool_decisions import build_call_question
from askback.doors.tool_inputs import PermitInput, check_secrets
from askback.errors import AskbackError, CallerError, ModelError
from askback.text.redaction import contains_known_secret
from askback.text.unseen import strip_text
from askback.tools import get_tool
from askback.translations.catalogue import _, use_language

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
    caller: str | None = None
    """The caller's name for people, from the operator. Nothing that a caller says about itself is one."""
    is_key: bool = False
    """True if the id is a key that the caller chose for one question."""


class Door:
    """Asks people for callers to whom the same rules apply."""

    def __init__(self, rules: DoorRules, asks: CallerAsks, *, for_model: bool = True) -> None:
        """`for_model` is False for callers that are programs: see `to_result`."""
        self.rules = rules
        self._for_model = for_model
        self._asks = asks
        self._book = AddressBook(rules)

    async def check_names(self) -> None:
        """Look up the names in the rules. Raises `CallerError` or `OperatorError` for those that cannot work."""
        await self._book.check()

    async def ask(
        self,
        call: Call,
        kind: CallKind,
        form: Form,
        vote: Approval | None = None,
        place: str | None = None,
        *,
        limit: Wait | None = None,
        on_timeout: TimeoutAction = "report",
        webhook: Webhook | None = None,
    ) -> AskResult:
        """Ask a form in a place, which is one of the operator's. Wait, and return the result.

        Without a `vote`, the first answer decides. `limit` is the caller's wish: the question times out then, if the
        operator does not set less. `on_timeout` decides what follows then. A `webhook` gets the
        outcome, too. Raises `AskbackError`.
        """
        people = await self._book.look_up(self.rules.find_place(place))
        ask = await self._submit(call, kind, people, form, vote, limit=limit, on_timeout=on_timeout, webhook=webhook)
        return self._build_result(await self._wait(call, ask, people.asked), people.asked)

    async def ask_questions(self, call: Call, given: Mapping[str, JsonValue]) -> AskResult:
        """Ask the input of `AskUserQuestion` in the default place. Raises `AskbackError`."""
        return await self.ask(call, "questions", get_tool(QUESTIONS).parse(given))

    async def wait_for(self, call: Call, ask: Ask) -> AskResult:
        """Wait for an ask of this caller, and return the result."""
        await self._learn_name(ask)
        return self._build_result(await self._wait(call, ask, ASKED), ASKED)

    def note_poll(self, ask: Ask) -> None:
        """Count the caller as waiting for an ask, since its protocol lets it ask again every few seconds."""
        self._asks.note_poll(ask)

    async def cancel(self, call: Call, ask: Ask, reason: str | None) -> AskResult:
        """Withdraw an ask of this caller, if it is open, and return the result. Raises `CallerError`."""
        reason = _repair_reason(reason)
        await self._learn_name(ask)
        newest = await self._asks.cancel(ask, self._describe_withdrawal(ask, reason))
        return self._build_result(newest, ASKED)

    def _describe_withdrawal(self, ask: Ask, reason: str) -> str:
        """Return the reason of a withdrawal, in words for the people who were asked."""
        with use_language(ask.policy.language):
            if self._for_model:
                words = _("The agent withdrew it: {reason}") if reason else _("The agent withdrew it.")
            else:
                words = _("The program withdrew it: {reason}") if reason else _("The program withdrew it.")
            return words.format(reason=reason)

    async def find(self, principal: str, ask_id: str) -> Ask | None:
        """Return an ask of this caller; None if the caller has none with that id."""
        return await self._asks.reader.find(principal, ask_id.strip())

    async def list_pending(
        self, principal: str, after: Cursor | None, at_most: int
    ) -> tuple[list[PendingAsk], AskPage]:
        """Return a page of the open asks of a caller, oldest first, and its entries."""
        page = await self._asks.reader.list_page(principal, after, at_most)
        entries = [
            PendingAsk(
                id=ask.id,
                question=ask.interview.form.summary,
                where=await self._find_place_name(ask),
                since=ask.created_at,
                deadline=ask.policy.deadline,
            )
            for ask in page.asks
        ]
        return entries, page

    async def list_unread(self, principal: str) -> tuple[list[UnreadAsk], AskPage]:
        """Return the newest settled asks of a caller whose results it has not read, oldest first, and their entries."""
        page = await self._asks.reader.list_unread(principal)
        entries = [
            UnreadAsk(
                id=ask.id,
                question=ask.interview.form.summary,
                where=await self._find_place_name(ask),
                since=ask.created_at,
                status=outcome.state,
                at=outcome.at,
            )
            for ask in page.asks
            if (outcome := ask.outcome) is not None
        ]
        return entries, page

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
                return deny(describe_open(newest, people.asked, people.found.name).message)
            self._add_receipt(newest)
            return answer_questions(given.input, newest, newest.outcome)
        decisions = ("approve", "reject", "edit") if given.tool_name in self.rules.editable else ("approve", "reject")
        with self.rules.use_language():
            question = build_call_question(given.tool_name, given.input, decisions, None)
        ask = await self._submit(
            call, "permit", people, question.form, None, subject=question.digest, edits=question.edits
        )
        # Claude Code repeats no call: not after its own end, and not after that of this process.
        newest = await self._wait(call, ask, "approvers", "with process")
        if newest.outcome is None:
            return deny_undecided(given.tool_name, newest)
        if is_approved(newest) and not await self._asks.claim(newest, call.id):
            return deny(
                "The approval was given to an earlier call that is the same. Make the call again, and people are asked."
            )
        self._add_receipt(newest)
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
        limit: Wait | None = None,
        on_timeout: TimeoutAction = "report",
        webhook: Webhook | None = None,
    ) -> Ask:
        check_secrets(form)

        def build_policy(limit: Wait | None = limit) -> Policy:
            with self.rules.use_language():
                if subject is not None:
                    policy = people.build_approval_policy(self.rules, subject, edits)
                else:
                    policy = people.build_policy(self.rules.limit_wait(limit), vote, on_timeout)
            return policy.evolve(caller=call.caller)

        policy = build_policy()
        policy.check(form)
        # The time that is left until a moment must not change what identifies the question.
        who = identify_rules(build_policy(None) if isinstance(limit, datetime) else policy)
        new = NewAsk(kind, form, people.found.place, build_policy, who, call.id, call.is_key, webhook)
        return await self._asks.ask(call.principal, new)

    async def _wait(self, call: Call, ask: Ask, asked: str, loss: Loss | None = None) -> Ask:
        """Return the ask once it is settled, or as it is when this call must end. Report meanwhile."""

        async def report() -> None:
            await call.report(f"Waiting for {asked} in {self._name_place(ask)}.")

        closed = get_receipts().closed
        return await self._asks.wait(ask, call.seconds, REPORT_SECONDS, report, loss, closed=closed)

    async def describe(self, ask: Ask) -> AskResult:
        """Return the result of an ask of this caller, which counts as received by nobody."""
        await self._learn_name(ask)
        return self._describe(ask, ASKED)

    def _describe(self, ask: Ask, asked: str) -> AskResult:
        where = self._name_place(ask)
        if ask.outcome is None:
            return describe_open(ask, asked, where, for_model=self._for_model)
        kind = parse_kind(ask) or "ask"
        result = to_result(ask, ask.outcome, kind, where, for_model=self._for_model)
        if kind == "ask" and ask.policy.approval is not None and (outcome := get_outcome(ask)) is not None:
            return result.model_copy(update={"approved": outcome.approved})
        return result

    def note_received(self, ask: Ask) -> None:
        """Record that the caller has received the outcome, so that the same question is asked again from now on."""
        self._asks.note_received(ask)

    def _add_receipt(self, ask: Ask) -> None:
        """Let the outcome count as received once the response to this request was written."""
        get_receipts().add(lambda: self.note_received(ask))

    def _build_result(self, ask: Ask, asked: str) -> AskResult:
        if ask.outcome is not None and parse_kind(ask) != "permit":  # an approval is for the call that asked for it
            self._add_receipt(ask)
        return self._describe(ask, asked)

    async def _learn_name(self, ask: Ask) -> None:
        """Look up the name of an ask's place, if an earlier process asked it."""
        if self._book.get_name(ask.place.key) is None:
            await self._book.look_up_all()

    async def _find_place_name(self, ask: Ask) -> str:
        await self._learn_name(ask)
        return self._name_place(ask)

    def _name_place(self, ask: Ask) -> str:
        return self._book.get_name(ask.place.key) or f"{ask.place.platform}:{ask.place.channel}"


def _repair_reason(reason: str | None) -> str:
    """Return a caller's reason on one line, of limited length. Raises `CallerError` if people would read a secret."""
    found = " ".join(strip_text(reason).split())[:LONGEST_REASON]
    if contains_known_secret(found):
        raise CallerError("The reason contains a secret of askback's process, which people would read: take it out.")
    return found
