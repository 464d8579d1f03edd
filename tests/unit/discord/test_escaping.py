"""Texts are literal; prose mentions no one and is cut where it hurts least."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from askback.text.literal import count_utf16_units, to_literal
from askback_discord import escaping
from askback_discord.markdown import neutralize_markdown, split_markdown
from support.discord_markdown import formats, read, seen

SIGNS = "\\*_~|`[]()<>:@#+-.!/&1\n \ta"
WILD = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from(SIGNS)))
MARKED = st.lists(
    st.sampled_from(
        [
            "**", "__", "*", "_", "~~", "||", "`", "```", "\\", "\n", " ", "a", "1. ", "- ", "+ ", "# ", "### ", "-# ",
            "> ", ">>> ", "[x](https://e.org)", "https://e.org", "<https://e.org>", "<@1>", "<@!1>", "<@&1>", "<#1>",
            "<t:1:R>", "<:x:1>", "<a:x:1>", "</ask:1>", "<id:guide>", ":smile:", "@everyone", "@here", "¯\\_(ツ)_/¯",
            "¯_(ツ)_/¯", "x_y_z", "2)", "::skin-tone-2:", "discord://x",
        ]
    )
).map("".join)  # fmt: skip


@given(WILD | MARKED)
@example("# a\n- b\n1. c\n> d\n-# e")
@example("a :b: https://c.d")
def test_an_escaped_text_is_shown_as_it_is_written(text: str) -> None:
    nodes = read(escaping.escape(text))
    assert [*formats(nodes)] == []
    assert seen(nodes) == text


@given(WILD | MARKED)
def test_an_escaped_text_can_be_read_back(text: str) -> None:
    assert re.sub(r"\\([^0-9A-Za-z\s])", r"\1", escaping.escape(text)) == text


@given(WILD | MARKED)
@example("Which fruit ")
@example("\n # a\t")
def test_a_bold_text_is_shown_whole_and_its_asterisks_stand_at_words(text: str) -> None:
    made = escaping.bold(text)
    assert seen(read(made)).strip() == to_literal(escaping.replace_controls(text).strip())
    if escaping.replace_controls(text).strip():
        inside = made.strip()
        assert (inside[:2], inside[-2:]) == ("**", "**")
        assert not re.search(r"^\*\*\s|\s\*\*$", inside)


@given(MARKED.filter(bool), st.sampled_from(["**{}**", "a {} b", "> {}", "-# {}", "**1\\. {}**  ★"]))
def test_nothing_gets_out_of_our_own_format(text: str, ours: str) -> None:
    inside = escaping.escape(text)
    if ours == "> {}":
        inside = inside.replace("\n", "\n> ")
    elif ours == "-# {}":
        text, inside = text.replace("\n", " "), escaping.escape(text.replace("\n", " "))
        if not text.strip():
            return
    nodes = read(ours.replace("{}", inside))
    allowed = {"**{}**": ["bold"], "> {}": ["quotation"], "-# {}": ["small"], "**1\\. {}**  ★": ["bold"]}
    assert [*formats(nodes)] == allowed.get(ours, [])
    assert text.strip(" ") in seen(nodes)


@pytest.mark.parametrize(
    "text",
    [
        "plain words, and no more. Grüße 👋🏽",
        "a = b; c & d (e) {f} 50% $1 ^ ~",
        "at 10: noon",
    ],
)
def test_what_needs_no_escape_stays_short(text: str) -> None:
    assert count_utf16_units(escaping.escape(text)) <= count_utf16_units(text) + text.count("~")


def test_the_reader_of_the_tests_sees_formats() -> None:
    source = (
        "# h\n-# s\n- l\n1. n\n> q\n**b** *i* _i_ __u__ ~~s~~ ||p|| `c` ```\nc\n``` [l](https://e.org) https://e.org "
        "<@1> <@&1> <#1> <t:1:f> <:e:1> :e: @everyone </a:1> <id:guide> ¯\\_(ツ)_/¯"
    )
    assert {*formats(read(source))} == {
        "heading", "small", "list", "quotation", "bold", "italics", "underline", "strike", "spoiler", "code",
        "block of code", "link", "address", "mention", "time", "custom emoji", "emoji", "shrug",
    }  # fmt: skip


def test_plain_shows_what_is_hidden() -> None:
    assert escaping.plain("a\0*b\x1b\u202bc") == "\u2068a␀\\*b␛\u202bc\u202c\u2069"
    assert escaping.plain("a\u202eb\u200bc") == r"a\\u202eb\\u200bc"
    assert escaping.plain("x\ud800") == "x\ufffd"


@given(st.text())
def test_a_plain_text_can_be_sent(text: str) -> None:
    made = escaping.plain(text)
    made.encode()
    assert seen(read(made)) == to_literal(text)


@pytest.mark.parametrize(
    ("prose", "safe"),
    [
        ("<@123> <@!123> <@&123> <#123>", "<\u2060@123> <\u2060@!123> <\u2060@&123> <\u2060#123>"),
        ("@everyone, @here! @hereafter", "@\u2060everyone, @\u2060here! @\u2060hereafter"),
        ("</ask:1> and </div>", "<\u2060/ask:1> and </div>"),
        ("<id:customize>", "<\u2060id:customize>"),
        ("mail ada@example.com, a < b, <https://example.com>, `List<@NonNull T>`, <t:1:R>", None),
        ("**bold** _it_ [a](https://b.c)\n- list\n> quote\n```py\nx = 1\n```", None),
    ],
)  # fmt: skip
def test_prose_mentions_nobody(prose: str, safe: str | None) -> None:
    made = neutralize_markdown(prose)
    assert made == (prose if safe is None else safe)
    assert "mention" not in {*formats(read(made))}


@given(st.text(st.sampled_from("<!@#&>1/a:id")) | MARKED)
def test_harmless_stays_harmless(prose: str) -> None:
    safe = neutralize_markdown(prose)
    assert "mention" not in {*formats(read(safe))}
    assert safe.replace("\u2060", "") == prose
    assert neutralize_markdown(safe) == safe


def test_prose_is_cut_at_two_thousand_characters_between_paragraphs() -> None:
    prose = "\n\n".join(f"Paragraph {n} " + "word " * 60 for n in range(20))
    parts = split_markdown(prose)
    assert len(parts) == 4
    assert all(len(part) <= 2000 for part in parts)
    assert all(part.startswith("Paragraph") for part in parts)
    assert "\n\n".join(parts).split() == prose.split()


def test_a_cut_fence_is_closed_and_opened_again() -> None:
    code = "\n".join(f"line {n}" for n in range(900))
    parts = split_markdown(f"Look:\n\n```python\n{code}\n```\n\nDone.")
    assert len(parts) > 4
    assert all(len(part) <= 2000 and part.count("```") % 2 == 0 for part in parts)
    lines = [line for part in parts for line in part.split("\n") if line.startswith("line ")]
    assert "\n".join(lines) == code


@given(st.text(st.sampled_from("a \n\U0001f469")), st.integers(20, 60))
def test_prose_parts_count_as_discord_may(prose: str, longest: int) -> None:
    parts = split_markdown(prose, longest)
    assert all(count_utf16_units(part) <= longest for part in parts)
    assert re.sub(r"\s", "", "".join(parts)) == re.sub(r"\s", "", prose)
