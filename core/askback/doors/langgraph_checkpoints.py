"""A graph of LangGraph: its threads, and what its checkpoints prove about an answer."""

from __future__ import annotations

__all__ = ["Graph", "check_saver", "follow_thread", "get_thread", "list_finished", "to_config"]

from typing import Any, Final, Protocol

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import StateSnapshot

from askback.errors import CallerError

MAX_STEPS: Final = 1000
"""Most steps of a graph that are read in search of an interrupt."""


class Graph(Protocol):
    """A compiled graph of LangGraph, or an agent of LangChain."""

    @property
    def checkpointer(self) -> object: ...

    async def ainvoke(self, given: Any, config: RunnableConfig, /, *, context: Any = None) -> Any: ...

    async def aget_state(self, config: RunnableConfig, /) -> StateSnapshot: ...


def to_config(config: RunnableConfig | str) -> RunnableConfig:
    """Return the configuration of a thread that is given by its id, or by its configuration."""
    return {"configurable": {"thread_id": config}} if isinstance(config, str) else config


def follow_thread(config: RunnableConfig) -> RunnableConfig:
    """Return the configuration of the newest state of a thread, in place of that of one of its checkpoints.

    A graph that continues from a checkpoint leaves it as it was, so its interrupts would be pending without end.
    """
    named = config.get("configurable", {})
    if "checkpoint_id" not in named:
        return config
    return {**config, "configurable": {key: value for key, value in named.items() if key != "checkpoint_id"}}


def check_saver(graph: Graph) -> None:
    """Raise `CallerError` if a graph has no checkpointer, or one that asynchronous code cannot use."""
    saver: object = getattr(graph, "checkpointer", None)  # a graph that is not compiled has no such attribute
    if saver is None:
        raise CallerError("The graph has no checkpointer, so it cannot wait for people: compile it with one.")
    name = type(saver).__name__
    # Others say it themselves when they are used.
    if getattr(type(saver), "aget_tuple", None) is getattr(BaseCheckpointSaver, "aget_tuple"):  # noqa: B009 - untyped
        raise CallerError(
            f"The checkpointer {name} is for synchronous code, and this door is not: compile the graph with the one "
            f"for asynchronous code, such as Async{name}."
        )


def get_thread(config: RunnableConfig) -> str:
    """Return the id of a thread. Raises `CallerError`."""
    thread: object = config.get("configurable", {}).get("thread_id")
    if thread is None or not str(thread):
        raise CallerError("The configuration has no thread_id: give one, so that the thread can be continued later.")
    return str(thread)


async def list_finished(graph: Graph, config: RunnableConfig) -> frozenset[str]:
    """Return the ids of the interrupts from which the graph itself went on to its end.

    Each step since then has to be one of the graph. Somebody who sets the state, or gives the graph another input, ends
    it as well, and the answer of an interrupt may be lost then.
    """
    snapshot = await graph.aget_state(config)
    found: set[str] = set()
    if not snapshot.next:
        for _ in range(MAX_STEPS):
            if (snapshot.metadata or {}).get("source") != "loop" or snapshot.parent_config is None:
                break
            snapshot = await graph.aget_state(snapshot.parent_config)
            found.update(one.id for one in snapshot.interrupts)
    return frozenset(found)
