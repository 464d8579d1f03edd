"""One of the compared waiting programs: `python -m tests.bench.peer NAME FOLDER`.

On `once` from standard input it asks, waits, is answered and continues. It prints the times of the answer and of the
continuation, in seconds since the epoch. On `facts` it prints the journal mode and its flushes to the disk.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

from .figures import SYNCHRONOUS

LOOK_SECONDS = 0.0005

Span = tuple[float, float]


def facts_of(connection: sqlite3.Connection) -> str:
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    (synchronous,) = connection.execute("PRAGMA synchronous").fetchone()
    return f"{mode} {SYNCHRONOUS[synchronous]}"


def serve(once: Callable[[], Span], facts: Callable[[], str]) -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        print(*once() if line.strip() == "once" else [facts()], flush=True)


def askback(folder: Path) -> None:
    from askback.domain.who import Who
    from askback.manager import QuestionManager
    from askback.store.sqlite.database import SqliteDatabase
    from askback.store.store import Store

    from .asked import ADA, FORM, answer, ask_in
    from .figures import database_in

    writer = SqliteDatabase(folder / "askback.db")
    manager = QuestionManager(Store(writer))

    async def waited() -> Span:
        place = ask_in(uuid.uuid4().hex).place
        went_on = 0.0

        async def wait() -> None:
            nonlocal went_on
            await manager.ask(FORM, to=place, who=Who.from_people(ADA))
            went_on = time.time()

        waiting = asyncio.create_task(wait())
        while not (asked := await manager.list_open_asks(place)):  # noqa: ASYNC110 - without an event to wait for
            await asyncio.sleep(LOOK_SECONDS)
        await asyncio.sleep(LOOK_SECONDS)
        began = time.time()
        await manager.act(answer(asked[0].id))
        await waiting
        return began, went_on

    async def facts() -> str:
        database = await database_in(folder)
        return f"{database.journal_mode} {database.synchronous}"

    with asyncio.Runner() as runner:
        serve(lambda: runner.run(waited()), lambda: runner.run(facts()))


def langgraph(folder: Path) -> None:
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Command, interrupt

    class State(TypedDict):
        colour: str

    went_on = 0.0

    def node(state: State) -> State:
        nonlocal went_on
        colour = interrupt({"question": "Which colour shall it have?"})
        went_on = time.time()
        return {"colour": colour}

    with SqliteSaver.from_conn_string(str(folder / "langgraph.db")) as saver:
        builder: Any = StateGraph(State)
        builder.add_node("node", node)
        builder.add_edge(START, "node")
        builder.add_edge("node", END)
        graph: Any = builder.compile(checkpointer=saver)

        def once() -> Span:
            config = {"configurable": {"thread_id": uuid.uuid4().hex}}
            # It is on the disk before it continues, as with all the others.
            graph.invoke({"colour": ""}, config, durability="sync")
            began = time.time()
            graph.invoke(Command(resume="green"), config, durability="sync")
            return began, went_on

        serve(once, lambda: facts_of(saver.conn))


def dbos(folder: Path) -> None:
    from dbos import DBOS

    path = folder / "dbos.db"
    DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{path}", "log_level": "ERROR"})
    waits, done = threading.Event(), threading.Event()
    went_on = 0.0

    @DBOS.workflow()
    def asking() -> str:
        nonlocal went_on
        waits.set()
        colour: Any = DBOS.recv("colour", timeout_seconds=60)
        went_on = time.time()
        done.set()
        return str(colour)

    DBOS.launch()

    def once() -> Span:
        waits.clear()
        done.clear()
        handle: Any = DBOS.start_workflow(asking)
        waits.wait()
        time.sleep(0.1)  # until it waits
        began = time.time()
        DBOS.send(handle.get_workflow_id(), "green", topic="colour")
        done.wait()
        handle.get_result()
        return began, went_on

    def facts() -> str:
        from dbos._dbos import _get_dbos_instance

        system: Any = _get_dbos_instance()._sys_db
        with system.engine.connect() as connection:
            mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
            synchronous = connection.exec_driver_sql("PRAGMA synchronous").scalar()
        return f"{mode} {SYNCHRONOUS[synchronous]}"

    try:
        serve(once, facts)
    finally:
        DBOS.destroy()


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(exist_ok=True)
    {"askback": askback, "langgraph": langgraph, "dbos": dbos}[name](folder)


if __name__ == "__main__":
    main()
