"""The hook for elicitations: what people are asked, and what the MCP server gets."""

from __future__ import annotations

from typing import Any

import pytest

from askback.client.ask_result import AskResult
from askback.doors.claude_hooks import (
    ElicitationBody,
    HookRequest,
    answer_elicitation,
    build_call_id,
    build_elicitation,
)
from askback.errors import CallerError

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"guests": {"type": "integer"}}, "required": ["guests"]}


def elicit(**more: Any) -> ElicitationBody:
    """Return the body of the hook as Claude Code 2.1.332 sends it."""
    body = HookRequest.model_validate(
        {
            "session_id": "s",
            "transcript_path": "/t.jsonl",
            "cwd": "/",
            "prompt_id": "p",
            "hook_event_name": "Elicitation",
            "mcp_server_name": "booking",
            "message": "Which table?",
            "mode": "form",
            "requested_schema": SCHEMA,
            **more,
        }
    ).root
    assert isinstance(body, ElicitationBody)
    return body


def test_the_fields_of_the_schema_are_asked_under_the_name_of_the_server() -> None:
    kind, form, vote = build_elicitation(elicit())
    assert (kind, vote) == ("form", None)
    assert [(one.id, one.prompt) for one in form.questions] == [("guests", "booking: Which table?")]


@pytest.mark.parametrize("schema", [{"type": "object"}, {"type": "object", "properties": {}}])
def test_without_fields_people_accept_or_decline(schema: dict[str, Any]) -> None:
    kind, form, vote = build_elicitation(elicit(requested_schema=schema))
    assert kind == "ask"
    assert [option.label for option in form.questions[0].options] == ["Accept", "Decline"]
    assert vote is not None
    assert (vote.approving, vote.refusing) == (("Accept",), ("Decline",))


@pytest.mark.parametrize(
    "more",
    [
        {"mode": "url", "url": "https://example.com", "requested_schema": None},
        {"requested_schema": None},
        {"requested_schema": {"type": "object", "properties": {"x": {"type": "object"}}}},
        {"requested_schema": {"type": "object", "properties": {"x": {"type": "string", "pattern": "(a+"}}}},
    ],
)
def test_what_does_not_fit_into_a_card_stays_with_the_user_of_claude_code(more: dict[str, Any]) -> None:
    with pytest.raises(CallerError):
        build_elicitation(elicit(**more))


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ({"status": "answered", "values": {"guests": 4}}, {"action": "accept", "content": {"guests": 4}}),
        ({"status": "answered", "answer": "Accept"}, {"action": "accept", "content": {}}),
        ({"status": "refused", "answer": "Decline"}, {"action": "decline"}),
        ({"status": "declined"}, {"action": "decline"}),
        ({"status": "timed_out"}, {"action": "cancel"}),
        ({"status": "cancelled"}, {"action": "cancel"}),
        ({"status": "undeliverable"}, {"action": "cancel"}),
    ],
)
def test_only_a_person_accepts_or_declines_and_a_timeout_cancels(result: Any, answer: dict[str, Any]) -> None:
    told = AskResult(**result, id="1", where="#agents", message="…")
    assert answer_elicitation(told) == {"hookSpecificOutput": {"hookEventName": "Elicitation", **answer}}


def test_the_same_elicitation_has_the_same_id_only_if_its_server_gives_one() -> None:
    assert build_call_id(elicit()) is None
    assert build_call_id(elicit(elicitation_id="e")) == "elicitation:s:e"


def test_the_title_of_the_schema_is_the_heading() -> None:
    _, form, _ = build_elicitation(elicit(requested_schema=SCHEMA | {"title": "Your table"}))
    assert form.title == "Your table"
