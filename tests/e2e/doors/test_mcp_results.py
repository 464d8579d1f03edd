"""Each result of `askback mcp` is as the schema of its tool says, in every state of a question."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta, timezone
from typing import Any

import jsonschema_rs
import pytest

from e2e.ask.office import Office

from .client import OPTIONS, Agent, agent
from .tasks_client import TasksClient

DEPLOY = {"question": "Deploy 1.4.2?", "options": OPTIONS}
WHERE = {"question": "Where to?", "options": ["Staging", "Production"], "allow_note": True}


async def read(one: Agent, tool: str, **given: Any) -> dict[str, Any]:
    """Call a tool; return its result. Its schema must describe every field. The library's client checks it, too."""
    result = await one.call_raw(tool, given)
    assert not result.is_error, result.content
    found = result.structured_content
    check(await get_schema(one, tool), found)
    assert [block.text for block in result.content] == [found["message"]]
    return found


async def get_schema(one: Agent, tool: str) -> dict[str, Any] | None:
    (schema,) = [found.output_schema for found in (await one.client.list_tools()).tools if found.name == tool]
    return schema


def check(schema: Any, found: dict[str, Any]) -> None:
    """Check that a result fits its schema. Formats count, and so does a field that the schema does not name."""
    assert schema is not None
    closed = close(schema)
    jsonschema_rs.Draft202012Validator(closed, validate_formats=True).validate(found)


