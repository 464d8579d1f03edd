"""The documentation is true: its commands, settings and tests exist, and its pages lead somewhere."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import typer

from askback.cli.main import build_command_line
from askback.settings.core import Settings
from askback.settings.loader import TomlSettings, get_environment_variable, load
from askback.store.schema import metadata
from askback_discord.settings import DiscordSettings
from askback_slack.settings import SlackSettings
from e2e.demo.documentation import PAGES, ROOT, blocks

README = PAGES["README.md"]
SETTINGS: tuple[type[TomlSettings], ...] = (Settings, SlackSettings, DiscordSettings)
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"].keys()
OTHER_PROGRAMS = {
    "cd", "chmod", "claude", "cp", "createdb", "createuser", "curl", "docker", "echo", "git", "install", "mkdir", "mv",
    "opentelemetry-instrument", "pip", "python3", "rm", "source", "sudo", "systemctl", "touch", "/opt/askback/bin/pip",
    ".ci/run", ".venv/bin/mkdocs", ".venv/bin/pip", ".venv/bin/pyright", ".venv/bin/pytest", ".venv/bin/ruff",
}  # fmt: skip


def without_blocks(page: str) -> str:
    return re.sub(r"^( *)```.*?^\1```", "", PAGES[page], flags=re.MULTILINE | re.DOTALL)


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
        extras = re.findall(r"[\w-]+", " ".join(re.findall(r"\.\[(.*?)\]", " ".join(arguments))))
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
