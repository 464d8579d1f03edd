"""`askback demo --play` on both platforms: in its own process, the real bots, the same scenarios."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from e2e.demo import plays
from e2e.demo.plays import SCENARIOS, SINGLE, environment, written
from support.processes import Launcher

pytest.importorskip("discord", reason="discord.py is not installed")

TOUR = (
    *plays.TOUR,
    "Answered by @ada",
    "5 questions of the model, each answered exactly once.",
)


def play(
    launcher: Launcher, folder: Path, scenario: str | dict[str, Any] | None, *options: str
) -> subprocess.CompletedProcess[str]:
    """Play a scenario from a file, in an empty folder."""
    files = [] if scenario is None else [written(folder, scenario)]
    return launcher.run("demo", "--play", *options, *files, folder=folder, environment=environment())


def test_the_tour_is_played_on_slack_and_then_on_discord(launcher: Launcher, tmp_path: Path) -> None:
    done = play(launcher, tmp_path, None)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    before, slack, rest = done.stdout.partition("── Slack ── A tour")
    on_slack, discord, on_discord = rest.partition("── Discord ── A tour")
    assert (before, bool(slack), bool(discord)) == ("", True, True)
    for transcript in (on_slack, on_discord):
        text = " ".join(transcript.split())
        for words in TOUR:
            assert words in text
    assert "» ada presses [ Try again ]" in on_discord
    assert "» ada presses [ Try again ]" not in on_slack
    assert "\\" not in on_discord.replace("\\n", ""), "what is escaped is drawn as people see it"


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_an_unseen_scenario_plays_on_discord(
    launcher: Launcher, tmp_path: Path, scenario: str | dict[str, Any]
) -> None:
    done = play(launcher, tmp_path, scenario, "--platform", "discord")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("── Discord ── ")
    assert "── Slack ── " not in done.stdout


def test_a_scenario_says_where_it_is_played(launcher: Launcher, tmp_path: Path) -> None:
    done = play(launcher, tmp_path, f'platform = "discord"\n{SINGLE}')
    assert done.returncode == 0, done.stdout + done.stderr
    assert "── Slack ── " not in done.stdout
    done = play(launcher, tmp_path, f'platform = "discord"\n{SINGLE}', "--platform", "slack")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("askback: This scenario is not for slack: leave out --platform, or change it.\n")


def test_a_platform_that_is_not_there_is_told(launcher: Launcher, tmp_path: Path) -> None:
    done = play(launcher, tmp_path, None, "--platform", "irc")
    assert done.returncode == 2
    assert "'irc'" in done.stderr
    assert "both" in done.stderr


def test_a_problem_says_where_it_was(launcher: Launcher, tmp_path: Path) -> None:
    done = play(launcher, tmp_path, SINGLE.replace('expect.says = "Noted"', 'expect.says = "Never"\nwithin = 2'))
    assert done.returncode == 1, done.stdout + done.stderr
    for platform in ("Slack", "Discord"):
        assert f"✗ {platform}: mine.toml, step 6 (expect): not within 2 s" in done.stdout
