"""The questions of a form with their answers, as the review and the settled card list them. No I/O."""

from __future__ import annotations

__all__ = ["LONGEST_QUOTED", "NOTE", "ReviewLine", "build_review", "get_beginning"]

from askback.domain.choice_words import Picks
from askback.domain.form import Form
from askback.domain.interview import Interview
from askback.domain.outcome import Outcome, Picked
from askback.internal.values import Value
from askback.text.literal import find_break, is_readable_line
from askback.translations.catalogue import N_, _

LONGEST_SHARED = 120
"""Maximum number of characters of a question and its answer that share one line of a review or a settled form."""
LONGEST_QUOTED = 1_000
"""Maximum number of characters of a written answer that a card shows whole. Its button shows a longer one."""
BEGINNING = 500
"""Maximum number of characters of the beginning of a longer one."""
NOTE = N_("Note: {note}")


class ReviewLine(Value):
    """One question of a form with its answer so far."""

    index: int
    header: str
    prompt: str
    answer: tuple[str, ...]
    """The labels of what was chosen, then the written text; empty if unanswered."""
    text: str | None
    """The written text, which is the last one of the answer; None if there is none."""
    note: str | None
    """The note to the choice."""
    picks: Picks | None
    """The kind of things that people pick; None if it has options or asks for a text."""
    picked: tuple[Picked, ...]
    """The people or channels, whose names are the first labels of the answer."""
    missing: str | None
    """A sentence about what the question still needs; None if it is answered."""

    @property
    def written(self) -> tuple[str, ...]:
        """The labels without the names of people and channels. Of a long text, it has the beginning."""
        labels = self.answer[len(self.picked) :]
        return labels if self.text is None else (*labels[:-1], get_beginning(self.text))

    @property
    def quoted(self) -> tuple[str, ...]:
        """The same labels, and the note."""
        return (*self.written, *self.quoted_note)

    @property
    def quoted_note(self) -> tuple[str, ...]:
        """The note as a sentence, if there is one."""
        return () if self.note is None else (_(NOTE).format(note=self.note),)

    @property
    def hides_text(self) -> bool:
        """True if only the beginning of the written text is shown."""
        return self.text is not None and get_beginning(self.text) != self.text

    @property
    def fits_line(self) -> bool:
        """True if the question and its answer are short enough to share one line."""
        texts = [self.prompt, *self.answer, *(one for one in (self.note, self.missing) if one is not None)]
        return sum(map(len, texts)) <= LONGEST_SHARED and all(map(is_readable_line, texts))


def get_beginning(text: str) -> str:
    """Return a written text as a card shows it: whole, or the beginning of a long one."""
    if len(text) <= LONGEST_QUOTED:
        return text
    return f"{text[: find_break(text, BEGINNING)].rstrip()}…"


def build_review(interview: Interview) -> tuple[ReviewLine, ...]:
    """Return the visible questions with their answers so far; at the end, the defaults if these apply."""
    if interview.outcome is not None and interview.outcome.fallback:
        return _build_defaults(interview.form, interview.outcome)
    return tuple(
        ReviewLine(
            index=index,
            header=interview.form.get_header(index),
            prompt=interview.form.questions[index].prompt,
            answer=interview.answer(index).labels if interview.drafts[index].is_answer else (),
            text=interview.drafts[index].text,
            note=interview.drafts[index].note,
            picks=interview.form.questions[index].picks,
            picked=interview.drafts[index].picked,
            missing=_describe_missing(interview, index),
        )
        for index in interview.visible
    )


def _build_defaults(form: Form, outcome: Outcome) -> tuple[ReviewLine, ...]:
    """Return the defaults that apply in the place of answers."""
    return tuple(
        ReviewLine(
            index=index,
            header=form.get_header(index),
            prompt=question.prompt,
            answer=answer.labels,
            text=None,
            note=None,
            picks=question.picks,
            picked=answer.picked,
            missing=None,
        )
        for index, question in enumerate(form.questions)
        for answer in outcome.fallback
        if answer.question_id == question.id
    )


def _describe_missing(interview: Interview, index: int) -> str | None:
    if interview.is_answered(index):
        return None
    problem = interview.find_count_problem(index)
    return _("Not answered yet") if problem is None else _("Not answered yet: {problem}").format(problem=problem)
