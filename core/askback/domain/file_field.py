"""The field in which a person chooses files."""

from __future__ import annotations

__all__ = ["CHOOSE_FILE", "CHOOSE_FILES", "FileField", "build_file_field", "describe_file_rules", "describe_replaced"]

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from askback.domain.file_rules import FileRules, describe_files, describe_kinds
from askback.domain.interview import Interview
from askback.internal.values import Value
from askback.text.literal import quote_line
from askback.translations.catalogue import N_, Language, _, get_language
from askback.translations.sentences import capitalize_first, end_sentence

CHOOSE_FILE: Final = N_("Choose a file…")
CHOOSE_FILES: Final = N_("Choose files…")
"""Labels of the button that opens the field."""


class FileField(Value):
    """A field for the files of one question."""

    ask_id: str
    step: int
    header: str
    prompt: str
    rules: FileRules
    names: tuple[str, ...]
    """The names of the files that were given so far. New ones replace them."""
    language: Language = Field(default_factory=get_language)
    """The language of the person. A platform builds the modal under `use_language`."""

    @property
    def hint(self) -> str:
        """The number and the kinds of files that a person can give, in a sentence or two."""
        return describe_file_rules(self.rules)

    @property
    def replaced(self) -> str | None:
        """A sentence about the files that new ones replace. None if there are none."""
        return describe_replaced(self.names)


def describe_replaced(names: Sequence[str]) -> str | None:
    """Return a sentence about the files that new ones replace, by their names. None if there are none."""
    if not names:
        return None
    listed = ", ".join(map(quote_line, names))
    return _("Given so far: {names}. If you choose files here, these replace them.").format(names=listed)


def build_file_field(ask_id: str, interview: Interview) -> FileField:
    """Return the field for the files of the current question, which asks for some."""
    question = interview.question
    return FileField(
        ask_id=ask_id,
        step=interview.step,
        header=(question.header or "") if interview.form.is_single else interview.form.get_header(interview.current),
        prompt=question.whole_prompt,
        rules=question.files or FileRules(),
        names=tuple(file.shown_name for file in interview.draft.files),
    )


def describe_file_rules(rules: FileRules) -> str:
    """Return how many files to choose, and of which kinds, such as "Choose a file. PDF up to 10.5 MB."."""
    counted, kinds = end_sentence(capitalize_first(describe_files(rules))), end_sentence(describe_kinds(rules))
    return f"{counted} {capitalize_first(kinds)}"
