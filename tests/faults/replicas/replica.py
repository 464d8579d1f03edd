"""One of several processes: the engine of `support.engine`, controlled by lines of JSON on standard input.

`python replica.py FOLDER MODEL_URL`. Its posts are in a file of the folder, which all of the processes read.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askback.domain.actions import Choose
from askback.domain.ask import Ask
from askback.domain.click_response import Notice
from askback.domain.form import Form, Option, Question
from askback.domain.identity import MessageRef, Place
from askback.domain.who import Who
from askback.errors import CallerError
from askback.internal import clock
from askback.store.errors import StoreError
from support.board import ANN, BEN, HERE, Board, Posted
from support.engine import Engine, engine

PEOPLE = {"Ann": ANN, "Ben": BEN}
COLOUR = Form(
    questions=(
        Question(
            id="colour",
            prompt="Which colour?",
            options=(Option(value="g", label="Green"), Option(value="b", label="Blue")),
        ),
    )
)
AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Remote:
    anthropic_url: str


class Messages(dict[str, Posted]):
    """The messages of all processes."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def look(self) -> None:
        lines = self._file.read_text(encoding="utf-8").splitlines() if self._file.exists() else []
        for line in map(json.loads, lines):
            if line["id"] not in self:
                self[line["id"]] = Posted(Place.model_validate(line["place"]), line["name"], line["text"])

    def __missing__(self, key: str) -> Posted:
        self.look()
        return dict.__getitem__(self, key) if key in self else self.setdefault(key, Posted(HERE, "?", ""))

    def get(self, key: str, default: Any = None) -> Any:
        self.look()
        return super().get(key, default)


class SharedBoard(Board):
    """The board that several processes share."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self._posts = folder / "posts.jsonl"
        self.messages = Messages(self._posts)
        self.latency = float(os.environ.get("REPLICA_LATENCY", "0"))
        """Seconds that the platform takes to show a card."""

    def add(self, posted: Posted) -> MessageRef:
        number = f"{os.getpid()}-{len(self.messages) + 1}"
        line = {"id": number, "name": posted.name, "text": posted.text, "place": posted.place.model_dump()}
        with self._posts.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self.messages[number] = posted
        return MessageRef(channel=posted.place.channel, id=number)

    async def show(self, ask: Ask) -> tuple[MessageRef, ...]:
        await asyncio.sleep(self.latency)
        return await super().show(ask)

    async def find_posted(self, place: Place, name: str, **more: Any) -> tuple[MessageRef, ...]:
        self.messages.look()
        return await super().find_posted(place, name, **more)


class Replica:
    def __init__(self, one: Engine, board: SharedBoard) -> None:
        self._one = one
        self._board = board
        self._clicks = itertools.count()

    async def do(self, order: dict[str, Any]) -> dict[str, Any]:
        return await getattr(self, order.pop("do"))(**order)

    async def answer(self, ids: list[str], by: str, index: int) -> dict[str, Any]:
        """Answer these asks. A click that the database refused is delivered again, as the platforms do."""
        free, won, told, refused = asyncio.Semaphore(AT_ONCE), list[str](), list[str](), 0
        began = time.perf_counter()

        async def one(ask_id: str) -> None:
            nonlocal refused
            async with free:
                click = f"{os.getpid()}:{next(self._clicks)}"
                while True:
                    ask = await self._kept(ask_id)
                    try:
                        response = await self._one.press(
                            ask, Choose(index=index), PEOPLE[by], draw=False, delivery=click
                        )
                    except StoreError:
                        refused += 1
                        await asyncio.sleep(0.05)
                    else:
                        (told if isinstance(response, Notice) else won).append(ask_id)
                        return

        await asyncio.gather(*map(one, ids))
        return {"won": won, "told": told, "refused": refused, "seconds": time.perf_counter() - began}

    async def _kept(self, ask_id: str) -> Ask:
        while True:
            try:
                ask = await self._one.manager.get(ask_id)
            except StoreError:
                await asyncio.sleep(0.05)
            else:
                assert ask is not None
                return ask

    async def ask(self, key: str, thread: str = "1", seconds: float | None = None) -> dict[str, Any]:
        place = HERE.evolve(thread=thread)
        began = time.monotonic()
        try:
            outcome = await self._one.manager.ask(COLOUR, to=place, who=Who(anyone=True), key=key, timeout=seconds)
        except CallerError as error:
            return {"error": str(error)}
        if not outcome.answers:
            return {"status": outcome.status, "seconds": time.monotonic() - began}
        return {"label": outcome["colour"].choices[0].label, "at": time.time()}

    async def hold(self, call: str) -> dict[str, Any]:
        self._board.holds[call] = asyncio.Event()
        return {}

    async def calls(self, count: int, call: str) -> dict[str, Any]:
        await self._board.until(lambda: self._board.calls.count(call) >= count)
        return {}

    async def write(self, text: str, key: str) -> dict[str, Any]:
        return {"new": await self._one.write(text, key=key)}

    async def tasks(self) -> dict[str, Any]:
        return {
            "names": sorted(task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("askback"))
        }


def set_clock(ahead: float) -> None:
    """Move the wall clock of this process ahead of the machine's by that many seconds."""
    now = clock.now
    clock.now = lambda: now() + round(ahead * clock.SECOND)


async def main(folder: Path, model: str) -> None:
    set_clock(float(os.environ.get("REPLICA_AHEAD", "0")))
    board = SharedBoard(folder)
    orders = asyncio.StreamReader(limit=2**22)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    async with engine(folder, board, Remote(model), patience=60) as one, asyncio.TaskGroup() as tasks:  # type: ignore[arg-type]
        replica = Replica(one, board)

        async def obey(number: int, order: dict[str, Any]) -> None:
            print(json.dumps({"number": number, **await replica.do(order)}), flush=True)

        print(json.dumps({"number": 0}), flush=True)
        while line := await orders.readline():
            order = json.loads(line)
            tasks.create_task(obey(order.pop("number"), order))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
