"""Options and written answers of cards as Slack messages."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from askback.domain.actions import Back, Choose, GoTo, Select, Submit, SubmitText
from askback.domain.form import Option
from askback.internal.values import FROM_STORE
from askback_slack import control_ids, render
from support.slack_cards import ASK, accepted_options, card, do, elements, interview, labels, options, question, said
from unit.slack.drawn_cards import FORM, shown


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
    """A question of an earlier release may have such a label."""
    unseen = Option.model_validate({"value": "a", "label": "\u200b"}, context=FROM_STORE)
    odd = (unseen, Option(value="b", label="B"))
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
        ["Edit your text…", "Remove text", "Next", "Answer all…", "Not now…"],
    ]


def test_a_question_without_options_asks_to_write() -> None:
    made = shown(interview(question()))
    assert labels(made) == ["Write an answer…", "Not now…"]
    assert elements(made)[0]["style"] == "primary"
