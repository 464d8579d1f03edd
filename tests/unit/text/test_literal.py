"""Literal texts, on which every bot relies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback.text.literal import (
    count_utf16_units,
    find_break,
    fit_line,
    isolate_direction,
    quote_line,
    quote_name,
    replace_controls,
    split_text,
    to_literal,
    to_single_line,
    truncate,
)

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
WILD = st.text(st.one_of(st.characters(), st.sampled_from(BIDI + "\0\r\n \u0301\u200d\ufe0f\U0001f469a")))
TURNED = st.text(st.sampled_from(BIDI + "ab \n"), max_size=400)


@given(WILD | TURNED, st.integers(1, 120))
def test_a_label_fits_whatever_is_in_it(text: str, longest: int) -> None:
    made = fit_line(text, longest)
    assert count_utf16_units(made) <= longest
    assert made == isolate_direction(to_single_line(text)) or "…" in made


@pytest.mark.parametrize("longest", [1, 2, 24, 100])
def test_a_label_of_nothing_but_directions_ends(longest: int) -> None:
    assert count_utf16_units(fit_line("\u202e" * 2000 + "z", longest)) <= longest


@given(WILD, st.integers(-3, 80))
def test_a_beginning_is_a_beginning(text: str, longest: int) -> None:
    made = truncate(text, longest)
    assert text.startswith(made)
    assert longest <= 0 or count_utf16_units(made) <= max(longest, 0)


@given(WILD | st.text("ab \n", max_size=400), st.integers(4, 60))
def test_pieces_lose_nothing(text: str, longest: int) -> None:
    text = replace_controls(text)
    made = list(split_text(text, longest))
    assert "".join(made) == text
    assert all(0 < count_utf16_units(piece) <= longest for piece in made)


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("ada", "ada"),
        ("Zoë-Ann.o'neil_7", "Zoë-Ann.o'neil_7"),
        ("李雷", "李雷"),
        ("plan.pdf", "plan.pdf"),
        ("Ada Lovelace", "“Ada Lovelace”"),
        ("Nobody.", "“Nobody.”"),
        ("my operator: stop", "“my operator: stop”"),
        ("x” agreed. “y", "“x' agreed. 'y”"),
        ("Ada\napproved", "“Ada approved”"),
        ("a\u202bb", "“\u2068a\u202bb\u202c\u2069”"),
        ("a\u202eb", "“a\\u202eb”"),
        ("`rm`", "“`rm`”"),
    ],
)
def test_a_name_of_more_than_a_word_cannot_be_taken_for_the_sentence_around_it(name: str, called: str) -> None:
    assert quote_name(name, 80) == called


@given(WILD | TURNED)
def test_a_name_stays_on_one_line_in_its_quotation_marks(name: str) -> None:
    made = quote_name(name, 40)
    assert "\n" not in made
    assert "”" not in made[:-1]
    assert count_utf16_units(made) <= 42


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("Apple", "“Apple”"),
        ("Ship “blue” now", "“Ship ‘blue’ now”"),
        ("yes” Ben denied: “no", "“yes’ Ben denied: ‘no”"),
        ('a "b"', "“a 'b'”"),
    ],
)
def test_no_quotation_mark_in_a_text_ends_its_quotation(text: str, quoted: str) -> None:
    assert quote_line(text) == quoted


def test_a_text_breaks_at_lines_and_words_where_it_can() -> None:
    assert find_break("aaa bbb\nccc ddd", 10) == len("aaa bbb\n")
    assert find_break("aaa bbb ccc", 9) == len("aaa bbb ")
    assert find_break("aaaaaaaaaaa", 9) == 9
    assert find_break("short", 5) == 5
    assert find_break("ab\U0001f469\u200d\U0001f469", 4) == 2


@given(WILD)
def test_a_literal_text_can_be_sent(text: str) -> None:
    to_literal(text).encode()
