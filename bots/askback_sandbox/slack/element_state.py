"""Values that people have set in elements and not sent yet; like Slack's client, it keeps them per person."""

from collections.abc import Collection
from datetime import date, time

from askback_sandbox.json_values import JsonObject, as_object, as_text, copied, json_list, objects

from . import limits
from .block_tree import Placed, each_block, each_element
from .elements import all_options
from .pickers import PICKERS, initial_ids, picker_state
from .values import Message

STATELESS = ("button", "overflow")
WRITTEN = ("plain_text_input", "number_input", "email_text_input", "url_text_input")
"""The elements into which a person writes."""


FILE_INPUT = "file_input"


class ChoiceError(ValueError):
    """A choice that the element does not allow."""


def initial_state(element: JsonObject) -> JsonObject:
    """Return the value that an element shows before a person has touched it."""
    kind = as_text(element.get("type"))
    state: JsonObject = {"type": kind}
    if kind in ("static_select", "external_select", "radio_buttons"):
        state["selected_option"] = element.get("initial_option")
    elif kind in ("multi_static_select", "multi_external_select", "checkboxes"):
        state["selected_options"] = json_list(objects(element.get("initial_options")))
    elif kind in PICKERS:
        return picker_state(kind, initial_ids(element))
    elif kind in WRITTEN:
        state["value"] = element.get("initial_value") or None
    elif kind == FILE_INPUT:
        state["files"] = []
    elif kind == "datepicker":
        state["selected_date"] = element.get("initial_date")
    elif kind == "timepicker":
        state["selected_time"] = element.get("initial_time")
    elif kind == "datetimepicker":
        state["selected_date_time"] = element.get("initial_date_time")
    return state


def chosen_state(
    element: JsonObject, selected: list[str], offered: list[JsonObject], ids: Collection[str] = ()
) -> JsonObject:
    """Return the value after a choice.

    `offered` holds the options of a search-as-you-type menu, `ids` the people or channels of a picker.

    Raises:
        ChoiceError: the element does not offer a chosen option, or allows fewer choices.
    """
    kind = as_text(element.get("type"))
    state: JsonObject = {"type": kind}
    known = {as_text(option.get("value")): option for option in [*all_options(element), *offered]}
    most = element.get("max_selected_items")
    if isinstance(most, int) and len(selected) > most:
        raise ChoiceError(f"no more than {most} can be selected")
    if kind in PICKERS:
        if strange := [value for value in selected if value not in ids]:
            raise ChoiceError(f"the picker does not offer {', '.join(strange)}")
        if not PICKERS[kind].several and len(selected) > 1:
            raise ChoiceError("only one can be selected")
        return picker_state(kind, selected)
    if kind in ("datepicker", "timepicker", "datetimepicker", *WRITTEN):
        options: list[JsonObject] = []
    elif unknown := [value for value in selected if value not in known]:
        raise ChoiceError(f"the element does not offer {', '.join(unknown)}")
    else:
        options = [copied(known[value]) for value in selected]
    if kind in ("static_select", "external_select", "radio_buttons", "overflow"):
        if len(selected) > 1:
            raise ChoiceError("only one can be selected")
        state["selected_option"] = options[0] if options else None
    elif kind in ("multi_static_select", "multi_external_select", "checkboxes"):
        state["selected_options"] = json_list(options)
    elif kind in WRITTEN:
        state["value"] = selected[0] if selected and selected[0] else None
    elif kind == "datepicker":
        state["selected_date"] = _parse_date(selected[0] if selected else "")
    elif kind == "timepicker":
        state["selected_time"] = _parse_time(selected[0] if selected else "")
    elif kind == "datetimepicker":
        state["selected_date_time"] = _parse_seconds(selected[0] if selected else "")
    return state


def _parse_date(text: str) -> str | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise ChoiceError(f"a date is given as YYYY-MM-DD: {error}") from error


