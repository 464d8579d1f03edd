"""Programs of the agent frameworks that keep a run while it waits."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypedDict

from .program import OPTIONS, PROMPT, SCHEMA, TO, WHO, Program


class State(TypedDict):
    answer: str


class Graph(Program):
    """A graph of LangGraph that asks, or an agent of LangChain whose call needs approval."""

    graph: Any
    door: Any
    given: Any
    answer: Any

    async def once(self) -> None:
        await self.door.run(self.given, uuid.uuid4().hex)

    async def bare(self) -> float:
        from langgraph.types import Command

        config: Any = {"configurable": {"thread_id": uuid.uuid4().hex}}
        await self.graph.ainvoke(self.given, config)
        (pending,) = (await self.graph.aget_state(config)).interrupts
        began = time.time()
        await self.graph.ainvoke(Command(resume={pending.id: self.answer}), config)
        return began


@asynccontextmanager
async def open_langgraph(folder: Path) -> AsyncGenerator[Program]:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    from langgraph.graph import START, StateGraph
    from langgraph.types import interrupt

    from askback.doors.langgraph import LangGraphDoor

    program = Graph()
    program.given, program.answer = {"answer": ""}, OPTIONS[0]

    def ask(_: State) -> State:
        answer = interrupt(PROMPT, response_schema=SCHEMA)
        program.go_on()
        return {"answer": str(answer)}

    built = StateGraph(State)
    built.add_node("ask", ask)
    built.add_edge(START, "ask")
    async with AsyncSqliteSaver.from_conn_string(str(folder / "graph.db")) as saver:
        program.graph = built.compile(checkpointer=saver)
        async with LangGraphDoor(program.graph, to=TO, who=WHO) as program.door:
            yield program


@asynccontextmanager
async def open_langchain(folder: Path) -> AsyncGenerator[Program]:
    from langchain.agents import create_agent
    from langchain.agents.middleware import HumanInTheLoopMiddleware
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import tool
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    from askback.doors.langgraph import LangGraphDoor

    class Scripted(BaseChatModel):
        """A model that deploys, and then says that it is done."""

        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

        def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
            is_done = messages[-1].type == "tool"
            calls: Any = [] if is_done else [{"name": "deploy", "args": {"where": "eu"}, "id": "call"}]
            said = AIMessage("done" if is_done else "", tool_calls=calls)
            return ChatResult(generations=[ChatGeneration(message=said)])

    program = Graph()
    program.given, program.answer = {"messages": [("user", "Deploy it.")]}, {"decisions": [{"type": "approve"}]}

    @tool
    def deploy(where: str) -> str:
        """Deploy the release."""
        program.go_on()
        return f"deployed to {where}"

    middleware: Any = HumanInTheLoopMiddleware({"deploy": {"allowed_decisions": ["approve", "reject"]}})
    async with AsyncSqliteSaver.from_conn_string(str(folder / "graph.db")) as saver:
        program.graph = create_agent(Scripted(), [deploy], checkpointer=saver, middleware=[middleware])
        async with LangGraphDoor(program.graph, to=TO, approvers=WHO) as program.door:
            yield program


class DeferringAgent(Program):
    """An agent of Pydantic AI with a deferred call."""

    agent: Any
    door: Any

    def answer(self, messages: Any, _: Any) -> Any:
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("choose", {}, tool_call_id="call")])
        self.go_on()
        return ModelResponse(parts=[TextPart("done")])

    async def once(self) -> None:
        await self.door.run("Paint it.", uuid.uuid4().hex)

    async def bare(self) -> float:
        from pydantic_ai.tools import DeferredToolResults

        waiting = await self.agent.run("Paint it.")
        began = time.time()
        results = DeferredToolResults(calls={"call": OPTIONS[0]})
        await self.agent.run(message_history=waiting.all_messages(), deferred_tool_results=results)
        return began


@asynccontextmanager
async def open_pydantic_ai(folder: Path) -> AsyncGenerator[Program]:
    from pydantic_ai import Agent
    from pydantic_ai.exceptions import CallDeferred
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.tools import DeferredToolRequests

    from askback.doors.pydantic_ai import PydanticAIDoor

    program = DeferringAgent()
    program.agent = Agent(FunctionModel(program.answer), output_type=[str, DeferredToolRequests])

    @program.agent.tool_plain
    def choose() -> str:
        raise CallDeferred(metadata={"question": PROMPT, "response_schema": SCHEMA})

    def save(conversation: str, text: str) -> None:
        (folder / f"{conversation}.json").write_text(text, encoding="utf-8")

    async with PydanticAIDoor(program.agent, to=TO, save=save, who=WHO) as program.door:
        yield program


class ApprovedAgent(Program):
    """An agent of the OpenAI Agents SDK with a tool that needs approval."""

    agent: Any
    door: Any

    def rewind(self) -> None:
        """Let the model begin again: it has one step for each of its turns."""
        from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

        def respond(call: Any) -> Any:
            if any(one.get("type") == "function_call_output" for one in call.input):
                return [assistant_message("done")]
            return [function_call("deploy", {"where": "eu"}, call_id="call")]

        self.agent.model = ScriptedModel([ModelStep(responder=respond)] * 2)

    async def once(self) -> None:
        self.rewind()
        await self.door.run("Deploy it.", uuid.uuid4().hex)

    async def bare(self) -> float:
        from agents import Runner

        self.rewind()
        state = (result := await Runner.run(self.agent, "Deploy it.")).to_state()
        (item,) = result.interruptions
        began = time.time()
        state.approve(item)
        await Runner.run(self.agent, state)
        return began


@asynccontextmanager
async def open_openai_agents(folder: Path) -> AsyncGenerator[Program]:
    from agents import Agent, function_tool, set_tracing_disabled

    from askback.doors.openai_agents import OpenAIAgentsDoor

    set_tracing_disabled(True)
    program = ApprovedAgent()

    @function_tool(needs_approval=True)
    def deploy(where: str) -> str:
        program.go_on()
        return f"deployed to {where}"

    def save(conversation: str, text: str) -> None:
        (folder / f"{conversation}.json").write_text(text, encoding="utf-8")

    program.agent = Agent(name="shop", tools=[deploy])
    async with OpenAIAgentsDoor(program.agent, to=TO, save=save, approvers=WHO) as program.door:
        yield program
