"""The clicks of people in a message or a modal: press, choose, search."""

from dataclasses import dataclass

from askback_sandbox.json_values import JsonObject, as_text, copied, objects, texts
from askback_sandbox.person_error import PersonError

from .block_tree import Placed, each_element
from .blocks import check_options
from .checks import SlackRefusalError
from .element_state import STATELESS, ChoiceError, chosen_state
from .payloads import action_object, block_actions, block_suggestion, view_actions
from .people import known_person, seen_channel, seen_message
from .socket import SlackSocket
from .values import Interaction, Message, OpenView, Person
from .workspace import Workspace, scope_of

# Slack's client shows this if a search returned no usable options.
NO_OPTIONS = "{name} sent no usable options"


@dataclass(frozen=True, kw_only=True)
class Target:
    """An element that a person sees: in a message (channel and ts) or in a modal (view_id)."""

    person: str
    block_id: str
    action_id: str
    channel: str = ""
    ts: str = ""
    view_id: str = ""


@dataclass(frozen=True, kw_only=True)
class _Found:
    person: Person
    placed: Placed
    scope: str
    blocks: list[JsonObject]
    message: Message | None = None
    view: OpenView | None = None
    earlier: bool = False
    """True if the blocks are of a version that is still on the screen and was replaced since."""


class Clicks:
    """Lets people press, choose and search."""

    def __init__(self, workspace: Workspace, socket: SlackSocket, base: str = "") -> None:
        self._workspace = workspace
        self._socket = socket
        self._states = workspace.element_states
        self._base = base

    def serve_at(self, base: str) -> None:
        """Set the base address of the response_urls."""
        self._base = base

    async def act(
        self,
        target: Target,
        selected: list[str] | None = None,
        *,
        as_seen: list[JsonObject] | None = None,
    ) -> Interaction | None:
        """Use an element; None means that nothing is sent to the bot (a field of a form, before Submit).

        `as_seen` holds the blocks that the person still has on the screen, if the message has changed since.

        Raises:
            PersonError: Slack's client would not allow it.
        """
        found = self._find(target, as_seen)
        element = found.placed.element
        self._check_visible(found)
        try:
            offered = self._states.found(found.person.id, found.scope, found.placed)
            state = chosen_state(
                element, selected or [], offered, self._workspace.offered_ids(found.person.id, element)
            )
        except ChoiceError as error:
            raise PersonError("invalid_choice", str(error)) from error
        if element.get("type") not in STATELESS:
            self._states.set(found.person.id, found.scope, found.placed, state)
            self._workspace.touch()
        # A field in an input block sends the bot nothing until Submit, unless dispatch_action is set.
        if found.placed.block.get("type") == "input" and found.placed.block.get("dispatch_action") is not True:
            return None
        return await self._send(found, state)

    async def options(self, target: Target, query: str) -> list[JsonObject]:
        """Search in a search-as-you-type menu.

        Raises:
            PersonError: the element has no search, the bot did not answer, or Slack refuses its options.
        """
        found = self._find(target, None)
        if found.placed.element.get("type") not in ("external_select", "multi_external_select"):
            raise PersonError("not_a_search", "the element does not search")
        least = found.placed.element.get("min_query_length", 3)
        if isinstance(least, int) and len(query) < least:
            return []
        payload = block_suggestion(
            self._workspace,
            found.person,
            found.placed,
            query,
            message=found.message,
            view=found.view,
            state=self._states.values(found.person.id, found.scope, found.blocks),
        )
        interaction = self._workspace.begin("block_suggestion", found.person.id)
        ack = await self._socket.interact(payload, wants_answer=True)
        error = ack.error
        result: list[JsonObject] = []
        if ack.acked:
            try:
                result = check_options(ack.payload)
            except SlackRefusalError as refusal:
                reasons = "; ".join(str(problem) for problem in refusal.problems)
                error = f"{NO_OPTIONS.format(name=self._workspace.bot.name)}: {reasons}"
        self._workspace.finish(interaction, acked=ack.acked, ms=ack.ms, error=error)
        if error:
            raise PersonError("no_options", error)
        self._states.remember_found(found.person.id, found.scope, found.placed, result)
        return result

    async def _send(self, found: _Found, state: JsonObject) -> Interaction:
        action = action_object(found.placed, state, self._workspace.next_ts())
        values = self._states.values(found.person.id, found.scope, found.blocks, earlier=found.earlier)
        trigger = self._workspace.issue_trigger(found.person.id, view_id=found.view.id if found.view else None)
        if found.view is not None:
            payload = view_actions(
                self._workspace, found.person, found.view, action, state=values, trigger_id=trigger.id
            )
        else:
            message = self._message(found)
            url = self._workspace.issue_response_url(message, found.person.id)
            payload = block_actions(
                self._workspace,
                found.person,
                message,
                action,
                blocks=found.blocks,
                state=values,
                trigger_id=trigger.id,
                response_url=f"{self._base}/response/{url.token}",
            )
        interaction = self._workspace.begin("block_actions", found.person.id)
        ack = await self._socket.interact(payload, wants_answer=False)
        return self._workspace.finish(interaction, acked=ack.acked, ms=ack.ms, error=ack.error)

    @staticmethod
    def _message(found: _Found) -> Message:
        if found.message is None:
            raise PersonError("message_not_found")
        return found.message

    def _find(self, target: Target, as_seen: list[JsonObject] | None) -> _Found:
        person = known_person(self._workspace, target.person)
        message, view = None, None
        if target.view_id:
            stack = self._workspace.stack(person.id)
            if not stack or stack[-1].id != target.view_id:
                raise PersonError("view_not_found", f"{person.name} has no such modal in front")
            view = stack[-1]
            scope, blocks = view.id, objects(view.view.get("blocks"))
        else:
            channel = seen_channel(self._workspace, person, target.channel)
            message = seen_message(self._workspace, person, channel, target.ts)
            scope, blocks = scope_of(message), [copied(block) for block in message.blocks]
        if as_seen is not None:
            blocks = as_seen
        for placed in each_element(blocks):
            if placed.block_id == target.block_id and placed.action_id == target.action_id:
                return _Found(
                    person=person,
                    placed=placed,
                    scope=scope,
                    blocks=blocks,
                    message=message,
                    view=view,
                    earlier=as_seen is not None,
                )
        raise PersonError("element_not_found", f"there is no element {target.action_id!r} in {target.block_id!r}")

    @staticmethod
    def _check_visible(found: _Found) -> None:
        shown_to = texts(found.placed.element.get("visible_to_user_ids"))
        if shown_to and found.person.id not in shown_to:
            name = as_text(found.placed.element.get("action_id"))
            raise PersonError("element_not_found", f"{found.person.name} does not see {name!r}")
