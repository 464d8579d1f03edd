"""People answer interrupts as LangGraph's own documentation and its Agent Inbox write them."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from askback.doors.call_question import Unanswered
from askback.errors import CallerError
from e2e.ask.office import Office

from .graphs import State, asking
from .langgraph_programs import WRITE, door

QUESTION = {"question": "Do you want to proceed with this action?", "details": "Transfer $500"}
EVERY = {"allow_accept": True, "allow_edit": True, "allow_respond": True, "allow_ignore": True}


def approving(schema: Any) -> Any:
    """Return the graph of LangGraph's page about approvals."""

    def approve(_: State) -> Command[Literal["proceed", "cancel"]]:
        is_approved = interrupt(QUESTION, response_schema=schema)
        return Command(goto="proceed" if is_approved else "cancel")

    built = StateGraph(State)
    built.add_node(approve)
    built.add_node("proceed", lambda _: {"answers": ["proceeded"]})
    built.add_node("cancel", lambda _: {"answers": ["cancelled"]})
    built.add_edge(START, "approve")
    return built.compile(checkpointer=InMemorySaver())


async def test_a_no_to_the_documented_approval_cancels_if_its_schema_is_a_boolean(here: Office) -> None:
    async with door(here, approving({"type": "boolean"})) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.click("ben", "No", QUESTION["question"])
        assert await running == {"answers": ["cancelled"]}


async def test_a_written_no_reaches_the_graph_as_written_and_the_operator_reads_what_it_means(
    here: Office, caplog: pytest.LogCaptureFixture
) -> None:
    async with asking(here.folder, QUESTION, "Which version?") as graph, door(here, graph) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.fill("ada", WRITE, "1.4.2", "Which version?")
        await here.settled("Which version?", "1.4.2")
        assert "response_schema" not in caplog.text
        await here.fill("ben", WRITE, "No.", QUESTION["question"])
        result: Any = await running
    assert sorted(result["answers"]) == ["1.4.2", "No."]
    assert 'response_schema={"type": "boolean"}' in caplog.text


@pytest.mark.parametrize("field", ["options", "choices"])
async def test_the_options_of_a_value_are_buttons_and_the_graph_gets_the_one_that_people_chose(
    here: Office, field: str
) -> None:
    value = {"question": "Which region?", field: ["eu", "us"], "of": "1.4"}
    async with asking(here.folder, value) as graph, door(here, graph) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        message = await here.card("Which region?")
        labels = [control.label for control in here.buttons(message)]
        assert {"eu", "us"} <= set(labels)
        assert WRITE not in labels
        await here.click("ada", "us", "Which region?")
        assert await running == {"answers": ["us"]}


async def test_the_graph_gets_the_value_of_an_option_and_people_read_its_label(here: Office) -> None:
    options = [{"label": "Transfer it", "value": True}, {"label": "No, keep it", "value": False}]
    async with asking(here.folder, {**QUESTION, "options": options}) as graph, door(here, graph) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.click("ben", "No, keep it", QUESTION["question"])
        assert await running == {"answers": [False]}


async def test_options_that_are_no_list_of_options_leave_the_answer_to_people(here: Office) -> None:
    value = {"question": "Which region?", "options": {"eu": "Frankfurt"}}
    async with asking(here.folder, value) as graph, door(here, graph) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.fill("ada", WRITE, "eu", "Which region?")
        assert await running == {"answers": ["eu"]}


@pytest.mark.parametrize("options", [["eu", "eu"], ["eu", "EU"[::-1] * 2000], ["eu", "eu\u200b"]])
async def test_options_that_people_cannot_be_asked_are_refused_and_nothing_is_posted(
    here: Office, options: list[str]
) -> None:
    async with asking(here.folder, {"question": "Which?", "options": options}) as graph, door(here, graph) as one:
        with pytest.raises(CallerError, match=r"(?i)option"):
            await one.run({}, "thread")
    assert here.shown() == []


# Agent Inbox


def request(config: dict[str, bool], **args: Any) -> dict[str, Any]:
    return {
        "action_request": {"action": "deploy", "args": args or {"where": "eu"}},
        "config": dict.fromkeys(EVERY, False) | config,
        "description": "It restarts the shop.",
    }


