"""`askback init`: somebody at a terminal, from nothing to a bot that the doctor finds healthy."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from askback_sandbox.slack.faults import Fault
from support.pseudo_terminal import CONTROL_C, Terminal, read_process_file

from .conftest import Newcomer

ROOT = Path(__file__).parents[3]
BOT, APP, KEY = "Bot User OAuth Token (hidden):", "App-Level Token (hidden):", "API key for the model (hidden):"
TOKEN = "Bot token (hidden):"


async def answer_for_slack(at: Terminal, newcomer: Newcomer) -> None:
    secrets = newcomer.secrets
    await at.answer(BOT, secrets["SLACK_BOT_TOKEN"])
    await at.answer(APP, secrets["SLACK_APP_TOKEN"])
    await at.answer(KEY, secrets["ANTHROPIC_API_KEY"])


def check_secrecy(at: Terminal, newcomer: Newcomer, *more: str) -> None:
    """Check that the terminal has shown no secret."""
    for secret in (*newcomer.secrets.values(), *more):
        assert secret not in at.seen


async def test_from_nothing_to_a_healthy_bot_in_slack(newcomer: Newcomer) -> None:
    async with newcomer.runs("init", "slack", "--no-browser") as at:
        await answer_for_slack(at, newcomer)
        assert await at.end() == 0, at.seen
    secrets = newcomer.secrets
    assert tomllib.loads(newcomer.file.read_text()) == {
        "slack_bot_token": secrets["SLACK_BOT_TOKEN"],
        "slack_app_token": secrets["SLACK_APP_TOKEN"],
        "anthropic_api_key": secrets["ANTHROPIC_API_KEY"],
    }
    assert newcomer.file.stat().st_mode & 0o777 == 0o600
    assert newcomer.file.parent.stat().st_mode & 0o777 == 0o700
    assert newcomer.files() == [".config/askback/askback.toml"], "nothing else is left behind"
    assert "Everything works.\n" in at.seen
    assert "Start the bot:\n  askback slack\n" in at.seen
    check_secrecy(at, newcomer)


async def test_from_nothing_to_a_healthy_bot_in_discord(newcomer: Newcomer) -> None:
    """The platform is asked for, and the bot's address of invitation is known only after its token."""
    async with newcomer.runs("init", "--no-browser") as at:
        await at.answer("Which platform: discord or slack?", "irc")
        await at.answer("Which platform: discord or slack?", "discord")
        await at.sees("https://discord.com/developers/applications\n")
        steps = await at.sees(TOKEN)
        assert [line.strip()[:2] for line in steps.splitlines() if line.startswith("  ")] == ["1.", "2.", "3.", "4."]
        assert "Public Bot off and Message Content Intent on" in steps
        at.type(f"{newcomer.secrets['DISCORD_TOKEN']}\n")
        await at.answer(KEY, newcomer.secrets["ANTHROPIC_API_KEY"])
        await at.sees("Add the bot to your server with this address:\nhttps://discord.com/oauth2/authorize?client_id=")
        await at.answer("Press Enter when the bot is on the server.", "")
        assert await at.end() == 0, at.seen
    assert sorted(tomllib.loads(newcomer.file.read_text())) == ["anthropic_api_key", "discord_token"]
    assert "Everything works.\n" in at.seen
    assert "Start the bot:\n  askback discord\n" in at.seen
    check_secrecy(at, newcomer)


async def test_the_link_fills_in_the_manifest_that_the_wheel_holds(newcomer: Newcomer) -> None:
    async with newcomer.runs("init", "slack", "--no-browser") as at:
        await at.sees("Create the bot on this page:\n")
        link = (await at.sees("\n")).strip()
    address = urlsplit(link)
    assert (address.scheme, address.netloc, address.path) == ("https", "api.slack.com", "/apps")
    query = parse_qs(address.query, strict_parsing=True)
    assert query["new_app"] == ["1"]
    assert json.loads(query["manifest_json"][0]) == json.loads((ROOT / "manifests/slack.json").read_text("utf-8"))


