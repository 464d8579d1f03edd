"""Files and notes that people give in the window with all questions of a form."""

from __future__ import annotations

import pytest

from askback.domain.actions import Action, FieldAnswer, SubmitForm
from askback.domain.apply_action import apply_action
from askback.domain.apply_form import NoFields
from askback.domain.attached_file import AttachedFile
from askback.domain.file_rules import FileRules
from askback.domain.form import Question
from askback.domain.form_fields import FieldProblem, build_form_fields, find_field_problems, find_field_questions
from askback.domain.interview import Interview
from support.cases import ANN, NOON, Story, form, question

LOGO = Question(id="logo", prompt="Logo?", files=FileRules(max=2))
WHERE = question("where", "Here", "There")
NOTED = question("when", "Today", "Monday", allow_note=True)
ONLY_NOTED = NOTED.evolve(allow_custom=False)


def files(*names: str) -> tuple[AttachedFile, ...]:
    return tuple(AttachedFile(name=name, id=f"F-{name}", size=1_000) for name in names)


def send(at: Interview, *answers: FieldAnswer) -> tuple[Interview, tuple[FieldProblem, ...]]:
    sent = SubmitForm(answers=answers, revision=at.revision)
    after = apply_action(at, Action(ask_id="ask", actor=ANN, at=NOON, step=at.step, operation=sent))
    return after, find_field_problems(after, sent)


def shown(at: Interview, index: int) -> tuple[tuple[int, ...], str]:
    """Return what the field of a question shows when the window opens again."""
    asked = find_field_questions(at.form)
    assert asked is not None
    field = build_form_fields("ask", at, asked).fields[index]
    return field.chosen, field.value


def test_files_of_the_window_are_an_answer_and_stay_until_others_are_chosen() -> None:
    begun = Story(LOGO, WHERE).now
    open_one, (missing,) = send(begun, FieldAnswer(index=0, files=files("a.png", "b.png")), FieldAnswer(index=1))
    assert (missing.index, open_one.outcome) == (1, None)
    assert [file.name for file in open_one.drafts[0].files] == ["a.png", "b.png"]
    again, problems = send(open_one, FieldAnswer(index=0, files=()), FieldAnswer(index=1, chosen=(0,)))
    assert (problems, again.phase) == ((), "closed")
    assert [file.name for file in again.drafts[0].files] == ["a.png", "b.png"]
    other, _ = send(open_one, FieldAnswer(index=0, files=files("c.png")), FieldAnswer(index=1, chosen=(0,)))
    assert [file.name for file in other.drafts[0].files] == ["c.png"]


def test_files_that_are_no_answer_are_named_at_their_field_and_replace_none() -> None:
    begun, _ = send(Story(LOGO, WHERE).now, FieldAnswer(index=0, files=files("a.png")), FieldAnswer(index=1))
    many = FieldAnswer(index=0, files=files("b.png", "c.png", "d.png"))
    after, (problem,) = send(begun, many, FieldAnswer(index=1, chosen=(0,)))
    assert (problem.index, problem.in_text, problem.message) == (0, False, "Please choose 1 to 2 files.")
    assert [file.name for file in after.drafts[0].files] == ["a.png"]
    _, (nothing, _) = send(Story(LOGO, WHERE).now, FieldAnswer(index=0, files=()), FieldAnswer(index=1))
    assert (nothing.index, nothing.in_text) == (0, False)


@pytest.mark.parametrize(
    "odd",
    [
        FieldAnswer(index=0, chosen=(0,)),
        FieldAnswer(index=0, text="here"),
        FieldAnswer(index=0, files=files("a.png"), text="here"),
    ],
)
def test_nothing_but_files_answers_a_question_about_files(odd: FieldAnswer) -> None:
    with pytest.raises(NoFields):
        send(Story(LOGO, WHERE).now, odd, FieldAnswer(index=1, chosen=(0,)))


def test_files_where_none_are_asked_for_change_nothing() -> None:
    with pytest.raises(NoFields):
        send(Story(LOGO, WHERE).now, FieldAnswer(index=0), FieldAnswer(index=1, chosen=(0,), files=files("a.png")))


def test_files_or_a_text_have_no_field_that_takes_both() -> None:
    either = LOGO.evolve(allow_custom=True)
    assert find_field_questions(form(either, WHERE)) is None
    assert find_field_questions(form(LOGO, WHERE)) is not None


def test_a_text_with_an_option_is_its_note_and_without_one_the_answer() -> None:
    here = FieldAnswer(index=1, chosen=(0,))
    noted, _ = send(Story(NOTED, WHERE).now, FieldAnswer(index=0, chosen=(1,), text=" after six "), here)
    assert noted.outcome is not None
    answer = noted.outcome["when"]
    assert ([choice.label for choice in answer.choices], answer.note, answer.text) == (["Monday"], "after six", None)
    written, _ = send(Story(NOTED, WHERE).now, FieldAnswer(index=0, text=" Friday "), here)
    assert written.outcome is not None
    answer = written.outcome["when"]
    assert (answer.choices, answer.note, answer.text) == ((), None, "Friday")
    bare, _ = send(Story(NOTED, WHERE).now, FieldAnswer(index=0, chosen=(1,), text=" "), here)
    assert bare.outcome is not None
    assert bare.outcome["when"].note is None
    assert all(after.drafts[0].seen for after in (noted, written, bare))


def test_a_note_that_breaks_its_rules_is_in_its_field_again_with_the_choice() -> None:
    here, note = FieldAnswer(index=1, chosen=(0,)), "x" * 1001
    after, (problem,) = send(Story(NOTED, WHERE).now, FieldAnswer(index=0, chosen=(1,), text=note), here)
    assert (problem.index, problem.in_text) == (0, True)
    assert "shorten it to 1,000" in problem.message
    assert shown(after, 0) == ((1,), note)
    assert after.drafts[0].seen
    after, (problem,) = send(Story(ONLY_NOTED, WHERE).now, FieldAnswer(index=0, text="Friday"), here)
    assert "choose the option that your note belongs to" in problem.message
    assert shown(after, 0) == ((), "Friday")


def test_without_a_field_for_it_a_note_stays_with_its_choice_and_goes_with_another() -> None:
    """A window of Discord that is full has no field for notes."""
    begun, _ = send(Story(NOTED, WHERE).now, FieldAnswer(index=0, chosen=(1,), text="after six"), FieldAnswer(index=1))
    for chosen, note in (((1,), "after six"), ((0,), None)):
        after, _ = send(begun, FieldAnswer(index=0, chosen=chosen), FieldAnswer(index=1))
        assert (after.drafts[0].chosen, after.drafts[0].note) == (chosen, note)
        assert after.drafts[0].seen
