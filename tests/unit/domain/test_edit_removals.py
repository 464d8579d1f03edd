"""People remove an optional argument from a call, and give it again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from askback.domain import approval
from askback.domain.actions import FieldAnswer
from askback.domain.apply_edit import EditRefused
from askback.domain.approval import get_approved_arguments
from askback.domain.argument_change import ArgumentChange
from askback.domain.change_line import build_change_lines
from askback.domain.edit_rules import infer_schema
from support.edited_calls import TOOL, approve, asked, edit, removal, untouched

WHOLE: dict[str, Any] = {
    "version": "1.4.2", "where": "staging", "count": 3, "share": 0.5, "force": True, "regions": ["eu"], "size": 2.5,
}  # fmt: skip


@pytest.mark.parametrize("name", ["count", "share", "force", "regions", "size"])
def test_an_empty_field_removes_an_optional_argument_and_nothing_else(name: str) -> None:
    ask = asked(WHOLE)
    settled = approve(removal(ask, name))
    left = {key: value for key, value in WHOLE.items() if key != name}
    assert get_approved_arguments(settled, TOOL, WHOLE) == left
    assert settled.policy.approval is not None
    assert settled.policy.approval.subject == approval.compute_digest(TOOL, left)
    (line,) = build_change_lines(settled.interview.changes)
    assert (line.name, line.after) == (name, None)
    told = approval.describe_changes(TOOL, settled.interview.changes, lambda actor: actor.name or "")
    assert f'"{name}" is left out and not {json.dumps(WHOLE[name])}' in told
    assert ArgumentChange.model_validate_json(settled.interview.changes[0].model_dump_json()).is_removed


@pytest.mark.parametrize("name", ["version", "where"])
def test_an_argument_that_the_tool_needs_cannot_be_removed(name: str) -> None:
    with pytest.raises(EditRefused):
        removal(asked(WHOLE), name)


def test_what_was_removed_can_be_given_again_and_what_was_given_can_be_removed() -> None:
    ask = removal(asked(WHOLE), "count")
    sent = untouched(ask)
    assert sent[1].text == ""
    sent[1] = FieldAnswer(index=1, text="3")
    assert edit(ask, sent).interview.changes == ()
    sent[1] = FieldAnswer(index=1, text="4")
    (change,) = edit(ask, sent).interview.changes
    assert (change.before, change.after, change.is_new, change.is_removed) == (3, 4, False, False)
    ask = asked({"version": "1.4.2", "where": "staging"})
    sent = untouched(ask)
    sent[1] = FieldAnswer(index=1, text="4")
    assert removal(edit(ask, sent), "count").interview.changes == ()


def test_an_argument_that_must_be_given_but_may_be_null_becomes_null() -> None:
    schema: dict[str, Any] = {
        "properties": {
            "count": {"type": ["integer", "null"]},
            "size": {"anyOf": [{"enum": ["s", "l"], "type": "string"}, {"type": "null"}]},
        },
        "required": ["count", "size"],
    }
    ask = asked({"count": 3, "size": "l"}, schema)
    settled = approve(removal(removal(ask, "count"), "size"))
    assert get_approved_arguments(settled, TOOL, {"count": 3, "size": "l"}) == {"count": None, "size": None}


def test_nobody_knows_what_a_tool_without_a_schema_needs_so_nothing_can_be_removed() -> None:
    ask = asked({"text": "hello"}, infer_schema({"text": "hello"}))
    with pytest.raises(EditRefused, match="it is empty"):
        removal(ask, "text")
