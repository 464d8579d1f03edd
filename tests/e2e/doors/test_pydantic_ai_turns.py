"""Agents of Pydantic AI as people build them: several toolsets, metadata, agents within tools, and ids used again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from askback.doors.hand_over import NotClaimed
from e2e.ask.office import Office
from support.optional import optional

optional("pydantic_ai")

WRITE = "Write an answer…"
Call = tuple[str, dict[str, Any], str]
"""The tool, the arguments, and the id."""


class Answer(BaseModel):
    """The output of an agent."""

    text: str


def build_agent(*turns: list[Call], output: Any = str, toolsets: Any = ()) -> Any:
    """Return an agent whose model makes these calls in turn, and then returns all results."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import DeltaToolCall, FunctionModel
    from pydantic_ai.tools import DeferredToolRequests

    def model(messages: Any, given: Any) -> ModelResponse:
        made = sum(message.kind == "response" for message in messages)
        if made < len(turns):
            return ModelResponse(parts=[ToolCallPart(name, data, tool_call_id=one) for name, data, one in turns[made]])
        parts = [part for message in messages if message.kind == "request" for part in message.parts]
        text = "; ".join(str(part.content) for part in parts if part.part_kind == "tool-return")
        if given.output_tools:
            return ModelResponse(parts=[ToolCallPart(given.output_tools[0].name, {"text": text})])
        return ModelResponse(parts=[TextPart(text)])

    async def stream(messages: Any, given: Any) -> Any:
        for number, part in enumerate(model(messages, given).parts):
            if isinstance(part, ToolCallPart):
                call = DeltaToolCall(part.tool_name, part.args_as_json_str(), tool_call_id=part.tool_call_id)
                yield {number: call}
            else:
                yield part.content

    return Agent(
        FunctionModel(model, stream_function=stream),
        output_type=[output, DeferredToolRequests],
        toolsets=list(toolsets),
    )


def door(office: Office, agent: Any, saved: dict[str, str], **more: Any) -> Any:
    """Return the door of an agent. Its runs are saved into a dictionary."""
    from askback.doors.pydantic_ai import PydanticAIDoor

    to = f"{office.platform}:#deploys"
    return PydanticAIDoor(agent, to=to, save=saved.__setitem__, who="anyone", approvers="anyone", **more)


async def test_ids_that_a_model_uses_again_in_the_next_turn_are_other_calls(here: Office) -> None:
    agent = build_agent([("deploy", {"where": "eu"}, "0")], [("deploy", {"where": "eu"}, "0")])
    deployed: list[str] = []

    @agent.tool_plain(requires_approval=True)
    def deploy(where: str) -> str:
        deployed.append(where)
        return where

    saved: dict[str, str] = {}
    async with door(here, agent, saved) as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.card("Run deploy?")
        first = saved["talk"]
        await here.click("ada", "Approve", "Run deploy?")
        await here.until(lambda: saved["talk"] != first and len(here.shown()) == 2)
        running.cancel()
        await asyncio.wait([running])
        with pytest.raises(NotClaimed, match="handed over before"):
            await one.resume("talk", first)
        resumed = asyncio.create_task(one.resume("talk", saved["talk"]))
        await here.click("ada", "Approve", "Run deploy?")
        assert (await resumed).output == "eu; eu"
        with pytest.raises(NotClaimed, match="handed over before"):
            await one.resume("talk", saved["talk"])
    assert (deployed, len(here.shown())) == (["eu", "eu"], 2)


async def test_people_read_why_a_tool_asks_for_approval_and_no_other_metadata(here: Office) -> None:
    from pydantic_ai import RunContext
    from pydantic_ai.exceptions import ApprovalRequired, CallDeferred

    agent = build_agent([("write", {"path": ".env"}, "call-0"), ("count", {"what": "chairs"}, "call-1")])

    async def write(context: Any, path: str) -> str:
        if not context.tool_call_approved:
            raise ApprovalRequired(metadata={"reason": "The file is protected.", "task": "task-17"})
        return f"{path} is written"

    def count(what: str) -> int:
        raise CallDeferred(metadata={"description": "Those in the hall."})

    write.__annotations__["context"] = RunContext[None]
    agent.tool(write)
    agent.tool_plain(count)
    async with door(here, agent, {}) as one:
        running = asyncio.create_task(one.run("Write!", "talk"))
        shown = here.reads(await here.card("Run write?"))
        assert shown.index("The file is protected.") < shown.index("path  .env")
        assert "task-17" not in shown
        await here.click("ada", "Approve", "Run write?")
        await here.fill("ada", WRITE, "42", "Those in the hall.")
        assert (await running).output == ".env is written; 42"


