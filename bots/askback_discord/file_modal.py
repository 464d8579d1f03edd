"""The modal with the field for the files of a question."""

from __future__ import annotations

__all__ = ["build_entry", "build_modal", "read_files"]

from collections.abc import Iterator
from typing import Final, cast

from askback.domain.attached_file import AttachedFile
from askback.domain.file_field import FileField
from askback.domain.file_rules import FileRules
from askback.text.unseen import has_visible_text
from askback.translations.catalogue import _, use_language
from askback_discord import control_ids, limits
from askback_discord.components import Component, display
from askback_discord.escaping import fit_line, plain
from askback_discord.files import read_attachment
from askback_discord.modal_components import Json, iter_components
from askback_discord.text_modal import build_prompt

FILES: Final = "askback:files"
"""The custom_id of the field."""


def build_modal(field: FileField) -> Component:
    """Return the data of a callback that opens the modal (type 9), in the language of the field."""
    with use_language(field.language):
        return _build_modal(field)


def _build_modal(field: FileField) -> Component:
    parts = [build_prompt(field.prompt)]
    if field.replaced is not None:
        parts.append(display(f"-# {plain(field.replaced)}"))
    labelled: Component = {
        "type": limits.LABELLED,
        "label": fit_line(_("Your files"), limits.LABEL),
        "description": fit_line(field.hint, limits.LABEL_DESCRIPTION),
        "component": build_entry(FILES, field.rules, required=True),
    }
    control = control_ids.Control(kind="upload", ask_id=field.ask_id, step=field.step)
    title = fit_line(field.header, limits.MODAL_TITLE)
    made: Component = {
        "custom_id": control_ids.to_custom_id(control),
        "title": title if has_visible_text(field.header) else _("Your files"),
        "components": [*parts, labelled],
    }
    limits.check_modal(made)
    return made


def build_entry(custom_id: str, rules: FileRules, *, required: bool) -> Component:
    """Return the field for files. Discord's client offers files of all kinds."""
    return {
        "type": limits.UPLOAD,
        "custom_id": custom_id,
        "min_values": rules.min if required else 0,
        "max_values": rules.max,
        "required": required,
    }


def read_files(data: Json, custom_id: str = FILES) -> tuple[AttachedFile, ...]:
    """Return the files of a submitted modal (the interaction's `data`). Never raises."""
    known = _to_object(_to_object(data.get("resolved")).get("attachments"))
    found = (_to_object(known.get(one)) for one in _iter_ids(data, custom_id))
    return tuple(read_attachment(one) for one in found if one)[: limits.UPLOADS]


def _to_object(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _iter_ids(data: Json, custom_id: str) -> Iterator[str]:
    """Yield the ids of the attachments of a field."""
    for component in iter_components(data):
        values = component.get("values")
        if component.get("custom_id") == custom_id and isinstance(values, list):
            yield from dict.fromkeys(str(one) for one in cast("list[object]", values))
