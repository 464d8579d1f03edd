"""Interrupts in all places of a graph, and threads that go on from any of their checkpoints."""

from __future__ import annotations

import asyncio
import operator
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send, interrupt

from askback.doors.langgraph import LangGraphDoor
from askback.errors import CallerError
from e2e.ask.office import Office
from support.optional import optional

from .langgraph_programs import THREAD, WRITE, door


class State(TypedDict, total=False):
    """The answers of people."""

    answers: Annotated[list[Any], operator.add]


class Part(TypedDict):
    """The input of one of several nodes that run at once."""

    number: int


@dataclass
class Session:
    """The context of a run."""

    user: str


def chain(*nodes: Any, **more: Any) -> StateGraph[Any, Any]:
    """Return a graph with these nodes in this order."""
    return (
        StateGraph(State, **more)
        .add_sequence([(f"node {number}", node) for number, node in enumerate(nodes)])
        .add_edge(START, "node 0")
    )


def ask(*questions: str) -> Any:
    """Return a node that interrupts once for each question."""

    def node(_: State) -> State:
        return {"answers": [interrupt(question) for question in questions]}

    return node


def begin(_: State) -> State:
    return {"answers": ["begun"]}


async def test_each_of_several_interrupts_of_one_node_gets_its_own_answer(here: Office) -> None:
    graph = chain(ask("First?", "Second?")).compile(checkpointer=InMemorySaver())
    async with door(here, graph) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        for question in ("First?", "Second?"):
            await here.fill("ada", WRITE, f"to {question}", question)
        assert await running == {"answers": ["to First?", "to Second?"]}


async def test_a_node_that_refuses_an_answer_asks_again(here: Office) -> None:
    def node(_: State) -> State:
        while not (age := interrupt("How old?")).isdigit():
            pass
        return {"answers": [age]}

    async with door(here, chain(node).compile(checkpointer=InMemorySaver())) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.fill("ada", WRITE, "old", "How old?")
        await here.settled("old")
        await here.fill("ada", WRITE, "42", "How old?")
        assert await running == {"answers": ["42"]}


@pytest.mark.parametrize("is_called", [False, True])
async def test_interrupts_of_a_subgraph_are_asked_in_its_parent(here: Office, is_called: bool) -> None:
    inner = chain(ask("First?", "Second?"), ask("Third?")).compile()

    async def call(_: State) -> Any:
        return await inner.ainvoke({})

    async with door(here, chain(call if is_called else inner).compile(checkpointer=InMemorySaver())) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        for question in ("First?", "Second?", "Third?"):
            await here.fill("ada", WRITE, f"to {question}", question)
        assert await running == {"answers": ["to First?", "to Second?", "to Third?"]}


async def test_nodes_that_were_sent_at_once_ask_at_once(here: Office) -> None:
    def node(part: Part) -> State:
        number = part["number"]
        return {"answers": [f"{number} {interrupt(f'Part {number}?')}"]}

    def send(_: State) -> list[Send]:
        return [Send("node", {"number": number}) for number in range(3)]

    built = StateGraph(State).add_node("node", node).add_conditional_edges(START, send, ["node"])
    async with door(here, built.compile(checkpointer=InMemorySaver())) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.until(lambda: len(here.shown()) == 3)
        for number in (2, 0, 1):
            await here.fill("ada", WRITE, f"to {number}", f"Part {number}?")
        result: Any = await running
    assert sorted(result["answers"]) == ["0 to 0", "1 to 1", "2 to 2"]


async def test_tools_that_interrupt_at_once_get_their_own_answers(here: Office) -> None:
    optional("langchain")
    from langchain.agents import create_agent
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool

    from .scripted_chat_model import Scripted

    @tool
    def buy(what: str) -> str:
        """Buy a thing."""
        return f"{interrupt({'question': f'Buy {what}?', 'options': ['Yes', 'No']})}, {interrupt(f'Why {what}?')}"

    calls = [{"name": "buy", "id": f"call {what}", "args": {"what": what}} for what in ("tea", "jam")]
    model = Scripted(messages=iter([AIMessage("", tool_calls=calls), AIMessage("done")]))
    async with door(here, create_agent(model, [buy], checkpointer=InMemorySaver())) as one:
        running = asyncio.create_task(one.run({"messages": [("user", "Buy!")]}, "thread"))
        await here.click("ada", "No", "Buy jam?")
        await here.fill("ada", WRITE, "too sweet", "Why jam?")
        await here.click("ben", "Yes", "Buy tea?")
        await here.fill("ben", WRITE, "it is five", "Why tea?")
        result: Any = await running
    told = [message.content for message in result["messages"] if message.type == "tool"]
    assert told == ["Yes, it is five", "No, too sweet"]


