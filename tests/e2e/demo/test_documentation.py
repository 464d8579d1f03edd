"""The documentation is true: its programs run, its commands and settings exist, and its pages lead somewhere."""

from __future__ import annotations

import ast
import asyncio
import base64
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import time
import tomllib
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import aiohttp
import pytest
import typer

from askback import Actor, Form, Outcome, Place, get_bot, get_tool, open_host
from askback.cli.main import build_command_line
from askback.domain.outcome import Answer, Choice
from askback.internal.clock import utc_now
from askback.settings.core import Settings
from askback.settings.loader import TomlSettings, get_environment_variable, load
from askback.store.schema import metadata
from askback_discord.settings import DiscordSettings
from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from askback_slack.settings import SlackSettings
from e2e.demo.clicks import click, write_into_field
from e2e.demo.http_server import serving
from support.claude_code import build_claude_environment, find_claude
from support.free_port import free_port
from support.optional import optional

ROOT = Path(__file__).parents[3]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
}
README = PAGES["README.md"]
PROGRAMS = {
    "README.md": 1,
    "docs/acp.md": 1,
    "docs/approvals.md": 2,
    "docs/claude-agent-sdk.md": 2,
    "docs/http.md": 2,
    "docs/langgraph.md": 2,
    "docs/library.md": 5,
    "docs/mcp.md": 1,
    "docs/openai-agents.md": 1,
    "docs/pydantic-ai.md": 1,
    "docs/scripts.md": 1,
    "docs/tools.md": 1,
}
"""Number of Python programs by page. A test here runs each of them."""
SETTINGS: tuple[type[TomlSettings], ...] = (Settings, SlackSettings, DiscordSettings)
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"].keys()
OTHER_PROGRAMS = {
    "cd", "chmod", "claude", "cp", "createdb", "createuser", "curl", "docker", "echo", "git", "mv",
    "opentelemetry-instrument", "pip", "python3", "rm", "systemctl", "touch", "/opt/askback/bin/pip",
    ".ci/run", ".venv/bin/mkdocs", ".venv/bin/pip", ".venv/bin/pyright", ".venv/bin/pytest", ".venv/bin/ruff",
}  # fmt: skip


