"""People approve and answer the deferred calls of a Pydantic AI agent, whatever process runs it."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from askback.domain.card_labels import EDIT
from askback.doors.hand_over import HandOvers, NotClaimed, OutcomeUnknown
from askback.errors import CallerError
from e2e.ask.office import Office, Process
from support.optional import optional

from .agents import DONE, SAVED, Shop, door
from .environment import settle_in
from .waits import run

optional("pydantic_ai")

TESTS = Path(__file__).parents[2]
PROGRAM = """
import asyncio, os, signal, sys
from pathlib import Path

sys.path.insert(0, {tests!r})
from askback.store.queries import hand_overs
from e2e.doors.agents import Shop, door

hand_overs.CLAIM_SECONDS = 1.0

async def main():
    shop = Shop(Path("."), {calls!r}, dies={dies!r})
    async with door(shop, "{platform}:#deploys") as one:
        print({act})

asyncio.run(main())
"""
RUN = '(await one.run("Deploy!", "talk")).output'
RESUME = '(await one.resume("talk", shop.saved())).output'
DEPLOY = ("deploy", {"where": "eu"})
ASK = ("ask_person", {"question": "Which region?"})


async def program(office: Office, act: str, *calls: Any, dies: str = "") -> Process:
    """Start a process that runs or continues the agent."""
    file = office.folder / f"program-{len(office._processes)}.py"
    text = PROGRAM.format(tests=str(TESTS), platform=office.platform, act=act, calls=calls, dies=dies)
    file.write_text(text, encoding="utf-8")
    return await office.start(program=file, ASKBACK_QUESTION_PACE="0s")


def opened(office: Office, *calls: Any, **more: Any) -> tuple[Shop, Any]:
    shop = Shop(office.folder, calls)
    return shop, door(shop, f"{office.platform}:#deploys", **more)


async def test_all_calls_of_a_turn_are_answered_by_people_and_handed_over_together(here: Office) -> None:
    shop, opening = opened(here, DEPLOY, ("deploy", {"where": "us"}), ASK)
    async with opening as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.fill("ben", "Deny", "It is Friday", "where  us")
        await here.fill("cy", "Write an answer…", "Frankfurt", "Which region?")
        await here.settled("Which region?")
        assert shop.done() == []
        await here.click("ada", "Approve", "where  eu")
        result = await running
    assert result.output == "done"
    assert shop.done() == ["eu"]
    approved, denied, answered = shop.results
    assert approved == "deployed to eu"
    assert re.match(r"deploy was denied by .*\(\w+\): It is Friday\. It was not run\.", denied)
    assert answered == "Frankfurt"


async def test_nobody_answered_is_told_apart_from_a_denial(here: Office) -> None:
    shop, opening = opened(here, DEPLOY, ASK, wait="1s")
    async with opening as one:
        assert (await one.run("Deploy!", "talk")).output == "done"
    undecided, unanswered = shop.results
    assert undecided.startswith("Nobody decided in time whether deploy may run")
    assert undecided.endswith("Nobody denied it.")
    assert "Nobody answered in time" in unanswered
    assert shop.outcomes == ["denied", "failed"]
    assert shop.done() == []


async def test_the_model_reads_that_it_has_to_stop(here: Office) -> None:
    shop, opening = opened(here, ASK, wait="1s", on_timeout="halt")
    async with opening as one:
        assert (await one.run("Deploy!", "talk")).output == "done"
    (unanswered,) = shop.results
    assert "Nobody answered in time. Stop here" in unanswered


async def test_a_schema_in_the_metadata_becomes_a_form(here: Office) -> None:
    shop, opening = opened(here, ("choose", {"question": "Where?"}))
    async with opening as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.click("ada", "eu", "Where?")
        await running
    assert shop.results == ["eu"]


async def test_the_same_answers_are_never_applied_twice(here: Office) -> None:
    shop, opening = opened(here, DEPLOY)
    async with opening as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.click("ada", "Approve", "Run deploy?")
        await running
        saved = shop.saved()
        with pytest.raises(NotClaimed, match="handed over before"):
            await one.resume("talk", saved)
        with pytest.raises(CallerError, match="not a run that `save` was given"):
            await one.resume("talk", "{}")
    assert (shop.done(), len(here.shown())) == (["eu"], 1)


async def test_two_that_resume_at_once_resume_once(here: Office) -> None:
    shop, opening = opened(here, DEPLOY)
    async with opening as one, door(Shop(here.folder, [DEPLOY]), f"{here.platform}:#deploys") as other:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.card("Run deploy?")
        saved = shop.saved()
        both = [running, asyncio.create_task(other.resume("talk", saved))]
        await here.click("ada", "Approve", "Run deploy?")
        results = await asyncio.gather(*both, return_exceptions=True)
    refused = [one for one in results if isinstance(one, NotClaimed)]
    assert [one.result in ("taken", "acknowledged") for one in refused] == [True]
    assert shop.done() == ["eu"]


async def resume_changed(here: Office, one: Any) -> None:
    """Resume with other arguments: people are asked again, and the card of the first call says so."""
    saved = (here.folder / SAVED).read_text(encoding="utf-8")
    again = asyncio.create_task(one.resume("talk", saved.replace('"eu"', '"mars"')))
    await here.settled("Run deploy?", "since the call has changed")
    await here.click("ada", "Approve", "where  mars")
    await again


async def test_arguments_that_differ_from_the_shown_ones_are_asked_again(here: Office) -> None:
    shop, opening = opened(here, DEPLOY)
    async with opening as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.card("where  eu")
        running.cancel()
        await asyncio.wait([running])
        await resume_changed(here, one)
    assert shop.done() == ["mars"]


async def test_a_question_that_a_lost_caller_did_not_record_is_withdrawn(
    here: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller is lost after people see the card, and before the hand-over names the ask."""

    async def never_record(*_: object) -> None:
        await asyncio.Event().wait()

    shop, opening = opened(here, DEPLOY)
    async with opening as one:
        with monkeypatch.context() as patch:
            patch.setattr(HandOvers, "record", never_record)
            running = asyncio.create_task(one.run("Deploy!", "talk"))
            await here.card("where  eu")
            running.cancel()
            await asyncio.wait([running])
        await resume_changed(here, one)
    assert shop.done() == ["mars"]


