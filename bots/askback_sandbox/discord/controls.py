"""The controls of Discord's components."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from askback_sandbox.json_values import JsonObject, as_object, as_text, objects
from askback_sandbox.play.controls import Choice, Control, Kind, Offered

from .values import Kind as Component

__all__ = ["NOTHING", "button_label", "controls"]

NOTHING = Offered()

_LINK, _PREMIUM = 5, 6
_BEFORE, _NEXT = "◀", "▶"
_NESTED = ("components", "component", "accessory")


def controls(components: Sequence[JsonObject], offered: Offered = NOTHING) -> tuple[Control, ...]:
    """Return every control that can be used, in the order in which they are drawn.

    `offered` holds the entries of pickers. Without it, a picker has no entries.
    """
    found: list[Control] = []
    for component, label in _each(components, ""):
        control = _control(component, label, offered)
        if control is not None:
            found.append(control)
    return tuple(_with_pages(found))


def button_label(button: JsonObject) -> str:
    """Return the text on a button, or its emoji."""
    return as_text(button.get("label")) or as_text(as_object(button.get("emoji")).get("name"))


def _each(components: Sequence[JsonObject], label: str) -> Iterator[tuple[JsonObject, str]]:
    for component in components:
        yield component, label
        inner = as_text(component.get("label")) if component.get("type") == Component.LABEL else ""
        for key in _NESTED:
            nested = component.get(key)
            yield from _each([nested] if isinstance(nested, dict) else objects(nested), inner)


def _control(component: JsonObject, label: str, offered: Offered) -> Control | None:
    kind, own = _kind(component), as_text(component.get("label"))
    if kind is None or component.get("disabled") is True:
        return None
    if kind == "button":
        own = button_label(component)
    if component.get("type") in (Component.USER_SELECT, Component.CHANNEL_SELECT):
        asked = "people" if component.get("type") == Component.USER_SELECT else "channels"
        chosen = [as_text(one.get("id")) for one in objects(component.get("default_values"))]
        shown = label or as_text(component.get("placeholder"))
        return Control(kind, shown, {"custom_id": component.get("custom_id")}, offered.choices(asked, chosen))
    return Control(
        kind=kind,
        label=label or own or as_text(component.get("placeholder")),
        handle={"custom_id": component.get("custom_id")},
        choices=tuple(
            Choice(
                as_text(option.get("label")),
                as_text(option.get("value")),
                as_text(option.get("description")),
                option.get("default") is True,
            )
            for option in objects(component.get("options"))
        ),
        value=as_text(component.get("value")),
    )


def _kind(component: JsonObject) -> Kind | None:
    match component.get("type"):
        case Component.BUTTON:
            return None if component.get("style") in (_LINK, _PREMIUM) else "button"
        case Component.STRING_SELECT | Component.USER_SELECT | Component.CHANNEL_SELECT:
            most = component.get("max_values", 1)
            return "menu of several" if isinstance(most, int) and most > 1 else "menu"
        case Component.TEXT_INPUT:
            return "field"
        case Component.FILE_UPLOAD:
            return "files"
        case Component.RADIO_GROUP:
            return "radio buttons"
        case Component.CHECKBOX_GROUP:
            return "checkboxes"
        case _:
            return None


def _with_pages(found: Sequence[Control]) -> Iterator[Control]:
    """Add page buttons: a menu takes 25 entries on Discord, and arrows below it lead to other pages."""
    for number, control in enumerate(found):
        after = found[number + 1 : number + 3]
        before = next((one for one in after if one.label == _BEFORE), None)
        onward = next((one for one in after if one.label == _NEXT), None)
        if control.kind in ("menu", "menu of several") and (before or onward):
            yield replace(control, pages=(before, onward))
        else:
            yield control