async def test_people_change_arguments_by_the_schema_of_the_tool_with_exactly_that_name(here: Office) -> None:
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import ExternalToolset, FunctionToolset

    def build_toolset(deploy: Any) -> Any:
        return FunctionToolset([deploy])

    def deploy_version(version: int) -> str:
        return f"version {version}"

    def deploy_region(where: str) -> str:
        return f"region {where}"

    deploy_version.__name__ = deploy_region.__name__ = "deploy"
    schema = {"type": "object", "properties": {"page": {"type": "string"}}}
    calls: list[Call] = [
        ("deploy", {"version": 3}, "call-0"),
        ("eu_deploy", {"where": "eu"}, "call-1"),
        ("roll_out", {"where": "us"}, "call-2"),
        ("open", {"page": "status"}, "call-3"),
    ]
    toolsets = [
        build_toolset(deploy_version).approval_required(),
        build_toolset(deploy_region).prefixed("eu").approval_required(),
        build_toolset(deploy_region).renamed({"roll_out": "deploy"}).approval_required(),
        ExternalToolset([ToolDefinition(name="open", parameters_json_schema=schema)]),
    ]
    agent = build_agent(calls, output=Answer, toolsets=toolsets)
    async with door(here, agent, {}, edit=["deploy", "eu_deploy", "roll_out"]) as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.change("ben", {"version": "4"}, "version  3")
        await here.change("ben", {"where": "eu-2"}, "where  eu")
        await here.change("ben", {"where": "us-2"}, "where  us")
        for shown in ("version  4", "where  eu-2", "where  us-2"):
            await here.click("ada", "Approve", shown)
        await here.fill("ada", WRITE, "all is well", "Answer for open:")
        assert (await running).output == Answer(text="version 4; region eu-2; region us-2; all is well")


async def test_each_turn_gets_the_options_of_the_agents_own_run(here: Office) -> None:
    from pydantic_ai.exceptions import UsageLimitExceeded
    from pydantic_ai.toolsets import FunctionToolset
    from pydantic_ai.usage import UsageLimits

    def deploy(where: str, count: int = 1) -> str:
        return f"{where} {count}"

    async def note(_: Any, events: Any) -> None:
        heard.extend([event.event_kind async for event in events])

    heard: list[str] = []
    saved: dict[str, str] = {}
    agent = build_agent([("deploy", {"where": "eu", "count": 2}, "call-0")])
    toolset = FunctionToolset([deploy]).approval_required()
    options = {"toolsets": [toolset], "event_stream_handler": note}
    async with door(here, agent, saved, edit="deploy") as one:
        running = asyncio.create_task(one.run("Deploy!", "talk", **options))
        await here.card("Run deploy?")
        running.cancel()
        await asyncio.wait([running])
        assert heard
        heard.clear()
        resumed = asyncio.create_task(one.resume("talk", saved["talk"], **options))
        await here.change("ben", {"count": "3"}, "Run deploy?")
        await here.click("ada", "Approve", "count  3")
        assert (await resumed).output == "eu 3"
        assert "function_tool_result" in heard
        with pytest.raises(UsageLimitExceeded):
            await one.run("Deploy!", "other", toolsets=[toolset], usage_limits=UsageLimits(request_limit=0))


async def test_an_agent_within_a_tool_asks_through_a_door_of_its_own(here: Office) -> None:
    inner = build_agent([("deploy", {"where": "eu"}, "call-0")])

    @inner.tool_plain(requires_approval=True)
    def deploy(where: str) -> str:
        return f"deployed to {where}"

    outer = build_agent([("help", {}, "call-0")])
    async with door(here, inner, {}, name="helper") as helper, door(here, outer, {}) as one:

        async def help_out() -> str:
            return (await helper.run("Deploy!", "talk")).output

        outer.tool_plain(help_out, name="help")
        running = asyncio.create_task(one.run("Help!", "talk"))
        await here.click("ada", "Approve", "Run deploy?")
        assert (await running).output == "deployed to eu"
