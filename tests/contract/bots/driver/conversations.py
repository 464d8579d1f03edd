"""Conversations of many scenarios: the agent asks for a fruit, or plans a trip."""

from __future__ import annotations

from askback_sandbox.model.script import turn

from .asks import asks, one
from .desk import Desk
from .requests import turn_of
from .values import ADA, Card, Talk
from .waits import card, line, settled

PROSE = "It begins here. " + "And then it goes on for a while. " * 14 + "Here it ends."


async def fruit(desk: Desk) -> tuple[Talk, Card]:
    """Let the agent ask ada which fruit; return the conversation and the card."""
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it, then."), when="fruit")
    talk = await desk.mention(ADA, "fruit, please")
    return talk, await card(desk, talk)


async def answer_fruit(desk: Desk, talk: Talk) -> None:
    """Check that the question of `fruit` can be answered, and that the agent continues."""
    await desk.press(ADA, await card(desk, talk), "Pear")
    await settled(desk, talk, "Pear")
    await line(desk, talk, "So be it, then.")
    assert '"Pear"' in (await turn_of(desk, "fruit", 2)).result
    assert len(desk.cards(talk)) == 1


async def trip(desk: Desk) -> tuple[Talk, Card]:
    """Let the agent ask ada three questions on one card; return the conversation and the card."""
    questions = (
        one("Where to?", "Rome", "Oslo", header="Place"),
        one("What to pack?", "Boots", "Hat", "Map", several=True, header="Bag"),
        one("When?", "May", "June", header="Month"),
    )
    desk.model.script(turn(asks(*questions)), turn("Have a good trip."), when="trip")
    talk = await desk.mention(ADA, "trip")
    return talk, await card(desk, talk, "Where to?")
