"""The title of an approval: the author's sentence, in which no argument can pretend to be a part of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback.domain.approval import build_form
from askback.domain.approval_title import LONGEST_TEMPLATE, find_template_problem, format_title

DEPLOY = "Deploy {version} to {where}?"


@pytest.mark.parametrize(
    ("template", "data", "title"),
    [
        (DEPLOY, {"version": "1.4.2", "where": "staging"}, "Deploy “1.4.2” to “staging”?"),
        (DEPLOY, {"version": "1.4.2"}, "Deploy “1.4.2” to (not given)?"),
        ("Scale to {count}, drain: {drain}?", {"count": 3, "drain": True}, "Scale to 3, drain: true?"),
        ("Give up {what}?", {"what": None}, "Give up null?"),
        ("Delete {files}?", {"files": ["a", "b"]}, "Delete “['a', 'b']”?"),
        ("Set {{x}} to {x}?", {"x": 1}, "Set {x} to 1?"),
        ("Restart?", {}, "Restart?"),
        (DEPLOY, None, "Deploy (not given) to (not given)?"),
    ],
)
def test_the_arguments_are_filled_in(template: str, data: Any, title: str) -> None:
    assert format_title(template, data) == title


@pytest.mark.parametrize(
    "text",
    ["1.4” to “nowhere”? Ada approved “it", 'a" b', "two\nlines", "{where}", "<!channel> @everyone", "\u202egnigats"],
)
def test_no_argument_continues_the_sentence(text: str) -> None:
    title = format_title(DEPLOY, {"version": text, "where": "staging"})
    assert title.count("“") == title.count("”") == 2
    assert title.endswith(" to “staging”?")
    assert title.isprintable()


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_title_is_one_line_of_visible_characters(version: str, where: str) -> None:
    title = format_title(DEPLOY, {"version": version, "where": where})
    assert title.isprintable()
    assert len(title.encode("utf-16-le")) // 2 < 200
    assert title.count("“") == title.count("”") == 2


def test_the_card_names_the_tool_beside_the_title_and_shows_every_argument_below() -> None:
    (question,) = build_form("deploy", {"version": "1" * 100, "force": True}, template="Deploy {version}?").questions
    assert question.header == "Approval · deploy"
    title, _, below = question.prompt.partition("\n")
    assert title.startswith("Deploy “111")
    assert title.endswith("…”?")
    assert "1" * 100 in below
    assert '"force": true' in below
    assert question.id == "deploy"
    (bare,) = build_form("restart", {}, template="Restart everything?").questions
    assert bare.prompt == "Restart everything? It takes no arguments."


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("", "is empty"),
        (" ", "is empty"),
        ("Deploy\n{version}?", "line break"),
        ("x" * (LONGEST_TEMPLATE + 1), "has 151 characters. Shorten it to 150."),
        ("Deploy {versoin}?", "contains {versoin}, which is not a parameter of the tool. Its parameters are: version"),
        ("Deploy {}?", "contains {}"),
        ("Deploy {0}?", "contains {0}"),
        ("Deploy {version.__class__}?", "contains {version.__class__}"),
        ("Deploy {version[0]}?", "contains {version[0]}"),
        ("Deploy {version!r}?", "has a format or a conversion"),
        ("Deploy {version:>9}?", "has a format or a conversion"),
        ("Deploy {version?", "is not a template"),
        ("Deploy version}?", "is not a template"),
    ],
)
def test_a_template_that_cannot_be_used_is_told_with_what_to_do(template: str, words: str) -> None:
    assert words in (find_template_problem(template, ("version", "where")) or "")


def test_a_template_of_parameters_can_be_used() -> None:
    for template in (DEPLOY, "Restart?", "Set {{x}}?"):
        assert find_template_problem(template, ("version", "where")) is None
