"""Every reply of a model is sent back to it in a form that the Messages API accepts."""

from __future__ import annotations

import re

import pytest

from askback.agent.messages_api import ModelResponse
from askback.agent.transcript import count_rounds_alone, render_unshown_note, replace_call_ids, to_api_blocks
from askback.domain.conversation import UnshownText
from askback.domain.turn import Message

TAKEN = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def call(identifier: str = "toolu_1", name: str = "AskUserQuestion", data: object = None) -> ModelResponse:
    block = {"type": "tool_use", "id": identifier, "name": name, "input": {} if data is None else data}
    return ModelResponse.model_validate({"content": (block,)})


@pytest.mark.parametrize("identifier", ["", "call:1", "functions.ask:0", "toolu_é", "a b", "toolu_1\n", "toolu_before"])
def test_ids_that_the_api_refuses_are_replaced(identifier: str) -> None:
    before = Message.model_validate(
        {
            "seq": 1,
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "toolu_before", "name": "x", "input": {}}],
        }
    )
    (block,) = replace_call_ids(call(identifier), (before,)).content
    assert TAKEN.fullmatch(str(block["id"]))
    assert block["id"] != "toolu_before"


def test_a_note_about_an_unshown_text_does_not_count_as_a_persons_words() -> None:
    """A model whose texts are all refused would otherwise never come to the end of its rounds."""
    note = render_unshown_note(UnshownText(beginning="All is well.", reason="no"))
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
    history = [
        {"seq": 0, "role": "user", "content": [{"type": "text", "text": "ann: go"}]},
        {"seq": 1, "role": "assistant", "content": []},
        {"seq": 2, "role": "user", "content": [result, note]},
        {"seq": 3, "role": "assistant", "content": []},
    ]
    assert count_rounds_alone(tuple(map(Message.model_validate, history))) == 2


def test_a_proper_id_stays() -> None:
    (block,) = replace_call_ids(call("toolu_01A-b_C"), ()).content
    assert block["id"] == "toolu_01A-b_C"


@pytest.mark.parametrize("name", ["", "no such tool", "functions.ask", "frage·ü", "x" * 500])
def test_names_that_the_api_refuses_are_mended(name: str) -> None:
    (block,) = to_api_blocks(call(name=name).content)
    assert TAKEN.fullmatch(str(block["name"]))


def test_a_proper_name_stays() -> None:
    (block,) = to_api_blocks(call().content)
    assert block["name"] == "AskUserQuestion"
