"""The commands of an operator, and the questions that they find in a database."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from askback.cli.main import app
from askback.domain.actions import Action
from askback.domain.ask import Ask
from askback.domain.form import Form, Option, Question
from askback.domain.identity import Actor, Place
from askback.domain.open_ask_limits import Limits
from askback.domain.who import Who
from askback.errors import AskbackError
from askback.internal.clock import utc_now
from askback.manager import QuestionManager, build_ask, build_policy
from askback.store.sqlite.database import SqliteDatabase
from askback.store.store import Store

HERE = Place(platform="board", tenant="T1", channel="C1", thread="17")
ANN = Actor(platform="board", tenant="T1", id="U1", name="Ann")
COLOURS = (Option(value="green", label="Green"), Option(value="blue", label="Blue", description="As the sea"))
COLOUR = Form(questions=(Question(id="colour", prompt="Which colour?", options=COLOURS),))
HOSTILE = "Red\x1b[31m [bold]x[/] \x9b2J\x07 a\u202eb :warning:\nnext"


def askback(*arguments: str) -> Result:
    """Run a command. An error that is not askback's own is raised."""
    done = CliRunner().invoke(app, arguments)
    if done.exception is not None and not isinstance(done.exception, (SystemExit, AskbackError)):
        raise done.exception
    return done


def stored(database: Path, *actions: Any, **more: Any) -> Ask:
    """Ask once in a database, and apply these actions."""

    async def work() -> Ask:
        writer = SqliteDatabase(database)
        try:
            manager = QuestionManager(Store(writer))
            policy = more.pop("policy", None) or build_policy(Who.from_people(ANN), 3_600)
            form = more.pop("form", COLOUR)
            ask = build_ask(form, to=HERE, policy=policy).evolve(**more)
            await Store(writer).ask(ask, Limits(seconds_between_asks=0, pending_per_place=100))
            for operation in actions:
                now = await manager.get(ask.id)
                assert now is not None
                await manager.act(
                    Action(ask_id=ask.id, actor=ANN, at=utc_now(), step=now.interview.step, operation=operation)
                )
            after = await manager.get(ask.id)
            assert after is not None
            return after
        finally:
            await writer.close()

    return asyncio.run(work())
