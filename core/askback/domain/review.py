"""The lines of a review: each question of a form with its answer so far."""

from __future__ import annotations

__all__ = ["ReviewLine", "build_review"]

from askback.domain.form import Picks
from askback.domain.interview import Interview
from askback.domain.outcome import Picked
from askback.internal.values import Value


class ReviewLine(Value):
    """One question of a form with its answer so far."""

    index: int
    header: str
    prompt: str
    answer: tuple[str, ...]
    """The labels of what was chosen, then the written text; empty if unanswered."""
    picks: Picks | None
    """What the question asks people to pick; None if it has options or asks for a text."""
    picked: tuple[Picked, ...]
    """The people or channels, whose names are the first labels of the answer."""
    missing: str | None
    """A sentence about what the question still needs; None if it is answered."""

    @property
    def written(self) -> tuple[str, ...]:
        """The labels that are no names of people or channels."""
        return self.answer[len(self.picked) :]


def build_review(interview: Interview) -> tuple[ReviewLine, ...]:
    """Return the lines of the visible questions."""
    return tuple(
        ReviewLine(
            index=index,
            header=interview.form.get_header(index),
            prompt=interview.form.questions[index].prompt,
            answer=interview.answer(index).labels if interview.drafts[index].is_answer else (),
            picks=interview.form.questions[index].picks,
            picked=interview.drafts[index].picked,
            missing=_describe_missing(interview, index),
        )
        for index in interview.visible
    )


def _describe_missing(interview: Interview, index: int) -> str | None:
    if interview.is_answered(index):
        return None
    problem = interview.find_count_problem(index)
    return "Not answered yet" if problem is None else f"Not answered yet: {problem}"
