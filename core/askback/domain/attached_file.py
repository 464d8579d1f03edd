"""Files that people attach to their messages: as a platform describes them, and as they are stored."""

from __future__ import annotations

__all__ = ["AttachedFile", "FileProblem", "FileProblemCode", "FileState", "MessageFile"]

from typing import Any, Literal

from pydantic import model_validator

from askback.domain.file_kinds import FileKind
from askback.internal.values import PersonText, Value

FileState = Literal["pending", "stored", "failed"]

FileProblemCode = Literal[
    "too_large",
    "too_many",
    "unsupported",
    "mismatch",
    "not_asked",
    "not_text",
    "too_wide",
    "protected",
    "broken",
    "empty",
    "deleted",
    "forbidden",
    "unreachable",
    "refused",
]
"""The reason for which the model does not get a file. `askback.domain.file_problems` has a sentence for each."""


class AttachedFile(Value):
    """A file, or something like it, as the platform describes it in a message.

    Rows of earlier releases have a name instead.
    """

    name: PersonText
    id: str = ""
    """The platform's id of the file. Empty for something without a content to read, such as a shared message."""
    media_type: str | None = None
    """The media type that the platform states, unchecked."""
    size: int | None = None
    """Its size in bytes, as the platform states it."""
    address: str | None = None
    """The address from which the bot reads it. It may expire."""

    @model_validator(mode="before")
    @classmethod
    def _accept_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @property
    def has_content(self) -> bool:
        """True if the bot can try to read it."""
        return bool(self.id)


class FileProblem(Value):
    """The reason for which the model does not get a file."""

    code: FileProblemCode
    detail: PersonText = ""
    """The part of the problem that the code alone does not say: a limit, or the platform's own reason. In English."""


class MessageFile(Value):
    """A file of a message, as stored, without its content."""

    id: int
    file: AttachedFile
    state: FileState
    kind: FileKind | None = None
    """The kind of its content. None until it is stored."""
    size: int = 0
    """The size of its content in bytes."""
    tokens: int = 0
    """A high estimate of the tokens that the model reads for it."""
    problem: FileProblem | None = None
    seq: int | None = None
    """The transcript row of the message. None until a turn takes it up."""
    block: int | None = None
    """The index of the block of that row that represents the file."""
