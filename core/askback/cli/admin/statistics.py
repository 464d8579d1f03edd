"""Counts how questions ended, how long people took, and what they chose."""

from __future__ import annotations

__all__ = ["QuestionStatistics", "Statistics", "compute_statistics"]

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from askback.domain.ask import Ask
from askback.domain.ask_filter import STATES, AskState, get_state
from askback.domain.form import Question
from askback.domain.outcome import Answer
from askback.domain.reserved_options import NO_ANSWERS
from askback.internal.values import Value

MAX_QUESTIONS = 10
"""Maximum number of different questions to list, those that were asked most often."""
MAX_WRITTEN = 5
"""Maximum number of written answers to list for a question, the newest."""


class QuestionStatistics(Value):
    """The answers to one question, however often it was asked."""

    prompt: str
    asked: int
    answered: int
    open: int
    choices: tuple[tuple[str, int], ...]
    """The chosen labels with their numbers, the most frequent first."""
    written: tuple[str, ...]
    """The newest answers in people's own words."""
    written_count: int
    notes: tuple[str, ...] = ()
    """The newest notes to choices."""
    note_count: int = 0


class Statistics(Value):
    """The statistics of many questions."""

    asked: int
    by_state: Mapping[AskState, int]
    median_seconds: float | None
    """Half of the answers and refusals came within this time after the card was posted. None if there are none."""
    p90_seconds: float | None
    """Nine of ten came within this time."""
    questions: tuple[QuestionStatistics, ...]
    """The questions that were asked most often."""


@dataclass
class _Count:
    asked: int = 0
    answered: int = 0
    open: int = 0
    choices: Counter[str] = field(default_factory=Counter[str])
    written: list[str] = field(default_factory=list[str])
    written_count: int = 0
    notes: list[str] = field(default_factory=list[str])
    note_count: int = 0

    def add(self, answer: Answer | None, *, is_open: bool) -> None:
        self.asked += 1
        self.open += is_open
        if answer is None:
            return
        self.answered += 1
        self.choices.update(choice.label for choice in answer.choices if choice.value not in NO_ANSWERS)
        self.choices.update(one.label for one in answer.picked)
        if answer.note is not None:
            self.note_count += 1
            if len(self.notes) < MAX_WRITTEN:
                self.notes.append(answer.note)
        if answer.text is not None:
            self.written_count += 1
            if len(self.written) < MAX_WRITTEN:
                self.written.append(answer.text)


def compute_statistics(asks: Iterable[Ask]) -> Statistics:
    """Return the statistics of these questions, which are sorted with the newest first."""
    states: Counter[AskState] = Counter()
    seconds: list[float] = []
    counts: defaultdict[str, _Count] = defaultdict(_Count)
    for ask in asks:
        state, outcome, taken = get_state(ask), ask.outcome, ask.time_taken
        states[state] += 1
        if taken is not None and state in ("answered", "refused"):
            seconds.append(max(taken.total_seconds(), 0.0))
        for question in ask.interview.form.questions:
            counts[_get_key(question)].add(
                None if outcome is None else outcome.get(question.id), is_open=outcome is None
            )
    seconds.sort()
    most = sorted(counts.items(), key=lambda one: (-one[1].asked, one[0]))[:MAX_QUESTIONS]
    return Statistics(
        asked=states.total(),
        by_state={state: states[state] for state in STATES if states[state]},
        median_seconds=_find_percentile(seconds, 0.5),
        p90_seconds=_find_percentile(seconds, 0.9),
        questions=tuple(
            QuestionStatistics(
                prompt=prompt,
                asked=count.asked,
                answered=count.answered,
                open=count.open,
                choices=tuple(count.choices.most_common()),
                written=tuple(count.written),
                written_count=count.written_count,
                notes=tuple(count.notes),
                note_count=count.note_count,
            )
            for prompt, count in most
        ),
    )


def _get_key(question: Question) -> str:
    return question.prompt.strip()


def _find_percentile(values: list[float], part: float) -> float | None:
    """Return the smallest of the sorted values that is not exceeded by this part of them. None if there are none."""
    return values[max(math.ceil(part * len(values)) - 1, 0)] if values else None
