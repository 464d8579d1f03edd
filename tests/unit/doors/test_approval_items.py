"""The model reads what people decide about the calls of an interrupted run. The run is a real one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from askback.domain.outcome import Outcome
from askback.errors import CallerError, ModelError
from support.optional import optional
from support.settled_asks import APPROVE, AT, DENY, UNANSWERED, ask_for, voted, written

optional("agents")

from agents import Agent, Runner, RunResult, ToolOutputText, UserError, function_tool, set_tracing_disabled  # noqa: E402
from agents.testing import ScriptedModel, assistant_message, function_call  # noqa: E402
from agents.tool_context import ToolContext  # noqa: E402

from askback.doors.approval_items import decide, read_calls  # noqa: E402
from askback.doors.ask_tool import AskTool, use_answers  # noqa: E402
from askback.doors.editable_tool import EditedCall, editable, use_edits  # noqa: E402

set_tracing_disabled(True)
QUESTION = {"question": "Which region?"}
ran: list[str] = []


@function_tool(needs_approval=True)
def deploy(where: str) -> str:
    ran.append(where)
    return "deployed"


async def interrupt(*calls: Any, tools: Any = (deploy,)) -> RunResult:
    """Return a run that waits for these calls. The model then says what it has read about the first."""
    ran.clear()

    def repeat(call: Any) -> Any:
        (read, *_) = [one["output"] for one in call.input if one.get("type") == "function_call_output"]
        return [assistant_message(read if isinstance(read, str) else json.dumps(read))]

    model = ScriptedModel([list(calls), {"responder": repeat}])
    return await Runner.run(Agent(name="shop", model=model, tools=list(tools)), "Go!")


async def read_by_model(tool: Any, given: dict[str, Any], outcome: Any, digest: str | None = None) -> str:
    """Return what the model reads about a call that ended like this."""
    result = await interrupt(function_call(tool.name, given, call_id="one"), tools=(tool,))
    state = result.to_state()
    (call,) = read_calls(state.get_interruptions())
    told = decide(state, call, ask_for(call.question, outcome(call.question), digest), "chat:#deploys")
    with use_answers({} if told is None else {call.id: told}):
        return str((await Runner.run(result.last_agent, state)).final_output)


async def test_a_denial_and_each_lack_of_a_decision_are_told_apart() -> None:
    denied = await read_by_model(deploy, {"where": "eu"}, lambda asked: voted(asked, DENY, "It is Friday"))
    assert denied == "deploy was denied by Ada (U1): It is Friday. It was not run."
    ends = [Outcome(status=status, at=AT) for status in UNANSWERED]
    others = [await read_by_model(deploy, {"where": "eu"}, lambda _, end=end: end) for end in ends]
    assert len({one.removesuffix(" Nobody denied it.") for one in others}) == len(UNANSWERED) == 4
    assert all(one.endswith(" Nobody denied it.") for one in others)
    assert ran == []


async def test_only_what_people_saw_is_run() -> None:
    approved = await read_by_model(deploy, {"where": "eu"}, lambda asked: voted(asked, APPROVE))
    assert (approved, ran) == ("deployed", ["eu"])
    other = await read_by_model(deploy, {"where": "eu"}, lambda asked: voted(asked, APPROVE), "another digest")
    assert (other.endswith("It was not run."), ran) == (True, [])


async def test_an_answer_and_each_lack_of_one_are_told_apart() -> None:
    answered = await read_by_model(AskTool(), QUESTION, lambda asked: written(asked, "Frankfurt"))
    assert answered == "Answered by Ada (U1) in chat:#deploys at 2026-11-24 16:30 UTC, in their own words: Frankfurt"
    ends = [Outcome(status=status, at=AT) for status in UNANSWERED]
    others = {await read_by_model(AskTool(), QUESTION, lambda _, end=end: end) for end in ends}
    assert len(others) == len(UNANSWERED)
    assert not any(one.startswith("Answered") for one in others)


async def test_arguments_that_are_no_json_are_shown_as_they_are() -> None:
    broken = function_call("deploy", {}, call_id="one").model_copy(update={"arguments": "{where: eu"})
    (call,) = read_calls((await interrupt(broken)).interruptions)
    assert call.given == {"arguments": "{where: eu"}
    assert "{where: eu" in call.question.form.questions[0].prompt


async def test_two_calls_with_one_id_are_refused() -> None:
    result = await interrupt(function_call("deploy", {"where": "eu"}, call_id="one"))
    with pytest.raises(CallerError, match="same id"):
        read_calls([*result.interruptions, *result.interruptions])


def test_a_tool_with_a_form_of_its_own_lets_the_model_write_the_question_only() -> None:
    form: Any = {"type": "object", "properties": {"region": {"type": "string", "enum": ["eu", "us"]}}}
    tool = AskTool("choose", form=form | {"required": ["region"]})
    assert set(tool.params_json_schema["properties"]) == {"question", "details"}
    kind, question = tool.read(QUESTION)
    assert (kind, [one.value for one in question.form.questions[0].options]) == ("form", ["eu", "us"])
    with pytest.raises(ModelError, match="'several'"):
        tool.read({**QUESTION, "several": True})


def test_options_with_a_no_are_a_vote_and_no_place_or_deadline_comes_from_the_model() -> None:
    tool = AskTool()
    _, question = tool.read({**QUESTION, "options": ["Yes", "No"]})
    assert question.vote is not None
    assert question.vote.refusing == ("No",)
    assert not {"place", "deadline", "on_timeout", "default"} & set(tool.params_json_schema["properties"])
    for name, value in (("place", "x"), ("deadline", "2026-12-01T17:00:00Z"), ("on_timeout", "halt"), ("default", "x")):
        with pytest.raises(ModelError, match=name):
            tool.read({**QUESTION, name: value})


async def test_a_call_that_nobody_was_asked_about_has_no_answer() -> None:
    result = await interrupt(function_call("ask_people", QUESTION, call_id="one"), tools=(AskTool(),))
    state = result.to_state()
    state.approve(result.interruptions[0])
    with pytest.raises(UserError, match="OpenAIAgentsDoor"):
        await Runner.run(result.last_agent, state)


@function_tool(needs_approval=True)
def show(context: ToolContext[None], where: str) -> ToolOutputText:
    ran.append(f"{where} {context.tool_arguments}")
    return ToolOutputText(text="shown")


async def test_a_changed_call_runs_with_the_changed_arguments_and_its_context_has_them_too() -> None:
    result = await interrupt(function_call("show", {"where": "eu"}, call_id="one"), tools=(editable(show),))
    state = result.to_state()
    state.approve(state.get_interruptions()[0])
    with use_edits({"one": EditedCall({"where": "us"}, "The place was changed.")}):
        read = str((await Runner.run(result.last_agent, state)).final_output)
    assert ran == ['us {"where": "us"}']
    assert "The place was changed." in read
    assert "shown" in read


async def test_changed_arguments_are_checked_by_the_tool_itself() -> None:
    result = await interrupt(function_call("deploy", {"where": "eu"}, call_id="one"), tools=(editable(deploy),))
    state = result.to_state()
    state.approve(state.get_interruptions()[0])
    with use_edits({"one": EditedCall({"where": 3}, "It was changed.")}):
        read = str((await Runner.run(result.last_agent, state)).final_output)
    assert ran == []
    assert "An error occurred while running the tool." in read


async def test_a_call_that_nobody_changed_runs_as_it_is() -> None:
    result = await interrupt(function_call("deploy", {"where": "eu"}, call_id="one"), tools=(editable(deploy),))
    state = result.to_state()
    state.approve(state.get_interruptions()[0])
    with use_edits({"other": EditedCall({"where": "us"}, "It was changed.")}):
        assert str((await Runner.run(result.last_agent, state)).final_output) == "deployed"
    assert ran == ["eu"]
