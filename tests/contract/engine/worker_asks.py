"""Asks for the tests of the worker."""

from __future__ import annotations

import asyncio

from askback.domain.form import Form, Option, Question
from askback.domain.outcome import Outcome
from askback.domain.who import Who
from support.board import ANN, HERE
from support.engine import Engine, eventually

COLOURS = (Option(value="green", label="Green"), Option(value="blue", label="Blue"))
COLOUR = Form(questions=(Question(id="colour", prompt="Which colour?", options=COLOURS),))
SEVERAL = Form(questions=(Question(id="colours", prompt="Which?", options=COLOURS, multi_select=True),))
ONLY_ANN = Who.from_people(ANN)


def asking(one: Engine, form: Form = COLOUR, **more: object) -> asyncio.Task[Outcome]:
    return asyncio.create_task(one.manager.ask(form, to=HERE, who=ONLY_ANN, **more))  # type: ignore[arg-type]


async def drop(*tasks: asyncio.Task[Outcome]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def rest(one: Engine) -> None:
    """Wait until there is nothing left to deliver."""

    async def nothing() -> bool:
        return await one.store.get_time_until_due() is None

    await eventually(nothing)


def asking_in(one: Engine, thread: str) -> asyncio.Task[Outcome]:
    return asyncio.create_task(one.manager.ask(COLOUR, to=HERE.evolve(thread=thread), who=ONLY_ANN))
