"""The responses to a click on a card."""

from __future__ import annotations

__all__ = [
    "AskFiles",
    "AskForm",
    "AskText",
    "Details",
    "FieldErrors",
    "FileErrors",
    "FormErrors",
    "Notice",
    "Redraw",
    "Response",
]

from typing import Literal

from pydantic import Field

from askback.domain.ask_policy import Denied
from askback.domain.card import Card
from askback.domain.file_field import FileField
from askback.domain.form_fields import FieldProblem, FormFields
from askback.domain.text_field import TextField
from askback.internal.values import Value
from askback.translations.catalogue import Language, get_language


class _Spoken(Value):
    """A response with words. It remembers the language in which it was built, for what a bot adds to it."""

    language: Language = Field(default_factory=get_language)


class Redraw(_Spoken):
    """The action counted: redraw the card from its newest state."""

    kind: Literal["redraw"] = "redraw"


class AskText(_Spoken):
    """The response to an action that needs a text: open this text field."""

    kind: Literal["ask_text"] = "ask_text"
    field: TextField


class FieldErrors(_Spoken):
    """The response to a rejected text. `field` still holds the text, so that the person can correct it."""

    kind: Literal["field_errors"] = "field_errors"
    message: str
    field: TextField


class AskFiles(_Spoken):
    """The response to a wish to give files: open this field."""

    kind: Literal["ask_files"] = "ask_files"
    field: FileField


class FileErrors(_Spoken):
    """The response to files that cannot be an answer. The person can choose others in `field`."""

    kind: Literal["file_errors"] = "file_errors"
    message: str
    field: FileField


class AskForm(_Spoken):
    """The response to a wish to answer all questions at once: open these fields."""

    kind: Literal["ask_form"] = "ask_form"
    fields: FormFields


class FormErrors(_Spoken):
    """The response to fields of which some are wrong. The interview keeps all of them, so nothing is lost."""

    kind: Literal["form_errors"] = "form_errors"
    problems: tuple[FieldProblem, ...]
    fields: FormFields


class Notice(_Spoken):
    """A sentence that only the person who clicked sees."""

    kind: Literal["notice"] = "notice"
    text: str
    card: Card | None = None
    """The newest card, if the person may be looking at an old one."""
    kept: bool = False
    """True if the person's text was kept as a message, so that they need not send it again."""
    denied: Denied | None = None
    """The reason why this person may not act at all. None means they may."""
    is_repeated: bool = False
    """True if this person read the same notice about this question recently, so it is not shown again."""


class Details(_Spoken):
    """The full text of what the card shows only in part. Only the person who clicked sees it."""

    kind: Literal["whole"] = "whole"
    ask_id: str
    title: str
    text: str
    is_document: bool = False
    """True if the text is a document, such as arguments or a diff, and not sentences. It is shown in monospace."""


Response = Redraw | AskText | FieldErrors | AskFiles | FileErrors | AskForm | FormErrors | Notice | Details
