"""The modal with the field for the files of a question."""

from __future__ import annotations

__all__ = ["build_entry", "build_view", "read_files"]

from collections.abc import Mapping
from typing import Final

from askback.domain.attached_file import AttachedFile
from askback.domain.file_field import FileField
from askback.domain.file_rules import AcceptedKind, FileRules
from askback.translations.catalogue import _, use_language
from askback_slack import limits
from askback_slack.blocks import Block, context, plain
from askback_slack.files import list_files
from askback_slack.json_access import get_value
from askback_slack.text_entry import build_label
from askback_slack.text_modal import ANSWER, CALLBACK, FieldRef

FILES: Final = "askback:files"
"""The element with the files."""
_SUFFIXES: Final[Mapping[AcceptedKind, tuple[str, ...]]] = {
    "pictures": ("png", "jpg", "jpeg", "gif", "webp"),
    "pdf": ("pdf",),
}
"""The suffixes of the names of files, by kind. A text may have any."""


def build_view(field: FileField, ref: FieldRef) -> Block:
    """Return the modal for `views.open`, in the language of the field."""
    with use_language(field.language):
        return _build_view(field, ref)


def _build_view(field: FileField, ref: FieldRef) -> Block:
    label, blocks = build_label(field.prompt, _("Your files"))
    if field.replaced is not None:
        blocks.append(context(field.replaced))
    blocks.append(
        {
            "type": "input",
            "block_id": ANSWER,
            "label": plain(label),
            "hint": plain(field.hint),
            "element": {**build_entry(field.rules), "action_id": FILES},
        }
    )
    made: Block = {
        "type": "modal",
        "callback_id": CALLBACK,
        "private_metadata": ref.model_dump_json(exclude_none=True, by_alias=True),
        "title": plain(_("Your files")),
        "submit": plain(_("Send")),
        "close": plain(_("Back to the card")),
        "notify_on_close": True,
        "blocks": [*blocks],
    }
    limits.check_view(made)
    return made


def build_entry(rules: FileRules) -> Block:
    """Return the field for files. Slack's client offers only those whose names end as one of `filetypes`."""
    made: Block = {"type": "file_input", "max_files": rules.max}
    if "text" in rules.kinds:
        return made
    return {**made, "filetypes": [suffix for kind in rules.kinds for suffix in _SUFFIXES[kind]]}


def read_files(payload: Mapping[str, object]) -> tuple[AttachedFile, ...]:
    """Return the files of a submitted modal (the payload's `view`). Never raises."""
    return list_files(get_value(payload, "state", "values", ANSWER, FILES))
