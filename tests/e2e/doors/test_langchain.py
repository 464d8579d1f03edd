"""People decide about the tool calls of a LangChain agent, in both modes of its middleware."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from askback.domain.card_labels import EDIT
from askback.doors.call_question import Unanswered
from askback.doors.langgraph import LangGraphDoor
from askback.errors import CallerError
from e2e.ask.office import Office
from support.optional import optional

from .langgraph_programs import door
from .scripted_chat_model import Scripted

optional("langchain")

MODES = ("batched", "per_call")


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


class Shop:
    """An agent with a tool, and what the tool has done."""

    def __init__(self) -> None:
        self.deployed: list[str] = []
        self.graph: Any = None

    def deploy(self, where: str, count: int = 1) -> str:
        """Deploy the release."""
        self.deployed.append(f"{where} {count}")
        return f"deployed to {where}"

    def ask_person(self, question: str) -> str:
        """Ask a person."""
        raise AssertionError("people answer for it")


@asynccontextmanager
async def shop(office: Office, mode: str, allowed: Any, *calls: dict[str, Any]) -> AsyncGenerator[Shop]:
    """Yield an agent whose model makes these calls in one turn, then says that it is done."""
    from langchain.agents import create_agent
    from langchain.agents.middleware import HumanInTheLoopMiddleware
    from langchain_core.tools import tool

    one = Shop()
    made = [{"name": "deploy", "id": f"call {number}", **call} for number, call in enumerate(calls)]
    model = Scripted(messages=_repeat(AIMessage("", tool_calls=made), AIMessage("done")))
    middleware: Any = HumanInTheLoopMiddleware({"deploy": allowed, "ask_person": allowed}, interrupt_mode=mode)
    async with AsyncSqliteSaver.from_conn_string(str(office.folder / "graph.db")) as saver:
        one.graph = create_agent(
            model, [tool(one.deploy), tool(one.ask_person)], checkpointer=saver, middleware=[middleware]
        )
        yield one


def _repeat(*messages: AIMessage) -> Iterator[AIMessage]:
    yield from messages


async def run(one: LangGraphDoor) -> list[str]:
    """Let the agent work; return the results of its calls."""
    result: Any = await one.run({"messages": [("user", "Deploy!")]}, "thread")
    messages: Sequence[BaseMessage] = result["messages"]
    assert messages[-1].content == "done"
    return [str(message.content) for message in messages if message.type == "tool"]


EU, US = {"args": {"where": "eu", "count": 2}}, {"args": {"where": "us"}}


async def test_each_call_is_decided_on_its_own_and_the_model_reads_who_denied_it_and_why(
    here: Office, mode: str
) -> None:
    async with shop(here, mode, True, EU, US) as agent, door(here, agent.graph, approvers="anyone") as one:
        running = asyncio.create_task(run(one))
        await here.fill("ben", "Deny", "It is Friday", "where  eu")
        await here.click("ada", "Approve", "where  us")
        first, second = await running
    assert agent.deployed == ["us 1"]
    assert re.search(r"with reason: deploy was denied by .*\(\w+\): It is Friday\. It was not run\.", first)
    assert second == "deployed to us"


async def test_the_developers_own_text_is_between_the_question_and_the_arguments(here: Office, mode: str) -> None:
    about = "It restarts the shop.\n\n{\n  It takes a minute."
    allowed = {"allowed_decisions": ["approve", "reject"], "description": about}
    async with shop(here, mode, allowed, EU) as agent, door(here, agent.graph, approvers="anyone") as one:
        running = asyncio.create_task(run(one))
        shown = here.reads(await here.card("Run deploy?"))
        asked, arguments = shown.index("Run deploy?"), shown.index("where  eu")
        assert asked < shown.index("It restarts the shop.") < shown.index("It takes a minute.") < arguments
        assert '"where"' not in shown
        await here.click("ada", "Approve", "Run deploy?")
        assert "Run deploy?" in await here.settled("Approved")
        assert await running == ["deployed to eu"]


async def test_as_many_as_the_rules_say_have_to_agree(here: Office, mode: str) -> None:
    async with shop(here, mode, True, EU) as agent, door(here, agent.graph, approvers="anyone", quorum=2) as one:
        running = asyncio.create_task(run(one))
        await here.click("ada", "Approve", "Run deploy?")
        assert agent.deployed == []
        await here.click("ben", "Approve", "Run deploy?")
        assert await running == ["deployed to eu"]
    assert agent.deployed == ["eu 2"]


async def test_nobody_decided_is_no_denial(here: Office, mode: str) -> None:
    async with shop(here, mode, True, EU) as agent, door(here, agent.graph, approvers="anyone", wait="1s") as one:
        (result,) = await run(one)
    assert "Nobody decided in time whether deploy may run" in result
    assert "Nobody denied it." in result
    assert agent.deployed == []


async def test_people_answer_in_the_place_of_a_tool(here: Office, mode: str) -> None:
    call = {"name": "ask_person", "args": {"question": "Which region?"}}
    async with shop(here, mode, {"allowed_decisions": ["respond"]}, call) as agent, door(here, agent.graph) as one:
        running = asyncio.create_task(run(one))
        await here.fill("ada", "Write an answer…", "Frankfurt", "Which region?")
        assert await running == ["Frankfurt"]


async def test_without_a_way_to_say_no_the_caller_learns_that_nobody_answered(here: Office, mode: str) -> None:
    call = {"name": "ask_person", "args": {"question": "Which region?"}}
    allowed = {"allowed_decisions": ["respond"]}
    async with shop(here, mode, allowed, call) as agent, door(here, agent.graph, wait="1s") as one:
        with pytest.raises(Unanswered, match="Nobody answered in time"):
            await run(one)


async def test_the_developers_own_description_is_shown(here: Office, mode: str) -> None:
    allowed = {"allowed_decisions": ["approve", "reject"], "description": "This reaches customers."}
    async with shop(here, mode, allowed, EU) as agent, door(here, agent.graph, approvers="anyone") as one:
        running = asyncio.create_task(run(one))
        card = await here.card("Run deploy?")
        assert "This reaches customers." in here.reads(card)
        await here.click("ada", "Approve", "Run deploy?")
        assert await running == ["deployed to eu"]


async def test_edits_alone_are_refused_with_a_sentence(here: Office, mode: str) -> None:
    async with shop(here, mode, {"allowed_decisions": ["edit"]}, EU) as agent, door(here, agent.graph) as one:
        with pytest.raises(CallerError, match=r"allowed for deploy are edit\. .* allow “approve” and “reject”"):
            await run(one)
    assert here.shown() == []


async def test_people_change_the_arguments_and_the_model_reads_what_ran(here: Office, mode: str) -> None:
    async with shop(here, mode, True, EU) as agent, door(here, agent.graph, approvers="anyone") as one:
        running = asyncio.create_task(run(one))
        await here.change("ben", {"where": "us", "count": "3"}, "Run deploy?")
        card = await here.card("where  us")
        assert "where  eu → us" in here.reads(card)
        await here.click("ben", "Approve", "where  us")
        await here.card("cannot approve them alone")
        assert agent.deployed == []
        await here.click("ada", "Approve", "where  us")
        (result,) = await running
    assert agent.deployed == ["us 3"]
    assert result.startswith("Note: a human reviewer replaced this tool call before it ran.")
    assert "deployed to us" in result


async def test_a_value_that_the_tools_own_schema_refuses_is_refused_at_its_field(here: Office) -> None:
    async with shop(here, "per_call", True, EU) as agent, door(here, agent.graph, approvers="anyone") as one:
        running = asyncio.create_task(run(one))
        assert await here.change("ben", {"count": "many"}, "Run deploy?")
        assert "→" not in here.reads(await here.card("Run deploy?"))
        await here.click("ada", "Approve", "Run deploy?")
        assert await running == ["deployed to eu"]
    assert agent.deployed == ["eu 2"]


async def test_without_edit_among_the_decisions_nobody_changes_anything(here: Office, mode: str) -> None:
    allowed = {"allowed_decisions": ["approve", "reject"]}
    async with shop(here, mode, allowed, EU) as agent, door(here, agent.graph, approvers="anyone") as one:
        running = asyncio.create_task(run(one))
        card = await here.card("Run deploy?")
        assert EDIT not in [one.label for one in here.buttons(card)]
        await here.click("ada", "Approve", "Run deploy?")
        assert await running == ["deployed to eu"]
