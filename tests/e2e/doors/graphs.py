"""Graphs that interrupt, on a real checkpointer in a file. Programs import this module, too."""

from __future__ import annotations

import asyncio
import operator
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt


class State(TypedDict, total=False):
    """The answers, and what the nodes have done."""

    answers: Annotated[list[Any], operator.add]


@asynccontextmanager
async def asking(
    folder: Path, *values: Any, schema: Any = None, then: Any = None, durable: bool = True
) -> AsyncGenerator[Any]:
    """Yield a graph with a node for each value, which interrupt at once. A node notes its answer in a file."""

    def node(value: Any) -> Any:
        def ask(_: State) -> State:
            answer = interrupt(value() if callable(value) else value, response_schema=schema)
            with (folder / "done.txt").open("a", encoding="utf-8") as file:
                file.write(f"{answer}\n")
            if then is not None:
                then(answer)
            return {"answers": [answer]}

        return ask

    built = StateGraph(State)
    for number, value in enumerate(values):
        built.add_node(f"node {number}", node(value))
        built.add_edge(START, f"node {number}")
    if not durable:
        yield built.compile()
        return
    async with AsyncSqliteSaver.from_conn_string(str(folder / "graph.db")) as saver:
        yield built.compile(checkpointer=saver)


class Gated:
    """A graph that waits before it reads its state, or before it is resumed, while the gate of that is closed."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self.reading, self.resuming = asyncio.Event(), asyncio.Event()
        self.reading.set()
        self.resuming.set()
        self.waits: list[str] = []
        """The gates at which it waits, or did."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    async def aget_state(self, config: Any) -> Any:
        if not self.reading.is_set():
            self.waits.append("reading")
            await self.reading.wait()
        return await self._graph.aget_state(config)

    async def ainvoke(self, given: Any, config: Any, **more: Any) -> Any:
        if isinstance(given, Command) and not self.resuming.is_set():
            self.waits.append("resuming")
            await self.resuming.wait()
        return await self._graph.ainvoke(given, config, **more)


class Dying:
    """A graph whose process is killed once it has finished with an answer, and saved that."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    async def ainvoke(self, given: Any, config: Any, **more: Any) -> Any:
        result = await self._graph.ainvoke(given, config, **more)
        if isinstance(given, Command):
            os.kill(os.getpid(), signal.SIGKILL)
        return result
