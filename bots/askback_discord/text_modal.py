"""The text field behind "Something else…", as a modal."""

from __future__ import annotations

__all__ = ["build_modal", "parse_ref", "read_text"]

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias, cast

from askback.domain.text_field import TextField
from askback.text.literal import replace_controls, utf16_length
from askback_discord import control_ids, limits
from askback_discord.components import Component
from askback_discord.escaping import bold, fit_line, plain, truncate

ONE_LINE, PARAGRAPH = 1, 2
"""The styles of a text input. [ref components/reference#text-input]"""
LONG: Final = 300
"""Maximum length of a prompt in bold, in characters."""

Json: TypeAlias = Mapping[str, object]


def build_modal(field: TextField) -> Component:
    """Return the data of a callback that opens the text field (type 9), with the text written so far."""
    value = replace_controls(field.value)
    kept = truncate(value, limits.INPUT_VALUE)
    entry: Component = {
        "type": limits.INPUT,
        "custom_id": control_ids.TEXT,
        "style": ONE_LINE if field.is_line else PARAGRAPH,
        "required": False,  # the bot then receives an empty text, and explains the problem
        "max_length": field.longest if field.declines or field.choice is not None else limits.INPUT_VALUE,
        "placeholder": _get_placeholder(field),
    }
    if kept:
        entry["value"] = kept
    labelled: Component = {
        "type": limits.LABELLED,
        "label": _build_label(field),
        "description": _get_hint(field, whole=kept == value),
        "component": entry,
    }
    kind: control_ids.Kind = "decline" if field.declines else "field" if field.choice is None else "vote"
    control = control_ids.Control(kind=kind, ask_id=field.ask_id, step=field.step, arg=field.choice)
    made: Component = {
        "custom_id": control_ids.to_custom_id(control),
        "title": "Not now"
        if field.declines
        else _get_title(field.header if field.choice is None else field.placeholder),
        "components": [_build_prompt(field.prompt), labelled],
    }
    limits.check_modal(made)
    return made


def parse_ref(data: Json) -> control_ids.Control | None:
    """Return the control of a submitted text field (the interaction's `data`), or None if it is not askback's.

    Never raises.
    """
    control = control_ids.parse(data.get("custom_id"))
    return control if control is not None and control.kind == "field" else None


def read_text(data: Json) -> str:
    """Return the text of a submitted field (the interaction's `data`), or an empty string. Never raises."""
    return next(_iter_texts(data.get("components"), 0), "")


def _build_label(field: TextField) -> str:
    if field.declines:
        return "Why, or when? (optional)"
    return "Your answer" if field.choice is None else "Your reason"


def _get_placeholder(field: TextField) -> str:
    if field.choice is not None:
        return "Enter your reason…"  # the prompt above the field says what the reason is for
    return fit_line(field.placeholder, limits.INPUT_PLACEHOLDER) or "Enter your answer…"


def _get_title(header: str) -> str:
    title = fit_line(header, limits.MODAL_TITLE)
    return title if any(map(str.isprintable, title)) and title.strip() else "Your answer"


def _build_prompt(prompt: str) -> Component:
    words = bold(prompt) if len(prompt) <= LONG else plain(prompt)
    if utf16_length(words) > limits.TEXT:
        words = "-# The question is too long for this window. The message shows all of it."
    return {"type": limits.DISPLAY, "content": words}


def _get_hint(field: TextField, *, whole: bool) -> str:
    if not whole:
        return "Your earlier text is too long for this field, which shows only its beginning."
    if field.declines or field.choice is not None:
        return f"The asker gets it, and the card shows it. {field.hint}"
    both = f"{field.hint} It is sent together with the chosen options."
    return fit_line(both if field.multi else field.hint, limits.LABEL_DESCRIPTION)


def _iter_texts(components: object, depth: int) -> Iterator[str]:
    """Yield the texts of askback's inputs, in labels, in rows or at the top level."""
    if not isinstance(components, Sequence) or isinstance(components, str) or depth > 3:
        return
    for entry in cast("Sequence[object]", components):
        if not isinstance(entry, Mapping):
            continue
        component = cast("Json", entry)
        value = component.get("value")
        if component.get("custom_id") == control_ids.TEXT and isinstance(value, str):
            yield value
        yield from _iter_texts([component.get("component")], depth + 1)
        yield from _iter_texts(component.get("components"), depth + 1)
