"""The whole of a question, for people who ask for what its settled card leaves out."""

from __future__ import annotations

from askback.domain.actions import Cancel, Choose, Submit, SubmitText
from askback.domain.form import Form, Option, Question
from askback.domain.interview import start_interview
from askback.domain.question_text import describe_questions
from support.cases import Story, question

DEPLOY = Question(
    id="where",
    prompt="Where?\nThink first.",
    header="Deploy",
    details="Everything about it",
    options=(
        Option(value="p", label="Production", description="Slow but safe", preview="curl https://prod"),
        Option(value="s", label="Staging", image="https://pictures.example/s.png"),
    ),
)


def test_it_has_every_text_of_the_question_and_marks_the_answer() -> None:
    story = Story(DEPLOY)
    story.does(Choose(index=1))
    assert describe_questions(story.now, with_details=True) == (
        "Deploy\nWhere?\nThink first.\n\n"
        "1. Production\nSlow but safe\ncurl https://prod\n\n"
        "2. Staging  ✓\nhttps://pictures.example/s.png\n\n"
        "Everything about it"
    )


def test_it_has_the_title_of_the_form_and_the_help_below_each_question() -> None:
    asked = (DEPLOY.evolve(help_text="In *one* word."), question("name"))
    shown = describe_questions(start_interview(Form(questions=asked, title="Before I begin")), with_details=False)
    assert shown.startswith("Before I begin\n\nDeploy\nWhere?\nThink first.\nIn *one* word.\n\n1. Production")


def test_it_leaves_out_the_details_for_people_who_may_not_see_them() -> None:
    story = Story(DEPLOY)
    story.does(Choose(index=1))
    assert "Everything about it" not in describe_questions(story.now, with_details=False)


def test_a_draft_is_no_answer() -> None:
    story = Story(question("colour", "Red", "Green"), question("name"))
    story.does(Choose(index=0))
    story.does(Cancel())
    assert "✓" not in describe_questions(story.now, with_details=True)


def test_a_form_has_every_question() -> None:
    story = Story(question("colour", "Red", "Green"), question("name"))
    story.does(Choose(index=0))
    story.does(SubmitText(text="Zoë"))
    story.does(Submit())
    assert describe_questions(story.now, with_details=True) == (
        "What about colour?\n\n1. Red  ✓\n\n2. Green\n\nWhat about name?\n\nWritten answer:\nZoë"
    )