def blocks(page: str, language: str) -> list[str]:
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```", PAGES[page], re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(block) for _, block in found]


def block(page: str, language: str, words: str) -> str:
    """Return the only block with these words."""
    (found,) = (block for block in blocks(page, language) if words in block)
    return found


def without_blocks(page: str) -> str:
    return re.sub(r"^( *)```.*?^\1```", "", PAGES[page], flags=re.MULTILINE | re.DOTALL)


def loaded(page: str, words: str) -> ModuleType:
    """Run a program that only defines things."""
    module = ModuleType("page")
    exec(compile(block(page, "python", words), page, "exec"), module.__dict__)
    return module


# The programs


def started(file: Path, *arguments: str) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if name != "ANTHROPIC_API_KEY"}
    command = [sys.executable, str(file), *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


async def output_of(file: Path, acts: Callable[[], Awaitable[None]], *arguments: str) -> str:
    """Run a program while people act; return what it printed."""
    with started(file, *arguments) as process:
        try:
            await acts()
            out, err = await asyncio.to_thread(process.communicate, timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0, err.decode()
    return out.decode()


async def test_the_program_asks_a_person_and_prints_the_answer(services: Services, tmp_path: Path) -> None:
    program = block("docs/library.md", "python", "asyncio.run")
    file = tmp_path / "program.py"
    file.write_text(program.replace("C0123456789", "C0GENERAL").replace("U0123456789", "U0LOCALADA"), encoding="utf-8")
    assert await output_of(file, lambda: click(services, "ada", "Staging")) == "answered ('Staging',)\n"
    # The card was settled before the program ended.
    (card,) = services.workspace.messages.values()
    assert not [block for block in card.blocks if block["type"] == "actions"]
    assert "Answered" in card.text


@pytest.mark.parametrize("page", ["README.md", "docs/scripts.md"])
async def test_the_script_asks_people_and_prints_who_agreed(services: Services, tmp_path: Path, page: str) -> None:
    program = block(page, "python", "askback.ask(")
    file = tmp_path / "script.py"
    file.write_text(program.replace("#deploys", "#general").replace('["@release"]', '["@ada", "@ben"]'), "utf-8")

    async def both() -> None:
        await click(services, "ada", "Yes")
        await click(services, "ben", "Yes")

    assert re.fullmatch(r"Deploying, says \w+\n", await output_of(file, both))


async def test_the_mcp_client_asks_and_prints_the_answer(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    file = tmp_path / "client.py"
    program = block("docs/mcp.md", "python", "StdioServerParameters")
    file.write_text(program.replace("#deploys", "#general").replace("@release", "@ada"), encoding="utf-8")
    printed = await output_of(file, lambda: click(services, "ada", "Staging"))
    assert re.fullmatch(r"Answered by \w+ \(U0LOCALADA\) in #general at .* UTC: Staging\n", printed)


async def test_a_program_asks_over_http_with_the_callers_of_the_page(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "0123456789abcdef0123456789abcdef"
    callers = block("docs/http.md", "toml", "[deploys]").replace('token = "…"', f'token = "{token}"')
    callers = callers.replace('token_sha256 = "…"', f'token_sha256 = "{"0" * 64}"')
    file = tmp_path / "callers.toml"
    file.write_text(callers.replace("#deploys", "#general").replace("@release", "@ada"), encoding="utf-8")
    async with serving(file) as address:
        monkeypatch.setenv("ASKBACK_SERVER_TOKEN", token)
        program = tmp_path / "program.py"
        text = block("docs/http.md", "python", "requests").replace("http://127.0.0.1:8700", address)
        program.write_text(text, encoding="utf-8")
        printed = await output_of(program, lambda: click(services, "ada", "Staging"))
    assert re.fullmatch(r"Answered by \S+ \(U0LOCALADA\) in #general at .* UTC: Staging\n", printed)


async def test_the_receiver_of_the_page_verifies_an_outcome_and_rejects_another(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, secret, port = (
        "0123456789abcdef0123456789abcdef",
        f"whsec_{base64.b64encode(bytes(32)).decode()}",
        free_port(),
    )
    url = f"http://127.0.0.1:{port}/askback"
    callers = block("docs/http.md", "toml", "[nightly]").replace('token = "…"', f'token = "{token}"')
    callers = callers.replace("whsec_…", secret).replace("https://ci.example.com/askback", url)
    file = tmp_path / "callers.toml"
    file.write_text(callers.replace("#deploys", "#general").replace("@release", "@ada"), encoding="utf-8")
    monkeypatch.setenv("WEBHOOK_SECRET", secret)
    monkeypatch.setenv("PORT", str(port))
    program = tmp_path / "receiver.py"
    program.write_text(block("docs/http.md", "python", "BaseHTTPRequestHandler"), encoding="utf-8")
    question = {"question": "Where?", "options": ["Staging", "Production"], "webhook": url}
    headers = {"Authorization": f"Bearer {token}"}
    forged = {"webhook-id": "1", "webhook-timestamp": str(int(time.time())), "webhook-signature": "v1,AAAA"}
    with started(program) as receiver:
        try:
            async with serving(file) as address, aiohttp.ClientSession() as session:
                async with session.post(f"{address}/v1/asks", json=question, headers=headers) as response:
                    assert response.status == 202
                await click(services, "ada", "Staging")
                assert receiver.stdout is not None
                printed = (await asyncio.to_thread(receiver.stdout.readline)).decode()
                async with session.post(url, json={"message": "forged"}, headers=forged) as response:
                    assert response.status == 401
        finally:
            receiver.kill()
    assert re.fullmatch(r"Answered by \S+ \(U0LOCALADA\) in #general at .* UTC: Staging\n", printed)


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


def test_each_cell_of_the_doors_names_a_test_that_exists() -> None:
    page = PAGES["docs/doors.md"]
    sections = page.partition("## The test of each cell")[2].split("\n### ")[1:]
    named = set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page))
    missing = [f"{file}::{name}" for file, name in named if f"def {name}(" not in (ROOT / file).read_text("utf-8")]
    assert not missing
    rows = [
        row for section in sections for row in re.findall(r"^\| (\w[\w ]*): ([\w ]+) \|(.*)$", section, re.MULTILINE)
    ]
    assert len(rows) == 6 * len(sections) == 6 * page.count("| [")
    assert all("::" in rest for _, said, rest in rows if said != "no")


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


def test_an_outcome_is_read_as_the_library_page_says() -> None:
    environment = loaded("docs/library.md", "def environment").environment
    chosen = Answer(question_id="where", choices=(Choice(index=1, value="production", label="Production"),))
    written = Answer(question_id="where", text="The moon")
    assert environment(Outcome(status="answered", at=utc_now(), answers=(chosen,))) == "production"
    assert environment(Outcome(status="answered", at=utc_now(), answers=(written,))) == "The moon"
    assert environment(Outcome(status="timed_out", at=utc_now())) is None


def test_the_form_on_the_library_page_asks_what_it_says() -> None:
    form: Form = loaded("docs/library.md", "RELEASE = Form").RELEASE
    where, ticket = form.questions
    assert (where.default, where.multi_select) == (("eu",), True)
    assert ticket.show_if is not None
    assert ticket.rules.find_problem("OPS-12") is None
    assert ticket.rules.find_problem("12") == "Write it like OPS-123."


async def test_two_people_decide_as_the_library_page_says(services: Services) -> None:
    page = loaded("docs/library.md", "def release")
    page.BEN, page.CY = (Actor(platform="slack", id=f"U0LOCAL{name}") for name in ("BEN", "ADA"))
    async with open_host([get_bot("slack")], agent=False) as host:
        released = asyncio.create_task(page.release(host.manager, Place(platform="slack", channel="C0GENERAL")))
        await click(services, "ben", "Yes")
        await click(services, "ada", "Yes")
        outcome = await released
    assert (outcome.status, outcome["go"].choices[0].value, len(outcome.votes)) == ("answered", "yes", 2)


def test_the_question_tool_works_as_the_library_page_says() -> None:
    page = loaded("docs/library.md", "def result_of")
    example = json.loads(get_tool("AskUserQuestion").example)
    assert set(page.definition()) == {"name", "description", "input_schema"}
    assert page.form_of(example).questions
    assert "Nobody answered" in page.result_of(example, Outcome(status="timed_out", at=utc_now()))


async def test_the_tools_of_ones_own_run(services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (settings,) = blocks("docs/tools.md", "toml")
    (tmp_path / "deploying.py").write_text(block("docs/tools.md", "python", "@tool"), encoding="utf-8")
    (tmp_path / "askback.toml").write_text(settings, encoding="utf-8")
    monkeypatch.setenv("ASKBACK_CONFIG", "askback.toml")
    monkeypatch.delenv("ASKBACK_TOOLS")
    monkeypatch.setattr(sys, "path", [*sys.path])
    services.model.script(turn(call("deploy", where="staging"), call("versions")), turn("Both are done."))
    async with open_host([get_bot("slack")]):
        await services.socket.connected()
        services.people.write("ada", "general", "@askback deploy, please")
        await services.workspace.until(lambda _: len(services.model.log) == 2, within=60)
    monkeypatch.delitem(sys.modules, "deploying")
    request: Any = services.model.log[-1].request
    results = [block["content"] for block in request["messages"][-1]["content"]]
    assert results == ["Deployed to staging for ada.", '{"staging":"1.5","production":"1.4"}']
    (schema,) = (tool["input_schema"] for tool in request["tools"] if tool["name"] == "deploy")
    assert schema["properties"]["where"]["enum"] == ["staging", "production"]
    assert schema["properties"]["where"]["description"] == "The environment."


@pytest.mark.parametrize(
    ("name", "shown"),
    [("deploy", ["Deploy “1.4.2” to “staging”?"]), ("move", ["Move “1.4.2” to “staging”?", "Edit…"])],
)
async def test_the_question_of_an_approval_is_asked_as_the_page_says(
    services: Services, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, shown: list[str]
) -> None:
    (tmp_path / f"approving_{name}.py").write_text(
        block("docs/approvals.md", "python", f"def {name}"), encoding="utf-8"
    )
    (tmp_path / "askback.toml").write_text(f'tools = ["approving_{name}:{name}"]', encoding="utf-8")
    monkeypatch.setenv("ASKBACK_CONFIG", "askback.toml")
    monkeypatch.delenv("ASKBACK_TOOLS")
    monkeypatch.setattr(sys, "path", [*sys.path])
    services.model.script(turn(call(name, version="1.4.2", where="staging")))
    async with open_host([get_bot("slack")]):
        await services.socket.connected()
        services.people.write("ada", "general", "@askback deploy, please")
        await services.workspace.until(
            lambda workspace: any(
                all(one in json.dumps(message.blocks, ensure_ascii=False) for one in shown)
                for message in workspace.messages.values()
            ),
            within=60,
        )
    monkeypatch.delitem(sys.modules, f"approving_{name}")


def test_the_scenario_plays(tmp_path: Path) -> None:
    scenario, more = blocks("docs/play.md", "toml")
    (tmp_path / "my.toml").write_text(f"within = 60\n{scenario}\n{more}", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ASKBACK_")}
    command = [Path(sys.executable).parent / "askback", "demo", "--play", "my.toml", "--platform", "slack"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 question of the model and 1 question of a program, each answered exactly once." in done.stdout


def test_every_program_runs_in_a_test() -> None:
    """A page with a new program needs a test above, then a new number in `PROGRAMS`."""
    found = {page: blocks(page, "python") for page in PAGES}
    for page, programs in found.items():
        for program in programs:
            ast.parse(program, page)
    assert {page: len(programs) for page, programs in found.items() if programs} == PROGRAMS


# Settings


@pytest.mark.parametrize("page", ["docs/tools.md", "docs/approvals.md", "docs/questions.md", "docs/settings.md"])
def test_the_settings_files_are_understood(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("ASKBACK_", "SLACK_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)
    (shown,) = blocks(page, "toml")
    file = tmp_path / "askback.toml"
    file.write_text(shown, encoding="utf-8")
    monkeypatch.setenv("ASKBACK_CONFIG", str(file))
    load(Settings)
    if any(name.startswith("slack_") for name in tomllib.loads(shown)):
        load(SlackSettings)


def test_every_settings_file_and_scenario_is_tested() -> None:
    pages = {page for page in PAGES if blocks(page, "toml")}
    assert pages == {
        "docs/tools.md", "docs/approvals.md", "docs/http.md", "docs/questions.md", "docs/settings.md", "docs/play.md"
    }  # fmt: skip


def test_every_variable_that_a_page_names_is_a_setting() -> None:
    known = {
        get_environment_variable(kind, name, field) for kind in SETTINGS for name, field in kind.model_fields.items()
    }
    known |= {"ASKBACK_CONFIG", "ASKBACK_ENV_FILE", "ASKBACK_TEST_POSTGRES_URL", "ANTHROPIC_BASE_URL"}
    for page, text in PAGES.items():
        named = set(re.findall(r"(?:ASKBACK|SLACK|DISCORD|ANTHROPIC)_[A-Z_]+[A-Z](?!\w*…)", text))
        assert named <= known, f"{page}: {named - known}"
        for beginning in re.findall(r"`(ASKBACK_[A-Z_]+_)…`", text):
            assert any(name.startswith(beginning) for name in known), f"{page}: {beginning}"


# Commands


def parsed(command: list[str]) -> None:
    """Read the arguments of `askback` as the command line does, without running anything."""
    group: Any = typer.main.get_command(build_command_line())
    context = group.make_context("askback", command)
    name, one, rest = group.resolve_command(context, [*context._protected_args, *context.args])
    one.make_context(name, rest, parent=context)


def commands(page: str) -> list[list[str]]:
    """Return the simple commands in a page's blocks for a shell."""
    found: list[list[str]] = []
    for line in (line for block in blocks(page, "sh") for line in block.splitlines()):
        words: list[str] = []
        lexer = shlex.shlex(line, posix=True, punctuation_chars="&|>")
        lexer.whitespace_split = True
        lexer.commenters = ""  # as in slack:#deploys
        for word in [*lexer, "&&"]:
            if word in ("&&", "|"):
                found.append(words[: words.index(">")] if ">" in words else words)
                words = []
            else:
                words.append(word)
    return found


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "sh")])
def test_every_command_is_one_that_there_is(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKBACK_CONFIG", "")  # `--config` sets it
    for program, *arguments in commands(page):
        if program == "export":
            continue
        if program == "opentelemetry-instrument":
            program, *arguments = arguments
        if program.rpartition("/")[2] == "askback":
            parsed(arguments)
        elif program == ".venv/bin/python":
            assert arguments[0] == "-m"
            assert arguments[1] == "build" or (ROOT / arguments[1].replace(".", "/") / "__main__.py").exists()
        else:
            assert program in OTHER_PROGRAMS, program
        extras = re.findall(r"\w+", " ".join(re.findall(r"\.\[(.*?)\]", " ".join(arguments))))
        assert set(extras) <= EXTRAS, arguments
        if program == ".venv/bin/pytest":
            assert [name for name in arguments if name.startswith("tests/") and not (ROOT / name).exists()] == []


@pytest.mark.parametrize("module", ["tests.bench", "tests.faults"])
def test_every_option_of_the_long_runs_is_one_that_there_is(module: str) -> None:
    command = [sys.executable, "-m", module, "--help"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'tests'}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=60)
    for page in PAGES:
        for words in commands(page):
            if module in words:
                assert [word for word in words if word.startswith("--") and word not in done.stdout] == []


def test_the_configurations_of_mcp_clients_start_a_command_that_there_is() -> None:
    found = [json.loads(text) for text in blocks("docs/mcp.md", "json")]
    servers = [server for one in found for server in one["mcpServers"].values()]
    started = [[server["command"], *server["args"]] for server in servers]
    added = [words for words in commands("docs/mcp.md") if words[:3] == ["claude", "mcp", "add"]]
    started += [words[words.index("--") + 1 :] for words in added]
    assert len(started) >= 4
    for program, *arguments in started:
        assert program == "askback"
        parsed(arguments)


def test_every_command_in_a_sentence_is_one_that_there_is() -> None:
    group: Any = typer.main.get_command(build_command_line())
    platforms = [entry.name for entry in entry_points(group="askback.bots")]
    for page in PAGES:
        for words in re.findall(r"`(?:\.venv/bin/)?askback ([^`]+)`", without_blocks(page)):
            name, *rest = words.split()
            if name.startswith("-") or name == "COMMAND":
                continue
            assert name in [*group.commands, *platforms], f"{page}: {words}"
            known = {option for one in group.commands[name].params for option in one.opts} | {"--help"}
            assert {word for word in rest if word.startswith("--")} <= known, f"{page}: {words}"


def test_the_readme_has_the_two_commands_that_begin_everything() -> None:
    lines = [line for block in blocks("README.md", "sh") for line in block.splitlines()]
    fresh = [line for line in lines if line.startswith("python3 -m venv .venv && .venv/bin/pip install -q -e ")]
    assert [line.rpartition(" && ")[2] for line in fresh] == [".venv/bin/askback demo", ".venv/bin/pytest -n auto"]


def test_the_preview_prints_messages() -> None:
    (preview,) = blocks("docs/preview.md", "sh")
    done = subprocess.run(
        ["bash", "-c", preview.replace(".venv/bin/", f"{Path(sys.executable).parent}/")],
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0
    assert b"Tea?" in done.stdout


# Pages


def test_the_readme_is_short_and_says_first_what_it_is_and_what_was_never_tried() -> None:
    assert len(README.split()) <= 900
    order = [
        "# askback",
        ".github/card.png",
        "**Status",
        "## Try it",
        "## Choose your path",
        "## Documentation",
        "## License",
    ]
    places = [README.index(words) for words in order]
    assert places == sorted(places)
    for path in ("slack", "discord", "scripts", "library"):
        assert f"(docs/{path}.md)" in README


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_is_there(page: str) -> None:
    """mkdocs checks the links within `docs/`; on GitHub, only the generated pages are missing."""
    folder = (ROOT / page).parent
    generated = {"settings.md", "commands.md", "scenarios.md", "card.png"}
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", PAGES[page]):
        assert (folder / link).exists() or Path(link).name in generated, link
    for name in re.findall(r"`((?:tests|docs|core|bots|manifests|\.ci)/[\w./-]+)`", PAGES[page]):
        assert (ROOT / name).exists(), name
    for picture in re.findall(r'src="([^"]+)"', PAGES[page]):
        assert (ROOT / picture).stat().st_size < 150_000


def test_the_pictures_are_small() -> None:
    for picture in (".github/card.png", "docs/images/approval.png"):
        assert (ROOT / picture).stat().st_size < 150_000


def test_the_glossary_has_every_table_and_every_end_of_a_question() -> None:
    glossary = PAGES["docs/glossary.md"]
    assert [name for name in metadata.tables if f"`{name}`" not in glossary] == []
    for status in ("answered", "declined", "cancelled", "timed out", "undeliverable"):
        assert f"| {status} | status:" in glossary


@pytest.mark.parametrize("page", [*PAGES, "CHANGELOG.md"])
def test_no_text_of_ours_is_wider_than_a_screen(page: str) -> None:
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    prose = [line for line in lines if not line.startswith(("|", "<img", "!["))]
    assert max(map(len, prose)) <= 120
