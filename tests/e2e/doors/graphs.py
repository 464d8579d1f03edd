"""Graphs that interrupt, on a real checkpointer in a file. Programs import this module, too."""

from __future__ import annotations

import operator
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt


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