def _parse_time(text: str) -> str | None:
    if not text:
        return None
    try:
        return time.fromisoformat(text).strftime("%H:%M")
    except ValueError as error:
        raise ChoiceError(f"a time is given as HH:MM: {error}") from error


def _parse_seconds(text: str) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or not limits.DATE_TIME[0] <= int(text) <= limits.DATE_TIME[1]:
        raise ChoiceError("the time is given in seconds since 1970, with ten digits")
    return int(text)


def is_empty(state: JsonObject) -> bool:
    """Return True if nothing is chosen or written."""
    return not any(value for name, value in state.items() if name != "type")


class ElementStates:
    """Values and found options, per person, message (or modal), block and element."""

    def __init__(self) -> None:
        self._set: dict[tuple[str, str, str, str], JsonObject] = {}
        self._found: dict[tuple[str, str, str, str], list[JsonObject]] = {}
        self._earlier: dict[tuple[str, str, str, str], JsonObject] = {}
        """Values in blocks that a message no longer has, for a client that has not received its new version."""

    def set(self, person: str, scope: str, placed: Placed, state: JsonObject) -> None:
        """Remember a value that a person set."""
        self._set[person, scope, placed.block_id, placed.action_id] = copied(state)

    def get(self, person: str, scope: str, placed: Placed, *, earlier: bool = False) -> JsonObject:
        """Return the value that a person sees in an element. `earlier`: an earlier version is still on the screen."""
        key = (person, scope, placed.block_id, placed.action_id)
        known = self._set.get(key) or (self._earlier.get(key) if earlier else None)
        if known is not None and known.get("type") == placed.element.get("type"):
            return copied(known)
        return initial_state(placed.element)

    def found(self, person: str, scope: str, placed: Placed) -> list[JsonObject]:
        """Return the options of a search-as-you-type menu that a person has seen, including the chosen ones."""
        shown = self._found.get((person, scope, placed.block_id, placed.action_id), [])
        current = self.get(person, scope, placed)
        option = as_object(current.get("selected_option"))
        return [*([option] if option else []), *objects(current.get("selected_options")), *shown]

    def remember_found(self, person: str, scope: str, placed: Placed, options: list[JsonObject]) -> None:
        """Remember the options that a person has seen."""
        self._found[person, scope, placed.block_id, placed.action_id] = options

    def values(self, person: str, scope: str, blocks: list[JsonObject], *, earlier: bool = False) -> JsonObject:
        """Return `state.values`: the current value of every element that can be set. `earlier`: see `get`."""
        values: JsonObject = {}
        for placed in each_element(blocks):
            if placed.element.get("type") not in STATELESS:
                in_block = as_object(values.get(placed.block_id))
                in_block[placed.action_id] = self.get(person, scope, placed, earlier=earlier)
                values[placed.block_id] = in_block
        return values

    def keep_blocks(self, scope: str, message: Message) -> None:
        """Drop the values of blocks that a new version of the message no longer has."""
        kept = {as_text(block.get("block_id")) for block in each_block(list(message.blocks))}
        self._earlier |= {key: value for key, value in self._set.items() if key[1] == scope and key[2] not in kept}
        for known in (self._set, self._found):
            for key in [key for key in known if key[1] == scope and key[2] not in kept]:
                del known[key]

    def keep_view(self, view_id: str, blocks: list[JsonObject]) -> None:
        """Drop all but the elements of a new modal version with the same block_id and action_id [ref modals]."""
        kept = {(placed.block_id, placed.action_id) for placed in each_element(blocks)}
        for known in (self._set, self._found):
            for key in [key for key in known if key[1] == view_id and (key[2], key[3]) not in kept]:
                del known[key]

    def drop(self, scope: str) -> None:
        """Drop the values of a message or modal that is gone."""
        for known in (self._set, self._found, self._earlier):
            for key in [key for key in known if key[1] == scope]:
                del known[key]