async def test_a_run_from_an_earlier_checkpoint_asks_once_and_ends_with_that_answer(here: Office) -> None:
    graph = chain(begin, ask("Which version?")).compile(checkpointer=InMemorySaver())
    async with door(here, graph) as one:
        running = asyncio.create_task(one.run({}, "thread"))
        await here.fill("ada", WRITE, "1.4", "Which version?")
        await running
        history = [state async for state in graph.aget_state_history(THREAD)]
        earlier = next(state.config for state in history if state.next == ("node 1",))
        for number, config in enumerate((earlier, await graph.aupdate_state(earlier, {"answers": ["forked"]}))):
            running = asyncio.create_task(one.run(None, config))
            await here.fill("ada", WRITE, f"2.{number}", "Which version?")
            result: Any = await asyncio.wait_for(running, 20)
            assert result["answers"] == ["begun", *["forked"] * number, f"2.{number}"]
        assert (len(here.shown()), await one.list_waiting()) == (3, ())


async def test_the_configuration_of_a_snapshot_continues_its_thread(here: Office) -> None:
    graph = chain(ask("Which version?")).compile(checkpointer=InMemorySaver())
    async for _ in graph.astream({}, THREAD):
        pass
    async with door(here, graph) as one:
        running = asyncio.create_task(one.resume((await graph.aget_state(THREAD)).config))
        await here.fill("ada", WRITE, "1.4", "Which version?")
        assert await asyncio.wait_for(running, 20) == {"answers": ["1.4"]}
    assert len(here.shown()) == 1


async def test_the_nodes_get_the_context_of_the_run_before_and_after_the_answer(here: Office) -> None:
    def node(_: State, runtime: Runtime[Session]) -> State:
        return {"answers": [f"{runtime.context.user} gave {interrupt(f'Which version, {runtime.context.user}?')}"]}

    graph = chain(node, context_schema=Session).compile(checkpointer=InMemorySaver())
    async with door(here, graph) as one:
        running = asyncio.create_task(one.run({}, "thread", context=Session("Ada")))
        await here.card("Which version, Ada?")
        running.cancel()
        await asyncio.wait([running])
        resumed = asyncio.create_task(one.resume("thread", context=Session("Ada")))
        await here.fill("ada", WRITE, "1.4", "Which version, Ada?")
        assert await resumed == {"answers": ["Ada gave 1.4"]}


async def test_what_a_program_forgets_is_named_before_the_graph_does_anything(here: Office) -> None:
    begun: list[State] = []
    built = chain(begun.append, ask("Which version?"))
    graph = built.compile(checkpointer=InMemorySaver())
    with pytest.raises(CallerError, match="compile it with one"):
        door(here, built)
    with pytest.raises(CallerError, match="Say where to ask with `to`"):
        LangGraphDoor(graph, who="anyone")  # pyright: ignore[reportCallIssue] - the mistake
    async with door(here, graph) as one:
        for config in ("", {}, {"configurable": {"user": "ada"}}):
            with pytest.raises(CallerError, match="has no thread_id"):
                await one.run({}, config)
    assert begun == []


async def test_a_checkpointer_for_synchronous_code_is_refused_with_the_name_of_the_other(here: Office) -> None:
    class PostgresSaver(BaseCheckpointSaver[Any]):
        """As that of `langgraph-checkpoint-postgres`, which has no asynchronous methods."""

    with pytest.raises(CallerError, match="such as AsyncPostgresSaver"):
        door(here, chain(ask("Which version?")).compile(checkpointer=PostgresSaver()))
