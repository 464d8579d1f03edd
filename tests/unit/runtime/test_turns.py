"""The turns in progress in one process."""

from __future__ import annotations

import asyncio
from pathlib import Path

from askback.agent.concurrency_slots import Slot
from askback.runtime.turns import TurnRunner
from askback.store.sqlite.database import SqliteDatabase
from askback.store.store import Store


async def test_a_turn_that_comes_back_while_it_is_under_way_is_looked_at_after_it(tmp_path: Path) -> None:
    """Other processes consider a stalled process dead; then its own jobs come back to it."""
    begun: list[str] = []
    may_end = asyncio.Event()

    async def advance(conversation_id: str, slot: Slot) -> None:
        begun.append(conversation_id)
        if begun.count(conversation_id) == 1 and conversation_id == "one":
            await may_end.wait()
        begun.append(f"end of {conversation_id}")

    database = SqliteDatabase(tmp_path / "askback.db")
    try:
        turns = TurnRunner(Store(database), advance)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(3):
                tasks.create_task(turns.advance("one"))
            await tasks.create_task(turns.advance("another"))
            assert begun == ["one", "another", "end of another"]
            assert turns.is_under_way("one")
            may_end.set()
        assert begun[3:] == ["end of one", *("one", "end of one") * 2]
        assert not turns.is_under_way("one")
    finally:
        await database.close()
