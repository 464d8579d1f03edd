"""Cards as Discord messages: every row of the table, nothing cut, every limit kept."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from askback.domain.actions import Back, Cancel, Choose, GoTo, Next, Review, Select, Submit, SubmitText
from askback.domain.ask_policy import Approval, Policy
from askback.domain.form import Form, Option, Question
from askback.domain.identity import Actor
from askback.domain.interview import Interview, settle, start_interview
from askback.domain.outcome import Outcome
from askback.domain.who import Who
from askback.errors import ModelError
from askback.text.literal import replace_controls, to_literal
from askback.tools import TOOLS
from askback_discord import control_ids, limits, render
from askback_discord.layout import CONTINUED, GOES_ON
from support.discord_cards import (
    ADA,
    ASK,
    HOSTILE,
    NOW,
    OPENAPI,
    Body,
    accepted,
    card,
    components,
    control,
    displays,
    do,
    elements,
    interview,
    labels,
    menus,
    options,
    question,
    said,
    squeezed,
    walk,
)
from support.discord_markdown import formats, read, seen
from support.forms import is_described_whole

CORPUS = Path(__file__).parents[4] / "shared/corpus/askuserquestion.jsonl"
MENTION = f"<@{ADA.id}>"


def shown(at: Interview, page: int | None = None, **more: Any) -> tuple[Body, ...]:
    made = render.render_messages(card(at, **more), page)
    accepted(made)
    return made


def rows(messages: tuple[Body, ...]) -> list[tuple[str, str]]:
    """Return the text and the label of the button of each row."""
    parts: list[Any] = [part for message in messages for part in message["components"][0]["components"]]
    return [
        (said([{"components": part["components"]}]), part["accessory"]["label"])
        if "accessory" in part
        else (said([{"components": [below]}]), part["components"][0]["label"])
        for part, below in pairwise(parts)
        if "accessory" in part or (part["type"] == limits.ROW and below["type"] == limits.DISPLAY)
    ]


def values(menu: Body) -> list[str]:
    return [entry["value"] for entry in menu["options"]]


def chosen(menu: Body) -> list[str]:
    return [entry["value"] for entry in menu["options"] if entry.get("default")]


def test_the_openapi_document_is_read() -> None:
    if not OPENAPI.exists():
        pytest.skip("Discord's OpenAPI document is not on this machine")
    accepted(render.render_messages(card(interview(question(options=options(3))))))


def test_a_card_is_a_container_in_the_colour_of_its_state() -> None:
    at = interview(question(options=options(2)))
    colours: list[int] = []
    for now in (at, do(at, Choose(index=0)), do(at, Cancel())):
        (frame,) = shown(now)[0]["components"]
        assert frame["type"] == limits.CONTAINER
        colours.append(frame["accent_color"])
    assert colours == [render.OPEN, render.ANSWERED, render.UNANSWERED]


# -- one choice ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 4, 10])
def test_few_short_options_are_buttons(count: int) -> None:
    made = shown(interview(question(options=options(count))))
    assert labels(made) == [*[f"Option {n}" for n in range(1, count + 1)], "Something else…", "Not now…"]
    chosen = [control(entry) for entry in elements(made)][:count]
    assert chosen == [control_ids.Control(kind="choose", ask_id=ASK, step=0, arg=n) for n in range(count)]


def test_eleven_options_are_buttons_where_nothing_else_can_be_written() -> None:
    made = shown(interview(question(options=options(11), allow_custom=False)))
    assert labels(made) == [*[f"Option {n}" for n in range(1, 12)], "Not now…"]


def test_a_described_option_is_a_row_with_its_own_button_and_nothing_is_said_twice() -> None:
    described = (*options(2, description="About it."), Option(value="none", label="None of them"))
    made = shown(interview(question(options=described)))
    assert rows(made) == [("About it.", "Option 1"), ("About it.", "Option 2")]
    assert labels(made)[2:] == ["None of them", "Something else…", "Not now…"], "what needs no text is a button alone"
    assert "Option 1" not in said(made)
    assert "None of them" not in said(made)


@pytest.mark.parametrize(
    "odd",
    [
        options(2, "A label that no button of a row can hold {}", description="About it."),
        options(2, "A label of more than forty characters on a line {}"),
        (Option(value="x", label="Two\nlines"), *options(1)),
        tuple(Option(value=str(n), label="Yes") for n in range(2)),
    ],
)
def test_an_option_whose_label_is_no_button_is_a_row_with_its_number(odd: tuple[Option, ...]) -> None:
    made = shown(interview(question(options=odd)))
    expected = ["\n".join(filter(None, (f"{n}. {one.label}", one.description))) for n, one in enumerate(odd, 1)]
    assert rows(made) == [(text, f"Choose {n}") for n, text in enumerate(expected, 1)]
    assert labels(made)[2:] == ["Something else…", "Not now…"]


def test_the_chosen_option_of_a_row_has_a_mark() -> None:
    described = options(2, description="About it.")
    at = do(interview(FORM[0].evolve(options=described, multi_select=False), FORM[1]), Choose(index=1), Back())
    assert [label for _, label in rows(shown(at))] == ["Option 1", "✓ Option 2"]


@pytest.mark.parametrize(
    ("count", "label"), [(11, "Option {}"), (8, "A label of more than 38 characters, no. {}"), (25, "O {}")]
)
def test_more_options_are_a_menu(count: int, label: str) -> None:
    made = shown(interview(question(options=options(count, label))))
    (menu,) = menus(made)
    assert menu["placeholder"] == "Choose an answer…"
    assert values(menu) == [str(n) for n in range(count)]
    assert all(entry["label"].startswith(f"{n}. ") for n, entry in enumerate(menu["options"], 1))
    assert (menu["min_values"], menu["max_values"]) == (1, 1)
    assert control(menu).kind == "pick"
    assert labels(made) == ["Something else…", "Not now…"]


def test_a_label_of_38_characters_is_a_button_and_one_of_39_is_not() -> None:
    assert not rows(shown(interview(question(options=options(2, "x" * 35 + "{}")))))
    assert rows(shown(interview(question(options=options(2, "x" * 38 + "{}")))))


def test_long_labels_are_shortened_in_the_menu_and_whole_in_the_text() -> None:
    label = "A label {} " + "that goes on and on " * 10 + "to its end"
    made = shown(interview(question(options=options(8, label, description="what it means " * 12))))
    (menu,) = menus(made)
    entry = menu["options"][0]
    assert entry["label"].startswith("1. A label 1 that goes on")
    assert entry["label"].endswith("…")
    assert entry["description"].startswith("what it means what")
    assert entry["description"].endswith("…")
    assert label.format(1) in said(made)
    assert "what it means " * 12 in said(made)


def test_descriptions_in_a_menu_give_way_to_the_text() -> None:
    wide = shown(interview(question(options=options(25, "L" * 90 + "{}", description="d" * 100))))
    assert not any("description" in entry for entry in menus(wide)[0]["options"])
    assert all(len(entry["label"]) >= 90 for entry in menus(wide)[0]["options"])
    cjk = shown(interview(question(options=options(25, "漢" * 99 + "{}", description="字" * 100))))
    assert all(len(entry["label"]) >= 24 for entry in menus(cjk)[0]["options"])


def test_the_recommended_option_stands_out_once() -> None:
    two = (Option(value="a", label="A (Recommended)"), Option(value="b", label="B (recommended)"))
    made = shown(interview(question(options=(*two, *options(1)))))
    assert [entry["style"] for entry in elements(made)] == [1, *[2] * 4]
    assert "A (Recommended)" not in said(made), "the button says it"
    described = Option(value="c", label="C (Recommended)", description="The usual one.")
    assert rows(shown(interview(question(options=(described, *options(1)))))) == [("The usual one.", "C (Recommended)")]


def test_options_that_their_buttons_show_whole_are_not_listed_too() -> None:
    assert "Option" not in said(shown(interview(question(options=options(3)))))


@pytest.mark.parametrize("several", [False, True])
def test_nothing_is_listed_above_a_menu_of_one_page_that_holds_everything(several: bool) -> None:
    for count, listed in ((11, False), (25, False), (26, True), (60, True)):
        made = shown(interview(question(options=options(count), multi_select=several)))
        assert ("7. Option 7" in said(made)) == listed
        assert [entry["label"] for entry in menus(made)[0]["options"]][6] == "7. Option 7"


@pytest.mark.parametrize("label", ["Option {} " + "with a long label " * 6, "{} \u2068x\u2069 " + "漢" * 70])
def test_a_long_menu_that_does_not_hold_everything_has_its_options_listed_above(label: str) -> None:
    assert "25. " in said(shown(interview(question(options=options(25, label)))))
    described = (Option(value="x", label="Described", description="About it."), *options(10))
    assert "About it." in said(shown(interview(question(options=described))))


def test_the_button_of_what_was_chosen_has_a_mark() -> None:
    at = do(interview(FORM[0].evolve(options=options(2), multi_select=False), FORM[1]), Choose(index=1), Back())
    labels = [entry["label"] for entry in elements(shown(at)) if ":choose:" in entry["custom_id"]]
    assert labels == ["Option 1", "✓ Option 2"]


def test_a_label_of_nothing_to_see_gets_its_number() -> None:
    odd = (Option(value="a", label="\u200b"), Option(value="b", label="B"))
    assert labels(shown(interview(question(options=odd))))[0] == "Choose 1"


def test_an_option_that_is_chosen_already_can_be_confirmed() -> None:
    """Discord sends no event if the shown entry is chosen again; a default is preselected only with "Next"."""
    preset = question(options=options(11), default=("v3",))
    (menu,) = menus(shown(interview(preset)))
    assert chosen(menu) == []
    (menu,) = menus(shown(interview(preset, question("other"))))
    assert chosen(menu) == ["2"]


# -- several ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 10, 25])
def test_several_are_a_menu_of_any_number(count: int) -> None:
    at = interview(question(options=options(count), multi_select=True))
    made = shown(at)
    (menu,) = menus(made)
    assert control(menu).kind == "tick"
    assert (menu["min_values"], menu["max_values"]) == (0, count)
    assert chosen(menu) == []
    assert labels(made) == ["Submit", "Something else…", "Not now…"]
    assert chosen(menus(shown(do(at, Select(chosen=(0,)))))[0]) == ["0"]


def test_a_redraw_is_another_drawing() -> None:
    at = interview(question(options=options(3), multi_select=True))
    (first,), (second,) = menus(shown(at)), menus(shown(do(at, Select(chosen=(1,)))))
    assert (control(first).revision, control(second).revision) == (0, 1)


def test_something_else_beside_several_can_be_edited_and_removed() -> None:
    at = do(interview(question(options=options(3), multi_select=True)), SubmitText(text="my own"))
    made = shown(at)
    assert labels(made) == ["Submit", "Edit your text…", "Remove text", "Not now…"]
    assert "Written answer so far:\nmy own" in said(made)


def test_a_text_that_waits_to_be_mended_is_told() -> None:
    at = do(interview(question(options=options(3), multi_select=True)), SubmitText(text="x" * 1001))
    made = shown(at)
    assert "Edit your text…" in labels(made)
    assert "A rejected text is kept" in said(made)


def test_a_question_without_options_asks_to_write() -> None:
    made = shown(interview(question()))
    assert labels(made) == ["Write an answer…", "Not now…"]
    assert elements(made)[0]["style"] == 1


# -- more than a menu holds ---------------------------------------------------------------------------


@pytest.mark.parametrize("several", [False, True])
def test_a_menu_of_sixty_options_has_three_pages(several: bool) -> None:
    at = interview(question(options=options(60), multi_select=several))
    everything: list[str] = []
    for page, size in enumerate([25, 25, 10]):
        made = shown(at, page)
        (menu,) = menus(made)
        everything += values(menu)
        assert len(menu["options"]) == size
        assert (control(menu).arg, menu["max_values"]) == (page, size if several else 1)
        assert labels(made)[:3] == ["◀", f"Page {page + 1} of 3", "▶"]
        before, here, after = elements(made)[1:4]
        assert here["disabled"]
        assert before.get("disabled", False) == (page == 0)
        assert after.get("disabled", False) == (page == 2)
        assert page == 0 or control(before) == control_ids.Control(kind="page", ask_id=ASK, step=0, arg=page - 1)
        assert page == 2 or control(after) == control_ids.Control(kind="page", ask_id=ASK, step=0, arg=page + 1)
        assert "Something else…" in labels(made)
    assert everything == [str(n) for n in range(60)]
    assert "(26–50 of 60)" in menus(shown(at, 1))[0]["placeholder"]


def test_the_page_with_the_first_chosen_option_is_shown() -> None:
    at = interview(question(options=options(60), multi_select=True))
    assert control(menus(shown(at))[0]).arg == 0
    at = do(at, Select(chosen=(30, 59)))
    (menu,) = menus(shown(at))
    assert (control(menu).arg, chosen(menu)) == (1, ["30"])
    assert chosen(menus(shown(at, 2))[0]) == ["59"]
    assert chosen(menus(shown(at, 0))[0]) == []


@pytest.mark.parametrize(("page", "real"), [(-3, 0), (7, 2), (999_999_999, 2)])
def test_a_page_that_is_not_there_is_the_nearest_one(page: int, real: int) -> None:
    assert control(menus(shown(interview(question(options=options(60))), page))[0]).arg == real


def test_another_page_moves_no_text_about() -> None:
    many = question(prompt="word " * 500, options=options(60, "{} label " + "漢" * 20, description="d" * 60))
    first, *others = (shown(interview(many), page) for page in range(3))
    for other in others:
        assert displays(other) == displays(first)


# -- forms, review, end -------------------------------------------------------------------------------

FORM = (
    question("db", "Which database?", header="Database", options=options(3)),
    question("extras", "Which extras?", header="Extras", options=options(3), multi_select=True),
    question("name", "What is it called?"),
)


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


def test_an_answered_card_has_no_controls_and_says_who_and_when() -> None:
    made = shown(do(interview(question(options=options(3))), Choose(index=1)))
    assert elements(made) == []
    text = said(made)
    assert "Which one?" in text
    at = f"<t:{int(NOW.timestamp())}:d> <t:{int(NOW.timestamp())}:t>"
    assert text == f"✓ Option 2\nWhich one?  ·  Answered by {MENTION}  ·  {at}\nNot chosen: Option 1  ·  Option 3"


def test_a_settled_card_offers_the_question_if_it_leaves_out_a_part_of_it() -> None:
    described = (Option(value="a", label="A", description="About A."), Option(value="b", label="B"))
    made = shown(do(interview(question(prompt="Which one?\nThink first.", options=described)), Choose(index=0)))
    assert labels(made) == ["Show question"]
    text = said(made)
    assert text.startswith(f"✓ A\nWhich one?  ·  Answered by {MENTION}  ·  ")
    assert "Think first." not in text
    assert "About A." not in text


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome(status="cancelled", at=NOW, by=ADA), "Cancelled"),
        (Outcome(status="declined", at=NOW, by=ADA, reason="ask me *tomorrow*"), "Not now"),
        (Outcome(status="timed_out", at=NOW), "Nobody answered in time"),
        (Outcome(status="undeliverable", at=NOW, reason="No such channel."), "Could not be delivered"),
    ],
)
@pytest.mark.parametrize("form", [FORM[:1], FORM], ids=["one", "several"])
def test_every_end_is_told_in_plain_words(form: tuple[Question, ...], outcome: Outcome, words: str) -> None:
    made = shown(settle(interview(*form), outcome))
    text = said(made)
    assert labels(made) == ([] if len(form) == 1 else ["Show questions"])
    assert text.startswith(words)
    assert "✓" not in text
    assert (outcome.reason or "") in text
    assert "Which database?" in text


def test_what_was_chosen_before_a_cancel_is_no_answer() -> None:
    at = do(interview(question(options=options(3), multi_select=True)), Select(chosen=(1,)), Cancel())
    made = shown(at)
    assert "✓" not in said(made)
    assert "not submitted" in said(made)


def test_a_submitted_form_of_one_shows_written_and_chosen() -> None:
    at = interview(question(options=options(3), multi_select=True))
    at = do(at, Select(chosen=(0,)), SubmitText(text="and mine"), Submit())
    assert ":t>\nOption 1\nand mine" in said(shown(at))


# -- the people asked --------------------------------------------------------------------------------

WHO = Policy(who=Who(people=(ADA,), groups=("77", "88")))


def test_only_the_first_posting_notifies_those_who_must_answer() -> None:
    at = interview(question(prompt="Ask <@4> and @everyone", options=options(2)))
    posted, redrawn = (
        render.render_messages(card(at, WHO), ping=ping)[0]["allowed_mentions"] for ping in (True, False)
    )
    assert posted == {"parse": [], "users": [ADA.id], "roles": ["77", "88"]}
    assert redrawn == {"parse": []}


def test_a_card_that_has_ended_notifies_nobody() -> None:
    at = do(interview(question(options=options(2))), Choose(index=0))
    assert render.render_messages(card(at, WHO), ping=True)[0]["allowed_mentions"] == {"parse": []}


def test_each_message_notifies_those_whom_it_names() -> None:
    crowd = Policy(who=Who(people=tuple(ADA.evolve(id=str(10**17 + n)) for n in range(300))))
    made = render.render_messages(card(interview(*FORM), crowd), ping=True)
    accepted(made)
    named: Any = [body["allowed_mentions"].get("users", []) for body in made]
    assert len(made) > 1
    assert len(named[0]) == 100
    assert set(named[0]).isdisjoint(named[1])
    assert "Option 1" in labels(made)


def test_who_is_asked_and_until_when() -> None:
    at = interview(*FORM)
    assert f"Asked: {MENTION}, <@&77>, <@&88>" in said(shown(at, policy=WHO))
    made = shown(at, policy=Policy(who=Who(anyone=True), deadline=NOW))
    assert f"Asked: anyone here  ·  ends <t:{int(NOW.timestamp())}:R>" in said(made)
    ended = shown(do(at, Cancel()), policy=Policy(who=Who(anyone=True), deadline=NOW))
    assert ":R>" not in said(ended)


@pytest.mark.parametrize(
    "bob", [Actor(platform="slack", id="42", name="Bob <@9>"), Actor(platform="discord", id="U_1")]
)
def test_somebody_who_cannot_be_mentioned_is_named(bob: Actor) -> None:
    at = settle(interview(*FORM), Outcome(status="cancelled", at=NOW, by=bob))
    made = shown(at, policy=Policy(who=Who(people=(bob,), groups=("no_role",))))
    name = bob.name or bob.id
    assert f"by {name}  ·  " in said(made)
    still = settle(interview(*FORM), Outcome(status="timed_out", at=NOW))
    made = shown(still, policy=Policy(who=Who(people=(bob,), groups=("no_role",))))
    assert f"Asked: {name}, no_role" in said(made)
    assert "mention" not in {*formats(read("\n".join(displays(made))))}


# -- pictures and previews ----------------------------------------------------------------------------


def test_pictures_stand_below_their_options() -> None:
    pictured = (Option(value="a", label="A", image="https://example.com/a.png"), Option(value="b", label="B"))
    at = interview(question(options=pictured))
    (picture,) = [entry for entry in components(list(shown(at))) if entry["type"] == limits.GALLERY]
    assert picture["items"] == [{"media": {"url": "https://example.com/a.png"}, "description": "A"}]
    plain = render.render_messages(card(at), images=False)
    accepted(plain)
    assert not any(entry["type"] == limits.GALLERY for entry in components(list(plain)))
    assert "https://example.com/a.png" in said(plain)


def test_more_pictures_than_a_message_holds_go_on_in_the_next() -> None:
    made = shown(interview(question(options=options(60, image="https://example.com/a.png"))))
    assert len(made) > 2
    assert sum(entry["type"] == limits.GALLERY for entry in components(list(made))) == 60


def test_a_picture_with_too_long_an_address_is_an_address() -> None:
    address = "https://example.com/" + "a" * 2500
    made = shown(interview(question(options=(Option(value="a", label="A", image=address),))))
    assert address in said(made)


@pytest.mark.parametrize(
    "preview",
    ["def f():\n    return 1", "```\nx\n```", "`" * 40, "a`", "``x", "py\nimport os", "\n\nx\n", "- *a* <@1> :b:"],
)
def test_a_preview_is_code_that_its_own_fences_cannot_end(preview: str) -> None:
    made = shown(interview(question(options=(Option(value="a", label="A", preview=preview),))))
    (text,) = [text for text in displays(made) if "1\\. A" in text]
    blocks = [node for node in read(text) if node.kind == "block of code"]
    assert [block.text.replace("\u2060", "").strip("\n") for block in blocks] == [preview.strip("\n")]
    assert [*formats(read(text))] == ["bold", "block of code"]


# -- nothing is cut -----------------------------------------------------------------------------------


def whole(at: Interview, messages: tuple[Body, ...]) -> None:
    """Check that the messages contain every text of the step, unbroken if one message can hold it."""
    text = said(messages).replace(seen(read(GOES_ON)), "").replace(seen(read(CONTINUED)), "")
    text = "\n".join([text, *labels(messages)])
    everything = squeezed(text)
    drawn = card(at)
    texts: list[str | None] = [answer for line in drawn.lines for answer in line.answer]
    if drawn.is_compact and labels(messages) == [drawn.show_label]:
        assert is_described_whole(at)
        drawn = drawn.evolve(prompt="", items=(), lines=())
    texts += [drawn.prompt, drawn.written, *(line.prompt for line in drawn.lines)]
    for item in drawn.items:
        texts += [item.label, item.description]
        if item.preview is not None:
            assert squeezed(replace_controls(item.preview)) in everything
    for text_ in filter(None, texts):
        if limits.count_utf16_units(text_) <= 400:
            assert to_literal(text_) in text, text_
        assert squeezed(replace_controls(text_)) in everything, text_


def corpus() -> list[Any]:
    if not CORPUS.exists():
        return [pytest.param(None, marks=pytest.mark.skip("the corpus of real inputs is not on this machine"))]
    lines = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    return [pytest.param(line["input"], id=line["key"]) for line in lines]


@pytest.mark.parametrize("data", corpus())
def test_real_inputs_are_whole_at_every_step(data: Any) -> None:
    if len(data["questions"]) > 4:
        with pytest.raises(ModelError, match="6 questions"):
            TOOLS["AskUserQuestion"].parse(data)
        return
    form = TOOLS["AskUserQuestion"].parse(data)
    for at in walk(start_interview(form)):
        made = shown(at)
        whole(at, made)


TEXT = st.one_of(
    HOSTILE,
    st.sampled_from(
        ["@everyone <@1> <#1> :smile:", "a" * 5000, "wörter " * 300, "x\n" * 2000, "`*_~` " * 9, "**" * 900]
    ),
    st.sampled_from(["漢字" * 2000, "- a\n# b\n> c\n-# d\n1. e\n" * 40, "x" + "\n" * 4500 + "y", "\u202e" * 700 + "z"]),
    st.just("\U0001f469\u200d\U0001f469\u200d\U0001f467" * 400),
).filter(lambda text: bool(text.strip()))


@st.composite
def forms(draw: st.DrawFn) -> Form:
    def one(name: int) -> Question:
        picks = draw(st.sampled_from([None, None, "people", "channels"]))
        count = 0 if picks else draw(st.sampled_from([0, 1, 2, 4, 5, 11, 30, 101]))
        texts = draw(st.lists(st.tuples(TEXT, TEXT, st.booleans()), min_size=min(count, 4), max_size=min(count, 4)))
        made = [
            Option(
                value=str(n),
                label=texts[n % 4][0][:1990] + ("" if n < 4 else str(n)),
                description=texts[n % 4][1][:4000] if texts[n % 4][2] and texts[n % 4][1][:4000].strip() else None,
                preview=texts[n % 4][1] if n == 1 else None,
                image="https://example.com/a.png" if n == 2 else None,
            )
            if texts[n % 4][0][:1990].strip()
            else Option(value=str(n), label="x")
            for n in range(count)
        ]
        header = draw(st.one_of(st.none(), HOSTILE.filter(lambda text: bool(text.strip()))))
        several, custom = draw(st.booleans()), draw(st.booleans()) or not (count or picks)
        return Question(
            id=str(name),
            prompt=draw(TEXT),
            header=header,
            picks=picks,
            options=tuple(made),
            multi_select=several and (count > 0 or picks is not None),
            allow_custom=custom,
        )

    return Form(questions=tuple(one(n) for n in range(draw(st.integers(1, 4)))))


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(forms(), st.none() | st.integers(0, 50))
def test_any_form_is_whole_at_every_step(form: Form, page: int | None) -> None:
    for at in walk(start_interview(form)):
        made = shown(at, page)
        assert made == render.render_messages(card(at), page)
        whole(at, made)


def test_a_form_of_everything_too_much() -> None:
    enormous = question(
        prompt="word " * 2000,
        options=options(1000, "L{} and more of it", description="d " * 60),
        multi_select=True,
    )
    at = interview(enormous, *FORM)
    made = shown(at)
    whole(at, made)
    assert len(made) > 5
    assert all(displays([one])[-1] == GOES_ON for one in made[:-1])
    assert GOES_ON not in displays(made[-1:])
    assert all(displays([one])[0].startswith(CONTINUED) for one in made[1:])


def test_a_long_question_begins_in_the_first_message() -> None:
    made = shown(interview(question(prompt="word " * 2000, options=options(2))))
    assert len(made) == 3
    assert all(limits.count_characters(body["components"]) > 3500 for body in made[:2])


def test_a_short_option_is_kept_together() -> None:
    made = shown(interview(question(options=options(40, "Label {}", description="d" * 200))))
    assert len(made) > 1
    starts = [seen(read(displays([one])[0])).split("\n")[1] for one in made[1:]]
    assert all("Label" in line for line in starts)


@pytest.mark.parametrize("approval", [None, Approval(quorum=1, requesters=(ADA,))], ids=["question", "decision"])
def test_a_card_of_several_messages_shrinks_to_one_at_its_end(approval: Approval | None) -> None:
    at = interview(question(prompt="word " * 1500, options=options(40, "Label {}", description="d" * 150)))
    policy = WHO.evolve(approval=approval)
    assert len(shown(at, policy=policy)) > 1
    assert len(shown(do(at, Cancel()), policy=policy)) == 1
