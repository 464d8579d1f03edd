"""People decide about the calls of a `ClaudeSDKClient`, of subagents, and of sessions in a store of their own."""

from __future__ import annotations

import asyncio
import re
import shutil
from typing import Any

import pytest

from askback_sandbox.model.script import call, turn
from e2e.ask.office import Office
from support.claude_code import build_claude_environment
from support.optional import optional

from .claude_agents import DEPLOY, done, listen
from .claude_runs import APPROVED, COLOUR, EU, US, defer, given, live, opened, plan, resume, run

sdk = optional("claude_agent_sdk")

LOOK_AFTER = "Look after the region eu."


def delegate(*, background: bool) -> Any:
    """Return a call that lets a subagent do something."""
    return call(
        "Agent",
        description="Deploy",
        prompt=LOOK_AFTER,
        subagent_type="general-purpose",
        run_in_background=background,
    )


def plan_subagent(office: Office, *turns: Any) -> None:
    """Let a subagent deploy to eu, and the main agent make these calls."""
    plan(office, *turns)
    office.services.model.script(turn("On it.", EU), turn("eu is done"), when=LOOK_AFTER)


async def test_people_decide_in_each_turn_of_a_client(here: Office) -> None:
    turns = (turn("Yes.", EU), turn("done"), turn("Well.", COLOUR), turn("I see."), turn("Yes.", US), turn("A pity."))
    here.services.model.script(*turns, when="Deploy!")
    async with opened(here) as one:
        options = given(here, can_use_tool=one.can_use_tool, settings=None)
        async with sdk.ClaudeSDKClient(options=options) as client:
            said: list[list[str]] = []
            for prompt, act in (
                ("Deploy!", here.click("ada", "Approve", "where  eu")),
                ("Which colour?", here.click("ben", "Red", "Which colour?")),
                ("And us?", here.fill("ben", "Deny", "It is Friday", "where  us")),
            ):
                await client.query(prompt)
                _, heard = await asyncio.gather(act, listen(client.receive_response()))
                said.append(heard)
    approved, (answered, _), (denied, _) = said
    assert approved == APPROVED
    assert '"Which colour?"="Red"' in answered
    assert re.fullmatch(rf"{DEPLOY} was denied by .*: It is Friday\. It was not run\.", denied)
    assert done(here.folder) == ["eu"]


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("deferred", [False, True])
async def test_a_call_of_a_subagent_has_its_own_card(here: Office, deferred: bool, background: bool) -> None:
    plan_subagent(here, delegate(background=background))
    async with opened(here) as one:
        running = run(here, one) if deferred else live(here, one)
        await here.click("ada", "Approve", "where  eu")
        said = await running
        assert await one.list_waiting() == ()
    assert "deployed to eu" in said
    assert done(here.folder) == ["eu"]
    assert len(here.shown()) == 1


async def test_a_call_beside_a_subagent_that_waits_for_people_is_not_lost(here: Office) -> None:
    plan_subagent(here, delegate(background=True), US)
    async with opened(here) as one:
        running = run(here, one)
        await here.click("ada", "Approve", "where  us")
        await here.click("ada", "Approve", "where  eu")
        said = await running
        assert await one.list_waiting() == ()
    assert {"deployed to eu", "deployed to us"} <= set(said)
    assert sorted(done(here.folder)) == ["eu", "us"]


async def test_a_session_in_a_store_continues_on_another_machine(here: Office) -> None:
    plan(here, EU)
    store = sdk.InMemorySessionStore()
    async with opened(here) as one:
        session = await defer(here, one, session_store=store)
        shutil.rmtree(here.folder / "claude")
        elsewhere = build_claude_environment(here.services.url, here.folder / "other")
        running = resume(here, one, session, session_store=store, env=elsewhere)
        await here.click("ada", "Approve", "where  eu")
        assert await running == APPROVED
    assert done(here.folder) == ["eu"]
