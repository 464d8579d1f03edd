"""Builds the end of a turn from the model's response: its text, its tool calls, and the asks in them."""

from __future__ import annotations

__all__ = ["MAX_FAILED_TURNS", "MAX_PAUSES", "TurnEndBuilder"]

from collections.abc import Mapping

from askback.agent.approvals import ApprovalRules, list_standing_approvers
from askback.agent.audience import NO_ADDRESSEES, Addressees, Answerers, resolve_addressees
from askback.agent.messages_api import ModelResponse
from askback.agent.tool_calls import ToolCallHandler
from askback.agent.transcript import to_api_blocks
from askback.domain.group import GroupMembers, name_members
from askback.domain.identity import Actor, Place, deduplicate_accounts
from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.turn import ApprovalContext, Turn, TurnEnd
from askback.manager.access_control import AccessControl
from askback.ports.platform import Messages
from askback.store.store import Store
from askback.translations.catalogue import _, get_language

MAX_PAUSES = 8
"""Number of pauses in a row after which the agent asks people to continue."""
MAX_LISTED = 20
"""Maximum number of listed approvers whose groups are looked up, each with a call to the platform."""
MAX_FAILED_TURNS = 5
"""Number of turns in a row with only failed tool calls after which the agent asks people to continue."""


class TurnEndBuilder:
    """Builds the commit that ends a turn, and limits turns in a row that pause or only fail."""

    def __init__(
        self,
        store: Store,
        access: AccessControl,
        calls: ToolCallHandler,
        approvals: ApprovalRules,
        answerers: Answerers,
    ) -> None:
        self._store = store
        self._access = access
        self._calls = calls
        self._approvals = approvals
        self._answerers = answerers
        self._paused: dict[str, int] = {}
        """Turns in a row that paused, by conversation."""
        self._failures: dict[str, int] = {}
        """Turns in a row with only failed tool calls, by conversation."""

    async def build(self, turn: Turn, response: ModelResponse, posted: Messages) -> TurnEnd:
        """Return the end of a turn. `posted` are the messages that hold the beginning of its text."""
        context = await self._load_approval_context(turn, response)
        addressees = await self._resolve_addressees(turn, response)
        return self._build(turn, response, posted, context, addressees)

    async def _load_approval_context(self, turn: Turn, response: ModelResponse) -> ApprovalContext:
        """Collect the facts that the approval of a turn's calls depends on; empty if no call needs approval."""
        if not self._calls.needs_approval(response.calls):
            return ApprovalContext()
        place, starter = turn.conversation.place, turn.conversation.starter
        tools = frozenset(str(block["name"]) for block in response.calls)
        context = await self._store.get_approval_context(turn.conversation.id, tools)
        rules, access = self._approvals, self._access
        groups = rules.list_groups(place.platform)
        context = await self._calls.check_calls(turn.conversation, response.calls, context)
        return context.evolve(
            givers=await access.refresh(place, list_standing_approvers(rules, context.settled), groups),
            alone=await access.find_sole_viewer(place, starter, groups),
            members=await self._list_members(place, groups, context.requesters),
        )

    async def _list_members(
        self, place: Place, groups: tuple[str, ...], requesters: Mapping[str, tuple[Actor, ...]]
    ) -> Mapping[str, GroupMembers]:
        """Return the members of the deciding groups.

        If a platform only counts them, the requesters and the listed approvers among them are named. So nobody who is
        both listed and in a group counts twice. Nobody is looked up if a group is so large that enough others are left.
        """
        members = await self._access.list_members(place, groups)
        people = deduplicate_accounts(one for those in requesters.values() for one in those)
        enough = len(people) + max(self._approvals.quorum, self._approvals.refusals)
        if not any(0 < group.others < enough for group in members.values()):
            return members
        listed = self._approvals.list_people(place.platform)[:MAX_LISTED]
        known = deduplicate_accounts((*people, *listed))
        return name_members(members, await self._access.refresh(place, known, groups))

    async def _resolve_addressees(self, turn: Turn, response: ModelResponse) -> Addressees:
        """Return the people who may answer the questions of a turn."""
        if not self._calls.has_questions(response.calls):
            return NO_ADDRESSEES
        conversation, rules = turn.conversation, self._answerers
        place, access = conversation.place, self._access
        groups = rules.list_groups(place.platform)
        people = await self._store.list_participants(conversation.id)
        if groups:
            people = await access.refresh(place, people, groups)
        members = await access.list_members(place, rules.list_deciding_groups(place.platform))
        alone = await access.find_sole_viewer(place, conversation.starter, groups)
        return resolve_addressees(rules, conversation, people, alone, members)

    def _build(
        self, turn: Turn, response: ModelResponse, posted: Messages, context: ApprovalContext, addressees: Addressees
    ) -> TurnEnd:
        conversation = turn.conversation
        problem = response.problem
        stuck = _count_in_a_row(self._paused, conversation.id, response.paused) > MAX_PAUSES
        if stuck:
            del self._paused[conversation.id]
            problem = _("The model paused too often without an answer. Write “try again” and I will.")
        calls = tuple(
            self._calls.fail_unreadable_call(block, response.parse_errors[number])
            if number in response.parse_errors
            else self._calls.prepare_call(conversation, block, context, addressees)
            for number, block in enumerate(response.calls)
        )
        # Calls that failed at once go straight back to the model. This must not repeat without end.
        is_failed = bool(calls) and all(call.result is not None for call in calls)
        is_stuck = _count_in_a_row(self._failures, conversation.id, is_failed) >= MAX_FAILED_TURNS
        if is_stuck:
            del self._failures[conversation.id]
            problem = _("I tried several times to ask you something, and failed. Write “try again” and I will.")
        notices = dict.fromkeys(text for text in (problem, *(call.notice for call in calls)) if text is not None)
        text = notice = None
        if response.text:
            text = OutgoingMessage(
                target=turn.text_target, text=response.text, markdown=True, messages=posted, language=get_language()
            )
        if notices:
            notice = OutgoingMessage(target=f"problem:{turn.text_name}", text="\n".join(notices), markdown=False)
        return TurnEnd(
            conversation_id=conversation.id,
            content=to_api_blocks(response.content),
            calls=calls,
            outgoing=text,
            notice=notice,
            forget=response.forget,
            again=response.paused and not stuck,
            waits_for_person=is_stuck,
            stops=conversation.stops,
            after=turn.history[-1].seq,
        )


def _count_in_a_row(counts: dict[str, int], conversation_id: str, happened: bool) -> int:
    """Return how many times something has happened in a row, so that the caller can limit it. Includes this time."""
    before = counts.pop(conversation_id, 0)
    if not happened:
        return 0
    counts[conversation_id] = before + 1
    return before + 1
