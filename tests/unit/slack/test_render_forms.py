"""Cards of several questions as Slack messages, and their review."""

from __future__ import annotations

from askback.domain.actions import Back, Choose, GoTo, Next, Review, Select, SubmitText
from support.slack_cards import do, interview, labels, options, question, said
from unit.slack.drawn_cards import FORM, shown


def test_a_form_shows_where_one_is_and_the_way_on() -> None:
    at = do(interview(*FORM), Choose(index=1))
    made = shown(at)
    assert labels(made) == ["Something else…", "Back", "Next", "Answer all…", "Not now…"]
    assert {"Which extras?", "Extras", "2 of 3"} <= set(said(made))


def test_a_question_without_a_short_name_has_its_position_alone() -> None:
    made = shown(do(interview(*FORM), GoTo(index=2)))
    assert "3 of 3" in said(made)
    assert "Q3" not in said(made)
    assert made[0].text.startswith("3 of 3: What is it called?")


def test_the_review_takes_the_place_of_the_fields_if_one_question_is_left_or_if_they_do_not_fit() -> None:
    last = do(interview(*FORM), Choose(index=1), GoTo(index=1), Select(chosen=(0,)), Next())
    assert labels(shown(last)) == ["Write an answer…", "Back", "Next", "Review", "Not now…"]
    many = (*FORM, question("city", options=options(120)))
    assert labels(shown(do(interview(*many), Choose(index=1))))[-3:] == ["Next", "Review", "Not now…"]


def test_back_is_offered_where_there_is_a_way_back() -> None:
    assert "Back" not in labels(shown(interview(*FORM)))
    assert "Back" in labels(shown(do(interview(*FORM), Next())))
    assert "Back" not in labels(shown(do(interview(*FORM), Next(), Back())))


def test_the_review_lists_every_answer_whole() -> None:
    written = "several\nlines " + "of words " * 80
    at = do(interview(*FORM), Choose(index=2), Select(chosen=(0, 2)), GoTo(index=2), SubmitText(text=written))
    made = shown(at)
    texts = said(made)
    assert {"Which database?", "Which extras?", "What is it called?"} <= set(texts)
    assert {"Option 3", "Option 1", written.strip()} <= set(texts)
    assert labels(made) == ["Edit Database", "Edit Extras", "Edit Q3", "Submit", "Back", "Not now…"]


def test_the_review_says_what_is_missing() -> None:
    made = shown(do(interview(*FORM), Review()))
    assert said(made).count("Not answered yet") == 3
