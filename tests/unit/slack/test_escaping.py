"""Texts are literal; prose mentions no one and is cut where it hurts least."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback_slack import escaping
from askback_slack.limits import count_utf16_units
from askback_slack.markdown import count_unfinished, neutralize_markdown, split_markdown

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
WILD = st.text(st.one_of(st.characters(), st.sampled_from(BIDI + "\0\x1b\r\n <>&@\u0301\u200d\ufe0f\U0001f469a")))


def test_escaping() -> None:
    assert escaping.escape("<!here> & <@U1>") == "&lt;!here&gt; &amp; &lt;@U1&gt;"
    assert escaping.escape("&lt;") == "&amp;lt;"


def test_the_notification_of_prose_says_what_it_leaves_off() -> None:
    assert escaping.to_notification("a < b") == "a &lt; b"
    for prose in ("ü" * 9000, "<&>" * 2000, "\u202e" * 5000):
        made = escaping.to_notification(prose)
        assert 3_500 < len(made.encode()) <= 4_000
        assert made.endswith("… (continues in the message)")


def test_control_characters_are_shown() -> None:
    assert escaping.replace_controls("a\0b\x1b[31m\x7f\tc\nd\r\ne\rf") == "a␀b␛[31m␡\tc\nd\ne␍f"
    assert escaping.replace_controls("a\ud800b\udfff") == "a\ufffdb\ufffd"
    assert escaping.replace_controls("Grüße 👋🏽 مرحبا") == "Grüße 👋🏽 مرحبا"


@given(WILD)
def test_a_visible_text_can_be_sent(text: str) -> None:
    made = escaping.to_literal(text)
    made.encode()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", made)


def test_a_text_without_direction_controls_is_left_alone() -> None:
    assert escaping.isolate_direction("plain שלום") == "plain שלום"


def leaks(text: str) -> bool:
    """Return True if following text on the last line would inherit one of its directions (UAX #9, X1-X8)."""
    stack: list[str] = []
    for character in text.rpartition("\n")[2]:
        kind = unicodedata.bidirectional(character)
        if kind in {"LRE", "RLE", "LRO", "RLO", "LRI", "RLI", "FSI"}:
            stack.append(kind)
        elif kind == "PDF" and stack and not stack[-1].endswith("I"):
            stack.pop()
        elif kind == "PDI" and any(entry.endswith("I") for entry in stack):
            while not stack.pop().endswith("I"):
                pass
    return bool(stack)


@given(st.text(st.sampled_from(BIDI + "ab א\n")))
def test_directions_end_with_the_text(text: str) -> None:
    made = escaping.isolate_direction(text)
    assert text in made
    assert not leaks(made)


@given(st.text(st.sampled_from(BIDI + "ab א")))
def test_nothing_leaves_its_isolation(text: str) -> None:
    """On one line, the first isolation must end with the very last character, and not before."""
    made = escaping.isolate_direction(text)
    if made == text:
        return
    depth = 0
    for at, character in enumerate(made):
        kind = unicodedata.bidirectional(character)
        depth += (kind in {"LRI", "RLI", "FSI"}) - (kind == "PDI")
        assert depth > 0 or at == len(made) - 1


@given(WILD, st.integers(12, 80))
def test_a_label_fits(text: str, longest: int) -> None:
    made = escaping.fit_line(text, longest)
    assert count_utf16_units(made) <= longest
    assert "\n" not in made
    whole = escaping.isolate_direction(escaping.to_single_line(text))
    assert made == whole or "…" in made


def test_a_label_is_not_cut_inside_a_character() -> None:
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
    assert escaping.fit_line("ab" + family, 9) == "ab…"
    assert escaping.fit_line("e\u0301" * 9, 10) == "e\u0301" * 4 + "…"


@given(WILD | st.text("ab \n", max_size=400), st.integers(8, 60))
def test_pieces_lose_nothing(text: str, longest: int) -> None:
    text = escaping.replace_controls(text)
    made = list(escaping.split_text(text, longest))
    assert "".join(made) == text
    assert all(0 < count_utf16_units(piece) <= longest for piece in made)


def test_pieces_break_between_words() -> None:
    assert list(escaping.split_text("aaa bbb ccc ddd", 9)) == ["aaa bbb ", "ccc ddd"]


@pytest.mark.parametrize(
    ("prose", "safe"),
    [
        ("<!channel>", "<\u2060!channel>"),
        ("<@U123|bob> and <#C1>", "<\u2060@U123|bob> and <\u2060#C1>"),
        ("<subteam^S1>", "<\u2060subteam^S1>"),
        ("<!subteam^S1>", "<\u2060!subteam^S1>"),
        ("@channel, @Here: @everyone!", "@\u2060channel, @\u2060Here: @\u2060everyone!"),
        ("&lt;!here&gt;", "&lt;\u2060!here&gt;"),
        ("&#60;!here&#62; &#x3C;@U1>", "&#60;\u2060!here&#62; &#x3C;\u2060@U1>"),
        ("&#64;here", "&#64;\u2060here"),
        ("<\\!here>", "<\u2060\\!here>"),
        ("mail ada@example.com, @ada, a < b, <https://example.com>, `<b>`, @hereafter", None),
        ("**bold** _it_ [a](https://b.c) | table |\n- list\n> quote", None),
        ("_@here_ __@channel__ @hereby", "_@\u2060here_ __@\u2060channel__ @hereby"),
    ],
)
def test_prose_mentions_nobody(prose: str, safe: str | None) -> None:
    assert neutralize_markdown(prose) == (prose if safe is None else safe)


@given(st.text(st.sampled_from("<!@#&;lt\\^ah")) | st.text())
def test_harmless_stays_harmless(prose: str) -> None:
    safe = neutralize_markdown(prose)
    assert not re.search(r"<[!@#]|@(?:channel|here|everyone)(?![^\W_])", safe)
    assert safe.replace("\u2060", "") == prose.replace("\u2060", "")
    assert neutralize_markdown(safe) == safe


@given(st.sampled_from(["hi <!channel> there", "see <@U12345678>", "all @everyone!", "x &lt;!here&gt;", "y &#64;here"]))
def test_a_mention_that_is_being_written_is_kept_back(prose: str) -> None:
    sent = ""
    for at in range(len(prose) + 1):
        part = prose[:at]
        ready = neutralize_markdown(part[: len(part) - count_unfinished(part)])
        assert ready.startswith(sent)
        sent = ready


def fences(part: str) -> int:
    return sum(line.lstrip().startswith("```") for line in part.split("\n"))


def test_prose_is_cut_between_paragraphs() -> None:
    prose = "\n\n".join(f"Paragraph {n} " + "word " * 30 for n in range(20))
    parts = split_markdown(prose, 600)
    assert all(len(part) <= 600 for part in parts)
    assert all(part.startswith("Paragraph") for part in parts)
    assert "\n\n".join(part.strip() for part in parts).split() == prose.split()


def test_a_cut_fence_is_closed_and_opened_again() -> None:
    code = "\n".join(f"line {n}" for n in range(200))
    parts = split_markdown(f"Look:\n\n```python\n{code}\n```\n\nDone.", 500)
    assert len(parts) > 3
    assert all(len(part) <= 500 for part in parts)
    assert all(fences(part) % 2 == 0 for part in parts)
    assert sum("```python" in part for part in parts) >= 3
    lines = [line for part in parts for line in part.split("\n") if line.startswith("line ")]
    assert "\n".join(lines) == code


def test_short_prose_stays_whole_and_blank_prose_is_nothing() -> None:
    assert split_markdown("a\n\nb") == ["a\n\nb"]
    assert split_markdown(" \n ") == []


@given(
    st.lists(st.sampled_from(["word ", "a" * 70, "\n", "\n\n", "```\n", "~~~\n", "````py\n", "- item\n", "x` y "])).map(
        "".join
    ),
    st.integers(40, 120),
)
def test_prose_parts_lose_no_word(prose: str, longest: int) -> None:
    parts = split_markdown(prose, longest)
    assert all(len(part) <= longest for part in parts)
    bare = re.compile(r"[`~]{3,}(?:py)?|\s+")
    assert bare.sub("", "".join(parts)) == bare.sub("", prose)
