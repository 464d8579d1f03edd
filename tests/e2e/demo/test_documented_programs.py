"""Every program in the documentation that asks by itself runs, and does what its page says."""

from __future__ import annotations

import ast
import asyncio
import base64
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import aiohttp
import pytest

from askback import Actor, Form, Outcome, Place, get_bot, get_tool, open_host
from askback.domain.outcome import Answer, Choice
from askback.internal.clock import utc_now
from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from e2e.demo.clicks import click
from e2e.demo.documentation import PAGES, block, blocks, output_of, started
from e2e.demo.http_server import serving
from support.free_port import free_port

PROGRAMS = {
    "README.md": 1,
    "docs/acp.md": 1,
    "docs/approvals.md": 3,
    "docs/claude-agent-sdk.md": 2,
    "docs/http.md": 2,
    "docs/langgraph.md": 3,
    "docs/library.md": 5,
    "docs/mcp.md": 1,
    "docs/openai-agents.md": 1,
    "docs/pydantic-ai.md": 1,
    "docs/scripts.md": 1,
    "docs/tools.md": 1,
}
"""Number of Python programs by page. A test here or in `test_documented_agents.py` runs each of them."""


RELEASE = {"version": "1.4.2", "where": "staging"}


def loaded(page: str, words: str) -> ModuleType:
    """Run a program that only defines things."""
    module = ModuleType("page")
    exec(compile(block(page, "python", words), page, "exec"), module.__dict__)
    return module


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
    # The server looks up every name when it starts.
    for name, known in (("#deploys", "#general"), ("discord:#support", "slack:#general")):
        callers = callers.replace(name, known)
    for name in ("@release", "@support", "@leads"):
        callers = callers.replace(name, "@ada")
    file = tmp_path / "callers.toml"
    file.write_text(callers, encoding="utf-8")
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
    # The server looks up every name when it starts.
    for name, known in (("#deploys", "#general"), ("discord:#support", "slack:#general")):
        callers = callers.replace(name, known)
    for name in ("@release", "@support", "@leads"):
        callers = callers.replace(name, "@ada")
    file = tmp_path / "callers.toml"
    file.write_text(callers, encoding="utf-8")
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
                others = [{name: value for name, value in forged.items() if name != left_out} for left_out in forged]
                for sent in (forged, {}, *others, forged | {"webhook-signature": "v1,ü"}):
                    async with session.post(url, json={"message": "forged"}, headers=sent) as response:
                        assert response.status == 401
        finally:
            receiver.kill()
    assert re.fullmatch(r"Answered by \S+ \(U0LOCALADA\) in #general at .* UTC: Staging\n", printed)


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
    ("name", "given", "shown"),
    [
        ("deploy", RELEASE, ["Deploy “1.4.2” to “staging”?"]),
        ("move", RELEASE, ["Move “1.4.2” to “staging”?", "Edit…"]),
        ("refund", {"customer": "ben", "amount": 101}, ["Refund 101 €?"]),
    ],
)
async def test_the_question_of_an_approval_is_asked_as_the_page_says(
    services: Services,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    given: dict[str, Any],
    shown: list[str],
) -> None:
    (tmp_path / f"approving_{name}.py").write_text(
        block("docs/approvals.md", "python", f"def {name}"), encoding="utf-8"
    )
    (tmp_path / "askback.toml").write_text(f'tools = ["approving_{name}:{name}"]', encoding="utf-8")
    monkeypatch.setenv("ASKBACK_CONFIG", "askback.toml")
    monkeypatch.delenv("ASKBACK_TOOLS")
    monkeypatch.setattr(sys, "path", [*sys.path])
    services.model.script(turn(call(name, **given)))
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


def play(folder: Path, scenario: str, *options: str) -> str:
    """Play a scenario, which must be as expected; return the transcript."""
    (folder / "my.toml").write_text(f"within = 60\n{scenario}", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ASKBACK_")}
    command = [Path(sys.executable).parent / "askback", "demo", "--play", "my.toml", *options]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_scenario_plays(tmp_path: Path) -> None:
    scenario, _changed, program, _files = blocks("docs/play.md", "toml")
    assert "1 question of the model, each answered" in play(tmp_path, scenario, "--platform", "slack")
    assert "1 question of a program, each answered" in play(tmp_path, program, "--platform", "slack")


def test_the_scenario_that_changes_a_call_plays_on_both_platforms(tmp_path: Path) -> None:
    _scenario, changed, _more, _files = blocks("docs/play.md", "toml")
    shown = play(tmp_path, changed)
    for platform in ("Slack", "Discord"):
        assert f"── {platform} ── A release that Ben changes ──" in shown
    assert shown.count('    » ben types "staging" as target\n') == 2


def test_the_scenario_that_gives_a_file_plays_on_both_platforms(tmp_path: Path) -> None:
    shown = play(tmp_path, blocks("docs/play.md", "toml")[-1])
    assert shown.count("    » ada chooses server.log\n") == 2


def test_every_program_runs_in_a_test() -> None:
    """A page with a new program needs a test, then a new number in `PROGRAMS`."""
    found = {page: blocks(page, "python") for page in PAGES}
    for page, programs in found.items():
        for program in programs:
            ast.parse(program, page)
    assert {page: len(programs) for page, programs in found.items() if programs} == PROGRAMS
