"""Every program in the documentation that connects another agent runs, and asks people."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import aclosing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from e2e.demo.clicks import click, write_into_field
from e2e.demo.documentation import ROOT, block, output_of
from e2e.demo.http_server import serving
from support.claude_code import build_claude_environment, find_claude
from support.optional import optional


@pytest.fixture
def claude_folder(services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the commands of a page run the real Claude Code, whose model wants to clean up."""
    program = find_claude()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").symlink_to(program)
    for name, value in build_claude_environment(services.url, tmp_path / "config").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", os.pathsep.join((str(tmp_path / "bin"), str(Path(sys.executable).parent), "/usr/bin")))
    for name, value in services.environment.items():
        if not name.startswith("ANTHROPIC"):
            monkeypatch.setenv(name, value)
    cleaning = turn(call("Bash", command="touch cleaned", description="Clean up"))
    services.model.script(cleaning, turn("Cleaned up."), when="Clean up the build folder")
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def clean_up(services: Services, command: str) -> None:
    """Run a command of the page, while a person approves the call that Claude wants to make."""
    process = await asyncio.create_subprocess_shell(
        command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        await click(services, "ada", "Approve")
        output, _ = await asyncio.wait_for(process.communicate(), 60)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, output.decode()
    assert "Cleaned up." in output.decode()


async def test_claude_code_is_approved_through_the_mcp_server_of_the_page(
    services: Services, claude_folder: Path
) -> None:
    page = "docs/claude-code.md"
    configuration = block(page, "json", "mcpServers").replace("#agents", "#general")
    configuration = configuration.replace("@team", "@ada").replace("@leads", "@ada")
    (claude_folder / "askback-mcp.json").write_text(configuration, encoding="utf-8")
    (command,) = (line for line in block(page, "sh", "claude -p").splitlines() if line.startswith("claude -p"))
    await clean_up(services, command)
    assert (claude_folder / "cleaned").exists()


async def test_claude_code_is_approved_through_the_hooks_of_the_page(services: Services, claude_folder: Path) -> None:
    token = "0123456789abcdef0123456789abcdef"
    callers = claude_folder / "callers.toml"
    rules = 'to = "slack:#general"\nwho = "@ada"\napprovers = "@ada"\nscopes = ["permit"]'
    callers.write_text(f'[claude]\ntoken = "{token}"\n{rules}\n', encoding="utf-8")
    callers.chmod(0o600)
    hooks = block("docs/claude-code.md", "json", '"Elicitation"').replace("Bearer …", f"Bearer {token}")
    async with serving(callers) as address:
        (claude_folder / ".claude").mkdir()
        file = claude_folder / ".claude" / "settings.json"
        file.write_text(hooks.replace("http://127.0.0.1:8700", address), encoding="utf-8")
        await clean_up(services, 'claude -p "Clean up the build folder"')
    assert (claude_folder / "cleaned").exists()


async def test_the_graph_asks_and_gets_the_answer(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "graph.py"
    program = block("docs/langgraph.md", "python", "StateGraph(State)")
    file.write_text(program.replace("#deploys", "#general").replace("@release", "@ada"), encoding="utf-8")

    async def answer() -> None:
        await click(services, "ada", "Write an answer…", changes=False)
        await write_into_field(services, "ada", "1.4.2")

    assert await output_of(file, answer) == "{'version': '1.4.2'}\n"


APPROVAL = """
import asyncio

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from askback.doors.langgraph import LangGraphDoor


async def main():
    builder = StateGraph(Transfer)
    builder.add_node(approve)
    builder.add_node("proceed", lambda _: {"details": "proceeded"})
    builder.add_node("cancel", lambda _: {"details": "cancelled"})
    builder.add_edge(START, "approve")
    graph = builder.compile(checkpointer=InMemorySaver())
    async with LangGraphDoor(graph, to="slack:#general", who="anyone") as door:
        print(await door.run({"details": "$500"}, "thread"))


asyncio.run(main())
"""


async def test_the_approval_of_langgraph_cancels_after_a_no(services: Services, tmp_path: Path) -> None:
    optional("langgraph")
    file = tmp_path / "graph.py"
    program = block("docs/langgraph.md", "python", "is_approved")
    file.write_text(f"{program}\n{APPROVAL}", encoding="utf-8")

    async def answer() -> None:
        await click(services, "ada", "No")

    assert await output_of(file, answer) == "{'details': 'cancelled'}\n"


async def test_the_agent_of_langchain_deploys_if_two_agree(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    optional("langchain")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langgraph.checkpoint.memory import InMemorySaver

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, *given: Any, **named: Any) -> Any:
            return self

    made = {"name": "deploy", "args": {"version": "1.4.2"}, "id": "one"}
    model = Scripted(messages=iter([AIMessage("", tool_calls=[made]), AIMessage("It is done.")]))
    program = block("docs/langgraph.md", "python", "HumanInTheLoopMiddleware")
    page = ModuleType("page")
    changed = program.replace("#deploys", "#general").replace('"@release"', '["@ada", "@ben"]')
    exec(compile(changed, "docs/langgraph.md", "exec"), page.__dict__)
    working = asyncio.create_task(page.work(model, InMemorySaver(), "thread"))
    await click(services, "ada", "Approve")
    await click(services, "ben", "Approve")
    assert await working == "It is done."


async def test_the_agent_of_pydantic_ai_deploys_after_an_approval(
    services: Services, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    optional("pydantic_ai")
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def says(messages: Any, _: Any) -> ModelResponse:
        if len(messages) > 1:
            return ModelResponse(parts=[TextPart(messages[-1].parts[0].content)])
        return ModelResponse(parts=[ToolCallPart("deploy", {"version": "1.4.2", "region": "eu"})])

    monkeypatch.chdir(tmp_path)
    program = block("docs/pydantic-ai.md", "python", "PydanticAIDoor(")
    page = ModuleType("page")
    changed = program.replace("#deploys", "#general").replace("@release", "@ada")
    exec(compile(changed, "docs/pydantic-ai.md", "exec"), page.__dict__)
    working = asyncio.create_task(page.work(FunctionModel(says), "Deploy 1.4.2", "talk"))
    await click(services, "ada", "Approve")
    assert await working == "1.4.2 is deployed to eu"


async def test_the_agent_of_openai_agents_deploys_after_an_approval(
    services: Services, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    optional("agents")
    from agents import set_tracing_disabled
    from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

    set_tracing_disabled(True)
    made = function_call("deploy", {"version": "1.4.2", "region": "eu"}, call_id="one")
    last = ModelStep(responder=lambda call: [assistant_message(call.input[-1]["output"])])
    monkeypatch.chdir(tmp_path)
    program = block("docs/openai-agents.md", "python", "OpenAIAgentsDoor(")
    page = ModuleType("page")
    changed = program.replace("#deploys", "#general").replace("@release", "@ada")
    exec(compile(changed, "docs/openai-agents.md", "exec"), page.__dict__)
    model = ScriptedModel([[made], last])
    working = asyncio.create_task(page.work(model, "Deploy 1.4.2", "talk"))
    await click(services, "ada", "Approve")
    assert await working == "1.4.2 is deployed to eu"


async def test_the_client_of_an_acp_agent_asks_for_permission(services: Services, tmp_path: Path) -> None:
    optional("acp")
    agent = ROOT / "tests" / "e2e" / "doors" / "acp_agent.py"
    file = tmp_path / "client.py"
    program = block("docs/acp.md", "python", "AcpDoor(")
    file.write_text(program.replace("#deploys", "#general").replace("@release", "@ada"), encoding="utf-8")
    prompt = json.dumps([{"title": "npm publish"}])
    printed = await output_of(file, lambda: click(services, "ada", "Allow"), prompt, sys.executable, str(agent), "talk")
    answer = json.loads(printed)
    assert answer["outcome"] == {"outcome": "selected", "optionId": "yes"}


def claude_page(services: Services, monkeypatch: pytest.MonkeyPatch, folder: Path, words: str) -> ModuleType:
    """Return a program of the page, whose agent makes a call of Bash, and whose Claude Code is local."""
    find_claude()
    for name, value in build_claude_environment(services.url, folder / "claude").items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    made = call("Bash", command="touch cleaned.txt", description="Clean up")
    services.model.script(turn("I clean up.", made), turn("It is clean."), when="Clean up")
    page = ModuleType("page")
    changed = (
        block("docs/claude-agent-sdk.md", "python", words).replace("#deploys", "#general").replace("@release", "@ada")
    )
    exec(compile(changed, "docs/claude-agent-sdk.md", "exec"), page.__dict__)
    return page


async def test_the_claude_agent_waits_for_an_approval(
    services: Services, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = claude_page(services, monkeypatch, tmp_path, "door.can_use_tool")
    working = asyncio.create_task(page.work("Clean up"))
    await click(services, "ada", "Approve")
    assert await working == "It is clean."
    assert (tmp_path / "cleaned.txt").exists()


async def test_the_claude_agent_continues_after_an_approval(
    services: Services, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = claude_page(services, monkeypatch, tmp_path, "door.resume")
    working = asyncio.create_task(page.work("Clean up"))
    await click(services, "ada", "Approve")
    await working
    assert (tmp_path / "cleaned.txt").exists()
    assert capsys.readouterr().out == "It is clean.\n"


async def test_the_claude_agent_is_continued_by_another_process(
    services: Services, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = claude_page(services, monkeypatch, tmp_path, "door.resume")
    async with page.open_door() as door, aclosing(door.run("Clean up", page.OPTIONS)) as messages:
        async for message in messages:
            if getattr(message, "deferred_tool_use", None) is not None:
                break
    assert not (tmp_path / "cleaned.txt").exists()
    serving = asyncio.create_task(page.serve())
    await click(services, "ada", "Approve")
    await serving
    assert (tmp_path / "cleaned.txt").exists()
    assert capsys.readouterr().out == "It is clean.\n"
