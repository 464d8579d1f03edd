"""People answer and approve the calls of a Claude agent. The SDK and Claude Code are the real ones."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from askback.doors.hand_over import NotClaimed, OutcomeUnknown
from askback.errors import CallerError
from askback_sandbox.model.script import call
from e2e.ask.office import Office
from support.optional import optional

from .claude_agents import DEPLOY, WORK, done, list_claudes, listen
from .claude_runs import (
    APPROVED,
    COLOUR,
    EU,
    LIST,
    RUN,
    US,
    ask,
    defer,
    given,
    list_transcripts,
    live,
    opened,
    plan,
    program,
    resume,
    run,
    stop,
)
from .environment import settle_in
from .looking_bot import looking_bot
from .waits import GONE, reads, waited_for
from .waits import run as sql

sdk = optional("claude_agent_sdk")

from askback.doors import claude_run  # noqa: E402
from askback.doors.claude_agent_sdk import ClaudeAgentDoor, NotResumed  # noqa: E402


async def test_a_question_is_answered_while_the_agent_waits(here: Office) -> None:
    plan(here, COLOUR)
    async with opened(here) as one:
        running = live(here, one)
        await here.click("ada", "Red", "Which colour?")
        answered, last = await running
    assert answered.startswith('Your questions have been answered: "Which colour?"="Red".')
    assert last == "done"


async def test_people_see_all_arguments_and_each_call_has_its_own_decision(here: Office) -> None:
    plan(here, (EU, US))
    async with opened(here) as one:
        running = live(here, one)
        await here.click("ada", "Approve", "where  eu")
        await here.fill("ben", "Deny", "It is Friday", "where  us")
        approved, denied, last = await running
    assert (approved, last) == ("deployed to eu", "done")
    assert re.fullmatch(rf"{DEPLOY} was denied by .*\(\w+\): It is Friday\. It was not run\.", denied)
    assert done(here.folder) == ["eu"]


@pytest.mark.parametrize("deferred", [False, True])
async def test_people_change_the_arguments_and_exactly_that_runs(here: Office, deferred: bool) -> None:
    plan(here, EU)
    async with opened(here, edit=[DEPLOY]) as one:
        running = run(here, one) if deferred else live(here, one)
        await here.change("ben", {"where": "us"}, "where  eu")
        await here.click("ada", "Approve", "where  us")
        assert await running == ["deployed to us", "done"]
    assert done(here.folder) == ["us"]


async def test_nobody_decided_is_not_a_denial(here: Office) -> None:
    plan(here, EU, COLOUR)
    async with opened(here, wait="1s") as one:
        undecided, unanswered, _ = await live(here, one)
    assert undecided.startswith(f"Nobody decided in time whether {DEPLOY} may run")
    assert undecided.endswith("Nobody denied it.")
    assert unanswered.startswith("Nobody answered in time")
    assert done(here.folder) == []


async def test_a_lost_caller_settles_no_card_and_the_same_call_attaches_again(here: Office) -> None:
    context = sdk.ToolPermissionContext(tool_use_id="toolu_1")
    async with opened(here) as one:
        lost = asyncio.create_task(one.can_use_tool(DEPLOY, {"where": "eu"}, context))
        await here.card("where  eu")
        await stop(lost)
        again = asyncio.create_task(one.can_use_tool(DEPLOY, {"where": "eu"}, context))
        await here.click("ada", "Approve", "where  eu")
        assert await again == sdk.PermissionResultAllow(updated_input={"where": "eu"})
        later = await one.can_use_tool(DEPLOY, {"where": "eu"}, context)
    assert "Make the call again" in later.message
    assert len(here.shown()) == 1


async def test_the_card_of_a_call_whose_process_has_ended_says_that_nobody_waits(here: Office) -> None:
    context = sdk.ToolPermissionContext(tool_use_id="toolu_1")
    await looking_bot(here)
    async with opened(here) as one:
        lost = asyncio.create_task(one.can_use_tool(DEPLOY, {"where": "eu"}, context))
        await here.card("where  eu")
        await waited_for(here)
        await stop(lost)
        await here.until(lambda: sql(here, "SELECT kept_until FROM waits") != [(None,)])
    await reads(here, "where  eu", GONE)


async def test_a_deferred_call_needs_no_process_while_people_think(here: Office) -> None:
    plan(here, EU)
    async with opened(here) as one:
        running = run(here, one)
        await here.card("where  eu")
        await here.until(lambda: not list_claudes())
        (session,) = await one.list_waiting()
        assert await one.list_answered() == ()
        with pytest.raises(CallerError, match="waits for people"):
            await listen(one.run("Hurry!", given(here, resume=session)))
        await here.click("ada", "Approve", "where  eu")
        assert await running == APPROVED
        assert await one.list_waiting() == ()
    assert done(here.folder) == ["eu"]


async def test_a_denial_counts_even_if_the_rules_of_claude_code_allow_the_call(here: Office) -> None:
    plan(here, EU, US)
    async with opened(here) as one:
        running = run(here, one, allowed_tools=[DEPLOY], permission_mode="auto")
        await here.fill("ben", "Deny", "It is Friday", "where  eu")
        await here.click("ada", "Approve", "where  us")
        denied, approved, _ = await running
    assert "It is Friday" in denied
    assert approved == "deployed to us"
    assert done(here.folder) == ["us"]


async def test_several_questions_and_labels_with_commas_reach_the_agent(here: Office) -> None:
    which = ask("Which ones?", "Salt, pepper", "Oil", "Bread", several=True)
    plan(here, call("AskUserQuestion", questions=[ask("Which colour?", "Blue", "Red"), which]))
    async with opened(here) as one:
        running = run(here, one)
        await here.click("ada", "Red", "Which colour?")
        await here.tick("ada", await here.card("Which ones?"), "Salt, pepper", "Oil")
        await here.click("ada", "Review", "Which ones?")
        await here.until(lambda: any(one.label == "Submit" for card in here.shown() for one in here.buttons(card)))
        await here.click("ada", "Submit", "Which ones?")
        answered, _ = await running
    assert '"Which colour?"="Red"' in answered
    assert '"Which ones?"=""Salt, pepper", Oil"' in answered


async def test_of_several_calls_in_one_turn_none_is_lost(here: Office) -> None:
    """Claude Code keeps only the last of several deferred calls, so none of them is deferred."""
    plan(here, (EU, COLOUR, US))
    async with opened(here) as one:
        running = run(here, one)
        await here.click("ada", "Approve", "where  eu")
        await here.click("ada", "Blue", "Which colour?")
        assert await one.list_waiting() == ()
        await here.click("ada", "Approve", "where  us")
        first, answered, second, _ = await running
    assert (first, second) == ("deployed to eu", "deployed to us")
    assert '"Which colour?"="Blue"' in answered
    assert done(here.folder) == ["eu", "us"]


async def test_a_killed_process_is_continued_once_by_another(stored_office: Office) -> None:
    office = stored_office
    plan(office, EU)
    await office.bot()
    first = await program(office, RUN)
    await office.card("where  eu")
    listed = await program(office, "await one.list_waiting()")
    session = (await listed.ended())[1].split("'")[1]
    await first.kill()
    await office.click("ada", "Approve", "where  eu")
    await office.settled("where  eu")
    assert await (await program(office, LIST)).ended() == (0, f"('{session}',)\n")
    second = await program(office, f'await listen(one.resume("{session}", given))')
    assert await second.ended() == (0, f"{APPROVED}\n")
    third = await program(office, f'await listen(one.resume("{session}", given))')
    assert (await third.ended())[0] == 1
    assert "handed over before" in third.err
    assert await (await program(office, LIST)).ended() == (0, "()\n")
    assert done(office.folder) == ["eu"]


async def test_two_that_resume_at_once_resume_once(here: Office) -> None:
    plan(here, EU)
    async with opened(here) as one, opened(here) as other:
        running = run(here, one)
        await here.card("where  eu")
        (session,) = await one.list_waiting()
        both = [running, resume(here, other, session)]
        await here.click("ada", "Approve", "where  eu")
        results = await asyncio.gather(*both, return_exceptions=True)
    assert [one.result in ("taken", "acknowledged") for one in results if isinstance(one, NotClaimed)] == [True]
    assert APPROVED in results
    assert done(here.folder) == ["eu"]


@pytest.mark.parametrize("dies", ["alone", "with Claude Code"])
async def test_a_process_that_dies_with_the_approval_leaves_it_unknown(
    stored_office: Office, monkeypatch: pytest.MonkeyPatch, dies: str
) -> None:
    """A Claude Code that outlives the process continues without the call's result. Otherwise, the call waits again."""
    office = stored_office
    plan(office, EU)
    dying = await program(office, RUN, dies=dies)
    await office.click("ada", "Approve", "where  eu")
    await dying.ended()
    assert done(office.folder) == ["eu"]
    here = settle_in(office, monkeypatch)
    monkeypatch.setattr(claude_run, "REISSUE_SECONDS", 20.0)
    async with opened(here) as one:
        (transcript,) = list_transcripts(here)
        session = transcript.stem
        with pytest.raises(OutcomeUnknown, match="check that first"):
            await _resume_after_the_claim(here, one, session)
        await here.until(lambda: "was interrupted while it acted on the answer" in here.picture())
        again = resume(here, one, session, again=True)
        if dies == "alone":
            with pytest.raises(NotResumed, match="does not wait for the call"):
                await again
        else:
            assert await again == APPROVED
    assert done(here.folder) == ["eu"] * (1 if dies == "alone" else 2)