@pytest.mark.parametrize("package", [None, "pydantic_ai_harness"])
async def test_the_questions_of_ask_user_are_one_form_and_its_result_has_their_headers(
    here: Office, package: str | None
) -> None:
    """The package needs an exact, older version of Pydantic AI. So a tool of the same shape is tested everywhere."""
    capabilities = [] if package is None else [pytest.importorskip(package).AskUser(answerer=None)]
    options = [{"label": "Blue", "description": "As the sky."}, {"label": "Red, or so"}]
    given = {
        "questions": [
            {"header": "Colour", "question": "Which colour?", "options": options},
            {"header": "Edge", "question": "Which colour has its edge?", "options": options},
        ]
    }
    shop = Shop(here.folder, [("ask_user_question", given)], capabilities=capabilities)
    async with door(shop, f"{here.platform}:#deploys") as one:
        running = asyncio.create_task(one.run("Paint it!", "talk"))
        await here.fill("ben", "Something else…", "Green", "Which colour?")
        await here.click("ben", "Red, or so", "Which colour has its edge?")
        await here.click("ben", "Submit", "Which colour?")
        assert (await running).output == "done"
    assert shop.outcomes == ["success"]
    assert shop.results == [{"Colour": ["Green"], "Edge": ["Red, or so"]}]


async def test_a_run_whose_next_turn_was_not_saved_is_unknown_and_not_lost(here: Office) -> None:
    from pydantic_ai.messages import ModelResponse, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    from askback.doors.pydantic_ai import PydanticAIDoor

    def deploy_each_turn(messages: Any, _: Any) -> ModelResponse:
        return ModelResponse(parts=[ToolCallPart("deploy", {"where": "eu"}, tool_call_id=f"call-{len(messages)}")])

    saved: list[str] = []

    def save(_: str, text: str) -> None:
        if saved:
            raise OSError("no space left")
        saved.append(text)

    shop, _ = opened(here)
    shop.agent.model = FunctionModel(deploy_each_turn)
    people: Any = {"to": f"{here.platform}:#deploys", "who": "anyone", "approvers": "anyone"}
    async with PydanticAIDoor(shop.agent, save=save, **people) as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.click("ada", "Approve", "Run deploy?")
        with pytest.raises(OSError, match="no space left"):
            await running
        with pytest.raises(OutcomeUnknown):
            await one.resume("talk", saved[0])
    assert shop.done() == ["eu"]