async def test_the_page_opens_in_a_browser_unless_somebody_says_no(newcomer: Newcomer, tmp_path: Path) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
    browser.chmod(0o700)
    newcomer.environment["BROWSER"] = str(browser)
    async with newcomer.runs("init", "slack", "--no-browser") as at:
        await at.sees(BOT)
        assert not opened.exists()
    async with newcomer.runs("init", "slack") as at:
        await at.sees("(it opens in your browser)\n")
        link = (await at.sees("\n")).strip()
        await at.sees(BOT)
    assert opened.read_text() == link


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("xoxp-of-a-person", "SLACK_BOT_TOKEN is not a bot token: those begin with xoxb-."),
        ("xoxb-of-nobody", "Slack does not accept SLACK_BOT_TOKEN (invalid_auth)."),
        ("xoxb-of-nobody…", "This has characters that no token has."),
    ],
    ids=["form", "platform", "characters"],
)
async def test_a_wrong_token_is_refused_at_once_and_the_right_one_taken(
    newcomer: Newcomer, wrong: str, says: str
) -> None:
    async with newcomer.runs("init", "slack", "--no-browser") as at:
        await at.answer(BOT, "")
        await at.sees("Paste it here")
        await at.answer(BOT, wrong)
        await at.sees(says)
        assert not newcomer.file.exists()
        await answer_for_slack(at, newcomer)
        assert await at.end() == 0, at.seen
    assert wrong not in newcomer.file.read_text()
    check_secrecy(at, newcomer, wrong)


async def test_a_wrong_token_of_discord_is_refused_at_once_and_the_right_one_taken(newcomer: Newcomer) -> None:
    async with newcomer.runs("init", "discord", "--no-browser") as at:
        await at.answer(TOKEN, "Bot of-nobody")
        await at.sees("DISCORD_TOKEN is not a bot token: give only the token")
        await at.answer(TOKEN, "of-nobody")
        await at.sees("Discord does not accept DISCORD_TOKEN.")
        await at.answer(TOKEN, newcomer.secrets["DISCORD_TOKEN"])
        await at.answer(KEY, "")
        await at.answer("Press Enter when the bot is on the server.", "")
        assert await at.end() == 0, at.seen
    check_secrecy(at, newcomer, "of-nobody")


async def test_what_somebody_mends_on_the_platform_is_checked_again_with_enter(newcomer: Newcomer) -> None:
    """A scope that is missing does not change the token."""
    workspace = newcomer.services.workspace
    complete = workspace.bot
    workspace.bot = replace(complete, scopes=tuple(one for one in complete.scopes if one != "chat:write"))
    async with newcomer.runs("init", "slack", "--no-browser") as at:
        await at.answer(BOT, newcomer.secrets["SLACK_BOT_TOKEN"])
        await at.sees("chat:write is missing")
        await at.sees("only press Enter")
        workspace.bot = complete
        await at.answer(BOT, "")
        await at.answer(APP, "xapp-of-nobody")
        await at.sees("Slack does not accept SLACK_APP_TOKEN (invalid_auth).")
        await at.answer(APP, newcomer.secrets["SLACK_APP_TOKEN"])
        await at.answer(KEY, newcomer.secrets["ANTHROPIC_API_KEY"])
        assert await at.end() == 0, at.seen


async def test_discords_flags_that_hinder_are_said_right_after_the_token(newcomer: Newcomer) -> None:
    guild = newcomer.services.discord.guild
    guild.app = replace(guild.app, public=True, privileged=0)
    async with newcomer.runs("init", "discord", "--no-browser") as at:
        await at.answer(TOKEN, newcomer.secrets["DISCORD_TOKEN"])
        said = await at.sees(KEY)
    assert "Message Content Intent is off" in said
    assert "Public Bot is on, so anybody can invite it" in " ".join(said.split())


async def test_a_wrong_key_is_refused_and_none_is_enough_to_ask(newcomer: Newcomer) -> None:
    newcomer.services.model.bad_keys.add("sk-wrong")
    async with newcomer.runs("init", "slack", "--no-browser") as at:
        await at.answer(BOT, newcomer.secrets["SLACK_BOT_TOKEN"])
        await at.answer(APP, newcomer.secrets["SLACK_APP_TOKEN"])
        await at.answer(KEY, "sk-wrong")
        await at.sees("does not accept ANTHROPIC_API_KEY")
        await at.answer(KEY, "")
        assert await at.end() == 0, at.seen
    assert "anthropic_api_key" not in newcomer.file.read_text()
    seen = " ".join(at.seen.split())
    assert "the bot does not start, but askback ask works. In Slack, write /invite @askback in each channel" in seen


