"""Options and written answers of cards as Discord messages."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from askback.domain.actions import Back, Cancel, Choose, Select, SubmitText
from askback.domain.form import Option
from askback.internal.values import FROM_STORE
from askback_discord import control_ids, limits, render
from support.discord_cards import (
    ASK,
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
)
from support.discord_markdown import formats, read
from unit.discord.drawn_cards import FORM, chosen, shown, values


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
    """A question of an earlier release may have such a label."""
    unseen = Option.model_validate({"value": "a", "label": "\u200b"}, context=FROM_STORE)
    odd = (unseen, Option(value="b", label="B"))
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