async def test_a_request_of_the_agent_inbox_is_approved_like_any_call(here: Office) -> None:
    async with (
        asking(here.folder, [request(EVERY)]) as graph,
        door(here, graph, approvers="anyone") as one,
    ):
        running = asyncio.create_task(one.run({}, "thread"))
        shown = here.reads(await here.card("Run deploy?"))
        assert shown.index("It restarts the shop.") < shown.index("where  eu")
        await here.click("ada", "Approve", "Run deploy?")
        accepted = {"type": "accept", "args": {"action": "deploy", "args": {"where": "eu"}}}
        assert await running == {"answers": [[accepted]]}


async def test_people_change_the_arguments_of_a_request_and_the_graph_gets_an_edit(here: Office) -> None:
    value = request(EVERY, where="eu", count=2)
    async with asking(here.folder, value) as graph, door(here, graph, approvers="anyone") as one:
        running = asyncio.create_task(one.run({}, "thread"))
        assert not await here.change("ada", {"where": "us"}, "Run deploy?")
        await here.click("ben", "Approve", "where  us")
        edited = {"type": "edit", "args": {"action": "deploy", "args": {"where": "us", "count": 2}}}
        assert await running == {"answers": [[edited]]}


async def test_a_bare_request_gets_a_list_as_the_agent_inbox_sends_it(here: Office) -> None:
    async with (
        asking(here.folder, request(EVERY)) as graph,
        door(here, graph, approvers="anyone", reasons="none") as one,
    ):
        running = asyncio.create_task(one.run({}, "thread"))
        await here.click("ada", "Deny", "Run deploy?")
        assert await running == {"answers": [[{"type": "ignore", "args": None}]]}


async def test_a_denial_with_a_reason_is_a_response_that_names_it(here: Office) -> None:
    async with asking(here.folder, request(EVERY)) as graph, door(here, graph, approvers="anyone") as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.fill("ben", "Deny", "It is Friday", "Run deploy?")
        result: Any = await running
    ((response,),) = result["answers"]
    assert response["type"] == "response"
    assert response["args"].startswith("deploy was denied by ")
    assert response["args"].endswith("It is Friday. It was not run.")


async def test_each_of_several_requests_has_its_own_answer_at_its_position(here: Office) -> None:
    no_ignore = EVERY | {"allow_ignore": False, "allow_edit": False}
    both = [request(no_ignore, where="eu"), request({"allow_respond": True}, where="us")]
    async with asking(here.folder, both) as graph, door(here, graph, approvers="anyone") as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.fill("ada", WRITE, "Done by hand", "Answer for deploy:")
        await here.fill("ben", "Deny", "It is Friday", "Run deploy?")
        result: Any = await running
    ((denied, answered),) = result["answers"]
    assert denied["type"] == "response"
    assert "It is Friday. It was not run." in denied["args"]
    assert answered == {"type": "response", "args": "Done by hand"}


async def test_nobody_decided_about_a_request_is_no_response_of_a_person(here: Office) -> None:
    async with asking(here.folder, request(EVERY)) as graph, door(here, graph, approvers="anyone", wait="1s") as one:
        with pytest.raises(Unanswered) as caught:
            await one.run({}, "thread")
    assert caught.value.outcome.status == "timed_out"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (request({"allow_accept": True, "allow_edit": True}), "`allow_ignore` or `allow_respond`"),
        (request({"allow_ignore": True}), "`allow_respond` alone"),
        ({"action_request": {"action": "deploy", "args": {}}}, 'no `config`.*"config": {"allow_accept"'),
        ({"action_request": {"args": {}}, "config": EVERY}, 'no `action`.*"action": "deploy"'),
        ({"action_request": {"action": "deploy", "args": "eu"}, "config": EVERY}, "no dictionary"),
    ],
)
async def test_a_request_that_people_could_not_refuse_or_read_is_not_asked(
    here: Office, value: dict[str, Any], words: str
) -> None:
    async with asking(here.folder, [value]) as graph, door(here, graph, approvers="anyone") as one:
        with pytest.raises(CallerError, match=words):
            await one.run({}, "thread")
    assert here.shown() == []
