"""Characters that nobody sees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback.text.literal import replace_controls
from askback.text.unseen import (
    escape_unseen,
    find_lookalikes,
    has_visible_text,
    normalize_look,
    show_hidden,
    strip_text,
)

NOTHING = [
    "",
    " ",
    "\n",
    "\u200b",
    "\ufeff",
    "\u2800",
    "\u3164",
    "\u00ad",
    "\x00",
    " \u200b ",
    "\u202e\u2066",
    "\u115f",
    "\ufe0f",
    "\U000e0041",
    "\u2065",
    "\u3000",
    "\u034f",
    "\u180e",
]
NEEDED = [
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",  # a family
    "\U0001f469\U0001f3fd\u200d\U0001f4bb",  # a woman with a skin tone at a computer
    "\U0001f3f3\ufe0f\u200d\U0001f308",  # a rainbow flag
    "\U0001f642\u200d\u2194\ufe0f",  # a head that shakes
    "\u2764\ufe0f 1\ufe0f\u20e3 \u2139\ufe0f \u203c\ufe0f \u00a9\ufe0f",
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",  # the flag of Scotland
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # a Persian word with a non-joiner
    "\u0915\u094d\u200d\u0937",  # a joiner of Devanagari
    "\u0e2a\u0e27\u0e31\u200b\u0e2a\u0e14\u0e35",  # where a Thai line may break
    "\u845b\U000e0100\u98fe",  # a variant of a Chinese character
    "\u05e9\u05dc\u05d5\u05dd \u200f(abc)\u200e \u2067\u05d0\u2069",  # marks of direction
    "Vraiment\u00a0? \u3000",
    "\ufeffDeploy?",
    "Line one\nLine two\tand a tab",
    "\u06f1\u200c",  # a joiner before the end, or after the beginning
    "\u200c\u0645",
    "\u1820\u180b \u180b\u1820",  # a variant of a Mongolian letter
    "\u115f\u1161 \u1102\u1160",  # Hangul without a first or a middle letter
    "\u2800\u2803 \u2803\u2800",  # a space in Braille
    "\u20e3\u200d\U0001f308",  # symbols joined to a keycap
    "\u2601\ufe0e \u2601\ufe0f",  # a cloud as a text, and as a picture
]
HIDING = {
    "N\u200bo": "N\\u200bo",
    "soft\u00adhyphen": "soft\\u00adhyphen",
    "\u202eseY": "\\u202eseY",
    "a\ufeffb": "a\\ufeffb",
    "Yes\u3164": "Yes\\u3164",
    "Yes\u2800\u2800": "Yes\\u2800\\u2800",
    "a\u200db": "a\\u200db",
    "A\ufe0f": "A\\ufe0f",
    "Go\U000e0041": "Go\\udb40\\udc41",
    "x\u0085y\u0090": "x\u0085y\\u0090",
    # Joiners and variants whose neighbours do not need them.
    "\u200d\U0001f469": "\\u200d\U0001f469",
    "\U0001f469\u200d": "\U0001f469\\u200d",
    "a\u200d\U0001f469": "a\\u200d\U0001f469",
    "\U0001f469\u200da": "\U0001f469\\u200da",
    "\ufe0fA": "\\ufe0fA",
    "1\ufe0f": "1\\ufe0f",
    "1\ufe0f2": "1\\ufe0f2",
    "A\U000e0100": "A\\udb40\\udd00",
    "A\u180b": "A\\u180b",
    "A\u1160": "A\\u1160",
    "yes\u2800no": "yes\\u2800no",
    "\u0645 \u200c N": "\u0645 \\u200c N",
}


@pytest.mark.parametrize("text", NOTHING)
def test_a_text_of_unseen_characters_shows_nothing(text: str) -> None:
    assert not has_visible_text(text)


@pytest.mark.parametrize(
    "text", [*NEEDED, *HIDING, ".", "0", "!", "~", " ~ ", "\u0301", "\U0001fae9", "\ufffd", "\ue000"]
)
def test_any_other_text_shows_something(text: str) -> None:
    assert has_visible_text(text)


@pytest.mark.parametrize("text", NEEDED)
def test_what_a_script_or_an_emoji_needs_stays(text: str) -> None:
    assert show_hidden(text) == text
    assert replace_controls(text) == text


@pytest.mark.parametrize("text", sorted(HIDING))
def test_what_hides_or_reverses_letters_is_an_escape(text: str) -> None:
    assert replace_controls(text) == HIDING[text]


@given(st.text(st.one_of(st.characters(), st.sampled_from("".join([*NOTHING, *NEEDED, *HIDING])))))
def test_a_text_that_is_shown_twice_is_the_same(text: str) -> None:
    shown = replace_controls(text)
    assert replace_controls(shown) == shown
    assert not has_visible_text(text) or has_visible_text(shown)


@pytest.mark.parametrize(
    "labels",
    [
        ["No", "N\u200bo"],
        ["Yes", "No", "Y\u00ades"],
        ["a b", "a\u00a0b"],
        ["a b", "a\u3164b"],
        ["Yes", "Yes\u2800"],
        ["Approve", "Ａpprove"],
        ["\u2764", "\u2764\ufe0f"],
        ["Yes", "\u200eYes"],
    ],
)
def test_labels_that_look_alike_are_named(labels: list[str]) -> None:
    problem = find_lookalikes(labels)
    assert problem is not None
    assert escape_unseen(labels[-1]) in problem


@pytest.mark.parametrize(
    "labels",
    [
        ["deploy", "Deploy"],
        ["Yes", "Yes!"],
        ["Yes", "Yes"],
        ["\u00e9", "e"],
        [
            "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
            "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        ],
    ],
)
def test_labels_that_people_tell_apart_are_not(labels: list[str]) -> None:
    assert find_lookalikes(labels) is None


def test_a_long_hostile_text_is_shown_quickly() -> None:
    assert len(show_hidden("a\u200b\u2800\u00ad" * 50_000)) == 50_000 * 19


def test_an_answer_loses_the_white_space_around_it_and_is_empty_if_nobody_sees_it() -> None:
    assert [strip_text(text) for text in (None, "", " \u200b ", "\x00")] == [""] * 4
    assert strip_text(" \u200bYes\n") == "\u200bYes"


def test_a_quoted_text_shows_each_character_that_nobody_sees_as_its_escape() -> None:
    assert escape_unseen("one\ntwo") == "one\ntwo"
    assert escape_unseen("N\u200bo \u202eé\n") == "N\\u200bo \\u202eé\n"
    assert escape_unseen("\x7f") == escape_unseen("é\x7f")[1:] == "\\u007f"
    assert escape_unseen("\u3164é") == "\\u3164é"


def test_a_label_is_compared_as_it_looks() -> None:
    assert normalize_look("Ｙ\u200be\u00adſ\u3164１") == "Yes 1"
    england = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    assert normalize_look(f"{england} a") == f"\U0001f3f4 a{england}"
    assert normalize_look("a\tb\nc") == "a\tb\nc"
