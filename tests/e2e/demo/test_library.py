"""The library without an agent: the promises of `running` to the surrounding program."""

from __future__ import annotations

import asyncio

import pytest

from askback import Actor, CallerError, Form, OperatorError, Option, Place, Question, Who, get_bot, open_host
from askback.internal.clock import utc_now
from askback_sandbox.services import Services
from support.engine import change_policy

FORM = Form(
    questions=(
        Question(
            id="where", prompt="Where?", options=(Option(value="s", label="Staging"), Option(value="p", label="P"))
        ),
    )
)
PLACE = Place(platform="slack", channel="C0GENERAL")
ADA = Who.from_people(Actor(platform="slack", id="U0LOCALADA"))


def controls(services: Services) -> list[int]:
    """Return the number of rows of controls in each message of the bot."""
    return [
        sum(block["type"] == "actions" for block in message.blocks) for message in services.workspace.messages.values()
    ]


async def test_a_card_is_settled_before_a_program_ends_whose_question_timed_out(services: Services) -> None:
    async with open_host([get_bot("slack")], agent=False) as host:
        waiting = asyncio.create_task(host.manager.ask(FORM, to=PLACE, who=ADA, timeout=3600))
        await services.workspace.until(lambda workspace: any(m.blocks for m in workspace.messages.values()))
        (ask,) = await host.manager.list_open_asks(PLACE)
        await change_policy(host.store, ask.id, deadline=utc_now())
        host.wake()
        outcome = await waiting
    assert outcome.status == "timed_out"
    assert controls(services) == [0]


async def test_a_platform_that_there_is_not_is_refused_at_once(services: Services) -> None:
    async with open_host([get_bot("slack")], agent=False) as host:
        with pytest.raises(CallerError, match=r"There is no platform 'slak'. The platforms are discord, slack\."):
            await host.manager.ask(FORM, to=PLACE.evolve(platform="slak"), who=ADA)


async def test_a_program_that_was_restarted_gets_the_question_it_asked_before(services: Services) -> None:
    async with open_host([get_bot("slack")], agent=False) as host:
        waiting = asyncio.create_task(host.manager.ask(FORM, to=PLACE, who=ADA, timeout=None, key="k"))
        await services.workspace.until(lambda workspace: any(m.blocks for m in workspace.messages.values()))
        waiting.cancel()
    assert controls(services) == [2]
    async with open_host([get_bot("slack")], agent=False) as host:
        waiting = asyncio.create_task(host.manager.ask(FORM, to=PLACE, who=ADA, timeout=None, key="k"))
        (ask,) = await host.manager.list_open_asks(PLACE)
        assert await host.manager.cancel(ask.id, reason="Not needed any more.")
        outcome = await waiting
    assert (outcome.status, outcome.reason) == ("cancelled", "Not needed any more.")
    assert controls(services) == [0]


async def test_what_is_wrong_with_the_settings_comes_out_as_itself(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLACK_BOT_TOKEN")
    with pytest.raises(OperatorError, match="SLACK_BOT_TOKEN is missing"):
        async with open_host([get_bot("slack")], agent=False):
            pytest.fail("it began")
