"""Typed text below a program's card: it counts, or the author learns how to answer."""

from __future__ import annotations

from typing import Any

import pytest

from .office import Office, Process

HOW = "To answer “Deploy 1.4.2?”, use its card, or write one of its options here: “Yes”, “No”."


@pytest.fixture(params=["alone", "beside a bot"])
async def asking(request: pytest.FixtureRequest, office: Office) -> Office:
    """The office with and without a bot that serves the same database."""
    if request.param != "alone":
        await office.bot()
    return office


async def standing(asking: Office, asked: Process) -> Any:
    """Return the card, once its location is stored and a process receives messages."""
    await asked.said("Posted the question in #deploys.")
    await asking.connected(1)
    return await asking.card()


@pytest.mark.parametrize("where", ["under", "in_thread"])
async def test_a_label_under_the_card_counts_as_a_click_does(asking: Office, where: str) -> None:
    asked = await asking.ask(approvers="@ada")
    shown = await standing(asking, asked)
    write = asking.write_under if where == "under" else asking.write_in_thread
    write("ada", shown, "yes")
    outcome = await asked.outcome()
    assert (outcome["answer"], outcome["approved"]) == ("Yes", True)
    await asking.settled("Deploy 1.4.2?", "Approved")
    assert not asking.told("ada")


async def test_of_another_text_its_author_is_told_how_to_answer_once(asking: Office) -> None:
    asked = await asking.ask()
    shown = await standing(asking, asked)
    asking.write_in_thread("ada", shown, "what is in it?")
    await asking.until(lambda: asking.told("ada"))
    asking.write_in_thread("ada", shown, "never mind")
    asking.write_in_thread("ben", shown, "and me?")
    await asking.until(lambda: asking.told("ben"))
    assert [*asking.told("ada"), *asking.told("ben")] == [HOW, HOW]
    await asking.click("cy", "No")
    assert (await asked.outcome(3))["answer"] == "No"


@pytest.mark.parametrize("typed", ["Yes?", "“yes ?!”", "Yes？", "1?"])
async def test_a_question_back_is_no_vote(office: Office, typed: str) -> None:
    asked = await office.ask(approvers="@ada")
    shown = await standing(office, asked)
    office.write_in_thread("ada", shown, typed)
    await office.until(lambda: office.told("ada"))
    assert [*office.told("ada")] == [HOW]
    office.write_in_thread("ada", shown, "No")
    assert (await asked.outcome(3))["answer"] == "No"


async def test_who_may_not_answer_is_told_who_may(asking: Office) -> None:
    asked = await asking.ask(approvers="@ada")
    shown = await standing(asking, asked)
    asking.write_in_thread("ben", shown, "Yes")
    await asking.until(lambda: asking.told("ben"))
    (told,) = asking.told("ben")
    assert told == "Only ada can answer this."
    assert told.endswith(" can answer this.")
    asking.write_in_thread("ada", shown, "No")
    assert (await asked.outcome(3))["answer"] == "No"


async def test_a_vote_that_needs_a_reason_is_not_taken_from_a_label(asking: Office) -> None:
    asked = await asking.ask("--reason", "no")
    shown = await standing(asking, asked)
    asking.write_in_thread("ada", shown, "No")
    await asking.until(lambda: asking.told("ada"))
    assert asking.told("ada") == ["I did not count that as your answer to “Deploy 1.4.2?”. Please use its card."]
    asking.write_in_thread("ada", shown, "Yes")
    assert (await asked.outcome())["answer"] == "Yes"


async def test_a_label_that_is_written_to_the_bot_in_the_channel_counts(asking: Office) -> None:
    asked = await asking.ask()
    shown = await standing(asking, asked)
    asking.write("ada", shown, "@askback Yes")
    assert (await asked.outcome())["answer"] == "Yes"