def close(schema: Any) -> Any:
    """Return the schema with every object limited to the fields that it names."""
    if isinstance(schema, list):
        return [close(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {name: close(part) for name, part in schema.items()}
    return parts | {"additionalProperties": False} if "properties" in schema and "type" in schema else parts


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_each_state_of_a_question_is_as_the_schema_says(office: Office, mode: str) -> None:
    async with agent(office, "--call-wait", "1s", mode=mode) as one:
        until = datetime.now(timezone(timedelta(hours=1))) + timedelta(days=1)
        first = await read(one, "ask", deadline=until.isoformat(), **DEPLOY)
        assert (first["status"], datetime.fromisoformat(first["deadline"])) == ("open", until)
        assert (await read(one, "wait", id=first["id"]))["status"] == "open"
        assert [entry["id"] for entry in (await read(one, "pending"))["pending"]] == [first["id"]]
        await office.click("ada", "Yes")
        await office.settled("Deploy 1.4.2?", "Yes")
        listed = await read(one, "pending")
        assert (listed["pending"], [entry["status"] for entry in listed["unread"]]) == ([], ["answered"])
        answered = await read(one, "wait", id=first["id"])
        assert (answered["status"], answered["approved"], len(answered["votes"])) == ("answered", True, 1)
        assert await read(one, "cancel", id=first["id"]) == answered, "it is too late for that"
        second = await read(one, "ask", **DEPLOY)
        await office.click("ada", "No")
        await office.settled("Deploy 1.4.2?", "No")
        assert (await read(one, "wait", id=second["id"]))["status"] == "refused"
        third = await read(one, "ask", **WHERE)
        assert (await read(one, "cancel", id=third["id"], reason="Done."))["status"] == "cancelled"
        assert (await read(one, "wait", id=third["id"]))["status"] == "cancelled"
        # Another text, so that nobody presses the card of the third before it is edited.
        fourth = await read(one, "ask", **WHERE | {"question": "Where then?"})
        await office.fill("ada", "Not now…", "Later.", "Where then?")
        await office.settled("Where then?", "Later.")
        assert (await read(one, "wait", id=fourth["id"]))["status"] == "declined"
        listed = await read(one, "pending")
        assert (listed["pending"], listed["unread"]) == ([], [])


async def test_nobody_answered_and_nobody_was_reached_are_as_the_schema_says(office: Office) -> None:
    async with agent(office, "--wait", "1s") as one:
        late = await read(one, "ask", on_timeout="default", default="Staging", **WHERE)
        assert (late["status"], late["fallback"]) == ("timed_out", {"answer": "Staging"})
        assert (await read(one, "ask", on_timeout="halt", **WHERE))["halted"] is True
    office.refuse_posts()
    async with agent(office) as one:
        assert (await read(one, "ask", **DEPLOY))["status"] == "undeliverable"


async def test_each_kind_of_answer_is_as_the_schema_says(office: Office) -> None:
    form = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
    options = [{"label": "Blue", "description": "As the sky."}, {"label": "Red", "description": "As a rose."}]
    colour = {"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": False}
    async with agent(office, "--call-wait", "1s") as one:
        asked = await read(one, "ask", question="Really?", form=form)
        await office.click("ada", "Yes", "Really?")
        await office.settled("Really?")
        assert (await read(one, "wait", id=asked["id"]))["values"] == {"sure": True}
        asked = await read(one, "ask", question="Who reviews it?", picks="people")
        ben = await office.choose("ada", await office.card("Who reviews it?"), "ben")
        await office.settled("Who reviews it?")
        assert [person["id"] for person in (await read(one, "wait", id=asked["id"]))["picked"]] == [ben]
        asked = await read(one, "ask", **WHERE)
        await office.fill("ada", "Something else or a note…", "after six", "Where to?", option=0)
        await office.settled("Where to?", "after six")
        assert (await read(one, "wait", id=asked["id"]))["note"] == "after six"
        asked = await read(one, "AskUserQuestion", questions=[colour])
        await office.click("ada", "Blue", "Which colour?")
        await office.settled("Which colour?", "Blue")
        assert (await read(one, "wait", id=asked["id"]))["answers"] == {"Which colour?": "Blue"}


async def test_an_error_has_only_its_text(office: Office) -> None:
    async with agent(office) as one:
        for tool, given in (("wait", {"id": "x"}), ("cancel", {"id": "x"}), ("ask", {}), ("pending", {"all": True})):
            result = await one.call_raw(tool, given)
            assert (result.is_error, result.structured_content, len(result.content)) == (True, None, 1)


async def test_a_permission_has_no_schema_and_only_the_text_that_claude_code_reads(office: Office) -> None:
    async with agent(office, "--permit", "--approvers", "anyone", "--call-wait", "1s") as one:
        assert await get_schema(one, "permit") is None
        result = await one.call_raw("permit", {"tool_name": "Bash", "input": {"command": "ls"}})
        assert (result.is_error, result.structured_content, len(result.content)) == (False, None, 1)
        assert result.content[0].text.startswith('{"behavior": "deny"')


async def test_the_result_of_a_task_is_as_the_schema_says(office: Office) -> None:
    async with agent(office, extensions=[TasksClient()]) as one, asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(read(one, "ask", **DEPLOY))
        await office.click("ada", "No")
        assert (await asking)["status"] == "refused"
        asking = tasks.create_task(read(one, "ask", **WHERE))
        await office.fill("ada", "Not now…", "Later.", "Where to?")
        assert (await asking)["status"] == "declined"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_clients_learn_what_each_tool_does_before_they_call_it(office: Office, mode: str) -> None:
    async with agent(office, "--permit", "--approvers", "anyone", mode=mode) as one:
        tools = (await one.client.list_tools()).tools
    said = {
        tool.name: [name for name, value in tool.annotations.model_dump(exclude={"title"}).items() if value]
        for tool in tools
        if tool.annotations is not None
    }
    assert said == {
        "ask": ["open_world_hint"],
        "AskUserQuestion": ["open_world_hint"],
        "wait": ["read_only_hint", "idempotent_hint", "open_world_hint"],
        "cancel": ["destructive_hint", "idempotent_hint", "open_world_hint"],
        "pending": ["read_only_hint", "idempotent_hint"],
        "permit": ["open_world_hint"],
    }
    assert all(tool.title and tool.annotations and tool.annotations.title == tool.title for tool in tools)
    described = {tool.name for tool in tools if tool.output_schema is not None}
    assert described == said.keys() - {"permit"}
    # Clients of earlier specifications accept objects only, and some resolve no references.
    schemas = [tool.output_schema for tool in tools if tool.output_schema is not None]
    assert {schema["type"] for schema in schemas} == {"object"}
    assert "$ref" not in json.dumps(schemas)
