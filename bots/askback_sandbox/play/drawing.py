"""Controls as plain text, one below the other."""

from __future__ import annotations

from collections.abc import Sequence

from .controls import Control

__all__ = ["is_control", "pictured"]

_SHOWN = 10


def pictured(found: Sequence[Control]) -> list[str]:
    """Return the lines of a group of controls; buttons share the line of the first of them."""
    lines: list[str] = []
    buttons = [control for control in found if control.kind == "button"]
    for control in found:
        if control.kind != "button":
            lines += _control(control)
        elif control is buttons[0]:
            lines.append("  ".join(f"[ {button.label} ]" for button in buttons))
    return lines


def is_control(line: str) -> bool:
    """Return True if a line draws a control."""
    return line.startswith(("[ ", "[x]", "( )", "(•)", "    "))


def _control(control: Control) -> list[str]:
    match control.kind:
        case "checkboxes" | "radio buttons":
            on, off = ("[x]", "[ ]") if control.kind == "checkboxes" else ("(•)", "( )")
            return [
                f"{on if choice.on else off} {choice.label}"
                + (f" — {choice.description}" if choice.description else "")
                for choice in control.choices
            ]
        case "field":
            return [f"[ {control.value if control.value.strip() else '…'} ]"]
        case _:
            shown = control.choices[:_SHOWN]
            more = len(control.choices) - len(shown)
            return [
                f"[ {control.label or 'choose'} ▾ ]",
                *(f"    {'•' if choice.on else '·'} {choice.label}" for choice in shown),
                *([f"    … and {more} more"] if more > 0 else []),
            ]
