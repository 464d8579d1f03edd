"""The rules of a question that asks for files, and the sentences about them. No I/O.

The platform states the name, the type and the size of a file, as the person's program gives them. The bot finds out
later what the file holds.
"""

from __future__ import annotations

__all__ = [
    "KINDS",
    "AcceptedKind",
    "FileRules",
    "describe_files",
    "describe_kinds",
]

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, cast, get_args

from pydantic import Field, ValidationInfo, field_validator, model_validator

from askback.domain.attached_file import AttachedFile
from askback.domain.file_check import get_read_limit
from askback.domain.file_kinds import MAX_FILES, MAX_MESSAGE_BYTES, FileKind, claim_kind, format_size, get_limit
from askback.internal.values import Value, find_repeats
from askback.text.literal import quote_line
from askback.translations.catalogue import N_, _, ngettext

AcceptedKind = Literal["pictures", "pdf", "text"]
"""A kind of files that a question can ask for."""
KINDS: Final[Mapping[AcceptedKind, frozenset[FileKind]]] = MappingProxyType(
    {
        "pictures": frozenset({"png", "jpeg", "gif", "webp"}),
        "pdf": frozenset({"pdf"}),
        "text": frozenset({"text"}),
    }
)
_NAME: Final = 60
"""Maximum length of a file's name in a sentence, in UTF-16 units."""
_ALL: Final[tuple[AcceptedKind, ...]] = get_args(AcceptedKind)
_NAMES: Final[Mapping[AcceptedKind, str]] = MappingProxyType(
    {
        "pictures": N_("pictures up to {size}"),
        "pdf": N_("PDF up to {size}"),
        "text": N_("text up to {size}"),
    }
)
_NOT_THIS: Final[Mapping[tuple[AcceptedKind, ...], str]] = MappingProxyType(
    {
        ("pictures",): N_("{name} is not a PNG, JPEG, GIF or WebP. Please choose another file."),
        ("pdf",): N_("{name} is not a PDF. Please choose another file."),
        ("text",): N_("{name} is not a text. Please choose another file."),
        ("pictures", "pdf"): N_("{name} is not a PNG, JPEG, GIF, WebP or PDF. Please choose another file."),
        ("pictures", "text"): N_("{name} is not a PNG, JPEG, GIF, WebP or text. Please choose another file."),
        ("pdf", "text"): N_("{name} is not a PDF or text. Please choose another file."),
        _ALL: N_("{name} is not a PNG, JPEG, GIF, WebP, PDF or text. Please choose another file."),
    }
)


class FileRules(Value):
    """The number and the kinds of the files that a question asks for."""

    kinds: tuple[AcceptedKind, ...] = Field(default=_ALL, exclude_if=lambda value: value == _ALL)
    """The kinds that it takes, one or more. The default is all of them. No other files are ever taken."""
    min: int = Field(default=1, ge=1, le=MAX_FILES, exclude_if=lambda value: value == 1)
    """The smallest number of files."""
    max: int = Field(default=1, ge=1, le=MAX_FILES, exclude_if=lambda value: value == 1)
    """The largest number of files. The default is `min`."""

    @model_validator(mode="before")
    @classmethod
    def _default_max(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        fields = cast("Mapping[str, object]", value)
        return fields if "max" in fields or "min" not in fields else {**fields, "max": fields["min"]}

    @field_validator("kinds")
    @classmethod
    def _check_kinds(cls, value: tuple[AcceptedKind, ...]) -> tuple[AcceptedKind, ...]:
        if not value:
            raise ValueError("is empty: name a kind, or leave it out to take all of them")
        repeated = find_repeats("the kind", value)
        if repeated is not None:
            raise ValueError(repeated)
        return tuple(kind for kind in _ALL if kind in value)

    @field_validator("max")
    @classmethod
    def _check_max(cls, value: int, info: ValidationInfo) -> int:
        least = cast("int", info.data.get("min", 1))
        if value < least:
            raise ValueError(f"is smaller than min ({least}): swap the two")
        return value

    def takes(self, kind: FileKind) -> bool:
        """Return True if files of this kind are an answer."""
        return any(kind in KINDS[accepted] for accepted in self.kinds)

    def find_problem(self, files: Sequence[AttachedFile]) -> str | None:
        """Return a sentence for the person about files that cannot be an answer, by what the platform states of them.

        None means that they are one, as far as anybody knows before their contents are read.
        """
        if not self.min <= len(files) <= self.max:
            return _("Please {needed}.").format(needed=describe_files(self))
        for file in files:
            problem = self._find_file_problem(file)
            if problem is not None:
                return problem
        if sum(file.size or 0 for file in files) > MAX_MESSAGE_BYTES:
            largest = format_size(MAX_MESSAGE_BYTES)
            return _("These files have more than {size} together. Please choose fewer or smaller ones.").format(
                size=largest
            )
        return None

    def _find_file_problem(self, file: AttachedFile) -> str | None:
        name = quote_line(file.name, _NAME)
        claim = claim_kind(file.name, file.media_type)
        if not file.has_content or claim == "unsupported" or (claim is not None and not self.takes(claim)):
            return _(_NOT_THIS[self.kinds]).format(name=name)
        if file.size == 0:
            return _("{name} is empty. Please choose another file.").format(name=name)
        limit = get_read_limit(file)
        if file.size is not None and file.size > limit:
            return _("{name} is too large: it may have up to {size}. Please choose another file.").format(
                name=name, size=format_size(limit)
            )
        return None


def describe_files(rules: FileRules) -> str:
    """Return how many files to choose, such as "choose 1 to 3 files"."""
    if rules.max == 1:
        return _("choose a file")
    if rules.min == rules.max:
        words = ngettext("choose exactly {count} file", "choose exactly {count} files", rules.min)
        return words.format(count=rules.min)
    return _("choose {least} to {most} files").format(least=rules.min, most=rules.max)


def describe_kinds(rules: FileRules) -> str:
    """Return the kinds that are taken, and how large each may be, such as "PDF up to 10.5 MB, text up to 200 kB"."""
    return ", ".join(
        _(_NAMES[kind]).format(size=format_size(max(get_limit(one) for one in KINDS[kind]))) for kind in rules.kinds
    )
