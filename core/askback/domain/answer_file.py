"""A file of an answer, and the result of reading its contents. No I/O."""

from __future__ import annotations

__all__ = ["AnswerFile", "FileReading", "add_readings", "list_pending"]

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import Field, JsonValue

from askback.domain.attached_file import AttachedFile, FileProblem
from askback.domain.file_kinds import MEDIA_TYPES, FileKind, format_size
from askback.domain.file_problems import explain_to_model, explain_to_person
from askback.internal.values import PersonText, Value
from askback.text.literal import fit_line
from askback.translations.catalogue import _

if TYPE_CHECKING:
    from askback.domain.interview import Interview

NAME = 200
"""Maximum length of a file's name where people or programs read it, in UTF-16 units."""


class FileReading(Value):
    """The result of reading a file: its kind, or the reason why nobody gets its contents."""

    kind: FileKind | None = None
    size: int = 0
    """The number of bytes that were read."""
    problem: FileProblem | None = None


class AnswerFile(Value):
    """A file that a person gave as an answer."""

    id: str
    """The platform's id of the file."""
    name: PersonText
    """Its name as the person's program gives it. Never use it as a path: it may contain anything."""
    size: int | None = None
    """Its size in bytes, as the platform states it. None if it states none."""
    # Excluded by default, because most files have one of the two.
    reading: FileReading | None = Field(default=None, exclude_if=lambda value: value is None)
    """None until its contents were read."""

    @classmethod
    def from_attached(cls, attached: AttachedFile) -> AnswerFile:
        """Return the file of a message or a modal as an answer. The answer does not hold its address."""
        return cls(id=attached.id, name=attached.name, size=attached.size)

    @property
    def shown_name(self) -> str:
        """The name on one line, shortened if it is long."""
        return fit_line(self.name, NAME) or _("(no name)")

    @property
    def shown_size(self) -> int | None:
        """The number of bytes that were read, or else the size that the platform states."""
        return self.reading.size if self.reading is not None and self.reading.kind is not None else self.size

    @property
    def label(self) -> str:
        """The name and the size, and the problem if its contents cannot be read, in the current language."""
        size = "" if self.shown_size is None else f" ({format_size(self.shown_size)})"
        problem = None if self.reading is None else self.reading.problem
        return f"{self.shown_name}{size}" + ("" if problem is None else f" – {explain_to_person(problem)}")

    def to_json_value(self) -> JsonValue:
        """Return it as programs and models get it, in English. Its contents are read by its id."""
        found: dict[str, JsonValue] = {"id": self.id, "name": self.shown_name}
        if self.shown_size is not None:
            found["size"] = self.shown_size
        if self.reading is None:
            found["problem"] = "Its contents have not been read yet."
        elif self.reading.problem is not None:
            found["problem"] = explain_to_model(self.reading.problem)
        elif self.reading.kind is not None:
            found["type"] = MEDIA_TYPES[self.reading.kind]
        return found


def list_pending(interview: Interview) -> tuple[AnswerFile, ...]:
    """Return the files of the answers whose contents have not been read yet; empty without an answer."""
    answers = () if interview.outcome is None else interview.outcome.answers
    return tuple(file for answer in answers for file in answer.files if file.reading is None)


def add_readings(interview: Interview, readings: Mapping[str, FileReading]) -> Interview:
    """Return the interview with the results of reading files, by the ids of the files. A known result stays."""

    def fill(files: tuple[AnswerFile, ...]) -> tuple[AnswerFile, ...]:
        return tuple(one if one.reading else one.evolve(reading=readings.get(one.id)) for one in files)

    drafts = tuple(draft.evolve(files=fill(draft.files)) if draft.files else draft for draft in interview.drafts)
    if drafts == interview.drafts:
        return interview
    outcome = interview.outcome
    if outcome is not None:
        answers = tuple(
            answer.evolve(files=fill(answer.files)) if answer.files else answer for answer in outcome.answers
        )
        outcome = outcome.evolve(answers=answers)
    return interview.evolve(drafts=drafts, outcome=outcome, revision=interview.revision + 1)
