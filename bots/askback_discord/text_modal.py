"""The text field behind "Something else…", as a modal."""

from __future__ import annotations

__all__ = ["OTHER", "PARAGRAPH", "build_modal", "build_prompt", "find_value", "parse_ref", "read_choice", "read_text"]

import re
from collections.abc import Sequence
from typing import Final, cast

from askback.domain.choice_words import SOMETHING_ELSE
from askback.domain.text_field import TextField, list_option_labels
from askback.text.literal import count_utf16_units, replace_controls
from askback.text.unseen import has_visible_text
from askback.translations.catalogue import _, use_language
from askback_discord import control_ids, limits
from askback_discord.absence import build_absence
from askback_discord.card_parts import MAX_BOLD
from askback_discord.components import Component, option
from askback_discord.escaping import bold, fit_line, plain, truncate
from askback_discord.modal_components import Json, iter_components

ONE_LINE, PARAGRAPH = 1, 2
"""The styles of a text input. [ref components/reference#text-input]"""

OTHER: Final = "other"
"""The value of "Something else…", which the question itself does not offer."""
_CHOICE: Final = "askback:choice"
"""The custom_id of the options to which the text is a note."""
_INDEX: Final = re.compile(r"\d{1,4}", re.ASCII)


def build_modal(field: TextField) -> Component:
    """Return the data of a callback that opens the text field (type 9), with the text written so far.

    It is in the language of the field.
    """
    with use_language(field.language):
        return _build_modal(field)


def _build_modal(field: TextField) -> Component:
    value = replace_controls(field.value)
    kept = truncate(value, limits.INPUT_VALUE)
    entry: Component = {
        "type": limits.INPUT,
        "custom_id": control_ids.TEXT,
        "style": ONE_LINE if field.is_line else PARAGRAPH,
        "required": False,  # the bot then receives an empty text, and explains the problem
        "max_length": limits.INPUT_VALUE if field.choice is None and not field.is_note else field.rules.max_length,
        "placeholder": _get_placeholder(field),
    }
    if kept:
        entry["value"] = kept
    labelled: Component = {
        "type": limits.LABELLED,
        "label": _get_label(field),
        "description": _get_hint(field, whole=kept == value),
        "component": entry,
    }
    kind: control_ids.Kind = "field" if field.choice is None else "vote"
    control = control_ids.Control(kind=kind, ask_id=field.ask_id, step=field.step, arg=field.choice)
    made: Component = {
        "custom_id": control_ids.to_custom_id(control),
        "title": _get_title(field.header if field.choice is None else field.placeholder),
        "components": [
            *build_absence(field.absence),
            build_prompt(field.prompt),
            *([_build_choice(field)] if field.options else []),
            labelled,
        ],
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
    return find_value(data, control_ids.TEXT)


def find_value(data: Json, custom_id: str) -> str:
    """Return the value of a component of a submitted modal (the interaction's `data`), or an empty string.

    Never raises.
    """
    for component in iter_components(data):
        if component.get("custom_id") == custom_id:
            chosen = component.get("values")
            found = [
                component.get("value"),
                *(cast("Sequence[object]", chosen) if isinstance(chosen, list | tuple) else ()),
            ]
            texts = [one for one in found if isinstance(one, str)]
            if texts:
                return texts[0]
    return ""


def read_choice(data: Json) -> int | None:
    """Return the index of the option that was chosen with the text (the interaction's `data`); None if there is none.

    Never raises.
    """
    value = find_value(data, _CHOICE)
    return int(value) if _INDEX.fullmatch(value) else None


def _build_choice(field: TextField) -> Component:
    """A radio group or a menu with the options. The last one means a written answer, if there is room for it."""
    labels = list_option_labels(field.options, limits.OPTION_TEXT)
    options = [option(words, index, chosen=index == field.chosen) for index, words in enumerate(labels)]
    if not field.is_note and len(options) < limits.MENU_OPTIONS:
        options.append(option(_(SOMETHING_ELSE), OTHER, chosen=field.chosen is None and bool(field.value)))
    is_group = limits.RADIO_LEAST <= len(options) <= limits.RADIO_OPTIONS
    return {
        "type": limits.LABELLED,
        "label": _("Your choice"),
        "component": {
            "type": limits.RADIO if is_group else limits.MENU,
            "custom_id": _CHOICE,
            "options": [*options],
            # The text is enough if it can be an answer.
            "required": field.is_note,
        },
    }


def _get_label(field: TextField) -> str:
    if field.choice is not None:
        return _("Your reason")
    if not field.options:
        return _("Your answer")
    return _("Your note") if field.is_note else _("Your note, or an answer of your own")


def _get_placeholder(field: TextField) -> str:
    if field.choice is not None:
        return _("Enter your reason…")  # the prompt above the field says what the reason is for
    return fit_line(field.placeholder, limits.INPUT_PLACEHOLDER) or _("Enter your answer…")


def _get_title(header: str) -> str:
    title = fit_line(header, limits.MODAL_TITLE)
    return title if has_visible_text(header) else _("Your answer")


def build_prompt(prompt: str) -> Component:
    """Return the question as a text above the fields."""
    words = bold(prompt) if len(prompt) <= MAX_BOLD else plain(prompt)
    if count_utf16_units(words) > limits.TEXT:
        words = f"-# {_('The question is too long for this window. The message shows all of it.')}"
    return {"type": limits.DISPLAY, "content": words}


def _get_hint(field: TextField, *, whole: bool) -> str:
    if not whole:
        return _("Your earlier text is too long for this field, which shows only its beginning.")
    if field.choice is not None:
        asker = _("The asker gets it, and the card shows it.")
        return fit_line(f"{asker} {field.hint}", limits.LABEL_DESCRIPTION)
    both = f"{field.hint} {_('It is sent together with the chosen options.')}"
    return fit_line(both if field.multi else field.hint, limits.LABEL_DESCRIPTION)
