"""The acts of people in a modal: submit it, or close it."""

import re
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from pathlib import PurePath

from pydantic import JsonValue

from askback_sandbox.attached import NoFileError, read_attached
from askback_sandbox.json_values import JsonObject, as_object, as_text, json_list, objects, texts
from askback_sandbox.person_error import PersonError

from . import limits
from .block_tree import Placed, each_element
from .blocks import check_view
from .checks import SlackRefusalError
from .element_state import FILE_INPUT, ChoiceError, chosen_state, is_empty
from .files import file_object
from .payloads import view_closed, view_submission
from .people import known_person
from .socket import Ack, SlackSocket
from .values import Interaction, OpenView, Person
from .views import ViewMethods
from .workspace import Workspace

REQUIRED = "Please complete this required field."
TROUBLE = "We had some trouble connecting. Try again?"


@dataclass(frozen=True)
class Submitted:
    """The result of a submission; `errors`, by block_id, keep the modal open."""

    interaction: Interaction | None
    errors: dict[str, str]
    error: str | None = None

    @property
    def ok(self) -> bool:
        return not self.errors and self.error is None


class Modals:
    """Submits and closes modals for people."""

    def __init__(self, workspace: Workspace, socket: SlackSocket, views: ViewMethods) -> None:
        self._workspace = workspace
        self._socket = socket
        self._views = views

    async def submit(self, person: str, view_id: str, values: JsonObject) -> Submitted:
        """Fill in a modal and press Submit; `values` is block_id -> action_id -> text, value or list of values.

        Raises:
            PersonError: Slack's client would not allow it.
        """
        who, view = self._top(person, view_id)
        if view.view.get("submit") is None:
            raise PersonError("no_submit", "the modal has no submit button")
        self._fill_in(who, view, values)
        if errors := self._client_errors(who, view):
            self._workspace.put_view(replace(view, errors=tuple(errors.items())))
            return Submitted(None, errors)
        trigger = self._workspace.issue_trigger(who.id, view_id=view.id)
        payload = view_submission(
            self._workspace, who, view, state=self._views.state_values(view), trigger_id=trigger.id
        )
        interaction = self._workspace.begin("view_submission", who.id)
        ack = await self._socket.interact(payload, wants_answer=True)
        errors, error = self._react(view, ack)
        done = self._workspace.finish(interaction, acked=ack.acked, ms=ack.ms, error=error)
        return Submitted(done, errors, error)

    async def close(self, person: str, view_id: str, *, everything: bool = False) -> Interaction | None:
        """Press Cancel, or with `everything` the cross that closes the whole stack; None means that nothing is sent.

        Raises:
            PersonError: that modal is not the topmost one of the person.
        """
        who, view = self._top(person, view_id)
        stack = self._workspace.stack(who.id)
        cleared = everything or view.view.get("clear_on_close") is True
        # The cross reports the root view with is_cleared, Cancel the view itself [ref modals].
        told = stack[0] if everything else view
        payload = view_closed(
            self._workspace,
            who,
            told,
            state=self._views.state_values(told),
            is_cleared=everything,
        )
        self._workspace.close_views(stack if cleared else [view])
        if told.view.get("notify_on_close") is not True:
            return None
        interaction = self._workspace.begin("view_closed", who.id)
        ack = await self._socket.interact(payload, wants_answer=False)
        return self._workspace.finish(interaction, acked=ack.acked, ms=ack.ms, error=ack.error)

    def _top(self, person: str, view_id: str) -> tuple[Person, OpenView]:
        who = known_person(self._workspace, person)
        stack = self._workspace.stack(who.id)
        if not stack or stack[-1].id != view_id:
            raise PersonError("view_not_found", f"{who.name} has no such modal in front")
        return who, stack[-1]

    def _fill_in(self, person: Person, view: OpenView, values: JsonObject) -> None:
        known = {(p.block_id, p.action_id): p for p in each_element(objects(view.view.get("blocks")))}
        states = self._workspace.element_states
        for block_id, fields in values.items():
            for action_id, value in as_object(fields).items():
                placed = known.get((block_id, action_id))
                if placed is None:
                    raise PersonError("element_not_found", f"there is no field {action_id!r} in {block_id!r}")
                if placed.element.get("type") == FILE_INPUT:
                    states.set(person.id, view.id, placed, self._upload(person, placed.element, value))
                    continue
                given = [value] if isinstance(value, str) else texts(value)
                try:
                    offered = states.found(person.id, view.id, placed)
                    ids = self._workspace.offered_ids(person.id, placed.element)
                    states.set(person.id, view.id, placed, chosen_state(placed.element, given, offered, ids))
                except ChoiceError as error:
                    raise PersonError("invalid_choice", str(error)) from error

    def _upload(self, person: Person, element: JsonObject, value: JsonValue) -> JsonObject:
        """Upload the files that a person chose; return the state of the element, in which Slack describes them."""
        try:
            chosen = read_attached(value)
        except NoFileError as error:
            raise PersonError("invalid_files", str(error)) from error
        most, suffixes = element.get("max_files", limits.FILES), texts(element.get("filetypes"))
        if isinstance(most, int) and len(chosen) > most:
            raise PersonError("too_many_files", f"no more than {most} files can be chosen")
        for file in chosen:
            if file.size > limits.FILE_BYTES:
                raise PersonError("file_too_large", f"{file.name!r} has more than 10 MB")
            if suffixes and PurePath(file.name).suffix.removeprefix(".").lower() not in suffixes:
                raise PersonError("invalid_file_type", f"{file.name!r} is none of {', '.join(suffixes)}")
        return {"type": FILE_INPUT, "files": json_list([file_object(self._workspace, person, one) for one in chosen])}

    def _client_errors(self, person: Person, view: OpenView) -> dict[str, str]:
        """Return the errors that Slack's client shows before it asks the bot."""
        errors: dict[str, str] = {}
        for placed in self._inputs(view):
            state = self._workspace.element_states.get(person.id, view.id, placed)
            text = as_text(state.get("value"))
            least, most = placed.element.get("min_length"), placed.element.get("max_length", 3_000)
            if is_empty(state):
                if placed.block.get("optional") is not True:
                    errors[placed.block_id] = REQUIRED
            elif isinstance(least, int) and text and len(text) < least:
                errors[placed.block_id] = f"Must be at least {least} characters"
            elif isinstance(most, int) and len(text) > most:
                errors[placed.block_id] = f"Must be less than {most + 1} characters"
            elif (wrong := _find_wrong(placed.element, text)) is not None:
                errors[placed.block_id] = wrong
        return errors

    @staticmethod
    def _inputs(view: OpenView) -> list[Placed]:
        found = each_element(objects(view.view.get("blocks")))
        return [placed for placed in found if placed.block.get("type") == "input"]

    def _react(self, view: OpenView, ack: Ack) -> tuple[dict[str, str], str | None]:
        """Carry out the bot's answer; return errors by block_id, and a text for the person if it failed."""
        if not ack.acked:
            return {}, ack.error
        current = self._workspace.view(view.id)
        if current is None:
            return {}, None
        action = as_text((ack.payload or {}).get("response_action"))
        try:
            if not action:
                self._workspace.close_views([current])
            elif action == "clear":
                self._workspace.close_views(self._workspace.stack(current.person))
            elif action == "update":
                self._views.replace_in(current, check_view((ack.payload or {}).get("view")))
            elif action == "push":
                self._views.push_on(current, check_view((ack.payload or {}).get("view")))
            elif action == "errors":
                return self._show_errors(current, as_object((ack.payload or {}).get("errors"))), None
            else:
                return {}, f"{TROUBLE} (unknown response_action: {action})"
        except SlackRefusalError as refusal:
            reasons = "; ".join(str(problem) for problem in refusal.problems)
            return {}, f"{TROUBLE} ({refusal.code}{': ' if reasons else ''}{reasons})"
        return {}, None

    def _show_errors(self, view: OpenView, given: JsonObject) -> dict[str, str]:
        """Show errors under input blocks; Slack refuses the keys of other blocks."""
        inputs = {placed.block_id for placed in self._inputs(view)}
        errors = {block_id: as_text(text) for block_id, text in given.items()}
        if not errors or set(errors) - inputs or not all(errors.values()):
            raise SlackRefusalError("invalid_errors")
        self._workspace.put_view(replace(view, errors=tuple(errors.items())))
        return errors


def _find_wrong(element: JsonObject, text: str) -> str | None:
    """Return the error that Slack's client shows for a text that is not a number, e-mail address or URL."""
    match element.get("type"):
        case "number_input":
            return _find_wrong_number(element, text)
        case "email_text_input":
            return None if re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", text) else "Enter a valid email address."
        case "url_text_input":
            return None if re.match(r"https?://[^/\s]", text) else "Enter a valid URL."
        case _:
            return None


def _find_wrong_number(element: JsonObject, text: str) -> str | None:
    whole = element.get("is_decimal_allowed") is not True
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or (whole and value != value.to_integral_value()):
        return "Enter a whole number." if whole else "Enter a number."
    least, most = element.get("min_value"), element.get("max_value")
    if isinstance(least, str) and value < Decimal(least):
        return f"Must be {least} or more."
    if isinstance(most, str) and value > Decimal(most):
        return f"Must be {most} or less."
    return None