@pytest.mark.parametrize("at_prompt", ["Which platform", BOT, APP, KEY])
async def test_ctrl_c_at_any_prompt_writes_nothing(newcomer: Newcomer, at_prompt: str) -> None:
    async with newcomer.runs("init", "--no-browser") as at:
        for prompt, line in {
            "Which platform": "slack",
            BOT: newcomer.secrets["SLACK_BOT_TOKEN"],
            APP: newcomer.secrets["SLACK_APP_TOKEN"],
            KEY: CONTROL_C,
        }.items():
            await at.sees(prompt)
            if prompt == at_prompt:
                break
            at.type(f"{line}\n")
        await at.interrupt()
        assert await at.end() == 130, at.seen
    assert at.seen.endswith("Stopped. Nothing was written.\n")
    assert newcomer.files() == []
    assert "Traceback" not in at.seen


async def test_ctrl_c_during_a_check_writes_nothing(newcomer: Newcomer) -> None:
    newcomer.services.workspace.faults.add(Fault(kind="delay", method="auth.test", seconds=60, times=None))
    async with newcomer.runs("init", "slack", "--no-browser") as at:
        await at.answer(BOT, newcomer.secrets["SLACK_BOT_TOKEN"])
        await at.sees("\n")
        await at.interrupt()
        assert await at.end() == 130, at.seen
    assert newcomer.files() == []
    assert "Traceback" not in at.seen


async def test_ctrl_c_after_the_file_was_written_leaves_it_complete(newcomer: Newcomer) -> None:
    async with newcomer.runs("init", "discord", "--no-browser") as at:
        await at.answer(TOKEN, newcomer.secrets["DISCORD_TOKEN"])
        await at.answer(KEY, newcomer.secrets["ANTHROPIC_API_KEY"])
        await at.sees("Press Enter when the bot is on the server.")
        await at.interrupt()
        assert await at.end() == 130, at.seen
    assert f"Stopped. {newcomer.file} is complete." in at.seen
    assert sorted(tomllib.loads(newcomer.file.read_text())) == ["anthropic_api_key", "discord_token"]


KEPT = """\
# Our rules. Ask cy before you change them.
model = "claude-sonnet-5-5"   # not the small one
discord_token = "kept"

answerers = ["starter"]
"""


async def test_an_existing_file_keeps_its_comments_and_its_other_settings(newcomer: Newcomer) -> None:
    newcomer.file.parent.mkdir(parents=True)
    newcomer.file.write_text(KEPT)
    newcomer.file.chmod(0o644)
    async with newcomer.runs("init", "slack", "--no-browser") as at:
        await at.answer("exists. Add the tokens to it, and keep everything else in it? [y/N]", "y")
        await answer_for_slack(at, newcomer)
        assert await at.end() == 0, at.seen
    after = newcomer.file.read_text()
    assert after.startswith(KEPT)
    assert set(tomllib.loads(after)) - set(tomllib.loads(KEPT)) == {
        "slack_bot_token", "slack_app_token", "anthropic_api_key",
    }  # fmt: skip
    assert newcomer.file.stat().st_mode & 0o777 == 0o600
    assert newcomer.files() == [".config/askback/askback.toml"]


async def test_without_a_yes_an_existing_file_stays_as_it_is(newcomer: Newcomer) -> None:
    newcomer.file.parent.mkdir(parents=True)
    newcomer.file.write_text(KEPT)
    async with newcomer.runs("init", "slack", "--no-browser") as at:
        await at.answer("[y/N]", "")
        assert await at.end() == 1, at.seen
    assert "askback init --config FILE" in at.seen
    assert newcomer.file.read_text() == KEPT


async def test_a_stored_token_is_replaced_only_if_asked_to_or_if_it_no_longer_works(newcomer: Newcomer) -> None:
    secrets = newcomer.secrets
    newcomer.file.parent.mkdir(parents=True)
    newcomer.file.write_text(f'slack_bot_token = "xoxb-revoked"\nslack_app_token = "{secrets["SLACK_APP_TOKEN"]}"\n')
    async with newcomer.runs("init", "slack", "--no-browser") as at:
        await at.answer("keep everything else in it? [y/N]", "y")
        await at.answer("already has slack_bot_token. Replace it? [y/N]", "n")
        await at.sees("Slack does not accept SLACK_BOT_TOKEN")
        await at.answer(BOT, secrets["SLACK_BOT_TOKEN"])
        await at.answer("already has slack_app_token. Replace it? [y/N]", "n")
        await at.answer(KEY, secrets["ANTHROPIC_API_KEY"])
        assert await at.end() == 0, at.seen
    assert list(tomllib.loads(newcomer.file.read_text()).items()) == [
        ("slack_bot_token", secrets["SLACK_BOT_TOKEN"]),
        ("slack_app_token", secrets["SLACK_APP_TOKEN"]),
        ("anthropic_api_key", secrets["ANTHROPIC_API_KEY"]),
    ]
    check_secrecy(at, newcomer, "xoxb-revoked")


