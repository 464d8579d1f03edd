"""A pipeline in parallel with a bot of the same app on another database: every click gets a true answer."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from askback.inbound.message_router import NOT_HERE
from askback_sandbox.slack.payloads import event_callback, session_stopped_event
from askback_slack.other_processes import NOT_PASSED_ON

from .office import WITHIN, Office, Process

PATIENCE = 2.0
"""Seconds after which a person whose click changed nothing clicks again."""
UNTRUE = "changed nothing"
PEOPLE = ("ada", "ben", "cy")


async def beside_a_bot(office: Office, *arguments: str) -> Process:
    """Start a pipeline that asks, and a bot that does not know its question; both receive all events."""
    await office.bot()
    office.settings = {"ASKBACK_DATABASE_URL": str(office.folder / "pipeline.db")}
    asked = await office.ask(*arguments)
    await office.connected(2)
    return asked


async def voted(office: Office, person: str, reads: str) -> None:
    """Click until the card shows this; the vote counts once, even if the wrong process gets some clicks."""

    def counted() -> bool:
        return any(reads in office.reads(one) for one in office.shown())

    async with asyncio.timeout(WITHIN):
        while not counted():
            told = len(office.private())
            assert await office.press(person, await office.card(), "Yes")
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await office.until(lambda told=told: counted() or len(office.private()) > told)
            assert all("click again" in words for words in office.private()[told:])


async def test_a_click_that_another_database_counts_is_never_told_otherwise(office: Office) -> None:
    asked = await beside_a_bot(office, "--quorum", "3")
    for person, reads in zip(PEOPLE, ("1 of 3 agree", "2 of 3 agree", "Approved"), strict=True):
        await voted(office, person, reads)
    outcome = await asked.outcome()
    assert len(outcome["votes"]) == len(PEOPLE)
    assert not any(UNTRUE in words for words in office.private()), office.private()
    # Slack sends each click to one of the two. On Discord both receive it, and the one that knows it answers.
    assert bool(office.private()) == (office.platform == "slack"), office.private()


def hurry(office: Office) -> None:
    """Let Slack repeat unacked events soon, as often as it really does."""
    office.services.socket._ack_seconds = 1.0
    office.services.socket._event_retries = (0.1,) * 3


def reads_model(office: Office, text: str) -> bool:
    return any(text in str(exchange.request) for exchange in office.services.model.log)


def call(office: Office, text: str) -> tuple[str, str]:
    """Mention the bot as ada; return the channel and the thread."""
    if office.platform == "slack":
        message = office.services.people.write("ada", "deploys", f"@askback {text}")
        return message.channel, message.ts
    post = office.services.discord.people.write("ada", "deploys", f"@askback {text}")
    return post.channel, post.id


async def say(office: Office, thread: tuple[str, str], text: str) -> str:
    """Write in the thread as ada; return the message's id."""
    if office.platform == "slack":
        return office.services.people.write("ada", thread[0], text, thread[1]).ts
    await office.until(lambda: office.services.discord.guild.place(thread[1]))
    return office.services.discord.people.write("ada", thread[1], text).id


def edit(office: Office, thread: tuple[str, str], message: str, text: str) -> None:
    if office.platform == "slack":
        office.services.people.edit("ada", thread[0], message, text)
    else:
        office.services.discord.people.edit("ada", thread[1], message, text)


async def test_what_people_write_to_the_agent_reaches_it_beside_a_program(office: Office) -> None:
    hurry(office)
    await beside_a_bot(office)
    await office.card()
    thread = call(office, "hello there")
    await office.until(lambda: reads_model(office, "hello there"))
    for number in range(4):
        message = await say(office, thread, f"remark number {number}")
        await office.until(lambda number=number: reads_model(office, f"remark number {number}"))
    edit(office, thread, message, "another remark")
    await office.until(lambda: reads_model(office, "another remark"))
    assert not any("process of this app" in words for words in (*office.told("ada"), *office.private()))


@pytest.mark.parametrize("platform", ["slack"])
async def test_who_writes_what_only_a_program_received_is_told(office: Office) -> None:
    """Discord passes everything to everyone, so nothing is lost there."""
    hurry(office)
    bot = await office.bot()
    thread = call(office, "hello there")
    await office.until(lambda: reads_model(office, "hello there"))
    office.services.socket.spare()
    office.settings = {"ASKBACK_DATABASE_URL": str(office.folder / "pipeline.db")}
    await office.ask()
    await office.connected(2)
    card = await office.card()
    message = await say(office, thread, "can you hear me?")
    await office.until(lambda: any(NOT_PASSED_ON["message"] in words for words in office.told("ada")))
    edit(office, thread, message, "do you hear me?")
    await office.until(lambda: any(NOT_PASSED_ON["edit"] in words for words in office.told("ada")))
    office.services.people.delete("ada", thread[0], message)
    await office.until(lambda: any(NOT_PASSED_ON["deletion"] in words for words in office.told("ada")))
    told = len(office.told("ada"))
    call(office, "is anybody there?")
    await office.until(lambda: len(office.told("ada")) > told)
    assert not reads_model(office, "hear me")
    workspace, who = office.services.workspace, office.services.workspace.person("ada")
    assert who is not None
    stopped = session_stopped_event(workspace, who, *thread, [])
    await office.services.people.raw(event_callback(workspace, stopped))
    await office.until(lambda: any(NOT_HERE.notice in words for words in office.told("ada")))
    # Nobody expects an agent in other threads.
    alone = office.services.people.write("ben", "deploys", "good morning")
    office.services.people.write("ben", "deploys", "good morning to you", alone.ts)
    office.write_under("ben", card, "Yes")
    await office.settled("Yes")
    # The last repetition of every event was acked.
    await office.until(lambda: all(one.acked for one in office.services.workspace.interactions))
    assert office.told("ben") == []
    assert not bot.is_over
