"""Cards of several questions as Discord messages, and their review."""

from __future__ import annotations

from askback.domain.actions import Back, Cancel, Choose, GoTo, Next, Review, Select, SubmitText
from askback_discord import control_ids
from support.discord_cards import ASK, control, do, elements, interview, labels, menus, options, question, said
from unit.discord.drawn_cards import FORM, MENTION, shown, values


def test_a_form_shows_where_one_is_and_the_way_on() -> None:
    made = shown(do(interview(*FORM), Choose(index=1)))
    assert labels(made) == ["Something else…", "Back", "Next", "Answer all…", "Not now…"]
    assert "Which extras?\nExtras  ·  2 of 3  ·  Asked:" in said(made)


def test_the_review_takes_the_place_of_the_fields_if_one_question_is_left_or_if_they_do_not_fit() -> None:
    last = do(interview(*FORM), Choose(index=1), GoTo(index=1), Select(chosen=(0,)), Next())
    assert labels(shown(last)) == ["Write an answer…", "Back", "Next", "Review", "Not now…"]
    many = (*FORM, question("city", options=options(120)))
    assert labels(shown(do(interview(*many), Choose(index=1))))[-3:] == ["Next", "Review", "Not now…"]


def test_the_review_of_more_than_five_questions_has_a_menu_of_them() -> None:
    many = [question(f"q{n}", header=f"Head {n}" if n % 2 else None, options=options(2)) for n in range(20)]
    at = do(interview(*many), Choose(index=0), Review())
    (menu,) = menus(shown(at))
    assert menu["placeholder"] == "Edit an answer…"
    assert control(menu) == control_ids.Control(kind="goto", ask_id=ASK, step=2, revision=control(menu).revision)
    assert values(menu) == [str(n) for n in range(20)]
    assert [entry["label"] for entry in menu["options"]][:3] == ["Q1", "2. Head 1", "Q3"]


def test_the_review_of_five_questions_has_five_buttons_and_leads_to_what_is_missing() -> None:
    five = [question(f"q{n}", header=f"Head {n}") for n in range(5)]
    made = shown(do(interview(*five), SubmitText(text="one"), Review()))
    assert labels(made) == ["Edit Head 0", "Answer the rest", "Back", "Not now…"]
    (rest,) = (entry for entry in elements(made) if entry.get("label") == "Answer the rest")
    assert (control(rest).kind, control(rest).arg) == ("goto", 1)
    made = shown(do(interview(*five), *(SubmitText(text=f"{n}") for n in range(5))))
    assert labels(made) == [*(f"Edit Head {n}" for n in range(5)), "Submit", "Back", "Not now…"]


def test_a_text_beside_four_buttons_can_be_removed() -> None:
    at = do(interview(question(options=options(4)), question("other")), SubmitText(text="mine"), GoTo(index=0))
    made = shown(at)
    assert labels(made)[:6] == [*[f"Option {n}" for n in range(1, 5)], "Edit your text…", "Remove text"]


def test_a_form_that_ended_without_answers_names_its_questions_in_one_line() -> None:
    made = shown(do(interview(*FORM), Cancel()))
    assert said(made).startswith(f"Cancelled\nWhich database? and 2 more  ·  by {MENTION}  ·  ")
    assert "Not answered" not in said(made)


def test_back_is_offered_where_there_is_a_way_back() -> None:
    assert "Back" not in labels(shown(interview(*FORM)))
    assert "Back" in labels(shown(do(interview(*FORM), Next())))
    assert "Back" not in labels(shown(do(interview(*FORM), Next(), Back())))


def test_the_review_lists_every_answer_whole() -> None:
    written = "several\nlines " + "of words " * 80
    at = do(interview(*FORM), Choose(index=2), Select(chosen=(0, 2)), GoTo(index=2), SubmitText(text=written))
    made = shown(at)
    text = said(made)
    assert "Review your answers" in text
    assert "Database  ·  Which database?  Option 3" in text
    assert "Extras  ·  Which extras?  Option 1, Option 3" in text
    assert f"Q3\nWhat is it called?\n{written.strip()}" in text
    assert labels(made) == ["Edit Database", "Edit Extras", "Edit Q3", "Submit", "Back", "Not now…"]


def test_the_review_says_what_is_missing() -> None:
    assert said(shown(do(interview(*FORM), Review()))).count("Not answered yet") == 3
