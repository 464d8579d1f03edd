"""The steps of docs/pipelines.md run as a runner runs them: a yes lets the pipeline go on, anything else does not."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from askback.settings.core import Settings
from askback.settings.loader import list_environment_variables
from askback_sandbox.services import Services
from askback_slack.settings import SlackSettings
from e2e.demo.clicks import click
from e2e.demo.http_server import serving

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/pipelines.md").read_text(encoding="utf-8")
ACTION, JOBS, GITLAB = (yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
GITHUB = {
    "github.repository": "team/shop", "github.run_id": "41", "github.run_attempt": "1", "github.job": "approve",
    "strategy.job-index": "0", "github.action": "__self", "github.ref_name": "v1.4.2",
}  # fmt: skip
KEY = "team/shop/41/1/approve/0/__self"
SHELL = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")
"""The command of GitHub's `shell: bash`."""


def filled_in(text: str, values: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: values[found[1]], text)


def step_of(name: str) -> Any:
    (step,) = (step for step in ACTION["runs"]["steps"] if step["name"] == name)
    return step


class Runner:
    """A runner with askback installed where the action puts it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.output = folder / "output"
        (folder / "askback/bin").mkdir(parents=True)
        (folder / "askback/bin/askback").symlink_to(Path(sys.executable).with_name("askback"))

    def read_outcome(self) -> Any:
        name, _, value = self.output.read_text(encoding="utf-8").splitlines()[-1].partition("=")
        assert name == "outcome"
        return json.loads(value)

    async def start(self, *, within: dict[str, str] | None = None, **given: str) -> asyncio.subprocess.Process:
        """Begin the step that asks, with these inputs and the defaults of the others. `within` is of its context."""
        context = GITHUB | (within or {})
        inputs = {name: filled_in(str(one.get("default", "")), context) for name, one in ACTION["inputs"].items()}
        values = {f"inputs.{name}": value for name, value in {**inputs, **given}.items()}
        step = step_of("Ask")
        assert "${{" not in step["run"], "a text of others would become a command"
        variables = {name: filled_in(value, values) for name, value in step["env"].items()}
        return await self.run(step["run"], **variables, GITHUB_OUTPUT=str(self.output))

    async def run(self, script: str, **variables: str) -> asyncio.subprocess.Process:
        environment = {name: value for name, value in os.environ.items() if name != "ANTHROPIC_API_KEY"}
        return await asyncio.create_subprocess_exec(
            *SHELL,
            script,
            cwd=self.folder,
            env={**environment, "RUNNER_TEMP": str(self.folder), **variables},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path / "runner")


async def ended(process: asyncio.subprocess.Process) -> tuple[int | None, str]:
    async with asyncio.timeout(60):
        _, err = await process.communicate()
    return process.returncode, err.decode()


DEPLOY = {"question": "Deploy v1.4.2?", "to": "slack:#general"}


async def test_enough_people_let_the_job_go_on_and_a_repeated_one_asks_nobody(
    services: Services, runner: Runner
) -> None:
    inputs = {**DEPLOY, "approvers": "@ada @ben", "quorum": "2"}
    process = await runner.start(**inputs)
    await click(services, "ada", "Yes")
    assert process.returncode is None
    await click(services, "ben", "Yes")
    code, log = await ended(process)
    assert code == 0
    assert re.search(
        r"Waiting for 2 of @ada, @ben until [-\d :]+ \w+\.\n(?s:.*)ada: Yes\n(?s:.*)Answered by ben: Yes\n", log
    ), log
    outcome = runner.read_outcome()
    assert (outcome["approved"], outcome["key"]) == (True, KEY)
    cards = len(services.workspace.messages)
    assert (await ended(await runner.start(**inputs)))[0] == 0
    assert runner.read_outcome() == outcome
    assert len(services.workspace.messages) == cards


@pytest.mark.parametrize(
    "other",
    [
        {"github.job": "production"},
        {"github.run_attempt": "2"},
        {"strategy.job-index": "1"},
        {"github.action": "__self_2"},
    ],
    ids=lambda other: next(iter(other)),
)
async def test_an_approval_is_for_one_step_of_one_job_and_attempt(
    services: Services, runner: Runner, other: dict[str, str]
) -> None:
    process = await runner.start(**DEPLOY, approvers="@ada")
    await click(services, "ada", "Yes")
    assert (await ended(process))[0] == 0
    process = await runner.start(**DEPLOY, approvers="@ada", within=other)
    await click(services, "ada", "No")
    assert (await ended(process))[0] == 3


async def test_a_no_fails_the_job_and_its_outcome_is_there_all_the_same(services: Services, runner: Runner) -> None:
    process = await runner.start(**DEPLOY, approvers="@ada")
    await click(services, "ada", "No")
    assert (await ended(process))[0] == 3
    assert runner.read_outcome()["approved"] is False


async def test_a_job_asks_through_a_server_without_the_tokens_of_a_platform(
    services: Services, runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "0123456789abcdef0123456789abcdef"
    callers = tmp_path / "callers.toml"
    callers.write_text(f'[shop]\ntoken = "{token}"\nto = "slack:#general"\nwho = "@ada"\n', encoding="utf-8")
    async with serving(callers) as address:
        for name in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "ASKBACK_DATABASE_URL"):
            monkeypatch.delenv(name)
        monkeypatch.setenv("ASKBACK_SERVER_TOKEN", token)
        process = await runner.start(question="Deploy v1.4.2?", server=address)
        await click(services, "ada", "Yes")
        code, log = await ended(process)
        assert code == 0, log
        outcome = runner.read_outcome()
        assert (outcome["approved"], outcome["key"]) == (True, KEY)
        assert (await ended(await runner.start(question="Deploy v1.4.2?", server=address)))[0] == 0
        assert runner.read_outcome() == outcome
    assert token not in log


async def test_the_name_of_a_branch_runs_nothing(services: Services, runner: Runner) -> None:
    hostile = '-x "; touch pwned; $(touch pwned) `touch pwned` #?'
    process = await runner.start(question=hostile, to="slack:#general", approvers="@ada $(touch pwned)")
    assert (await ended(process))[0] == 2, "the second approver does not exist"
    process = await runner.start(question=hostile, to="slack:#general", approvers="@ada")
    await click(services, "ada", "Yes")
    assert (await ended(process))[0] == 0
    assert hostile in str([message.blocks for message in services.workspace.messages.values()]).replace("\\", "")
    assert not [*runner.folder.rglob("pwned")]


async def test_the_script_of_gitlab_asks_and_ends_with_the_answer(services: Services, runner: Runner) -> None:
    install, ask = GITLAB["approve"]["script"]
    assert install == 'pip install -q "$ASK_PACKAGE"'
    ask = ask.replace("#deploys", "#general").replace("@release", "@ada")
    path = f"{runner.folder / 'askback/bin'}:{os.environ['PATH']}"
    given = {"CI_PROJECT_PATH": "team/shop", "CI_COMMIT_REF_NAME": "main"}
    for job, answer, code in (("7", "Yes", 0), ("8", "No", 3)):
        process = await runner.run(ask, PATH=path, CI_JOB_ID=job, **given)
        await click(services, "ada", answer)
        assert (await ended(process))[0] == code
    assert GITLAB["deploy"]["needs"] == ["approve"]


def test_what_the_page_names_is_there() -> None:
    packages = re.findall(r"askback(?:\[(.*?)\])? @ git\+https://\S+@[0-9a-f]{7}", PAGE)
    assert len(packages) == 2, "each example of a package names a commit"
    for extras in packages:
        assert set(extras.split(",")) <= set(EXTRAS)
    assert "pip install -q askback" not in PAGE
    assert "pip install -q 'askback" not in PAGE
    known = {*list_environment_variables(Settings), *list_environment_variables(SlackSettings)}
    (asking,) = (step for step in JOBS["jobs"]["approve"]["steps"] if "with" in step)
    assert set(asking["env"]) <= known
    assert set(asking["with"]) <= set(ACTION["inputs"])
    assert {name for name, one in ACTION["inputs"].items() if one.get("required")} <= set(asking["with"])
    assert JOBS["jobs"]["deploy"]["needs"] == "approve"
