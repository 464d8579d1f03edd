"""The demo's scripted model: its questions with each tool, and its replies to the answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from askback_sandbox.model.persona import WORDS, persona
from askback_sandbox.model.request import ReceivedRequest
from askback_sandbox.model.rules import check
from askback_sandbox.model.script import Turn

OPTIONS = {"type": "array", "items": {"type": "object"}}


def tool(name: str, **options: Any) -> dict[str, Any]:
    questions = {"type": "array", "items": {"type": "object", "properties": {"options": {**OPTIONS, **options}}}}
    return {
        "name": name,
        "description": "Ask.",
        "input_schema": {"type": "object", "properties": {"questions": questions}},
    }


FOUR = tool("AskUserQuestion", maxItems=4)


def said(*messages: Any, tools: Any = None) -> Turn:
    body = {"model": "m", "max_tokens": 9, "messages": list(messages), "tools": [FOUR] if tools is None else tools}
    check(body)
    return persona(ReceivedRequest(body))


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def test_its_first_message_says_which_words_to_try() -> None:
    turn = said(user("Ada: hello there"))
    assert all(f"**{word}**" in turn.say for word in WORDS)
    assert not turn.calls


def test_where_a_tool_needs_approval_it_calls_that_and_says_so() -> None:
    offered = [FOUR, {"name": "deploy", "description": "Deploy.", "input_schema": {"type": "object"}}]
    assert "**approve**" in said(user("Ada: hello there"), tools=offered).say
    assert "**approve**" not in said(user("Ada: hello there")).say
    (call,) = said(user("Ada: approve, please"), tools=offered).calls
    assert call.tool == "deploy"
    assert set(call.input) == {"version", "target"}


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("name", ["AskUserQuestion", "question", "askQuestion"])
def test_every_word_asks_with_every_tool(word: str, name: str) -> None:
    turn = said(user(f"Ada: {word}, please"), tools=[tool(name)])
    assert turn.say
    assert turn.calls
    for call in turn.calls:
        assert call.tool == name
        for question in call.input.get("questions", [call.input]):
            keys = {
                "AskUserQuestion": {"question", "header", "options", "multiSelect"},
                "question": {"id", "label", "prompt", "options"},
                "askQuestion": {"question", "options"},
            }[name]
            assert set(question) == keys
            assert len(question["options"]) >= (0 if word == "text" and name != "askQuestion" else 2)
            if name == "question":
                values = [option["value"] for option in question["options"]]
                assert len(set(values)) == len(values)
                assert all(values)


def test_a_form_has_four_questions() -> None:
    (call,) = said(user("form")).calls
    assert len(call.input["questions"]) == 4


def test_thirty_options_go_to_a_tool_that_takes_them() -> None:
    narrow, wide = tool("AskUserQuestion", maxItems=4), tool("question")
    (call,) = said(user("list"), tools=[narrow, wide]).calls
    assert call.tool == "question"
    assert len(call.input["questions"][0]["options"]) == 30


def test_a_tool_that_takes_four_gets_four_and_people_are_told() -> None:
    turn = said(user("list"))
    assert len(turn.calls[0].input["questions"][0]["options"]) == 4
    assert "at most" in turn.say


def test_an_answer_in_own_words_needs_no_options_where_the_schema_takes_none() -> None:
    assert said(user("text")).calls[0].input["questions"][0]["options"] == []
    strict = [tool("AskUserQuestion", minItems=2, maxItems=4)]
    assert len(said(user("text"), tools=strict).calls[0].input["questions"][0]["options"]) == 2


def test_without_a_tool_it_says_so() -> None:
    assert "no tool" in said(user("single"), tools=[]).say


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (
            (
                'User has answered your questions: "Which?"="A", "How?"="B, C". You can now continue with the user\'s '
                "answers in mind."
            ),
            ["*Which?*", "**A**", "*How?*", "**B, C**"],
        ),
        (
            json.dumps({"answers": [{"id": "a", "label": "X", "wasCustom": False}], "cancelled": False}),
            ["*a*", "**X**"],
        ),
        (json.dumps({"questions": [], "answers": [], "cancelled": True}), ["You cancelled"]),
        (json.dumps({"answer": "own words", "isCustom": True, "timestamp": "t"}), ["You wrote **own words**"]),
        (json.dumps({"answer": "timeout", "isCustom": False, "timedOut": True}), ["Nobody chose"]),
        ("Error: something else", ["I was told: Error: something else"]),
        ("The question was cancelled without an answer. Do not assume one.", ["You cancelled: fine with me."]),
        (
            'The person declined to answer for now. They wrote: "Ask me on Monday." Do not assume an answer.',
            ["Not now, then: I do not guess.", "You wrote: *Ask me on Monday.*"],
        ),
        ("Nobody answered in time. This is not an answer or a choice.", ["Nobody chose anything this time."]),
    ],
)
def test_answers_are_summarised_in_words(result: str, words: list[str]) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "AskUserQuestion", "input": {}}
    turn = said(
        user("single"),
        {"role": "assistant", "content": [use]},
        user([{"type": "tool_result", "tool_use_id": "t1", "content": result}]),
    )
    assert all(word in turn.say for word in words)
    assert not turn.calls


def test_what_was_written_meanwhile_is_taken_up_after_the_answer() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "AskUserQuestion", "input": {}}
    results = [
        {"type": "tool_result", "tool_use_id": "t1", "content": '"Which?"="A". You can now continue'},
        {"type": "text", "text": "Ben: and now several"},
    ]
    turn = said(user("single"), {"role": "assistant", "content": [use]}, user(results))
    assert "**A**" in turn.say
    assert turn.calls
