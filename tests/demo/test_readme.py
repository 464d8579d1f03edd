"""The README is true: its program runs, its table is complete, its files and commands are there."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from askback.ports.bot import bot_named
from askback.runtime.app import running
from askback.settings.core import Settings
from askback.settings.loader import TomlSettings, name_in_environment, name_in_file
from askback_discord.settings import DiscordSettings
from askback_local.model.script import call, turn
from askback_local.services import Services
from askback_slack.settings import SlackSettings

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert found
    return found


def started(command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


async def test_the_program_asks_a_person_and_prints_the_answer(services: Services, tmp_path: Path) -> None:
    (program,) = (block for block in blocks("python") if "asyncio.run" in block)
    file = tmp_path / "program.py"
    file.write_text(program.replace("C0123456789", "C0GENERAL").replace("U0123456789", "U0LOCALADA"), encoding="utf-8")
    environment = {**os.environ}
    del environment["ANTHROPIC_API_KEY"]  # it has its own event loop
    command = [sys.executable, str(file)]
    with started(command, environment) as process:
        try:
            await services.workspace.until(lambda w: any(m.blocks for m in w.messages.values()), within=60)
            (card,) = services.workspace.messages.values()
            block, action = next(
                (block["block_id"], element["action_id"])
                for block in card.blocks
                for element in block.get("elements", [])
                if element.get("type") == "button" and element["text"]["text"] == "Staging"
            )
            body = {"person": "ada", "channel": "C0GENERAL", "ts": card.ts, "block_id": block, "action_id": action}
            act = f"{services.url}/people/act"
            async with aiohttp.ClientSession() as session, session.post(act, json=body) as answer:
                assert (await answer.json())["ok"] is True
            out, err = await asyncio.to_thread(process.communicate, timeout=60)
        finally:
            process.kill()
    assert (process.returncode, out.decode()) == (0, "answered ('Staging',)\n"), err.decode()
    # The card was settled before the program ended.
    (card,) = services.workspace.messages.values()
    assert not [block for block in card.blocks if block["type"] == "actions"]
    assert "Answered" in card.text


async def test_the_tools_of_ones_own_run(services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tools,) = (block for block in blocks("python") if "@tool" in block)
    settings = next(block for block in blocks("toml") if "approv" not in block)
    (tmp_path / "deploying.py").write_text(tools, encoding="utf-8")
    (tmp_path / "askback.toml").write_text(settings, encoding="utf-8")
    monkeypatch.setenv("ASKBACK_CONFIG", "askback.toml")
    monkeypatch.delenv("ASKBACK_TOOLS")
    monkeypatch.setattr(sys, "path", [*sys.path])
    services.model.script(turn(call("deploy", where="staging"), call("versions")), turn("Both are done."))
    async with running([bot_named("slack")]):
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


def test_the_settings_table_names_what_the_code_reads() -> None:
    written = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", README, re.MULTILINE)
    kinds: tuple[type[TomlSettings], ...] = (SlackSettings, DiscordSettings, Settings)
    read = [
        (name_in_environment(kind, name, field), name_in_file(kind, name, field))
        for kind in kinds
        for name, field in kind.model_fields.items()
    ]
    assert sorted(written) == sorted(read)


def test_every_file_that_it_names_is_there() -> None:
    named = re.findall(r"\]\(([\w./]+)\)", README)
    assert len(named) > 5
    assert [name for name in named if not (ROOT / name).exists()] == []
    for picture in ("card", "approval"):
        assert f'src=".github/{picture}.png"' in README
        assert (ROOT / f".github/{picture}.png").stat().st_size < 150_000


def test_its_commands_are_one_line_each_and_known() -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    fresh = [line for line in lines if line.startswith("python3 -m venv .venv && .venv/bin/pip install -q -e ")]
    assert [line.rpartition(" && ")[2] for line in fresh] == [".venv/bin/askback demo", ".venv/bin/pytest -n auto"]
    (preview,) = (line for line in lines if "preview" in line)
    done = subprocess.run(
        ["bash", "-c", preview.replace(".venv/bin/", f"{Path(sys.executable).parent}/")],
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0
    assert b"Tea?" in done.stdout


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md"])
def test_no_text_of_ours_is_wider_than_a_screen(name: str) -> None:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    prose = [line for line in lines if not line.startswith(("|", "a person", "<img"))]
    assert max(map(len, prose)) <= 120
