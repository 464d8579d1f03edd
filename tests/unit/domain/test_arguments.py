"""The table of a tool call's arguments: it shows each value as it is, or says what it leaves out."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from askback.domain.approval import APPROVE, DENY, LONGEST, build_form
from askback.domain.arguments import (
    EXCERPT,
    INLINE,
    LINES,
    LONGEST_NAME,
    ROWS,
    SHARED,
    Argument,
    Arguments,
    describe_whole,
    parse_arguments,
)
from askback.domain.ask_policy import Approval, Policy
from askback.domain.card import Card, build_card
from askback.domain.form import Form, Option, Question
from askback.domain.interview import start_interview
from askback.domain.who import Who
from askback.text.unseen import escape_unseen
from support.cases import ANN, BEN, HOSTILE
from support.tool_arguments import ARGUMENTS, HOSTILE_TEXT

CALL = Policy(who=Who.from_people(ANN, BEN), approval=Approval(refusing=(DENY,), subject="0" * 64))


def table(data: JsonValue) -> Arguments:
    details = build_form("deploy", data).questions[0].details
    found = parse_arguments(details or "")
    assert found is not None
    return found


def only(value: JsonValue, name: str = "value") -> Argument:
    (row,) = table({name: value}).rows
    return row


def card(form: Form, policy: Policy = CALL) -> Card:
    return build_card("ask", start_interview(form), policy)


def read_back(shown: str) -> JsonValue:
    """Return the only value that a whole row can mean."""
    literal = re.fullmatch(r"true|false|null|-?\d+(\.\d+)?([eE][+-]?\d+)?", shown)
    return json.loads(shown) if "\n" not in shown and (literal or shown[0] in '"[{') else shown


# -- nothing is ambiguous, nothing is lost ------------------------------------------------------------


@given(ARGUMENTS)
def test_a_whole_table_can_be_read_back_as_the_arguments(data: dict[str, JsonValue]) -> None:
    shown = table(data)
    if shown.is_whole:
        names = [json.loads(row.name) if row.name.startswith('"') else row.name for row in shown.rows]
        values = [read_back(row.value) for row in shown.rows]
        # `json.dumps` tells 1 from 1.0 and True.
        assert json.dumps(dict(zip(names, values, strict=True))) == json.dumps(data)


@given(ARGUMENTS)
def test_what_the_table_does_not_show_whole_can_be_opened(data: dict[str, JsonValue]) -> None:
    form = build_form("deploy", data)
    shown = card(form)
    assert shown.arguments is not None
    left_out = shown.arguments.more or any(row.note or row.name.endswith("…") for row in shown.arguments.rows)
    assert not (left_out and shown.arguments.is_whole)
    if not shown.arguments.is_whole:
        assert shown.details == form.questions[0].details


@given(st.lists(st.text(st.characters(exclude_categories=["C", "M"]), min_size=1, max_size=EXCERPT), max_size=ROWS))
def test_every_text_of_up_to_the_length_of_an_excerpt_can_be_read(texts: list[str]) -> None:
    data: dict[str, JsonValue] = {f"a{number}": text for number, text in enumerate(texts)}
    if not data:
        return
    for text, row in zip(texts, table(data).rows, strict=True):
        quoted = len(escape_unseen(json.dumps(text, ensure_ascii=False)))
        if quoted <= EXCERPT:
            assert (read_back(row.value), row.note) == (text, None)


@given(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.none()))
def test_every_number_can_be_read(value: JsonValue) -> None:
    row = only(value)
    assert (json.dumps(read_back(row.value)), row.note) == (json.dumps(value), None)


@given(st.lists(HOSTILE_TEXT, min_size=1, max_size=ROWS))
def test_every_short_text_can_be_read_however_hostile(texts: list[str]) -> None:
    for text, row in zip(texts, table({f"a{n}": text for n, text in enumerate(texts)}).rows, strict=True):
        visible = [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()]
        if len(text.split("\n")) <= LINES and len(json.dumps(text)) <= EXCERPT:
            assert row.note is None
            if "\n" in row.value:
                assert len([line for line in row.value.split("\n") if line.strip()]) == len(visible)
            else:
                assert read_back(row.value) == text


# -- limits --------------------------------------------------------------------------------------------


@given(ARGUMENTS | st.dictionaries(st.text(max_size=100), st.text(max_size=2_000), min_size=1, max_size=ROWS + 5))
def test_no_table_is_longer_than_its_limits(data: dict[str, JsonValue]) -> None:
    shown = table(data)
    assert len(shown.rows) + shown.more == len(data)
    assert len(shown.rows) <= ROWS
    blocks = [len(row.value) for row in shown.rows if row.is_block]
    assert sum(blocks) <= max(SHARED, EXCERPT * len(blocks))
    for row in shown.rows:
        assert len(row.name) <= LONGEST_NAME
        assert row.is_block or len(row.value) <= INLINE
        assert row.value.strip()
        lines = [row.name, *row.value.replace("\t", " ").split("\n"), row.note or ""]
        assert all(line.isprintable() and escape_unseen(line) == line for line in lines)
        assert row.is_block or "\n" not in row.value


def test_of_thousands_of_arguments_some_are_shown_and_the_others_counted() -> None:
    shown = table({f"key {number}": number for number in range(5_000)})
    assert (len(shown.rows), shown.more, shown.note) == (ROWS, 4_980, "… and 4,980 more arguments")
    assert not shown.is_whole
    assert table(dict.fromkeys(map(str, range(ROWS + 1)), 1)).note == "… and 1 more argument"
    assert table(dict.fromkeys(map(str, range(ROWS)), 1)).note is None
    assert table(dict.fromkeys(map(str, range(ROWS)), 1)).is_whole


@pytest.mark.parametrize(
    ("count", "characters", "lines"), [(1, 1_000, 15), (2, 500, 7), (3, 333, 5), (4, 300, 5), (ROWS, 300, 5)]
)
def test_the_long_values_share_the_space(count: int, characters: int, lines: int) -> None:
    short: dict[str, JsonValue] = {} if count == ROWS else {"version": "1.4.2"}
    for row in table({**short, **{f"plan{number}": "x" * 2_000 for number in range(count)}}).rows[len(short) :]:
        assert row == Argument(
            name=row.name,
            value="x" * characters,
            is_block=True,
            note=f"… and {2_000 - characters:,} more characters",
        )
    for row in table({**short, **{f"plan{number}": "x\n" * 90 for number in range(count)}}).rows[len(short) :]:
        assert row.value == "\n".join("x" * lines)


@pytest.mark.parametrize("text", ['"' + "x" * 2_000, "x" * 999 + "\u202e" + "x" * 2_000])
def test_what_is_quoted_has_the_same_space(text: str) -> None:
    row = only(text)
    assert row.value.startswith('"')
    # A part has no quotation mark at its end, for which there is space as well.
    assert SHARED - 1 - len(r"\u202e") < len(row.value) < SHARED


def test_a_quoted_part_fills_its_space() -> None:
    assert only('"' + "x" * 2_000).value == r'"\"' + "x" * (SHARED - 4)
    assert only('"' + "x" * (SHARED - 4)).value == r'"\"' + "x" * (SHARED - 4) + '"'


@pytest.mark.parametrize(
    ("text", "is_block"), [("x" * 100, False), ("x" * 101, True), (" " + "x" * 97, False), (" " + "x" * 98, True)]
)
def test_up_to_a_hundred_characters_stand_beside_the_name(text: str, is_block: bool) -> None:
    row = only(text)
    assert (row.is_block, read_back(row.value), row.note) == (is_block, text, None)
    assert table({"value": text}).is_whole


@pytest.mark.parametrize("depth", [1, 50, 200])
def test_deep_nesting_is_shown_from_its_beginning(depth: int) -> None:
    data: JsonValue = "x"
    for _ in range(depth):
        data = [data]
    form = build_form("deploy", {"deep": data})
    shown = card(form)
    assert shown.arguments is not None
    assert shown.arguments.rows[0].value.startswith("[" * min(depth, EXCERPT))
    assert shown.arguments.is_whole or shown.details == form.questions[0].details


def test_the_longest_arguments_are_drawn() -> None:
    form = build_form("deploy", {"plan": "é" * (LONGEST - 100)})
    (row,) = table({"plan": "é" * (LONGEST - 100)}).rows
    assert row.note == f"… and {LONGEST - 100 - SHARED:,} more characters"
    assert card(form).details == form.questions[0].details


# -- the forms of values ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("staging", "staging"),
        ("1.4.2", "1.4.2"),
        ('git commit -m "fix"', 'git commit -m "fix"'),
        (r"C:\temp", r"C:\temp"),
        (True, "true"),
        (None, "null"),
        (3, "3"),
        (3.0, "3.0"),
        (["a", 1], '["a", 1]'),
        ({"a": {"b": []}}, '{"a": {"b": []}}'),
        (["é"], '["é"]'),
        ([], "[]"),
        # Texts that look like something else
        ("true", '"true"'),
        ("null", '"null"'),
        ("3", '"3"'),
        ("-1.5e3", '"-1.5e3"'),
        ("", '""'),
        (" x", '" x"'),
        ("x ", '"x "'),
        ("x\n", r'"x\n"'),
        ("a\tb", r'"a\tb"'),
        ('"x"', r'"\"x\""'),
        ('["a", 1]', r'"[\"a\", 1]"'),
        ('{"a": 1}', r'"{\"a\": 1}"'),
        ("a\u202eb", r'"a\u202eb"'),
        ("a\u200bb\U000e0041", r'"a\u200bb\udb40\udc41"'),
        ("a\x1b[31m\x7f\x00", r'"a\u001b[31m\u007f\u0000"'),
        ("\ud800", r'"\ud800"'),
        ("zwei\u2028Zeilen", r'"zwei\u2028Zeilen"'),
    ],
)
def test_a_short_value_is_as_it_is_and_what_could_be_mistaken_is_quoted(value: Any, shown: str) -> None:
    assert only(value) == Argument(name="value", value=shown, is_block=False, note=None)
    assert table({"value": value}).is_whole


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("version", "version"),
        ("dry-run", "dry-run"),
        ("a.b_c", "a.b_c"),
        ("", '""'),
        ("where: staging", '"where: staging"'),
        ("p\u0430th", '"p\u0430th"'),
        ("path\u200b", r'"path\u200b"'),
        ("\u202ehtap", r'"\u202ehtap"'),
        ("a\nforce", r'"a\nforce"'),
        ('"path"', r'"\"path\""'),
        ("1", '"1"'),
    ],
)
def test_names_that_could_be_mistaken_for_others_are_quoted(name: str, shown: str) -> None:
    assert only("x", name).name == shown
    assert table({name: "x"}).is_whole


def test_names_that_look_alike_are_told_apart() -> None:
    names = ["path", "path ", " path", "path\u200b", "path\u200d", "p\u0430th", "Path", '"path"', "path\\u200b"]
    assert len({row.name for row in table(dict.fromkeys(names, 1)).rows}) == len(names)


def test_a_long_name_is_cut_and_the_whole_of_it_can_be_opened() -> None:
    assert LONGEST_NAME == 60
    assert only("x", "k" * 60).name == "k" * 60
    assert only("x", " " * 58).name == f'"{" " * 58}"'
    shown = table({"k" * 5_000: "x"})
    assert shown.rows[0].name == f'"{"k" * (LONGEST_NAME - 2)}…'
    assert not shown.is_whole


def test_a_text_of_several_lines_is_shown_line_by_line() -> None:
    assert only("one\n  two\n\tthree") == Argument(name="value", value="one\n  two\n\tthree", is_block=True, note=None)
    assert table({"value": "one\n  two\n\tthree"}).is_whole


@pytest.mark.parametrize(
    "text",
    [
        "one\ntwo\n",
        "\none\ntwo",
        "\n\none\ntwo",
        "one\r\ntwo",
        "one\ntwo\u202e",
        "one\ntwo \x1b[1m",
        "⚠\ufe0f one\ntwo",
    ],
)
def test_lines_that_are_not_shown_exactly_can_be_opened_as_json(text: str) -> None:
    shown = table({"value": text})
    assert shown.rows[0].value.startswith(("one\ntwo", r"⚠\ufe0f one"))
    assert not shown.is_whole


def test_a_long_text_begins_and_says_how_much_follows() -> None:
    row = only("".join(f"step {number}\n" for number in range(100)))
    assert row.value == "\n".join(f"step {number}" for number in range(15))
    assert row.note == "… and 85 more lines (679 characters)"
    assert only("x" * 2_000).note == "… and 1,000 more characters"
    assert only(["x" * 2_000]).note == "… and 1,004 more characters"
    assert only("a\n" * 14 + "b\nc").note == "… and 1 more line (1 character)"


def test_blank_lines_hide_nothing() -> None:
    row = only("ls\n" + "\n" * 500 + "rm -rf /")
    assert (row.value, row.note) == ("ls", "… and 487 more lines (494 characters)")
    assert only("\n" * 500 + "rm -rf /\nls").value == "rm -rf /\nls"
    row = only(" " * 2_000 + "rm -rf /\nls")
    assert row.value == '"'
    assert row.note is not None


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_is_a_value_and_a_name_and_nothing_else(text: str) -> None:
    shown = table({text: text, "force": False})
    assert [row.name for row in shown.rows][1:] == ["force"]
    assert "\n" not in shown.rows[0].name
    assert shown.describe().splitlines()[-1] == "force: false"
    assert read_back(shown.rows[0].value) == text


def test_as_plain_text_the_lines_of_a_value_are_indented() -> None:
    data: JsonValue = {"plan": "x\nforce: false\n… and 9 more arguments", **{f"k{n}": n for n in range(ROWS)}}
    lines = table(data).describe().split("\n")
    assert lines[:5] == ["plan:", "  x", "  force: false", "  … and 9 more arguments", "k0: 0"]
    assert lines[-1] == "… and 1 more argument"


# -- on the card --------------------------------------------------------------------------------------


def test_a_card_shows_the_table_of_a_tool_call_and_offers_the_whole_only_if_something_is_missing() -> None:
    short = card(build_form("deploy", {"version": "1.4.2"}))
    assert short.arguments == Arguments(
        rows=(Argument(name="version", value="1.4.2", is_block=False, note=None),), more=0, is_whole=True
    )
    assert short.details is None
    assert short.description == "Run deploy?\nversion: 1.4.2"
    # This JSON fits into the prompt, but its table leaves out lines.
    long = build_form("deploy", {"plan": "step\n" * 60})
    assert not long.questions[0].has_hidden_details
    assert card(long).details == long.questions[0].details


def test_no_arguments_are_said_to_be_none() -> None:
    shown = card(build_form("restart", {}))
    assert (shown.arguments, shown.details, shown.prompt) == (None, None, "Run restart? It takes no arguments.")


def test_only_the_arguments_of_a_tool_call_are_a_table() -> None:
    form = build_form("deploy", {"version": "1.4.2"})
    vote = Policy(who=Who.from_people(ANN, BEN), approval=Approval(refusing=(DENY,)))
    assert card(form, vote).arguments is None
    assert card(form, vote).excerpt == '{\n  "version": "1.4.2"\n}'


@pytest.mark.parametrize("data", [["a"], "text", 7])
def test_arguments_without_names_stay_json(data: JsonValue) -> None:
    shown = card(build_form("deploy", data))
    assert shown.arguments is None
    assert shown.excerpt == json.dumps(data, indent=2)


def stored(details: str, quoted: str) -> Question:
    return Question(
        id="deploy",
        header="Approval",
        prompt=f"Run deploy?\n{quoted}",
        options=(Option(value=APPROVE, label="Approve"), Option(value=DENY, label="Deny")),
        allow_custom=False,
        details=details,
    )


def test_an_ask_that_an_earlier_release_stored_has_the_table() -> None:
    details = '{\n  "version": "1.4.2",\n  "who": "a\\u202eb"\n}'
    shown = card(Form(questions=(stored(details, details),)))
    assert shown.arguments is not None
    assert [(row.name, row.value) for row in shown.arguments.rows] == [("version", "1.4.2"), ("who", r'"a\u202eb"')]
    assert shown.details is None
    part = card(Form(questions=(stored(details, f"{details[:12]}\n… and 30 more characters."),)))
    assert part.arguments == shown.arguments
    assert part.details == details


@pytest.mark.parametrize("details", ["{ broken", '{"a": ' * 2 + "[" * 100_000, '{"a": ' + "9" * 5_000 + "}"])
def test_details_that_cannot_be_read_are_quoted_as_they_are(details: str) -> None:
    shown = card(Form(questions=(stored(details, details[:50]),)))
    assert shown.arguments is None
    assert shown.excerpt == details[:50]
    assert details in (shown.details, shown.excerpt)


def test_everything_has_the_lines_of_a_text_and_then_all_arguments_as_json() -> None:
    plan = "\n".join(f"restart web-{number}" for number in range(60))
    details = json.dumps(
        {"version": "1.4.2", "plan": plan, "to note": "a\n\tb\u202e\nAll arguments as JSON:"}, indent=2
    )
    lines = "\n".join(f"  restart web-{number}" for number in range(60))
    note = "  a\n  \tb\\u202e\n  All arguments as JSON:"
    assert describe_whole(details) == f'plan:\n{lines}\n\n"to note":\n{note}\n\nAll arguments as JSON:\n\n{details}'


@pytest.mark.parametrize(
    "details", ['{"a": "one line"}', '["a\\nb"]', "no JSON", "{}", f'{{"a": "b\\n{"x" * 200_000}"}}']
)
def test_details_without_texts_of_several_lines_stay_as_they_are(details: str) -> None:
    assert describe_whole(details) == details


@given(st.dictionaries(st.text(), st.text() | st.integers()))
def test_no_text_looks_like_the_json_below_it(data: dict[str, str | int]) -> None:
    details = json.dumps(data, ensure_ascii=False)
    above = describe_whole(details).removesuffix(details).splitlines()
    names = [line for line in above if line and not line.startswith("  ")]
    assert all(line.endswith(":") for line in names)
    assert names.count("All arguments as JSON:") == (1 if above else 0)
