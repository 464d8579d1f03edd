"""Cards as Slack messages: every row of the table, nothing cut, every limit kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from askback.domain.actions import Back, Cancel, Choose, Decline, GoTo, Next, Review, Select, Submit, SubmitText
from askback.domain.ask_policy import Policy
from askback.domain.form import Form, Option, Question
from askback.domain.identity import Actor
from askback.domain.interview import Interview, settle, start_interview
from askback.domain.outcome import Outcome
from askback.domain.who import Who
from askback.errors import ModelError
from askback.tools import TOOLS
from askback_slack import control_ids, limits, render
from askback_slack.escaping import to_literal
from support.forms import is_described_whole
from support.slack_cards import (
    ADA,
    ASK,
    NOW,
    accepted,
    accepted_options,
    card,
    do,
    elements,
    interview,
    labels,
    options,
    question,
    said,
    strings,
    walk,
)

CORPUS = Path(__file__).parents[4] / "shared/corpus/askuserquestion.jsonl"


def shown(at: Interview, **more: Any) -> tuple[render.SlackMessage, ...]:
    made = render.render_messages(card(at, **more))
    accepted(made)
    return made


def rows(messages: tuple[render.SlackMessage, ...]) -> list[tuple[str, str]]:
    """Return the text and the label of the button of each row."""
    blocks: list[Any] = [block for message in messages for block in message.blocks]
    return [
        (block["text"]["text"], block["accessory"]["text"]["text"])
        if "accessory" in block
        else (below["elements"][0]["text"], block["elements"][0]["text"]["text"])
        for block, below in pairwise(blocks)
        if "accessory" in block or (block["type"] == "actions" and below["type"] == "context")
    ]


def only(messages: tuple[render.SlackMessage, ...], kind: str) -> dict[str, Any]:
    found = [entry for entry in elements(messages) if entry["type"] == kind]
    assert len(found) == 1
    return found[0]


def control(element: dict[str, Any]) -> control_ids.Control:
    found = control_ids.parse(element["action_id"])
    assert found is not None
    return found


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
    assert said(made).count("Option 1") == said(made).count("None of them") == 1


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


@pytest.mark.parametrize(("count", "label"), [(11, "Option {}"), (11, "A longer label of an option {}"), (100, "O {}")])
def test_more_options_are_a_menu(count: int, label: str) -> None:
    made = shown(interview(question(options=options(count, label))))
    menu = only(made, "static_select")
    assert menu["placeholder"]["text"] == "Choose an answer…"
    assert [entry["value"] for entry in menu["options"]] == [str(n) for n in range(count)]
    assert all(entry["text"]["text"].startswith(f"{n}. ") for n, entry in enumerate(menu["options"], 1))
    assert control(menu).kind == "pick"
    assert labels(made) == ["Something else…", "Not now…"]


def test_long_labels_are_shortened_in_the_menu_and_whole_in_the_text() -> None:
    label = "A label {} " + "that goes on and on " * 10 + "to its end"
    made = shown(interview(question(options=options(11, label))))
    entry = only(made, "static_select")["options"][0]["text"]["text"]
    assert entry.startswith("1. A label 1 that goes on")
    assert entry.endswith("…")
    assert len(entry) <= 75
    assert label.format(1) in said(made)


def test_more_than_a_menu_holds_is_searched() -> None:
    at = interview(question(options=options(101)))
    made = shown(at)
    menu = only(made, "external_select")
    assert menu["min_query_length"] == 0
    assert control(menu).kind == "pick"
    found = render.list_suggestions(card(at), "")
    accepted_options(found)
    assert [entry["value"] for entry in found] == [str(n) for n in range(100)]


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ("7", ["6", *map(str, range(69, 79)), "106"]),
        ("7.", ["6"]),
        ("BLUE", ["1"]),
        ("sky blue", ["1"]),
        ("number one hundred", ["99"]),
        ("no such thing", []),
    ],
)
def test_a_search_finds_number_label_and_description(query: str, values: list[str]) -> None:
    plain = [Option(value=f"v{n}", label=f"Colour {chr(65 + n // 26)}{chr(65 + n % 26)}") for n in range(120)]
    plain[1] = Option(value="blue", label="Sky Blue")
    plain[99] = Option(value="hundred", label="Last but some", description="Number ONE hundred")
    plain[106] = Option(value="seven", label="Channel 7")
    found = render.list_suggestions(card(interview(question(options=tuple(plain)))), query)
    assert [entry["value"] for entry in found] == values


def test_the_recommended_option_stands_out_once() -> None:
    two = (Option(value="a", label="A (Recommended)"), Option(value="b", label="B (recommended)"))
    made = shown(interview(question(options=(*two, *options(1)))))
    styles = [entry.get("style") for entry in elements(made)]
    assert styles == ["primary", *[None] * 4]
    assert said(made).count("A (Recommended)") == 1, "the button says it"
    described = Option(value="c", label="C (Recommended)", description="The usual one.")
    assert said(shown(interview(question(options=(described, *options(1)))))).count("C (Recommended)") == 1


def test_options_that_their_buttons_show_whole_are_not_listed_too() -> None:
    at = interview(question(options=options(3)))
    texts = said(shown(at))
    assert [texts.count(f"Option {number}") for number in (1, 2, 3)] == [1, 1, 1]


def test_the_button_of_what_was_chosen_has_a_mark() -> None:
    at = do(interview(FORM[0].evolve(options=options(2), multi_select=False), FORM[1]), Choose(index=1), Back())
    labels = [entry["text"]["text"] for entry in elements(shown(at)) if ":choose:" in entry["action_id"]]
    assert labels == ["Option 1", "✓ Option 2"]


def test_a_label_of_nothing_to_see_gets_its_number() -> None:
    odd = (Option(value="a", label="\u200b"), Option(value="b", label="B"))
    assert labels(shown(interview(question(options=odd))))[0] == "Choose 1"


# -- several ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "kind"), [(1, "checkboxes"), (10, "checkboxes"), (11, "multi_static_select")])
def test_several_are_checkboxes_and_then_a_menu(count: int, kind: str) -> None:
    at = interview(question(options=options(count), multi_select=True))
    made = shown(at)
    element = only(made, kind)
    assert control(element).kind == "tick"
    assert len(element["options"]) == count
    assert "initial_options" not in element
    assert labels(made) == ["Submit", "Something else…", "Not now…"]
    ticked = only(shown(do(at, Select(chosen=(0,)))), kind)
    assert [entry["value"] for entry in ticked["initial_options"]] == ["0"]


def test_boxes_that_show_whole_options_stand_alone_with_their_descriptions() -> None:
    described = (Option(value="a", label="Tests", description="All of them."), Option(value="b", label="Lint"))
    at = interview(question(options=described, multi_select=True))
    for now, chosen in ((at, []), (do(at, Select(chosen=(0,))), ["1. Tests"])):
        made = shown(now)
        texts = said(made)
        assert [texts.count(text) for text in ("Tests", "1. Tests", "All of them.")] == [
            0,
            1 + len(chosen),
            1 + len(chosen),
        ]
        boxes = only(made, "checkboxes")
        assert [entry.get("description", {}).get("text") for entry in boxes["options"]] == ["All of them.", None]
        assert [entry["text"]["text"] for entry in boxes.get("initial_options", [])] == chosen
    assert labels(shown(do(at, Select(chosen=(0,)), Submit()))) == ["Show question"]


@pytest.mark.parametrize(
    "more",
    [
        {"label": "A label that does not fit into a box " * 3},
        {"description": "A description that does not fit below a box " * 3},
        {"description": "Two\nlines"},
        {"preview": "code"},
    ],
)
def test_options_that_do_not_fit_into_their_boxes_are_listed_above(more: dict[str, str]) -> None:
    long = Option(value="a", label="Tests").evolve(**more)
    made = shown(interview(question(options=(long, Option(value="b", label="Lint")), multi_select=True)))
    assert {long.label, long.description or "Lint", long.preview or "Lint"} <= set(said(made))
    assert not any("description" in entry for entry in only(made, "checkboxes")["options"])


@pytest.mark.parametrize(("count", "several"), [(11, False), (11, True), (100, False), (1000, False)])
def test_nothing_is_listed_above_a_long_menu_that_holds_everything(count: int, several: bool) -> None:
    made = shown(interview(question(options=options(count), multi_select=several)))
    assert len(made) == 1
    assert "Option 7" not in said(made)


def test_very_many_to_tick_are_listed_above() -> None:
    assert "Option 6" in said(shown(interview(question(options=options(101), multi_select=True))))


def test_a_long_menu_that_does_not_hold_everything_has_its_options_listed_above() -> None:
    described = (Option(value="x", label="Described", description="About it."), *options(10))
    assert "About it." in said(shown(interview(question(options=described))))
    long = options(60, "A label that a menu of sixty options has to cut, number {}")
    assert long[59].label in said(shown(interview(question(options=long))))


def test_many_of_very_many_are_searched() -> None:
    at = interview(question(options=options(1000), multi_select=True))
    at = do(at, Select(chosen=tuple(range(500))))
    made = shown(at)
    element = only(made, "multi_external_select")
    assert len(element["initial_options"]) == 100
    assert any("500 chosen" in text for text in said(made))


def test_a_redraw_makes_new_blocks() -> None:
    at = interview(question(options=options(3), multi_select=True))
    first, second = (
        [block.get("block_id") for block in shown(at)[0].blocks],
        [block.get("block_id") for block in shown(do(at, Select(chosen=(1,))))[0].blocks],
    )
    assert {control_ids.parse_revision(name) for name in first if name} == {0}
    assert {control_ids.parse_revision(name) for name in second if name} == {1}


def test_something_else_beside_several_can_be_edited_and_removed() -> None:
    at = do(interview(question(options=options(3), multi_select=True)), SubmitText(text="my own"))
    made = shown(at)
    assert labels(made) == ["Submit", "Edit your text…", "Remove text", "Not now…"]
    assert "my own" in said(made)


def test_a_text_that_waits_to_be_mended_is_told() -> None:
    at = do(interview(question(options=options(3), multi_select=True)), SubmitText(text="x" * 1001))
    made = shown(at)
    assert "Edit your text…" in labels(made)
    assert any("A rejected text is kept" in text for text in said(made))


def test_a_written_answer_to_one_choice_stands_beside_the_options() -> None:
    made = shown(do(interview(*FORM), SubmitText(text="my own"), GoTo(index=0)))
    rows = [[entry["text"]["text"] for entry in block["elements"]] for block in made[0].blocks if "block_id" in block]  # pyright: ignore
    assert rows == [
        ["Option 1", "Option 2", "Option 3"],
        ["Edit your text…", "Remove text", "Answer all…", "Next", "Not now…"],
    ]


def test_a_question_without_options_asks_to_write() -> None:
    made = shown(interview(question()))
    assert labels(made) == ["Write an answer…", "Not now…"]
    assert elements(made)[0]["style"] == "primary"


# -- forms, review, end -------------------------------------------------------------------------------

FORM = (
    question("db", "Which database?", header="Database", options=options(3)),
    question("extras", "Which extras?", header="Extras", options=options(3), multi_select=True),
    question("name", "What is it called?"),
)


def test_a_form_shows_where_one_is_and_the_way_on() -> None:
    at = do(interview(*FORM), Choose(index=1))
    made = shown(at)
    assert labels(made) == ["Something else…", "Answer all…", "Back", "Next", "Not now…"]
    assert {"Which extras?", "Extras", "2 of 3  ·  "} <= set(said(made))


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


def test_an_answered_card_has_no_controls_and_says_who_and_when() -> None:
    at = interview(question(options=options(3)))
    made = shown(do(at, Choose(index=1)))
    assert elements(made) == []
    texts = said(made)
    assert texts[:2] == ["✓ ", "Option 2"]
    assert texts.count("Option 2") == 1
    assert "Which one?" in texts
    assert "  ·  Answered by " in texts
    assert texts[-1] == "Not chosen: Option 1  ·  Option 3"
    assert len(made[0].blocks) == 2


def test_a_settled_card_offers_the_question_if_it_leaves_out_a_part_of_it() -> None:
    described = (Option(value="a", label="A", description="About A."), Option(value="b", label="B"))
    made = shown(do(interview(question(prompt="Which one?\nThink first.", options=described)), Choose(index=0)))
    assert labels(made) == ["Show question"]
    texts = said(made)
    assert texts[:2] == ["✓ ", "A"]
    assert not any("Think first." in text or "About A." in text for text in texts)


def test_options_that_were_not_chosen_are_literal_on_a_settled_card() -> None:
    hostile = (Option(value="x", label="<!channel> *all* \u202eabc"), Option(value="y", label="Fine"))
    made = shown(do(interview(question(options=hostile)), Choose(index=1)))
    assert made[0].blocks[-1] == {
        "type": "context",
        "elements": [
            {"type": "plain_text", "text": "Not chosen: \u2068<!channel> *all* \u202eabc\u202c\u2069", "emoji": False},
        ],
    }
    blocks = json.dumps(made[0].blocks)
    assert '"user_id": "U0ADA"' in blocks
    assert f'"timestamp": {int(NOW.timestamp())}' in blocks


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome(status="cancelled", at=NOW, by=ADA), "Cancelled"),
        (Outcome(status="declined", at=NOW, by=ADA, reason="ask me tomorrow"), "Not now"),
        (Outcome(status="timed_out", at=NOW), "Nobody answered in time"),
        (Outcome(status="undeliverable", at=NOW, reason="No such channel."), "Could not be delivered"),
    ],
)
@pytest.mark.parametrize("form", [FORM[:1], FORM], ids=["one", "several"])
def test_every_end_is_told_in_plain_words(form: tuple[Question, ...], outcome: Outcome, words: str) -> None:
    at = settle(interview(*form), outcome)
    made = shown(at)
    assert labels(made) == ([] if len(form) == 1 else ["Show questions"])
    assert said(made)[0] == words
    assert words.lower() in made[0].text.lower()
    assert not any("✓" in text for text in said(made))
    if outcome.reason:
        assert outcome.reason in said(made)
        assert outcome.reason in made[0].text
    assert any("Which database?" in text for text in said(made))


def test_what_was_chosen_before_a_cancel_is_no_answer() -> None:
    at = do(interview(question(options=options(3), multi_select=True)), Select(chosen=(1,)), Cancel())
    made = shown(at)
    assert not any("✓" in text for text in said(made))
    assert any("not submitted" in text for text in said(made))


def test_somebody_of_another_platform_is_named_and_not_mentioned() -> None:
    bob = Actor(platform="discord", id="42", name="Bob <!here>")
    at = settle(interview(*FORM), Outcome(status="cancelled", at=NOW, by=bob))
    made = render.render_messages(card(at, Policy(who=Who(people=(bob,), groups=("S1",)))))
    accepted(made)
    assert said(made).count("Bob <!here>") == 1
    at = settle(interview(*FORM), Outcome(status="timed_out", at=NOW))
    made = render.render_messages(card(at, Policy(who=Who(people=(bob,), groups=("S1",)))))
    accepted(made)
    assert said(made).count("Bob <!here>") == 1
    assert '"user_id"' not in json.dumps(made[0].blocks)
    assert '"usergroup_id": "S1"' in json.dumps(made[0].blocks)


def test_who_is_asked_until_when() -> None:
    at = interview(*FORM)
    made = render.render_messages(card(at, Policy(who=Who(anyone=True), deadline=NOW)))
    accepted(made)
    assert "anyone here" in said(made)
    assert f'"timestamp": {int(NOW.timestamp())}' in json.dumps(made[0].blocks)


def test_the_notification_names_nobody_and_tells_all_that_fits() -> None:
    described = (Option(value="a", label="A & B", description="<!channel>"), Option(value="b", label="C"))
    text = shown(interview(question(header="Head", options=described)))[0].text
    assert text.splitlines()[:3] == ["Head: Which one?", "1. A &amp; B — &lt;!channel&gt;", "2. C"]
    assert "U0ADA" not in text


def test_the_notification_says_what_it_leaves_off() -> None:
    long = shown(interview(question(options=options(60, "Option {}", description="d" * 200))))[0].text
    assert len(long.encode()) <= 4000
    assert "more options on the card)" in long
    prompt = shown(interview(question(prompt="wörd & " * 1000)))[0].text
    assert len(prompt.encode()) <= 4000
    assert "(continues on the card)" in prompt


# -- nothing is cut -----------------------------------------------------------------------------------


def walk_elements(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object at every depth."""
    if isinstance(value, list):
        for one in value:
            yield from walk_elements(one)
    elif isinstance(value, dict):
        yield value
        yield from walk_elements([*value.values()])


