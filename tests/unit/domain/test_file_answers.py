"""Files as answers: what a question may say, which files it takes, and what is known of them later."""

from __future__ import annotations

from typing import Any

import pytest

from askback.domain.actions import AttachFiles, Choose, OpenFiles, SubmitText
from askback.domain.answer_file import AnswerFile, FileReading, add_readings, list_pending
from askback.domain.answer_values import list_answer_values
from askback.domain.apply_action import FilesRefused, NotPossible
from askback.domain.attached_file import AttachedFile, FileProblem
from askback.domain.file_field import describe_file_rules
from askback.domain.file_rules import FileRules
from askback.domain.form import Form, Question
from askback.errors import InvalidValue
from support.cases import HOSTILE, Story, question


def files(*, allow_custom: bool = False, **rules: Any) -> Question:
    return Question(id="logo", prompt="Logo?", files=FileRules(**rules), allow_custom=allow_custom)


def attached(name: str = "a.png", **more: Any) -> AttachedFile:
    fields: dict[str, Any] = {"id": f"F-{name}"[:20], "size": 1_000, "address": "https://files.example/secret"}
    return AttachedFile(name=name, **{**fields, **more})


def test_such_a_question_takes_no_text_unless_it_says_so() -> None:
    assert not files().allow_custom
    assert files(allow_custom=True).allow_custom
    parsed = Question.model_validate_json('{"id": "a", "prompt": "?", "files": {"kinds": ["pdf"], "min": 2}}')
    assert (parsed.allow_custom, parsed.files) == (False, FileRules(kinds=("pdf",), min=2, max=2))
    assert Question.model_validate({"id": "a", "prompt": "?", "files": True}).files == FileRules()
    assert Question.model_validate({"id": "a", "prompt": "?", "files": False}).asks_for_text


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"files": {"kinds": ["zip"]}}, "'pictures', 'pdf' or 'text'"),
        ({"files": {"kinds": []}}, "name a kind"),
        ({"files": {"kinds": ["pdf", "pdf"]}}, "used more than once"),
        ({"files": {"min": 3, "max": 2}}, "swap the two"),
        ({"files": {"max": 11}}, "at most 10"),
        ({"files": {}, "options": question("a", "X").options}, "leave out one of the two"),
        ({"files": {}, "picks": "people"}, "leave out one of the two"),
        ({"files": {}, "multi_select": True}, "leave it out"),
        ({"files": {}, "min_choices": 2}, "needs a question with multi_select"),
    ],
)
def test_what_does_not_go_together_is_refused_with_advice(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValue, match=words) as error:
        Question(id="a", prompt="?", **fields)
    assert "add options" not in str(error.value)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({}, "Choose a file. Pictures up to 3.9 MB, PDF up to 10.5 MB, text up to 200 kB."),
        ({"kinds": ("pdf",), "min": 2}, "Choose exactly 2 files. PDF up to 10.5 MB."),
        ({"kinds": ("text", "pictures"), "max": 3}, "Choose 1 to 3 files. Pictures up to 3.9 MB, text up to 200 kB."),
    ],
)
def test_the_rules_are_said_in_sentences(rules: dict[str, Any], words: str) -> None:
    assert describe_file_rules(FileRules(**rules)) == words
    assert len(words) <= 100, "Discord shows no more at a field"


@pytest.mark.parametrize(
    ("rules", "given", "words"),
    [
        ({}, [], "Please choose a file."),
        ({}, [attached("a.png"), attached("b.png")], "Please choose a file."),
        ({"max": 3}, [attached(f"{n}.png") for n in range(4)], "Please choose 1 to 3 files."),
        ({"kinds": ("pictures",)}, [attached("a.pdf")], "“a.pdf” is not a PNG"),
        ({"kinds": ("pictures",)}, [attached("a.png", media_type="application/pdf")], "“a.png” is not a PNG"),
        ({}, [attached("a.zip", media_type="application/zip")], "“a.zip” is not a PNG, JPEG, GIF, WebP, PDF or text"),
        ({}, [attached("a shared message", id="")], "is not a PNG"),
        ({}, [attached(size=0)], "is empty"),
        ({}, [attached(size=5_000_000)], "up to 3.9 MB"),
        ({"kinds": ("pdf",), "max": 2}, [attached(f"{n}.pdf", size=9_000_000) for n in range(2)], "together"),
    ],
)
def test_files_that_are_no_answer_are_refused_and_change_nothing(
    rules: dict[str, Any], given: list[AttachedFile], words: str
) -> None:
    story = Story(files(**rules))
    with pytest.raises(FilesRefused, match=words):
        story.does(AttachFiles(files=tuple(given)))
    assert not story.now.draft.files


@pytest.mark.parametrize("given", [attached("data"), attached("a.log", media_type="application/octet-stream")])
def test_a_file_that_makes_no_claim_is_taken_until_it_is_read(given: AttachedFile) -> None:
    assert Story(files(kinds=("pdf",))).does(AttachFiles(files=(given,))).outcome is not None


def test_files_settle_a_single_question_and_no_address_is_kept() -> None:
    story = Story(files(max=2))
    outcome = story.does(AttachFiles(files=(attached("a.png"), attached("b.png")))).outcome
    assert outcome is not None
    assert [file.label for file in outcome["logo"].files] == ["a.png (1 kB)", "b.png (1 kB)"]
    assert "secret" not in story.now.model_dump_json()
    assert outcome["logo"].labels == ("a.png (1 kB)", "b.png (1 kB)")


def test_other_clicks_are_refused() -> None:
    with pytest.raises(NotPossible, match="takes no written answer"):
        Story(files()).does(SubmitText(text="here"))
    with pytest.raises(NotPossible, match="no such option"):
        Story(files()).does(Choose(index=0))
    with pytest.raises(NotPossible, match="does not ask for files"):
        Story(question("a", "X")).does(AttachFiles(files=(attached(),)))
    with pytest.raises(NotPossible, match="does not ask for files"):
        Story(question("a", "X")).does(OpenFiles())


def test_what_was_read_is_told_once_and_raises_the_revision() -> None:
    story = Story(files(max=2))
    story.does(AttachFiles(files=(attached("a.png"), attached("b.png"))))
    assert [file.name for file in list_pending(story.now)] == ["a.png", "b.png"]
    first, second = (file.id for file in list_pending(story.now))
    read = add_readings(story.now, {first: FileReading(kind="png", size=2_000)})
    assert read.revision == story.now.revision + 1
    assert [file.id for file in list_pending(read)] == [second]
    broken = FileReading(problem=FileProblem(code="mismatch", detail="png"))
    read = add_readings(read, {second: broken, first: broken})
    assert not list_pending(read)
    assert add_readings(read, {first: broken}) is read
    outcome = read.outcome
    assert outcome is not None
    assert list_answer_values(read.form, outcome) == {
        "logo": [
            {"id": first, "name": "a.png", "size": 2_000, "type": "image/png"},
            {"id": second, "name": "b.png", "size": 1_000, "problem": "Its content is not what its name says."},
        ]
    }


def test_a_question_without_files_is_stored_as_before() -> None:
    assert "files" not in Form(questions=(question("a", "X"),)).model_dump_json()


@pytest.mark.parametrize("name", HOSTILE.values())
def test_any_name_of_a_file_is_one_line(name: str) -> None:
    shown = AnswerFile(id="F1", name=name, size=1).label
    assert "\n" not in shown
    assert shown.strip()
