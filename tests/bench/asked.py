"""Many open questions at once."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, insert, select

from askback.domain.actions import Action, Choose
from askback.domain.ask import Ask, create_ask_id
from askback.domain.ask_policy import Policy
from askback.domain.form import Form, Option, Question
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.interview import start_interview
from askback.domain.who import Who
from askback.internal.clock import utc_now
from askback.store import schema
from askback.store.queries import asks

ADA = Actor(platform="slack", tenant="T0LOCAL", id="U0ADA", name="Ada")
OPTIONS = tuple(
    Option(value=word.lower(), label=word, description=f"Take {word.lower()} for it, as it was done before.")
    for word in ("Green", "Blue", "Yellow", "Red")
)
FORM = Form(questions=(Question(id="colour", prompt="Which colour shall it have?", header="Colour", options=OPTIONS),))
MESSAGE = MessageRef(channel="C0LOCAL", id="0.0")
"""The message of each card. The answers click it, as people click the message that they see."""
CHUNK = 500


def ask_in(thread: str) -> Ask:
    """Return an open ask whose card is visible."""
    moment = utc_now()
    return Ask(
        id=create_ask_id(),
        place=Place(platform="slack", tenant="T0LOCAL", channel="C0LOCAL", thread=thread),
        policy=Policy(who=Who.from_people(ADA)),
        interview=start_interview(FORM),
        created_at=moment,
        post_after=moment,
        messages=(MESSAGE,),
        drawn_revision=0,
    )


def put(count: int, first: int = 0) -> Callable[[Connection], list[str]]:
    """Return a transaction that stores N asks, each in its own place, and returns their ids."""

    def work(connection: Connection) -> list[str]:
        ask = ask_in(f"{first}.0")
        asks.insert(connection, ask)
        # The product writes the first row; the others are copies of it.
        row = dict(connection.execute(select(schema.asks).where(schema.asks.c.id == ask.id)).mappings().one())
        copies = [
            # Each has another question, so that caches of equal texts speed up nothing.
            row
            | {"id": create_ask_id(), "place_key": f"{row['place_key']}{at}"}
            | {"form": str(row["form"]).replace("Which colour", f"{first + at}: which colour")}
            for at in range(1, count)
        ]
        if copies:
            connection.execute(insert(schema.asks), copies)
        return [ask.id, *(str(copy["id"]) for copy in copies)]

    return work


def answer(ask_id: str) -> Action:
    """Return Ada's press of the first button."""
    return Action(
        ask_id=ask_id,
        actor=ADA,
        at=utc_now(),
        step=0,
        operation=Choose(index=0),
        message=MESSAGE,
    )
