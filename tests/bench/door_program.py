"""A program that waits for people at one door: `python -m tests.bench.door_program NAME FOLDER [ADDRESS TOKEN]`.

On `once` from standard input it asks, and prints when it continues with the answer, in seconds since the epoch. On
`bare` it lets the framework wait and continue without askback, and prints when it was resumed and when it continued.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypedDict

OPTIONS = ("Green", "Blue")
PROMPT = "Which colour shall it have?"
TO, WHO = "slack:#general", "anyone"
SCHEMA = {"type": "string", "enum": [*OPTIONS]}
QUESTION: dict[str, Any] = {"question": PROMPT, "options": [*OPTIONS]}


class Program(ABC):
    """A program behind a door. `went_on` is the time at which it last went on with an answer."""

    went_on = 0.0

    @abstractmethod
    async def once(self) -> None:
        """Ask, and go on with the answer."""

    async def bare(self) -> float:
        """Wait and go on without askback; return the time at which it was resumed."""
        raise NotImplementedError

    def go_on(self) -> None:
        self.went_on = time.time()


class State(TypedDict):
    answer: str


class Graph(Program):
    """A graph of LangGraph."""

    graph: Any
    door: Any

    def ask(self, _: State) -> State:
        from langgraph.types import interrupt

        answer = interrupt(PROMPT, response_schema=SCHEMA)
        self.go_on()
        return {"answer": str(answer)}

    async def once(self) -> None:
        await self.door.run({"answer": ""}, uuid.uuid4().hex)

    async def bare(self) -> float:
        from langgraph.types import Command

        config: Any = {"configurable": {"thread_id": uuid.uuid4().hex}}
        await self.graph.ainvoke({"answer": ""}, config)
        (pending,) = (await self.graph.aget_state(config)).interrupts
        began = time.time()
        await self.graph.ainvoke(Command(resume={pending.id: OPTIONS[0]}), config)
        return began


@asynccontextmanager
async def open_langgraph(folder: Path) -> AsyncGenerator[Program]:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    from langgraph.graph import START, StateGraph

    from askback.doors.langgraph import LangGraphDoor

    program = Graph()
    built = StateGraph(State)
    built.add_node("ask", program.ask)
    built.add_edge(START, "ask")
    async with AsyncSqliteSaver.from_conn_string(str(folder / "graph.db")) as saver:
        program.graph = built.compile(checkpointer=saver)
        async with LangGraphDoor(program.graph, to=TO, who=WHO) as program.door:
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


class McpClient(Program):
    """A client of `askback mcp`."""

    client: Any

    async def once(self) -> None:
        result = await self.client.call_tool("ask", {**QUESTION, "details": uuid.uuid4().hex})
        self.go_on()
        assert result.structured_content["answer"] == OPTIONS[0], result


@asynccontextmanager
async def open_mcp(folder: Path) -> AsyncGenerator[Program]:
    from mcp import Client, StdioServerParameters

    arguments = ["-m", "askback", "mcp", "--to", TO, "--who", WHO, "--call-wait", "1h"]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ), cwd=str(folder))
    program = McpClient()
    async with Client(server) as program.client:
        yield program


class HttpClient(Program):
    """A client of `askback serve`."""

    def __init__(self, session: Any, *, events: bool) -> None:
        self._session = session
        self._events = events

    async def once(self) -> None:
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        async with self._session.post("/v1/asks", json=QUESTION, headers=headers) as response:
            path = f"/v1/asks/{(await response.json())['id']}"
        if self._events:
            async with self._session.get(f"{path}/events") as response:
                async for line in response.content:
                    if line.startswith(b"event: settled"):
                        self.go_on()
            return
        async with self._session.get(f"{path}?wait=60") as response:
            answer = await response.json()
        self.go_on()
        assert answer["answer"] == OPTIONS[0], answer


def open_http(*, events: bool) -> Callable[[Path], AbstractAsyncContextManager[Program]]:
    @asynccontextmanager
    async def open_client(_: Path) -> AsyncGenerator[Program]:
        import aiohttp

        address, token = sys.argv[3:]
        async with aiohttp.ClientSession(address, headers={"Authorization": f"Bearer {token}"}) as session:
            yield HttpClient(session, events=events)

    return open_client


PROGRAMS: dict[str, Callable[[Path], AbstractAsyncContextManager[Program]]] = {
    "langgraph": open_langgraph,
    "pydantic-ai": open_pydantic_ai,
    "mcp": open_mcp,
    "long poll": open_http(events=False),
    "events": open_http(events=True),
}


async def main(name: str, folder: Path) -> None:
    async with PROGRAMS[name](folder) as program:
        print("ready", flush=True)
        while line := (await asyncio.to_thread(sys.stdin.readline)).strip():
            if line == "bare":
                began = await program.bare()
                print(json.dumps([began, program.went_on]), flush=True)
            else:
                await program.once()
                print(json.dumps(program.went_on), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
