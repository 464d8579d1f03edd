"""People decide what the agent of an editor may do, over ACP: a real agent process, and the library's own client."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from e2e.ask.office import Office, Process
from support.optional import optional

from .looking_bot import looking_bot
from .waits import AWAY, GONE, pass_time, reads, waited_for

optional("acp")

TESTS = Path(__file__).parents[2]
CALL = {"title": "npm publish", "kind": "execute", "rawInput": {"command": "npm publish", "cwd": "/srv/shop"}}
PROGRAM = """
import asyncio, json, sys

sys.path.insert(0, {tests!r})
from askback.doors.acp import AcpDoor
from e2e.doors.acp_host import talking

async def main():
    async with AcpDoor(to="{platform}:#deploys", approvers="anyone") as door, talking(door) as talk:
        print(json.dumps(await talk.ask({call!r})))

asyncio.run(main())
"""


def door(office: Office, **more: Any) -> Any:
    from askback.doors.acp import AcpDoor

    return AcpDoor(to=f"{office.platform}:#deploys", **({"who": "anyone", "approvers": "anyone"} | more))


def talking(one: Any, session: str = "talk") -> Any:
    from .acp_host import talking

    return talking(one, session)


async def program(office: Office, call: dict[str, Any] = CALL) -> Process:
    """Start a client, whose agent asks for this permission."""
    file = office.folder / f"program-{len(office._processes)}.py"
    file.write_text(PROGRAM.format(tests=str(TESTS), platform=office.platform, call=call), encoding="utf-8")
    return await office.start(program=file, ASKBACK_QUESTION_PACE="0s")


def selected(answer: Any) -> str | None:
    """Return the option that an answer selects. None if the request was cancelled."""
    return answer["outcome"].get("optionId")


async def test_people_choose_one_of_the_agents_options_after_reading_the_whole_call(here: Office) -> None:
    async with door(here) as one, talking(one) as talk:
        asking = asyncio.create_task(talk.ask(CALL))
        card = await here.card("Run “npm publish”?")
        assert [control.label for control in here.list_acting(card)][:2] == ["Allow", "Reject"]
        text = here.reads(card)
        assert "/srv/shop" in text
        assert "Permits this call only." in text
        await here.click("ada", "Allow", "npm publish")
        (answer,) = await asking
    assert answer["outcome"] == {"outcome": "selected", "optionId": "yes"}
    told = answer["_meta"]["askback"]
    assert told["status"] == "answered"
    assert re.match(rf"Answered by .*\(\w+\) in {here.platform}:#deploys at .* UTC: Allow$", told["message"])


async def test_people_read_a_change_of_a_file_as_a_diff_and_nothing_twice(here: Office) -> None:
    change = {"type": "diff", "path": "/srv/shop/app.toml", "oldText": "replicas = 3\n", "newText": "replicas = 30\n"}
    call = {"title": "Write app.toml", "kind": "edit", "content": [change]}
    async with door(here, reasons="none") as one, talking(one) as talk:
        asking = asyncio.create_task(talk.ask(call))
        text = here.reads(await here.card("Run “Write app.toml”?"))
        assert "-replicas = 3\n+replicas = 30" in text
        assert text.count("Write app.toml") == 1
        assert "oldText" not in text
        await here.click("ben", "Reject", "Write app.toml")
        (answer,) = await asking
    assert selected(answer) == "no"


async def test_people_read_what_the_agent_has_said_about_a_call_before(here: Office) -> None:
    begun = {"sessionUpdate": "tool_call", "toolCallId": "call-1", **CALL, "status": "pending"}
    changed = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "call-1",
        "rawInput": {"command": "npm publish --tag"},
    }
    other = {"sessionUpdate": "tool_call", "toolCallId": "call-2", "title": "ls"}
    async with door(here) as one, talking(one) as talk:
        asking = asyncio.create_task(talk.ask({"updates": [begun, changed, other]}))
        shown = here.reads(await here.card("npm publish"))
        assert "npm publish --tag" in shown
        assert "/srv/shop" not in shown
        await here.click("ada", "Allow", "npm publish")
        (answer,) = await asking
        assert selected(answer) == "yes"
        asking = asyncio.create_task(talk.ask({"toolCallId": "call-2"}))
        await here.click("ada", "Allow", "ls")
        assert selected((await asking)[0]) == "yes"
        ended = {"sessionUpdate": "tool_call_update", "toolCallId": "call-1", "status": "completed"}
        (answer,) = await talk.ask({"updates": [ended]})
        assert "without saying what for" in str(answer["data"])


async def test_a_denial_selects_the_agents_own_rejection_and_says_why(here: Office) -> None:
    async with door(here) as one, talking(one) as talk:
        asking = asyncio.create_task(talk.ask(CALL))
        await here.fill("ben", "Reject", "It is Friday", "npm publish")
        (answer,) = await asking
    assert answer["outcome"] == {"outcome": "selected", "optionId": "no"}
    assert re.search(r"^Refused by .*: Reject\. .* wrote: It is Friday", answer["_meta"]["askback"]["message"])


async def test_without_a_rejection_of_the_agent_people_can_deny(here: Office) -> None:
    async with door(here, reasons="none") as one, talking(one) as talk:
        asking = asyncio.create_task(talk.ask(CALL | {"options": ["yes"]}))
        await here.click("ben", "Deny", "npm publish")
        (answer,) = await asking
    assert answer["outcome"] == {"outcome": "cancelled"}
    assert answer["_meta"]["askback"]["message"].startswith("Refused by ")


async def test_nobody_decided_is_cancelled_and_no_rejection(here: Office) -> None:
    async with door(here, wait="1s") as one, talking(one) as talk:
        (answer,) = await talk.ask(CALL)
    assert answer["outcome"] == {"outcome": "cancelled"}
    told = answer["_meta"]["askback"]
    assert (told["status"], told["message"][:24]) == ("timed_out", "Nobody answered in time.")


async def test_an_option_for_later_calls_is_offered_only_if_the_operator_allows_it(here: Office) -> None:
    async with door(here) as one, talking(one) as talk:
        (answer,) = await talk.ask(CALL | {"options": ["always", "no"]})
        assert "open the door with allow_always=True" in answer["data"]["details"]
    assert here.shown() == []
    async with door(here, allow_always=True, quorum=2) as one, talking(one, "other") as talk:
        asking = asyncio.create_task(talk.ask(CALL))
        await here.click("ada", "Always allow", "npm publish")
        # A vote for the wider option counts for the narrower one, and two have to agree.
        await here.click("ben", "Allow", "npm publish")
        (answer,) = await asking
    assert selected(answer) == "yes"


async def test_a_quorum_of_approvers_decides_and_not_the_person_who_asked(here: Office) -> None:
    async with door(here, quorum=2, requested_by="@ada") as one, talking(one) as talk:
        asking = asyncio.create_task(talk.ask(CALL))
        await here.press("ada", await here.card("npm publish"), "Allow")
        await here.click("ben", "Allow", "npm publish")
        assert not asking.done()
        await here.click("cy", "Allow", "npm publish")
        (answer,) = await asking
    assert selected(answer) == "yes"
    assert "Ada" not in answer["_meta"]["askback"]["message"]


async def test_several_requests_of_a_turn_get_their_own_answers(here: Office) -> None:
    other = {"toolCallId": "call-2", "title": "rm -r build", "kind": "delete"}
    async with door(here) as one, talking(one) as talk:
        asking = asyncio.create_task(talk.ask(CALL, other))
        await here.fill("ben", "Reject", "Keep it", "rm -r build")
        await here.click("ada", "Allow", "npm publish")
        answers = await asking
    assert [selected(answer) for answer in answers] == ["yes", "no"]


async def test_a_call_that_says_nothing_is_not_asked_and_not_permitted(here: Office) -> None:
    async with door(here) as one, talking(one) as talk:
        (answer,) = await talk.ask({"kind": "execute"})
    assert "without saying what for" in answer["data"]["details"]
    assert here.shown() == []


async def test_the_same_call_after_its_answer_is_another_one(here: Office) -> None:
    async with door(here) as one, talking(one) as talk:
        for option, expected in (("Allow", "yes"), ("Reject", "no")):
            asking = asyncio.create_task(talk.ask(CALL))
            await (here.click if option == "Allow" else _deny(here))("ada", option, "npm publish")
            assert [selected(answer) for answer in await asking] == [expected]
    assert len(here.shown()) == 2


def _deny(here: Office) -> Any:
    return lambda person, label, words: here.fill(person, label, "No", words)


async def test_the_same_call_with_other_contents_is_asked_again(here: Office) -> None:
    async with door(here) as one, talking(one) as talk, talking(one) as other:
        first = asyncio.create_task(talk.ask(CALL))
        await here.card("npm publish")
        second = asyncio.create_task(other.ask(CALL | {"rawInput": {"command": "npm unpublish"}}))
        await here.settled("/srv/shop", "since the call has changed")
        await here.click("ada", "Allow", "npm unpublish")
        answers = [*await first, *await second]
    assert [selected(answer) for answer in answers] == [None, "yes"]


async def test_two_clients_with_the_same_call_get_one_permission(here: Office) -> None:
    async with door(here) as one, door(here) as two, talking(one) as talk, talking(two) as other:
        both = [asyncio.create_task(talk.ask(CALL)), asyncio.create_task(other.ask(CALL))]
        await here.card("npm publish")
        await here.until(lambda: one._door._asks._waiting and two._door._asks._waiting)
        await here.click("ada", "Allow", "npm publish")
        answers = [answer for (answer,) in await asyncio.gather(*both)]
    assert sorted(map(str, map(selected, answers))) == ["None", "yes"]
    assert len(here.shown()) == 1


async def test_a_cancelled_turn_withdraws_its_requests(here: Office) -> None:
    async with door(here) as one, talking(one) as talk:
        asking = asyncio.create_task(talk.ask(CALL))
        await here.card("npm publish")
        await one.cancel(talk.session)
        (answer,) = await asking
        await here.settled("npm publish", "no longer waits")
    assert answer["outcome"] == {"outcome": "cancelled"}


async def test_people_fill_in_the_agents_form(here: Office) -> None:
    schema = {"properties": {"where": {"type": "string", "enum": ["eu", "us"]}}, "required": ["where"]}
    async with door(here) as one, talking(one) as talk:
        asking = asyncio.create_task(talk.ask({"message": "Where to?", "schema": schema}))
        await here.click("ada", "us", "Where to?")
        assert await asking == [{"action": "accept", "content": {"where": "us"}}]


@pytest.mark.parametrize(("asked", "told"), [({}, AWAY), ({"request": "7"}, GONE)])
async def test_the_card_of_a_form_says_if_a_later_process_can_receive_the_answer(
    here: Office, asked: dict[str, str], told: str
) -> None:
    await looking_bot(here)
    schema = {"properties": {"where": {"type": "string", "enum": ["eu", "us"]}}, "required": ["where"]}
    async with door(here) as one, talking(one) as talk:
        asking = asyncio.create_task(talk.ask({"message": "Where to?", "schema": schema, **asked}))
        await here.card("Where to?")
        await waited_for(here)
    asking.cancel()
    if told == AWAY:
        pass_time(here)
    await reads(here, "Where to?", told)


@pytest.mark.parametrize(
    ("choice", "answer"), [("Accept", {"action": "accept", "content": {}}), ("Decline", {"action": "decline"})]
)
async def test_people_accept_or_decline_a_message_of_the_agent_without_fields(
    here: Office, choice: str, answer: dict[str, Any]
) -> None:
    async with door(here) as one, talking(one) as talk:
        asking = asyncio.create_task(talk.ask({"message": "Delete the old branch?", "schema": {}}))
        await here.click("ada", choice, "Delete the old branch?")
        assert await asking == [answer]


async def test_a_form_without_an_answer_and_an_address_are_not_accepted(here: Office) -> None:
    schema = {"properties": {"where": {"type": "string"}}, "required": ["where"]}
    async with door(here, wait="1s") as one, talking(one) as talk:
        answers = await talk.ask({"message": "Where to?", "schema": schema}, {"url": "https://example.com/login"})
    assert answers == [{"action": "cancel"}, {"action": "decline"}]


async def test_a_killed_client_settles_nothing_and_the_next_one_gets_the_answer(stored_office: Office) -> None:
    office = stored_office
    await office.bot()
    first = await program(office)
    await office.card("npm publish")
    await first.kill()
    second = await program(office)
    await office.click("ada", "Allow", "npm publish")
    code, out = await second.ended()
    assert code == 0, second.err
    assert '"optionId": "yes"' in out
    assert len(office.shown()) == 1


async def test_what_was_decided_while_no_client_ran_is_given_once(stored_office: Office) -> None:
    office = stored_office
    await office.bot()
    first = await program(office)
    await office.card("npm publish")
    await first.kill()
    await office.click("ada", "Allow", "npm publish")
    await office.settled("npm publish")
    second = await program(office)
    assert '"optionId": "yes"' in (await second.ended())[1]
    third = await program(office)
    await office.fill("ada", "Reject", "Once is enough", "npm publish")
    assert '"optionId": "no"' in (await third.ended())[1]
    assert len(office.shown()) == 2
