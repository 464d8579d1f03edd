"""Translates a pressed control or a submitted modal into an operation."""

from __future__ import annotations

__all__ = ["build_operation"]

from collections.abc import Mapping

import discord

from askback.domain import not_now
from askback.domain.actions import (
    AttachFiles,
    Choose,
    Decline,
    EditArguments,
    GoTo,
    OpenTextField,
    Operation,
    Select,
    SubmitForm,
    SubmitText,
)
from askback.internal.clock import utc_now
from askback.ports.controls import OPERATIONS
from askback_discord import control_ids, file_modal, form_modal, not_now_modal, text_modal
from askback_discord.payloads import Click, parse_indexes


def build_operation(control: control_ids.Control, pressed: Click, interaction: discord.Interaction) -> Operation | None:
    """Return the action of a pressed control, or None if the payload does not fit the control."""
    picked = parse_indexes(pressed.values)
    match control.kind:
        case "choose" if control.arg is not None:
            return Choose(index=control.arg)
        case "pick" if len(picked) == 1:
            return Choose(index=picked[0])
        case "tick":
            return Select(chosen=picked, base=pressed.base, revision=control.drawing, order=float(interaction.id >> 22))
        case "people" | "channels":
            return pressed.pick
        case "goto" if control.arg is not None or len(picked) == 1:
            return GoTo(index=picked[0] if control.arg is None else control.arg)
        case "retry":
            return OpenTextField() if control.arg is None else Choose(index=control.arg)
        case "field" if interaction.type is discord.InteractionType.modal_submit:
            return _build_text_operation(interaction.data or {})
        case "upload" if interaction.type is discord.InteractionType.modal_submit:
            return AttachFiles(files=file_modal.read_files(interaction.data or {}))
        case "fields" if interaction.type is discord.InteractionType.modal_submit:
            return SubmitForm(answers=form_modal.read_answers(interaction.data or {}), revision=control.revision)
        case "edits" if interaction.type is discord.InteractionType.modal_submit:
            return EditArguments(answers=form_modal.read_answers(interaction.data or {}))
        case "vote" if interaction.type is discord.InteractionType.modal_submit and control.arg is not None:
            return Choose(index=control.arg, reason=text_modal.read_text(interaction.data or {}))
        case "decline" if interaction.type is discord.InteractionType.modal_submit:
            return _build_way_operation(control, interaction.data or {})
        case _:
            return OPERATIONS.get(control.kind)


def _build_text_operation(data: Mapping[str, object]) -> Operation:
    """Return the action for a sent text field. With an option, the text is a note to it."""
    text, chosen = text_modal.read_text(data), text_modal.read_choice(data)
    return SubmitText(text=text) if chosen is None else Choose(index=chosen, note=text)


def _build_way_operation(control: control_ids.Control, data: Mapping[str, object]) -> Operation | None:
    """Return the action of the way that a person chose to leave a question for now."""
    way, note = not_now_modal.parse_way(control, data), text_modal.read_text(data)
    if way is None:
        return Decline(reason=note or None)  # the modal of an earlier release had no ways
    return not_now.build_operation(way, note, now=utc_now())
