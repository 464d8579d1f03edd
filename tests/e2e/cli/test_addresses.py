"""Addresses and shards that are none are refused with one sentence that shows a right one."""

from __future__ import annotations

from pathlib import Path

import pytest

from askback.errors import OperatorError
from askback.ports.installed_bots import get_bot

from .runner import Runner

TOKENS = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1", "DISCORD_TOKEN": "1", "ANTHROPIC_API_KEY": "1"}
ADDRESSES = {
    "ASKBACK_SLACK_API_URL": "slack",
    "ASKBACK_DISCORD_API_URL": "discord",
    "ASKBACK_DISCORD_GATEWAY_URL": "discord",
}


@pytest.mark.parametrize("address", ["http://", "http://[half", "http://host:port", "slack.example"])
@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address_that_is_none_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, address: str
) -> None:
    monkeypatch.chdir(tmp_path)  # no askback.toml here
    for setting, value in {**TOKENS, name: address.replace("http", "ws") if "GATEWAY" in name else address}.items():
        monkeypatch.setenv(setting, value)
    with pytest.raises(OperatorError, match=f"{name} is not an address"):
        get_bot(ADDRESSES[name]).check()


@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address_that_is_none_is_said_in_a_sentence(run: Runner, tmp_path: Path, name: str) -> None:
    done = run(tmp_path, "run", **{**TOKENS, name: "://[half"})
    assert done.returncode == 2
    assert f"askback: {name} is not an address" in done.stderr


def test_a_platform_without_signed_http_says_so_in_one_sentence(run: Runner, tmp_path: Path) -> None:
    done = run(tmp_path, "discord", "--http", "127.0.0.1:3000")
    assert done.returncode == 2
    assert done.stderr == "askback: Discord sends events only over its gateway: leave out --http.\n"


def test_a_platform_without_shards_says_so_in_one_sentence(run: Runner, tmp_path: Path) -> None:
    done = run(tmp_path, "slack", "--shard", "0/2")
    assert done.returncode == 2
    assert done.stderr.startswith("askback: Slack has no shards: it distributes events")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("shard", ["2/2", "x", "0/0", "1", "-1/2", "½/2"])
def test_a_shard_that_is_none_is_refused_with_two_that_are(run: Runner, tmp_path: Path, shard: str) -> None:
    said = "is not a shard: write NUMBER/COUNT, counted from 0, such as 0/2 and 1/2 for two processes."
    done = run(tmp_path, "discord", f"--shard={shard}")
    assert (done.returncode, done.stderr) == (2, f"askback: --shard {shard} {said}\n")


def test_a_shard_in_the_settings_is_checked_as_well(run: Runner, tmp_path: Path) -> None:
    done = run(tmp_path, "discord", **{**TOKENS, "ASKBACK_DISCORD_SHARD": "2/2"})
    assert done.returncode == 2
    assert "askback: ASKBACK_DISCORD_SHARD is not a shard: write NUMBER/COUNT" in done.stderr


def test_an_http_address_that_is_none_is_refused_with_one_that_is(run: Runner, tmp_path: Path) -> None:
    done = run(tmp_path, "slack", "--http", "everywhere")
    assert done.returncode == 2
    assert "127.0.0.1:3000" in done.stderr
    assert "Traceback" not in done.stderr


def test_over_http_everything_that_is_missing_is_said_at_once(run: Runner, tmp_path: Path) -> None:
    done = run(tmp_path, "slack", "--http", "3000")
    assert done.returncode == 2
    assert [line.split(" is missing")[0] for line in done.stderr.splitlines()] == [
        "askback: ANTHROPIC_API_KEY",
        "askback: SLACK_BOT_TOKEN",
        "askback: SLACK_SIGNING_SECRET",
        "askback: To set it up step by step, run: askback init slack",
    ]
