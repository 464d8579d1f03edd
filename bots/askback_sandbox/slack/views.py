"""views.open, views.push, views.update, and the effects of a submission's answer on a modal."""

import secrets
from dataclasses import replace

from askback_sandbox.json_values import JsonObject, as_text, copied, objects

from . import limits
from .arguments import Arguments
from .block_tree import each_element
from .blocks import check_view
from .checks import Problem, SlackRefusalError
from .payloads import view_object
from .values import OpenView, Trigger
from .workspace import Workspace


class ViewMethods:
    """Modals: each person has a stack of at most three."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    # methods

    def open(self, arguments: Arguments) -> JsonObject:
        """views.open"""
        trigger = self._trigger(arguments)
        view = check_view(arguments.raw("view"))
        self._check_scope(view)
        self._use(trigger)
        if not self._workspace.faults.take("ignore", "views.open"):
            # A new modal replaces those that were open.
            self._workspace.close_views(self._workspace.stack(trigger.person))
            return self._shown(self._place(trigger.person, view, None))
        return self._shown(self._made(trigger.person, view, None))

    def push(self, arguments: Arguments) -> JsonObject:
        """views.push"""
        trigger = self._trigger(arguments)
        view = check_view(arguments.raw("view"))
        stack = self._workspace.stack(trigger.person)
        if not stack or trigger.view_id is None:
            problem = Problem("must come from an interaction within a modal", "/trigger_id")
            raise SlackRefusalError("invalid_arguments", [problem])
        pushed = self.push_on(stack[-1], view, check_only=True)
        self._use(trigger)
        return self._shown(self._workspace.put_view(pushed))

    def update(self, arguments: Arguments) -> JsonObject:
        """views.update"""
        view_id = arguments.text("view_id") or arguments.need("external_id")
        current = self._workspace.view(view_id)
        if current is None:
            raise SlackRefusalError("not_found")
        if "hash" in arguments and arguments.text("hash") != current.hash:
            raise SlackRefusalError("hash_conflict")
        view = check_view(arguments.raw("view"))
        if self._workspace.faults.take("ignore", "views.update"):
            return self._shown(current)
        return self._shown(self.replace_in(current, view))

    # shared by the methods and the answers to submissions

    def push_on(self, top: OpenView, view: JsonObject, *, check_only: bool = False) -> OpenView:
        """Return a modal on top of another; with `check_only`, it is not opened yet.

        Raises:
            SlackRefusalError: `push_limit_reached`, `duplicate_external_id`.
        """
        if len(self._workspace.stack(top.person)) >= limits.VIEW_STACK:
            raise SlackRefusalError("push_limit_reached")
        made = self._made(top.person, view, top)
        return made if check_only else self._workspace.put_view(made)

    def replace_in(self, current: OpenView, view: JsonObject) -> OpenView:
        """Replace a modal's content; values stay where block_id and action_id are the same.

        Raises:
            SlackRefusalError: `duplicate_external_id`.
        """
        self._check_external_id(view, current)
        fresh = self._full(view, current.id, current.root_id, current.previous_id)
        self._workspace.element_states.keep_view(current.id, objects(fresh.get("blocks")))
        return self._workspace.put_view(replace(current, view=fresh, errors=()))

    def _place(self, person: str, view: JsonObject, below: OpenView | None) -> OpenView:
        return self._workspace.put_view(self._made(person, view, below))

    def _made(self, person: str, view: JsonObject, below: OpenView | None) -> OpenView:
        self._check_external_id(view, None)
        view_id = self._workspace.next_id("V")
        root_id = below.root_id if below else view_id
        previous_id = below.id if below else None
        full = self._full(view, view_id, root_id, previous_id)
        return OpenView(id=view_id, person=person, view=full, root_id=root_id, previous_id=previous_id)

    def _check_external_id(self, view: JsonObject, current: OpenView | None) -> None:
        external_id = as_text(view.get("external_id"))
        other = self._workspace.view(external_id) if external_id else None
        if other is not None and (current is None or other.id != current.id):
            raise SlackRefusalError("duplicate_external_id")

    def _full(self, view: JsonObject, view_id: str, root_id: str, previous_id: str | None) -> JsonObject:
        """Return a view as Slack does: the fields that were sent, and those that Slack adds."""
        return {
            "private_metadata": "",
            "callback_id": "",
            "external_id": "",
            "clear_on_close": False,
            "notify_on_close": False,
            "close": None,
            "submit": None,
            **copied(view),
            "id": view_id,
            "team_id": self._workspace.team.id,
            "hash": f"{int(self._workspace.clock.time())}.{secrets.token_hex(4)}",
            "root_view_id": root_id,
            "previous_view_id": previous_id,
            "app_id": self._workspace.bot.app_id,
            "app_installed_team_id": self._workspace.team.id,
            "bot_id": self._workspace.bot.bot_id,
        }

    def state_values(self, view: OpenView) -> JsonObject:
        """Return the values that are set in a modal."""
        blocks = objects(view.view.get("blocks"))
        return self._workspace.element_states.values(view.person, view.id, blocks)

    def _shown(self, view: OpenView) -> JsonObject:
        return {"view": view_object(view, self.state_values(view))}

    def _check_scope(self, view: JsonObject) -> None:
        """Refuse a field for files without their scope, which the documentation requires [ref file-input-element].

        The code of the error is not published.
        """
        kinds = [placed.element.get("type") for placed in each_element(objects(view.get("blocks")))]
        scopes = self._workspace.bot.scopes
        if "file_input" in kinds and "files:read" not in scopes:
            raise SlackRefusalError("missing_scope", needed="files:read", provided=",".join(scopes))

    def _trigger(self, arguments: Arguments) -> Trigger:
        given = arguments.text("trigger_id") or arguments.text("interactivity_pointer") or ""
        trigger = self._workspace.triggers.get(given)
        if trigger is None:
            raise SlackRefusalError("invalid_trigger_id")
        # These are the codes of views.open (trigger_expired and trigger_exchanged belong to dialog.open).
        if trigger.used:
            raise SlackRefusalError("exchanged_trigger_id")
        if self._workspace.clock.time() - trigger.issued > limits.TRIGGER_SECONDS:
            raise SlackRefusalError("expired_trigger_id")
        return trigger

    def _use(self, trigger: Trigger) -> None:
        self._workspace.triggers[trigger.id] = replace(trigger, used=True)
