"""People change a list of a call line by line, and the call runs with exactly the list that they saw."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from askback.domain import approval
from askback.domain.actions import FieldAnswer
from askback.domain.apply_edit import build_edit_fields
from askback.domain.approval import get_approved_arguments
from askback.domain.ask import Ask
from askback.domain.change_line import build_change_lines
from askback.errors import PersonError
from support.edited_calls import ANN, TOOL, approve, asked, edit, get_shown, untouched
from unit.domain.form_schemas import lists, validator

LINE = st.text("ab 7-.,@", max_size=6) | st.sampled_from(["ada@example.com", "x" * 10, "b\u200bc"])
MAIL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "to": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "cc": {"type": "array", "items": {"type": "string"}},
        "sizes": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["to", "sizes"],
}
CALL: dict[str, JsonValue] = {"to": ["ada", "ben"], "cc": ["cy"], "sizes": [1, 2]}


def change(ask: Ask, index: int, text: str) -> Ask:
    sent = untouched(ask)
    sent[index] = FieldAnswer(index=index, text=text)
    return edit(ask, sent)


@given(
    lists(),
    st.booleans(),
    st.lists(st.text(max_size=6) | st.sampled_from(["a b", "ada@example.com"]) | st.integers(-30, 30), max_size=4),
    st.lists(st.lists(LINE, max_size=5).map("\n".join), max_size=4),
)
def test_a_changed_list_satisfies_the_schema_and_is_what_the_digest_names(
    property_of: dict[str, Any], required: bool, given_items: list[Any], texts: list[str]
) -> None:
    schema: dict[str, Any] = {"properties": {"it": property_of}, "required": ["it"] if required else []}
    data: dict[str, Any] = {"it": given_items}
    ask = asked(data, schema)
    for text in texts:
        try:
            ask = change(ask, 0, text)
        except PersonError:
            continue
    settled = approve(ask)
    shown = get_shown(settled)
    assert settled.policy.approval is not None
    assert settled.policy.approval.subject == approval.compute_digest(TOOL, shown)
    assert get_approved_arguments(settled, TOOL, data) == shown
    if settled.interview.changes:
        assert validator(schema).is_valid(shown)
    else:
        assert shown == data


def test_a_list_is_changed_line_by_line_and_the_card_shows_both_lists() -> None:
    ask = change(asked(CALL, MAIL), 0, "ada\n\n  dora \r\nben\n")
    assert get_shown(ask) == {**CALL, "to": ["ada", "dora", "ben"]}
    (line,) = build_change_lines(ask.interview.changes)
    assert (line.name, line.before, line.after) == ("to", '["ada", "ben"]', '["ada", "dora", "ben"]')
    ask = change(ask, 2, "2\n1")
    assert get_shown(ask)["sizes"] == [2, 1]


@pytest.mark.parametrize("text", ["ada\nben", "\n ada\r\n\r\nben \n"])
def test_the_same_items_in_another_layout_change_nothing(text: str) -> None:
    with pytest.raises(PersonError, match="nothing changed"):
        change(asked(CALL, MAIL), 0, text)


def test_the_same_numbers_written_otherwise_change_nothing() -> None:
    with pytest.raises(PersonError, match="nothing changed"):
        change(asked(CALL, MAIL), 2, "+1\n02")


def test_a_wrong_line_is_named_at_its_field() -> None:
    with pytest.raises(PersonError, match="Line 2, “x”: Please write a whole number"):
        change(asked(CALL, MAIL), 2, "1\nx")
    with pytest.raises(PersonError, match="Line 3, “x”: Please write a whole number"):
        change(asked(CALL, MAIL), 2, "\n\nx")
    with pytest.raises(PersonError, match="leave out characters that nobody can see"):
        change(asked(CALL, MAIL), 0, "ada\nb\u200bc")


def test_an_emptied_list_is_removed_or_empty_or_refused_and_the_field_says_which() -> None:
    ask = asked(CALL, MAIL)
    to, cc, sizes = build_edit_fields(ask, ANN).fields
    assert [field.add_empty_hint(None) for field in (to, cc, sizes)] == [
        None,
        "Empty it to leave the argument out.",
        "Empty it to send an empty list.",
    ]
    with pytest.raises(PersonError, match="it is empty"):
        change(ask, 0, "\n")
    assert get_shown(change(ask, 1, "")) == {"to": ["ada", "ben"], "sizes": [1, 2]}
    emptied = change(ask, 2, " ")
    assert get_shown(emptied) == {**CALL, "sizes": []}
    assert get_shown(change(emptied, 2, "3")) == {**CALL, "sizes": [3]}
