"""The site of the documentation: it builds without a network, and its reference is complete."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

import askback
from askback.cli.main import build_command_line
from askback.doors.door_options import DoorOptions
from askback.settings.core import Settings
from askback.settings.loader import TomlSettings, get_environment_variable, get_file_key
from askback_discord.settings import DiscordSettings
from askback_slack.settings import SlackSettings

ROOT = Path(__file__).parents[3]
KINDS: tuple[type[TomlSettings], ...] = (Settings, SlackSettings, DiscordSettings)
DEAD = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. Warnings are errors, and the network is out of reach."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "http_proxy": DEAD, "https_proxy": DEAD, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    return folder


def test_each_setting_is_there_with_its_names_and_a_description(site: Path) -> None:
    page = site / "reference/settings.html"
    sections = dict(re.findall(r'<h3 id="(\w+)">(.*?)(?=<h[23]|</article>)', page.read_text("utf-8"), re.DOTALL))
    settings = [(kind, name, field) for kind in KINDS for name, field in kind.model_fields.items()]
    assert len(sections) == len(settings)
    for kind, name, field in settings:
        section = sections[get_environment_variable(kind, name, field).lower()]
        assert f"<code>{get_file_key(kind, name, field)}</code>" in section
        paragraphs = re.findall(r"<p>(.*?)</p>", section, re.DOTALL)
        assert len(paragraphs) >= 2, name
        assert re.search(r"Type: .+\. .*(?:[Dd]efault|Required)", paragraphs[0]), name


def test_each_command_is_there_with_each_option(site: Path) -> None:
    text = (site / "reference/commands.html").read_text(encoding="utf-8")
    sections = dict(re.findall(r'<h2 id="([\w-]+)">(.*?)(?=<h2|</article>)', text, re.DOTALL))
    group: Any = typer.main.get_command(build_command_line())
    assert sections.keys() == {"askback", *(f"askback-{name}" for name in group.commands)}
    assert {"slack", "discord", "ask", "doctor", "backup"} <= group.commands.keys()
    for name, command in group.commands.items():
        said = html.unescape(re.sub(r"<[^>]+>", "", sections[f"askback-{name}"]))
        assert command.help.split("\n")[0] in said
        for parameter in command.get_params(typer.Context(command, info_name=name)):
            shown = parameter.metavar or parameter.name
            given = shown if parameter.param_type_name == "argument" else parameter.opts[0]
            assert (given in said) != parameter.hidden, given


def test_each_public_name_is_there_and_documented(site: Path) -> None:
    text = (site / "reference/api.html").read_text(encoding="utf-8")
    shown = set(re.findall(r'<h3 id="askback\.(\w+)"', text))
    assert shown == {*askback.__all__} - {"__version__"}
    for name in shown:
        assert getattr(askback, name).__doc__, name


def test_each_option_of_the_doors_is_there_with_its_meaning(site: Path) -> None:
    text = (site / "reference/api.html").read_text(encoding="utf-8")
    sections = dict(re.findall(r'<h3 id="askback\.doors\.\w+\.(\w+)"(.*?)(?=<h3|</article>)', text, re.DOTALL))
    options = re.findall(r'<h4 id="[\w.]+\.DoorOptions\.(\w+)".*?<p>(\w.*?)</p>', sections["DoorOptions"], re.DOTALL)
    assert {name for name, _ in options} == DoorOptions.__annotations__.keys()
    doors = {name: section for name, section in sections.items() if name.endswith("Door")}
    assert len(doors) == 5
    for name, section in doors.items():
        assert 'href="#askback.doors.door_options.DoorOptions"' in section.partition("<h4")[0], name


def test_it_loads_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        loads = re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"?([^\s\">]+)", page.read_text("utf-8"))
        assert [one for one in loads if one.startswith(("http:", "https:", "//"))] == [], page


def test_the_search_finds_settings_commands_and_words(site: Path) -> None:
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    titles = {html.unescape(re.sub(r"<[^>]+>", "", entry["title"])) for entry in index["docs"]}
    assert {"ASKBACK_RETENTION", "askback backup", "Who answers", "Glossary", "The scenario format"} <= titles


def test_the_reference_is_printed_without_the_site_and_its_packages() -> None:
    absent = "import runpy, sys; sys.modules |= {'griffe': None, 'mkdocs': None}; del sys.argv[0]"
    run = "runpy.run_path(sys.argv[0], run_name='__main__')"
    command = [sys.executable, "-c", f"{absent}; {run}", "docs/reference.py", "settings"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert "### `ASKBACK_RETENTION`" in done.stdout
    assert subprocess.run([*command[:-1], "nothing"], cwd=ROOT, capture_output=True, timeout=60).returncode == 1
