"""Claude Code lets people approve calls through `askback mcp --permit`."""

from __future__ import annotations

import asyncio

from e2e.ask.office import Office

from .client import CALL, agent, permit


async def test_people_see_all_arguments_and_let_the_call_run(stored_office: Office) -> None:
    office = stored_office
    async with agent(office, "--permit", "--approvers", "@ada", client="claude-code") as one:
        asking = asyncio.create_task(permit(one, "toolu_1"))
        card = await office.card("Run Bash?")
        assert all(word in office.reads(card) for word in ("rm -r build", "Clean up"))
        await office.press("ben", card, "Approve")  # he may answer questions, but not approve
        assert not asking.done()
        await office.click("ada", "Approve", "Run Bash?")
        assert await asking == {"behavior": "allow", "updatedInput": CALL}
        assert await permit(one, "toolu_1") == {"behavior": "allow", "updatedInput": CALL}
        assert len(office.shown()) == 1
        again = asyncio.create_task(permit(one, "toolu_2"))
        await office.until(lambda: len(office.shown()) == 2)
        again.cancel()


async def test_one_approval_lets_one_of_two_equal_calls_run(office: Office) -> None:
    async with agent(office, "--permit", "--approvers", "anyone", "--call-wait", "30s") as one:
        both = [asyncio.create_task(permit(one, f"toolu_{number}")) for number in (1, 2)]
        await office.until(lambda: len(office.shown()) == 2)
        await office.click("ada", "Approve", "Run Bash?")
        done, waiting = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        assert [task.result()["behavior"] for task in done] == ["allow"]
        (other,) = waiting
        other.cancel()


async def test_nobody_decided_is_not_a_denial_and_an_equal_call_later_attaches(office: Office) -> None:
    async with agent(office, "--permit", "--approvers", "anyone", "--call-wait", "1s") as one:
        first = await permit(one, "toolu_1")
        assert first["behavior"] == "deny"
        assert "This is not a denial" in first["message"]
        await office.click("ada", "Approve", "Run Bash?")
        await office.settled("Run Bash?")
        assert (await permit(one, "toolu_2"))["behavior"] == "allow"
        # The approval is used up.
        assert (await permit(one, "toolu_3"))["behavior"] == "deny"
        assert len(office.shown()) == 2


async def test_approvers_change_the_arguments_where_the_operator_allows_it(stored_office: Office) -> None:
    office = stored_office
    async with agent(office, "--permit", "--approvers", "anyone", "--edit", "Bash", client="claude-code") as one:
        asking = asyncio.create_task(permit(one, "toolu_1"))
        assert not await office.change("ben", {"command": "rm -r build/cache"}, "Run Bash?")
        await office.click("ben", "Approve", "rm -r build/cache")  # nobody approves their own change alone
        assert not asking.done()
        await office.click("ada", "Approve", "rm -r build/cache")
        changed = {"behavior": "allow", "updatedInput": CALL | {"command": "rm -r build/cache"}}
        assert await asking == changed
        assert await permit(one, "toolu_1") == changed
        other = asyncio.create_task(permit(one, "toolu_2", "Write", {"path": "notes.txt"}))
        card = await office.card("Run Write?")
        assert "Edit…" not in [control.label for control in office.buttons(card)]
        other.cancel()


async def test_without_approvers_nothing_runs_and_nobody_is_asked(office: Office) -> None:
    async with agent(office, "--permit") as one:
        answer = await permit(one, "toolu_1")
    assert answer["behavior"] == "deny"
    assert "no approvers are set for this place" in answer["message"]
    assert "--approvers" in answer["message"]
    assert office.shown() == []


async def test_the_time_for_approvers_comes_from_the_settings(office: Office) -> None:
    office.settings = {"ASKBACK_APPROVAL_TIMEOUT": "1s"}
    async with agent(office, "--permit", "--approvers", "anyone") as one:
        answer = await permit(one, "toolu_1")
    assert answer["behavior"] == "deny"
    # A busy machine may take longer than that to post the question, and then the message says so.
    assert answer["message"].startswith("Nobody decided in time whether Bash may run")
    assert answer["message"].endswith("Nobody denied it.")


async def test_claudes_questions_are_answered_through_it(office: Office) -> None:
    options = [{"label": "Blue", "description": "As the sky."}, {"label": "Red", "description": "As a rose."}]
    given = {"questions": [{"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": False}]}
    async with agent(office, "--permit") as one:
        # A model cannot bring the answers itself.
        asking = asyncio.create_task(
            permit(one, "toolu_1", "AskUserQuestion", given | {"answers": {"Which colour?": "Red"}})
        )
        await office.click("ben", "Blue", "Which colour?")
        answer = await asking
    assert answer == {"behavior": "allow", "updatedInput": given | {"answers": {"Which colour?": "Blue"}}}


async def test_without_the_option_there_is_no_such_tool(office: Office) -> None:
    async with agent(office) as one:
        tools = (await one.client.list_tools()).tools
        assert [tool.name for tool in tools] == ["ask", "AskUserQuestion", "wait", "cancel", "pending"]
        assert "to" not in tools[1].input_schema["properties"]
        assert "place" not in tools[0].input_schema["properties"]
        assert "There is no tool 'permit'" in await one.error("permit", tool_name="Bash", input={})