async def test_each_turn_of_a_run_asks_about_its_own_calls_only(here: Office) -> None:
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def deploy_twice(messages: Any, _: Any) -> ModelResponse:
        if len(messages) > 3:
            return ModelResponse(parts=[TextPart("done")])
        where = ("eu", "us")[len(messages) // 2]
        return ModelResponse(parts=[ToolCallPart("deploy", {"where": where}, tool_call_id=f"call-{where}")])

    shop, opening = opened(here)
    shop.agent.model = FunctionModel(deploy_twice)
    async with opening as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.click("ada", "Approve", "where  eu")
        await here.click("ada", "Approve", "where  us")
        assert (await running).output == "done"
    assert shop.done() == ["eu", "us"]
    assert len(here.shown()) == 2


async def test_who_waits_while_another_process_dies_with_the_answer_learns_that_the_outcome_is_unknown(
    here: Office,
) -> None:
    shop, opening = opened(here, DEPLOY)
    hand_overs = HandOvers(here.database)
    async with opening as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.card("Run deploy?")
        (known,) = await hand_overs.list_of_run("pydantic-ai", "talk")
        assert await hand_overs.claim_once(known.id, known.digest, "the process that dies") == "claimed"
        run(here, "UPDATE hand_overs SET claimed_until = 1")
        await here.click("ada", "Approve", "Run deploy?")
        with pytest.raises(OutcomeUnknown, match=r"call resume\(…, again=True\)"):
            await running
    assert shop.done() == []


async def test_a_killed_process_is_continued_once_by_another(stored_office: Office) -> None:
    office = stored_office
    await office.bot()
    first = await program(office, RUN, DEPLOY)
    await office.card("Run deploy?")
    await first.kill()
    await office.click("ada", "Approve", "Run deploy?")
    await office.settled("Run deploy?")
    listed = await program(office, "await one.list_answered()", DEPLOY)
    assert await listed.ended() == (0, "('talk',)\n")
    second = await program(office, RESUME, DEPLOY)
    assert await second.ended() == (0, "done\n")
    third = await program(office, RESUME, DEPLOY)
    assert (await third.ended())[0] == 1
    assert "handed over before" in third.err
    assert (office.folder / DONE).read_text(encoding="utf-8") == "eu\n"


async def test_a_process_that_dies_with_the_approval_leaves_it_unknown(
    stored_office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office = stored_office
    dying = await program(office, RUN, DEPLOY, dies="in the tool")
    await office.click("ada", "Approve", "Run deploy?")
    await dying.ended()
    shop, opening = opened(settle_in(office, monkeypatch), DEPLOY)
    async with opening as one:
        saved = shop.saved()
        with pytest.raises(OutcomeUnknown, match="check that first"):
            await _resume_after_the_claim(one, saved)
        await office.until(lambda: "was interrupted while it acted on the answer" in office.picture())
        assert shop.done() == ["eu"]
        assert (await one.resume("talk", saved, again=True)).output == "done"
    assert shop.done() == ["eu", "eu"]


async def test_whoever_knows_what_happened_continues_a_lost_run_at_once(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = await program(office, RUN, DEPLOY, dies="in the tool")
    await office.click("ada", "Approve", "Run deploy?")
    await dying.ended()
    shop, opening = opened(settle_in(office, monkeypatch), DEPLOY)
    async with opening as one:
        saved = shop.saved()
        assert (await one.resume("talk", saved, again=True)).output == "done"
    assert shop.done() == ["eu", "eu"]


async def _resume_after_the_claim(one: Any, saved: str) -> None:
    """Continue a run, once the claim of the dead process has passed."""
    while True:
        try:
            await one.resume("talk", saved)
        except NotClaimed as error:
            assert error.result == "taken"  # noqa: PT017
            assert "If it has ended, call resume again after 30 seconds" in str(error)  # noqa: PT017
            await asyncio.sleep(0.2)


async def test_people_change_the_arguments_and_the_model_reads_what_ran(here: Office) -> None:
    shop, opening = opened(here, DEPLOY, ("deploy", {"where": "us"}), edit="deploy")
    async with opening as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.change("ben", {"where": "ap"}, "where  eu")
        await here.click("ada", "Approve", "where  ap")
        await here.click("ada", "Approve", "where  us")
        result = await running
    assert result.output == "done"
    assert sorted(shop.done()) == ["ap", "us"]
    assert shop.results == ["deployed to ap", "deployed to us"]
    note = str(shop.seen[-1])
    assert re.search(r'deploy with changes: "where" is "ap" and not "eu" \(changed by .*\(\w+\)\)\. The call ran', note)
    assert '"us"' not in note


async def test_only_named_tools_let_people_change_arguments(here: Office) -> None:
    _shop, opening = opened(here, DEPLOY, edit=["wipe"])
    async with opening as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        card = await here.card("where  eu")
        assert EDIT not in [button.label for button in here.buttons(card)]
        await here.click("ada", "Approve", "where  eu")
        assert (await running).output == "done"
