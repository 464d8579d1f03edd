"""`askback demo --play` plays the tour, and scenarios of people's own, to their end."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from e2e.demo.plays import ASKBACK, SCENARIOS, SINGLE, TOUR, Played, all_of, environment, play
from support.processes import Launcher


def test_the_tour_plays_and_prints_what_it_reads_back(tmp_path: Path) -> None:
    command = [ASKBACK, "demo", "--play", "--platform", "slack"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment(), timeout=200)
    assert (done.returncode, done.stderr) == (0, ""), done
    text = " ".join(done.stdout.split())
    for words in (
        *TOUR,
        "(picture: Blue circle)",
        '→ the program printed: {"id": ',
        "All results are as expected.",
    ):
        assert words in text
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def unseen(tmp_path_factory: pytest.TempPathFactory, launcher: Launcher) -> Played:
    return all_of(launcher, tmp_path_factory.mktemp("unseen"), {name: (what, None) for name, what in SCENARIOS.items()})


@pytest.mark.parametrize("name", SCENARIOS)
def test_an_unseen_scenario_plays(unseen: Played, name: str) -> None:
    done = unseen[name]
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_same_scenario_plays_where_nothing_does_harm(launcher: Launcher, tmp_path: Path) -> None:
    done = play(launcher, tmp_path, SINGLE, {})
    assert done.returncode == 0, done.stdout + done.stderr
