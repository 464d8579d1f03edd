"""The settings of tools that need approval: the approvers, and the errors for combinations that make no sense."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from askback import tool
from askback.agent.approvals import ApprovalRules
from askback.domain.identity import Actor
from askback.domain.who import Who
from askback.errors import OperatorError
from askback.settings.core import Settings
from askback.settings.loader import load
from askback.user_tools.loader import load_tools


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Remove all settings from the environment, and use an empty working directory."""
    for name in [name for name in os.environ if name.startswith(("ASKBACK_", "SLACK_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKBACK_CONFIG", "")
    return tmp_path


def rules(folder: Path, text: str) -> ApprovalRules:
    (folder / "askback.toml").write_text(text, encoding="utf-8")
    os.environ["ASKBACK_CONFIG"] = "askback.toml"
    return load(Settings).approvals


def test_without_anything_set_whoever_began_confirms_and_denials_want_a_reason() -> None:
    assert load(Settings).approvals == ApprovalRules()
    assert load(Settings).approval_tools == ()


def test_the_file_sets_everything(empty: Path) -> None:
    found = rules(
        empty,
        """
        approval_tools = ["deploy", "db_*"]
        approvers = ["slack:U012AB", "slack:S012AB", "slack:U034CD", "discord:123456789", "discord:@&987654321"]
        approval_quorum = 2
        approval_refusals = 2
        approval_reasons = "both"
        approval_own = true
        approval_timeout = "2h"
        approval_remind = ["30m", 3600]
        approval_escalate_to = ["slack:W0AB"]
        approval_escalate_after = "1h 30m"
        """,
    )
    people = tuple(Actor(platform="slack", id=name) for name in ("U012AB", "U034CD"))
    assert found == ApprovalRules(
        approvers={
            "slack": Who(people=people, groups=("S012AB",)),
            "discord": Who(people=(Actor(platform="discord", id="123456789"),), groups=("987654321",)),
        },
        quorum=2,
        refusals=2,
        reasons="both",
        allow_self_approval=True,
        timeout=7200,
        reminder_delays=(1800, 3600),
        escalate_after=5400,
        escalate_to={"slack": Who.from_people(Actor(platform="slack", id="W0AB"))},
    )


def test_what_the_documentation_shows_is_understood(empty: Path) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs/approvals.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    found = rules(empty, shown)
    assert (found.quorum, found.timeout, found.reminder_delays, found.escalate_after) == (2, 7200, (1800,), 3600)
    assert found.approvers["slack"].groups == ("S0123ABCD",)
    assert found.approvers["discord"].groups == ("23456789012345678",)


def test_the_environment_sets_lists_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKBACK_APPROVERS", "slack:U012AB, discord:@&987654321")
    monkeypatch.setenv("ASKBACK_APPROVAL_TOOLS", "deploy, db_*")
    monkeypatch.setenv("ASKBACK_APPROVAL_REMIND", "10m,1h")
    monkeypatch.setenv("ASKBACK_APPROVAL_ALWAYS", "true")
    settings = load(Settings)
    assert sorted(settings.approvals.approvers) == ["discord", "slack"]
    assert settings.approval_tools == ("deploy", "db_*")
    assert settings.approvals.reminder_delays == (600, 3600)
    monkeypatch.setenv("ASKBACK_APPROVAL_QUORUM", "2")
    rules = load(Settings).approvals
    assert (rules.allow_always, rules.quorum) == (True, 2)


ONE = 'approvers = ["slack:U012AB"]\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('approvers = ["slack:U012AB", "ada"]', "has an entry (number 2) that is neither a person"),
        ('approvers = ["slack:@release"]', "has an entry (number 1) that is neither a person"),
        ('approvers = ["slack:C012AB"]', "has an entry (number 1) that is neither a person"),
        ('approvers = ["slakc:U012AB"]', "that has an unknown platform: use discord, slack. Give a list of ids"),
        ('approvers = ["U012AB"]', "that is neither a person"),
        ("approval_quorum = 2", "is 2, but `approvers` is empty"),
        ("approval_refusals = 2", "is 2, but `approvers` is empty"),
        (ONE + 'approval_reasons = "sometimes"', "Give none, no, yes or both"),
        (ONE + 'approval_timeout = "1h"\napproval_remind = "2h"', "has a time that is not before approval_timeout"),
        (ONE + "approval_remind = 0", "has a time that is not before approval_timeout"),
        (ONE + 'approval_remind = "soon"', "is not a duration"),
        (ONE + 'approval_escalate_after = "1h"', "is set, but approval_escalate_to is empty"),
        (ONE + 'approval_escalate_to = ["slack:U034CD"]', "is missing, since approval_escalate_to is set"),
        (
            ONE + 'approval_timeout = "1h"\napproval_escalate_to = ["slack:U034CD"]\napproval_escalate_after = "1h"',
            "is not before approval_timeout",
        ),
    ],
)
def test_what_cannot_be_meant_so_is_told_with_the_next_step(empty: Path, text: str, said: str) -> None:
    with pytest.raises(OperatorError) as caught:
        rules(empty, text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


TOOLS = """
from askback import tool


@tool(approval=True)
def deploy() -> str:
    return ""


@tool(approval=False)
def db_wipe() -> str:
    return ""


def look() -> str:
    return ""


tools = [deploy, db_wipe, look]
"""


@pytest.fixture
def named(empty: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    (empty / "approved_tools.py").write_text(TOOLS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(empty))

    def needing(*approval: str) -> list[str]:
        loaded = load_tools(["AskUserQuestion", "approved_tools:tools"], empty, approval)
        return [tool.name for tool in loaded.user_tools if tool.approval]

    return needing


def test_the_code_and_the_setting_add_up_and_neither_takes_back_the_other(named: Callable[..., list[str]]) -> None:
    assert named() == ["deploy"]
    assert named("db_*") == ["deploy", "db_wipe"]
    assert named("*") == ["deploy", "db_wipe", "look"]
    assert named("LOOK", "DB_*") == ["deploy", "db_wipe", "look"]


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [("depoly*", "Did you mean deploy?"), ("bd_*", "Did you mean db_wipe?"), ("xyz[0-9]", ""), ("Loook", "look?")],
)
def test_a_pattern_that_matches_no_tool_is_refused_with_what_is_close(
    named: Callable[..., list[str]], pattern: str, meant: str
) -> None:
    with pytest.raises(OperatorError) as caught:
        named("deploy", pattern)
    said = str(caught.value)
    assert said.startswith(f"approval_tools contains {pattern}, but ")
    assert meant in said
    assert said.endswith("Your tools are: deploy, db_wipe, look.")


def test_everything_may_need_approval_where_there_is_nothing_yet(empty: Path) -> None:
    assert load_tools(["AskUserQuestion"], empty, ["*"]).user_tools == ()
    with pytest.raises(OperatorError, match="You have no tools: add them to `tools`"):
        load_tools(["AskUserQuestion"], empty, ["deploy*"])


def test_a_misspelt_name_is_refused_since_that_tool_would_run_without(named: Callable[..., list[str]]) -> None:
    with pytest.raises(OperatorError) as caught:
        named("deploi", "AskUserQuestion")
    misspelt, asking = str(caught.value).splitlines()
    assert misspelt.startswith("approval_tools contains deploi, but you have no tool of that name. Did you ")
    assert misspelt.endswith("deploy, db_wipe, look.")
    assert (
        asking == "approval_tools contains AskUserQuestion, which is a question tool and needs no approval. Remove it."
    )


def test_a_tool_says_so_itself() -> None:
    @tool(approval=True, timeout=5)
    def deploy() -> None: ...

    assert deploy() is None