async def test_whoever_knows_what_happened_continues_a_lost_session_at_once(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan(office, EU)
    dying = await program(office, RUN, dies="with Claude Code")
    await office.click("ada", "Approve", "where  eu")
    await dying.ended()
    here = settle_in(office, monkeypatch)
    async with opened(here) as one:
        (transcript,) = list_transcripts(here)
        assert await resume(here, one, transcript.stem, again=True) == APPROVED
    assert done(here.folder) == ["eu"] * 2


async def _resume_after_the_claim(here: Office, one: ClaudeAgentDoor, session: str) -> None:
    """Continue a session, once the claim of the dead process has passed."""
    while True:
        try:
            await resume(here, one, session)
        except NotClaimed as error:
            assert error.result == "taken"  # noqa: PT017
            await asyncio.sleep(0.2)


async def test_a_call_whose_process_is_killed_while_it_asks_does_not_run(stored_office: Office) -> None:
    """Claude Code outlives the process, and has not heard that the call is deferred."""
    office = stored_office
    plan(office, EU)
    await office.bot()
    asking = await program(office, RUN, before="HandOvers.record = never")
    await office.card("where  eu")
    listed = await program(office, "await one.list_answered()")
    session = (await listed.ended())[1].split("'")[1]
    await asking.kill()
    await office.click("ada", "Approve", "where  eu")
    await office.settled("where  eu")
    resumed = await program(office, f'await listen(one.resume("{session}", given))')
    assert (await resumed.ended())[0] == 1
    assert "Nobody was asked about this call" in resumed.err
    assert await (await program(office, LIST)).ended() == (0, "()\n")
    assert done(office.folder) == []


async def test_arguments_that_differ_from_the_shown_ones_are_asked_again(here: Office) -> None:
    plan(here, EU)
    async with opened(here) as one:
        session = await defer(here, one)
        await here.click("ada", "Approve", "where  eu")
        (transcript,) = list_transcripts(here)
        text = transcript.read_text(encoding="utf-8")
        transcript.write_text(text.replace('{"where":"eu"}', '{"where":"mars"}'), encoding="utf-8")
        running = resume(here, one, session)
        await here.fill("ben", "Deny", "Too far", "where  mars")
        denied, _ = await running
    assert "Too far" in denied
    assert done(here.folder) == []


async def test_an_approved_call_runs_in_the_folder_in_which_it_was_made(here: Office) -> None:
    plan(
        here,
        call("Bash", command="mkdir -p sub && cd sub", description="Change the folder"),
        call("Bash", command="touch here.txt", description="Make a file"),
    )
    async with opened(here, requires_approval=["Bash"]) as one:
        running = run(here, one)
        await here.click("ada", "Approve", "Change the folder")
        await here.click("ada", "Approve", "Make a file")
        assert (await running)[-1] == "done"
    assert list((here.folder / WORK).rglob("here.txt")) == [here.folder / WORK / "sub" / "here.txt"]


async def test_a_tool_that_is_gone_leaves_the_answer_for_later(here: Office) -> None:
    plan(here, EU)
    async with opened(here) as one:
        session = await defer(here, one)
        await here.click("ada", "Approve", "where  eu")
        with pytest.raises(NotResumed, match="isn't available"):
            await resume(here, one, session, mcp_servers={})
        assert await one.list_answered() == (session,)
        assert await resume(here, one, session) == APPROVED


async def test_a_session_that_went_on_without_the_answer_is_not_continued(
    here: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claude_run, "REISSUE_SECONDS", 5.0)
    plan(here, EU)

    async def refuse(*_: Any) -> Any:
        return sdk.PermissionResultDeny(message="No.")

    async with opened(here) as one:
        session = await defer(here, one)
        went_on = given(
            here, resume=session, can_use_tool=refuse, settings=json.dumps({"permissions": {"ask": [DEPLOY]}})
        )
        await listen(sdk.query(prompt="Go on.", options=went_on))
        await here.click("ada", "Approve", "where  eu")
        with pytest.raises(NotResumed, match="does not wait for the call"):
            await resume(here, one, session)
        assert await one.list_waiting() == ()
    assert done(here.folder) == []


async def test_people_who_cannot_be_asked_deny_nothing(here: Office) -> None:
    plan(here, EU)
    async with opened(here, approvers="@nobody") as one:
        denied, _ = await run(here, one)
    assert "Nobody was asked" in denied or "askback could not ask people" in denied
    assert done(here.folder) == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"permission_mode": "bypassPermissions"}, "bypassPermissions"),
        ({"settings": "missing.json"}, "cannot be read"),
        ({"can_use_tool": lambda *_: None}, "leave it out"),
    ],
)
async def test_options_that_let_calls_run_without_people_are_errors(
    here: Office, more: dict[str, Any], said: str
) -> None:
    async with opened(here) as one:
        with pytest.raises(CallerError, match=said):
            await run(here, one, **more)


def test_rules_are_no_names_of_tools(here: Office) -> None:
    with pytest.raises(CallerError, match="names tools"):
        opened(here, requires_approval=["Bash(git push *)"])