def whole(at: Interview, messages: tuple[render.SlackMessage, ...]) -> None:
    """Check that the messages contain every text of the step, unbroken if one run can hold it."""
    runs = said(messages)
    rich = [block for message in messages for block in message.blocks if block["type"] == "rich_text"]
    everything = "".join(strings(rich))
    drawn = card(at)
    texts: list[str | None] = [answer for line in drawn.lines for answer in line.written]
    mentioned = {one.get(name) for one in walk_elements(rich) for name in ("user_id", "channel_id")}
    assert {one.id for line in drawn.lines for one in line.picked} <= mentioned
    if drawn.is_compact and labels(messages) == [drawn.show_label]:
        assert is_described_whole(at)
        drawn = drawn.evolve(prompt="", items=(), lines=())
    texts += [drawn.prompt, drawn.written, *(line.prompt for line in drawn.lines)]
    for item in drawn.items:
        texts += [item.label, item.description, item.preview]
    for text in filter(None, texts):
        if limits.count_utf16_units(text) <= 2900:
            assert any(to_literal(text) in run for run in runs), text
        elif to_literal(text).isprintable():
            assert text in everything


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


HOSTILE = st.text(
    st.one_of(
        st.characters(codec="utf-8"),
        st.sampled_from("\0\x1b\r\n\t<>&@*_~`\u202e\u2066\u2069\u200d\u0301\U0001f469"),
    ),
    min_size=1,
    max_size=60,
)
TEXT = st.one_of(
    HOSTILE,
    st.sampled_from(["<!channel> <@U1> @everyone", "a" * 5000, "wörter " * 300, "x\n" * 2000, "`*_~` " * 9]),
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
                description=texts[n % 4][1][:4000] if texts[n % 4][2] else None,
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
@given(forms())
def test_any_form_is_whole_at_every_step(form: Form) -> None:
    for at in walk(start_interview(form)):
        whole(at, shown(at))


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
    kinds = [block["type"] for block in made[0].blocks]
    assert kinds.index("context") < kinds.index("section"), "the remark stands where the text breaks off"
    assert all(render.GOES_ON in said([one]) for one in made[:-1])
    assert render.GOES_ON not in said(made[-1:])


@pytest.mark.parametrize("size", range(3300, 3345, 3))
def test_a_message_in_the_middle_leaves_room_for_the_remark_that_it_goes_on(size: int) -> None:
    at = interview(question(prompt="p", options=options(20, "L{}", description="d" * size)))
    made = shown(at)
    whole(at, made)
    assert all(render.GOES_ON in said([one]) for one in made[:-1])


def test_the_end_moves_no_text_about() -> None:
    at = interview(question(prompt="word " * 1500, options=options(40, "Label {}", description="d" * 150)))
    before, after = shown(at), shown(do(at, Decline(reason="no")))
    assert len(before) > 1
    for one, other in pairwise([before[1:-1], after[1:-1]]):
        assert [said([part]) for part in one] == [said([part]) for part in other]


def test_without_images_their_addresses_are_told() -> None:
    pictured = (Option(value="a", label="A", image="https://example.com/a.png"), Option(value="b", label="B"))
    drawn = card(interview(question(options=pictured)))
    assert any(block["type"] == "image" for block in render.render_messages(drawn)[0].blocks)
    plain = render.render_messages(drawn, images=False)
    assert not any(block["type"] == "image" for block in plain[0].blocks)
    assert "https://example.com/a.png" in said(plain)


def test_a_submitted_form_of_one_shows_written_and_chosen() -> None:
    at = interview(question(options=options(3), multi_select=True))
    at = do(at, Select(chosen=(0,)), SubmitText(text="and mine"), Submit())
    assert {"Option 1", "and mine"} <= set(said(shown(at)))
