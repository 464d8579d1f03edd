"""Arbitrary forms, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from askback.domain.file_rules import FileRules
from askback.domain.form import Condition, Form, Option, Question, TextRules
from askback.domain.form_limits import MAX_NOTE_OPTIONS
from askback.domain.interview import Interview
from askback.domain.question_text import describe_questions
from askback.domain.text_field import TextField

DIGITS = TextRules(pattern=r"\d+", max_length=12)


def build_field(ask_id: str) -> TextField:
    """Return an empty field for any text of up to 1,000 characters."""
    return TextField(
        ask_id=ask_id,
        step=3,
        header="",
        prompt="Which one?",
        placeholder="Enter…",
        value="",
        rules=TextRules(),
        multi=False,
    )


@st.composite
def questions(pick: st.DrawFn, earlier: list[Question], number: int) -> Question:
    picks = pick(st.sampled_from([None, None, None, "people", "channels", "files"]))
    rules = FileRules(max=3) if picks == "files" else None
    count = 0 if picks else pick(st.integers(0, 12))
    multi = pick(st.booleans()) and rules is None
    offered = tuple(
        Option(value=f"v{i}", label=f"{number}.{i} " + "long " * pick(st.sampled_from([0, 1, 60])), description=None)
        for i in range(count)
    )
    some = pick(st.lists(st.sampled_from([one.value for one in offered]), unique=True)) if offered else []
    condition = None
    if earlier and pick(st.booleans()):
        asked = pick(st.sampled_from(earlier))
        values = [option.value for option in asked.options]
        any_of = pick(st.lists(st.sampled_from(values), max_size=3, unique=True)) if values else []
        condition = Condition(question=asked.id, any_of=tuple(any_of))
    return Question(
        id=f"q{number}",
        prompt=f"Question {number}?",
        picks=None if picks == "files" else picks,
        files=rules,
        options=offered,
        multi_select=multi,
        allow_custom=not (offered or picks) or pick(st.booleans()),
        default=tuple(some if multi else some[:1]) if pick(st.booleans()) else (),
        allow_note=bool(offered) and not multi and pick(st.booleans()),
        rules=pick(st.sampled_from([TextRules(), DIGITS, TextRules(max_length=4000)])),
        show_if=condition,
    )


@st.composite
def forms(pick: st.DrawFn) -> Form:
    made: list[Question] = []
    for number in range(pick(st.sampled_from([2, 3, 1, 4, 5]))):
        made.append(pick(questions(made, number)))
    return Form(questions=tuple(made))


@st.composite
def modal_forms(pick: st.DrawFn, *, largest: int = 60) -> Form:
    """Return a form whose questions can be answered together, as far as the core knows.

    `largest` is the largest number of options of a question.
    """
    made: list[Question] = []
    for number in range(pick(st.integers(2, 6 if largest > 3 else 3))):
        several = pick(st.booleans())
        picks = pick(st.sampled_from([None, None, None, None, "people", "channels"]))
        count = 0 if picks else pick(st.sampled_from([one for one in (0, 2, 1, 3, 10, 24, 60) if one <= largest]))
        described = pick(st.booleans())
        size = pick(st.sampled_from([0, 0, 60, 90] if largest > 3 else [0]))
        offered = tuple(
            Option(value=f"v{i}", label=f"{number}.{i}" + "x" * size, description="About it." if described else None)
            for i in range(count)
        )
        least = pick(st.integers(1, 2)) if several and (picks or count > 1) else 1
        made.append(
            Question(
                id=f"q{number}",
                prompt=pick(st.sampled_from([f"Question {number}?", "A long one" * 12 + "?", "Two\nlines?"])),
                header=pick(st.sampled_from([None, f"Head {number}", "A header that is rather long" * 4])),
                picks=picks,
                options=offered,
                multi_select=several and (count > 0 or picks is not None),
                min_choices=least,
                allow_custom=not (offered or picks) or pick(st.booleans()),
                allow_note=0 < count <= MAX_NOTE_OPTIONS and not several and pick(st.booleans()),
                default=("v0",) if offered and pick(st.booleans()) else (),
                rules=pick(st.sampled_from([TextRules(), DIGITS, TextRules(kind="integer", minimum=2)])),
            )
        )
    return Form(questions=tuple(made))


def is_described_whole(at: Interview) -> bool:
    """Return True if "Show question" shows every text of the questions that people saw."""
    shown = describe_questions(at, with_details=True)
    return all(text in shown for index in at.visible for text in _list_read_texts(at.form.questions[index]))


def _list_read_texts(question: Question) -> list[str]:
    """Return all texts of a question that people read, apart from its text field."""
    options = [text for one in question.options for text in (one.label, one.description, one.preview)]
    return [text for text in (question.header, question.prompt, question.details, *options) if text]