async def test_a_variable_that_is_set_is_checked_and_not_written(newcomer: Newcomer) -> None:
    newcomer.environment["ANTHROPIC_API_KEY"] = newcomer.secrets["ANTHROPIC_API_KEY"]
    newcomer.environment["SLACK_APP_TOKEN"] = "xapp-of-nobody"
    async with newcomer.runs("init", "slack", "--no-browser") as at:
        await at.answer(BOT, newcomer.secrets["SLACK_BOT_TOKEN"])
        assert await at.end() == 2, at.seen
    assert "Correct or unset SLACK_APP_TOKEN, and run askback init again." in " ".join(at.seen.split())
    assert newcomer.files() == []
    newcomer.environment["SLACK_APP_TOKEN"] = newcomer.secrets["SLACK_APP_TOKEN"]
    async with newcomer.runs("init", "slack", "--no-browser") as at:
        await at.answer(BOT, newcomer.secrets["SLACK_BOT_TOKEN"])
        assert await at.end() == 0, at.seen
    assert list(tomllib.loads(newcomer.file.read_text())) == ["slack_bot_token"]
    check_secrecy(at, newcomer, "xapp-of-nobody")


async def test_another_file_is_named_in_the_commands_at_the_end(newcomer: Newcomer, tmp_path: Path) -> None:
    async with newcomer.runs("init", "slack", "--no-browser", "--config", "our team.toml") as at:
        await answer_for_slack(at, newcomer)
        assert await at.end() == 0, at.seen
    assert f"askback slack --config '{tmp_path}/our team.toml'\n" in at.seen
    assert newcomer.files() == ["our team.toml"]


async def test_a_link_is_not_written_through(newcomer: Newcomer, tmp_path: Path) -> None:
    """In a checkout of other people's code, a link may lead to any file of this user."""
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "askback.toml").symlink_to(tmp_path / "precious")
    async with newcomer.runs("init", "slack", "--config", "askback.toml") as at:
        assert await at.end() == 2
    assert "is a link. Name the file itself" in " ".join(at.seen.split())
    assert (tmp_path / "precious").read_text() == "precious"


async def test_a_file_that_is_not_toml_is_refused_before_any_secret_is_typed(newcomer: Newcomer) -> None:
    newcomer.file.parent.mkdir(parents=True)
    newcomer.file.write_text("model = oops\n")
    async with newcomer.runs("init", "slack") as at:
        assert await at.end() == 2
    assert "is not valid TOML" in at.seen
    assert newcomer.file.read_text() == "model = oops\n"


async def test_the_process_list_and_the_files_of_the_process_have_no_secret(newcomer: Newcomer) -> None:
    async with newcomer.runs("init", "slack", "--no-browser") as at:
        await at.answer(BOT, newcomer.secrets["SLACK_BOT_TOKEN"])
        await at.answer(APP, newcomer.secrets["SLACK_APP_TOKEN"])
        await at.sees(KEY)
        for name in ("cmdline", "environ"):
            shown = read_process_file(at.process.pid, name)
            assert not any(secret in shown for secret in newcomer.secrets.values())
        assert newcomer.files() == [], "nothing is written before the last answer"


def test_without_a_terminal_it_says_what_to_do_instead(newcomer: Newcomer, tmp_path: Path) -> None:
    for arguments, words in (
        (("init",), "for discord: DISCORD_TOKEN; for slack: SLACK_BOT_TOKEN, SLACK_APP_TOKEN."),
        (("init", "discord"), "run askback doctor: for discord: DISCORD_TOKEN."),
    ):
        done = newcomer.launcher.run(*arguments, folder=tmp_path, environment=newcomer.environment)
        assert (done.returncode, done.stdout) == (2, "")
        assert "needs a terminal" in done.stderr
        assert words in done.stderr


async def test_a_platform_that_there_is_not_is_refused(newcomer: Newcomer) -> None:
    async with newcomer.runs("init", "irc") as at:
        assert await at.end() == 2
    assert "There is no bot for 'irc'. The bots are: discord, slack." in at.seen
