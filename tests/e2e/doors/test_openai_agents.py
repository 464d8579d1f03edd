"""People approve the tool calls of an OpenAI Agents SDK agent and answer its questions, whatever process runs it."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from askback.domain.card_labels import EDIT
from askback.doors.hand_over import NotClaimed, OutcomeUnknown
from askback.errors import CallerError
from e2e.ask.office import Office, Process
from support.optional import optional

from .environment import settle_in
from .openai_shop import DONE, Shop, door

optional("agents")

TESTS = Path(__file__).parents[2]
PROGRAM = """
import asyncio, sys
from pathlib import Path

sys.path.insert(0, {tests!r})
from askback.store.queries import hand_overs
from e2e.doors.openai_shop import Shop, door

hand_overs.CLAIM_SECONDS = 1.0

async def main():
    shop = Shop(Path("."), {calls!r}, dies={dies!r}, later={later!r})
    async with door(shop, "{platform}:#deploys") as one:
        print({act})
        print(*shop.results.values(), sep="\\n")

asyncio.run(main())
"""
RUN = '(await one.run("Deploy!", "talk")).final_output'
RESUME = '(await one.resume("talk", shop.saved())).final_output'
DEPLOY = ("deploy", {"where": "eu"})
ASK = ("ask_people", {"question": "Which region?"})


async def program(office: Office, act: str, *calls: Any, dies: str = "", later: Any = ()) -> Process:
    """Start a process that runs or continues the agent."""
    file = office.folder / f"program-{len(office._processes)}.py"
    text = PROGRAM.format(
        tests=str(TESTS), platform=office.platform, act=act, calls=calls, dies=dies, later=list(later)
    )
    file.write_text(text, encoding="utf-8")
    return await office.start(program=file, ASKBACK_QUESTION_PACE="0s")


def opened(office: Office, *calls: Any, tools: Any = None, later: Any = (), **more: Any) -> tuple[Shop, Any]:
    shop = Shop(office.folder, calls, tools=tools, later=later)
    return shop, door(shop, f"{office.platform}:#deploys", **more)


async def cancel(running: asyncio.Task[Any]) -> None:
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_all_calls_of_a_turn_are_decided_by_people_and_handed_over_together(here: Office) -> None:
    shop, opening = opened(here, DEPLOY, ("look", {}), ("deploy", {"where": "us"}), ASK)
    async with opening as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.fill("ben", "Deny", "It is Friday", "where  us")
        await here.fill("cy", "Write an answer…", "Frankfurt", "Which region?")
        await here.settled("Which region?")
        assert shop.done() == ["looked"]
        await here.click("ada", "Approve", "where  eu")
        assert (await running).final_output == "done"
    assert shop.done() == ["looked", "eu"]
    approved, looked, denied, answered = shop.results.values()
    assert (approved, looked) == ("deployed to eu", "all is well")
    assert re.match(r"deploy was denied by .*\(\w+\): It is Friday\. It was not run\.", denied)
    words = rf"Answered by .*\(\w+\) in {here.platform}:#deploys at .* UTC, in their own words: Frankfurt$"
    assert re.match(words, answered)


RELEASE = ("release", {"version": "1.4.2", "where": "eu", "count": 3})


async def test_people_change_the_arguments_and_the_model_reads_what_ran(here: Office) -> None:
    shop, opening = opened(here, RELEASE, DEPLOY)
    async with opening as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        assert EDIT not in [button.label for button in here.buttons(await here.card("Run deploy?"))]
        assert await here.change("ada", {"version": " "}, "Run release?")
        assert not await here.change("ada", {"version": "1.4.3", "count": ""}, "Run release?")
        await here.click("ben", "Approve", "version  1.4.2 → 1.4.3")
        await here.click("ben", "Approve", "Run deploy?")
        assert "count  3 → null" in await here.settled("Approved with changes")
        assert (await running).final_output == "done"
    assert sorted(shop.done()) == ["1.4.3 eu None", "eu"]
    told = shop.results["call-0"]
    assert '"version" is "1.4.3" and not "1.4.2" (changed by ' in told
    assert '"count" is null and not 3 (changed by ' in told
    assert told.endswith("do not repeat your call.\n\n1.4.3 is in eu")
    assert shop.results["call-1"] == "deployed to eu"


async def test_a_changed_call_runs_once_in_another_process_with_what_people_saw(stored_office: Office) -> None:
    office = stored_office
    first = await program(office, RUN, RELEASE)
    assert not await office.change("ada", {"version": "1.4.3"}, "Run release?")
    await first.kill()
    await office.bot()
    await office.click("ben", "Approve", "version  1.4.2 → 1.4.3")
    await office.settled("Approved with changes")
    second = await program(office, RESUME, RELEASE)
    code, out = await second.ended()
    assert code == 0, second.err
    assert out.splitlines()[-1] == "1.4.3 is in eu"
    assert (office.folder / DONE).read_text(encoding="utf-8").splitlines() == ["1.4.3 eu 3"]


async def test_a_tool_with_guardrails_for_its_arguments_cannot_be_changed() -> None:
    from agents import ToolGuardrailFunctionOutput, function_tool, tool_input_guardrail

    from askback.doors.openai_agents import editable

    @tool_input_guardrail
    def check(data: Any) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.allow()

    @function_tool(needs_approval=True, tool_input_guardrails=[check])
    def wipe(where: str) -> str:
        return where

    with pytest.raises(CallerError, match="would not see what people change"):
        editable(wipe)


async def test_options_of_the_model_and_a_form_of_the_developer(here: Office) -> None:
    go = ("ask_people", {"question": "Go on?", "options": ["Yes", "No"]})
    shop, opening = opened(here, go, ("choose", {"question": "Where?"}))
    async with opening as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.click("ada", "eu", "Where?")
        await here.click("ben", "No", "Go on?")
        await running
    refused, chosen = shop.results.values()
    assert re.match(r"Refused by .*: No$", refused)
    assert chosen.endswith(': {"region": "eu"}')


async def test_each_way_to_end_without_an_answer_is_told_apart(here: Office) -> None:
    shop, opening = opened(here, DEPLOY, ASK, wait="1s")
    async with opening as one:
        assert (await one.run("Deploy!", "talk")).final_output == "done"
    undecided, unanswered = shop.results.values()
    assert undecided.startswith("Nobody decided in time whether deploy may run")
    assert undecided.endswith("Nobody denied it.")
    assert unanswered.startswith("Nobody answered in time")
    assert shop.done() == []


async def test_the_model_reads_that_it_has_to_stop(here: Office) -> None:
    shop, opening = opened(here, ASK, wait="1s", on_timeout="halt")
    async with opening as one:
        await one.run("Deploy!", "talk")
    assert "Nobody answered in time. Stop here" in shop.results["call-0"]


async def test_what_people_cannot_be_asked_goes_back_to_the_model(here: Office) -> None:
    wrong = ("ask_people", {"question": "Where?", "place": "#everybody"})
    shop, opening = opened(here, ("ask_people", {}), wrong, ("choose", {"question": "Where?", "options": ["mars"]}))
    async with opening as one:
        assert (await one.run("Deploy!", "talk")).final_output == "done"
    missing, place, options = shop.results.values()
    assert "question" in missing
    assert place == "ask_people has no field 'place', so nobody was asked: leave it out."
    assert options == "choose has no field 'options', so nobody was asked: leave it out."
    assert here.shown() == []


async def test_a_command_of_a_built_in_tool_is_shown_whole(here: Office) -> None:
    from agents.testing import ScriptedModel, assistant_message
    from openai.types.responses import ResponseFunctionShellToolCall

    given = {
        "id": "x",
        "call_id": "s",
        "type": "shell_call",
        "status": "completed",
        "action": {"commands": ["rm -r x"]},
    }
    shop, opening = opened(here, tools=["shell"])
    call = ResponseFunctionShellToolCall.model_validate(given)
    shop.agent.model = ScriptedModel([[call], [assistant_message("done")]])
    async with opening as one:
        running = asyncio.create_task(one.run("Clean up!", "talk"))
        await here.click("ada", "Approve", "rm -r x")
        await running
    assert shop.done() == ['["rm -r x"]']


async def test_the_same_outcomes_are_never_applied_twice(here: Office) -> None:
    shop, opening = opened(here, DEPLOY)
    async with opening as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.click("ada", "Approve", "Run deploy?")
        await running
        with pytest.raises(NotClaimed, match="handed over before"):
            await one.resume("talk", shop.saved())
    assert (shop.done(), len(here.shown())) == (["eu"], 1)


async def test_two_that_resume_at_once_resume_once(here: Office) -> None:
    shop, opening = opened(here, DEPLOY)
    async with opening as one, door(Shop(here.folder, [DEPLOY]), f"{here.platform}:#deploys") as other:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.card("Run deploy?")
        both = [running, asyncio.create_task(other.resume("talk", shop.saved()))]
        await here.click("ada", "Approve", "Run deploy?")
        results = await asyncio.gather(*both, return_exceptions=True)
    refused = [one for one in results if isinstance(one, NotClaimed)]
    assert [one.result in ("taken", "acknowledged") for one in refused] == [True]
    assert shop.done() == ["eu"]


async def test_a_call_with_other_arguments_is_asked_again(here: Office) -> None:
    """The agent runs again, and makes a call with the same id."""
    first, opening = opened(here, DEPLOY)
    async with opening as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.card("where  eu")
        await cancel(running)
    second, opening = opened(here, ("deploy", {"where": "mars"}))
    async with opening as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.settled("where  eu", "since the call has changed")
        await here.click("ada", "Approve", "where  mars")
        await running
    assert (first.results, second.done()) == ({}, ["mars"])


def _change_arguments(text: str) -> str:
    return text.replace('\\"eu\\"', '\\"mars\\"')


def _change_version(text: str) -> str:
    return re.sub(r'("\$schemaVersion": )"[\d.]+"', r'\1"99.0"', text)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: "{}", "missing schema version"),
        (lambda text: "no JSON", "Failed to parse"),
        (lambda text: '{"$schemaVersion": "1.21"}', "cannot continue this text"),
        (_change_version, "schema version is not supported"),
        (_change_arguments, "for a different invocation"),
    ],
)
async def test_a_text_that_the_agent_cannot_continue_is_refused_and_nobody_is_asked(
    here: Office, change: Any, said: str
) -> None:
    shop, opening = opened(here, DEPLOY)
    async with opening as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.card("Run deploy?")
        await cancel(running)
        with pytest.raises(CallerError, match=said):
            await one.resume("talk", change(shop.saved()))
        # The question stays open, and the right text still gets the answer.
        resumed = asyncio.create_task(one.resume("talk", shop.saved()))
        await here.click("ada", "Approve", "Run deploy?")
        await resumed
    assert (shop.done(), len(here.shown())) == (["eu"], 1)


async def test_an_agent_without_the_tool_or_of_another_name_does_not_continue(here: Office) -> None:
    shop, opening = opened(here, DEPLOY)
    async with opening as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.card("Run deploy?")
        await cancel(running)
    other, opening = opened(here, tools=["look"])
    async with opening as one:
        with pytest.raises(CallerError, match="'shop' no longer has the tool deploy"):
            await one.resume("talk", shop.saved())
        other.agent.name = "store"
        with pytest.raises(CallerError, match="agent not found"):
            await one.resume("talk", shop.saved())
    assert (shop.done(), len(here.shown())) == ([], 1)


async def test_an_object_as_context_is_not_saved_and_has_to_be_given_again(here: Office) -> None:
    class Session:
        token = "sk-very-secret"

    shop, opening = opened(here, DEPLOY)
    async with opening as one:
        running = asyncio.create_task(one.run("Deploy!", "talk", context=Session()))
        await here.card("Run deploy?")
        await cancel(running)
        assert Session.token not in shop.saved()
        with pytest.raises(CallerError, match="with the same context"):
            await one.resume("talk", shop.saved())
        resumed = asyncio.create_task(one.resume("talk", shop.saved(), context=Session()))
        await here.click("ada", "Approve", "Run deploy?")
        await resumed
    assert shop.done() == ["eu"]


async def test_an_agent_within_a_tool_waits_for_people_too(here: Office) -> None:
    inner, _ = opened(here, DEPLOY, ASK)
    outer, opening = opened(here, ("help", {"input": "Deploy!"}))
    outer.agent.tools.append(inner.agent.as_tool("help", "Helps."))
    async with opening as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.card("Run deploy?")
        await cancel(running)
        resumed = asyncio.create_task(one.resume("talk", outer.saved()))
        await here.click("ada", "Approve", "Run deploy?")
        await here.fill("ada", "Write an answer…", "Frankfurt", "Which region?")
        await resumed
    assert inner.results["call-0"] == "deployed to eu"
    assert "Frankfurt" in inner.results["call-1"]
    assert outer.results == {"call-0": "done"}


async def test_a_killed_process_is_continued_once_by_another(stored_office: Office) -> None:
    office = stored_office
    await office.bot()
    first = await program(office, RUN, DEPLOY, ASK)
    await office.card("Run deploy?")
    await office.card("Which region?")
    await first.kill()
    await office.click("ada", "Approve", "Run deploy?")
    await office.fill("ada", "Write an answer…", "Frankfurt", "Which region?")
    await office.settled("Which region?")
    listed = await program(office, "await one.list_answered(), await one.list_waiting()", DEPLOY)
    assert (await listed.ended())[1].splitlines()[0] == "('talk',) ('talk',)"
    second = await program(office, RESUME, DEPLOY, ASK)
    code, said = await second.ended()
    assert (code, said.splitlines()[:2]) == (0, ["done", "deployed to eu"])
    assert "Frankfurt" in said.splitlines()[2]
    third = await program(office, RESUME, DEPLOY, ASK)
    assert (await third.ended())[0] == 1
    assert "handed over before" in third.err
    assert (office.folder / DONE).read_text(encoding="utf-8") == "eu\n"


@pytest.mark.parametrize("dies", ["in the tool", "before the save"])
async def test_a_process_that_dies_with_the_approval_leaves_it_unknown(
    stored_office: Office, monkeypatch: pytest.MonkeyPatch, dies: str
) -> None:
    office = stored_office
    dying = await program(office, RUN, DEPLOY, dies=dies, later=[ASK])
    await office.click("ada", "Approve", "Run deploy?")
    await dying.ended()
    shop, opening = opened(settle_in(office, monkeypatch), DEPLOY, later=[ASK])
    async with opening as one:
        with pytest.raises(OutcomeUnknown, match="check that first"):
            await _resume_after_the_claim(one, shop.saved())
        await office.until(lambda: "was interrupted while it acted on the answer" in office.picture())
        assert shop.done() == ["eu"]
        resumed = asyncio.create_task(one.resume("talk", shop.saved(), again=True))
        await office.fill("ada", "Write an answer…", "Frankfurt", "Which region?")
        assert (await resumed).final_output == "done"
    assert shop.done() == ["eu", "eu"]


async def test_whoever_knows_what_happened_continues_a_lost_run_at_once(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = await program(office, RUN, DEPLOY, dies="in the tool")
    await office.click("ada", "Approve", "Run deploy?")
    await dying.ended()
    shop, opening = opened(settle_in(office, monkeypatch), DEPLOY)
    async with opening as one:
        assert (await one.resume("talk", shop.saved(), again=True)).final_output == "done"
    assert shop.done() == ["eu", "eu"]


async def _resume_after_the_claim(one: Any, saved: str) -> Any:
    """Continue a run, once the claim of the dead process has passed."""
    while True:
        try:
            return await one.resume("talk", saved)
        except NotClaimed as error:
            assert error.result == "taken"  # noqa: PT017
            await asyncio.sleep(0.2)
