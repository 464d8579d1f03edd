"""`askback doctor` against the services on this machine, with each thing broken in turn."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from askback.bots import bot_named
from askback.doctor.clock import clock_finding
from askback.doctor.database import examine_database, space_finding
from askback.doctor.examination import examine
from askback.doctor.findings import Finding, Scene
from askback.errors import InvalidValue, OperatorError
from askback.host import running
from askback.identity import Actor, Place
from askback.policy import Who
from askback.questions import Form, Option, Question
from askback.store import asks
from askback.store.beside import look
from askback_discord.doctor import PERMISSIONS
from askback_local.discord_faults import DiscordFault
from askback_local.discord_values import Permission
from askback_local.faults import Fault
from askback_slack.install import SCOPES

from .conftest import Ward, until

ASKBACK = Path(sys.executable).with_name("askback")
ROOT = Path(__file__).parents[2]
IMPATIENT = Scene(seconds=2.5)
FORM = Form(
    questions=(
        Question(id="q", prompt="Go on?", options=(Option(value="y", label="Yes"), Option(value="n", label="No"))),
    )
)


def toml(text: str, mode: int = 0o600) -> None:
    Path("askback.toml").write_text(text)
    Path("askback.toml").chmod(mode)


def is_there(name: str) -> bool:
    return Path(name).exists()


# Everything is healthy


async def test_where_all_is_well_it_says_so(ward: Ward) -> None:
    found = await ward.examined()
    assert (found.code, found.bad) == (0, []), found.text
    assert found.text.splitlines()[-1] == "All is well."
    assert "mode" not in found.good("Database", "file")
    assert found.good("Database", "lock") == "No bot runs on it now."
    assert found.good("Slack", "socket") == "It was opened, and Slack greeted."
    assert found.good("Discord", "gateway") == "A session was opened, became ready, and was closed."
    assert ward.services.socket.connections == 0
    assert ward.services.discord.gateway.connections == 0


async def test_the_command_ends_with_0_or_1_and_shows_no_token(ward: Ward) -> None:
    code, said = await askback("doctor", "--wait", "60")
    assert (code, said.splitlines()[-1]) == (0, "All is well."), said
    ward.set(DISCORD_TOKEN="wrong-token-of-a-bot")
    code, said = await askback("doctor", "--wait", "60", "--platform", "discord")
    assert code == 1
    assert "does not accept DISCORD_TOKEN" in said
    assert "Slack" not in said
    assert "wrong-token" not in said
    assert max(map(len, said.splitlines())) <= 80


async def test_ctrl_c_ends_it_at_once_and_quietly(ward: Ward) -> None:
    ward.services.workspace.faults.add(Fault(kind="delay", method="auth.test", seconds=60, times=None))
    process = await asyncio.create_subprocess_exec(
        ASKBACK,
        "doctor",
        "--wait",
        "60",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        # Tests that run in the background ignore it, and so would the command then.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    async with asyncio.timeout(90):
        await until(lambda: ward.services.socket.ticket_count, within=60)  # it has come as far as the network
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
    assert (process.returncode, err) == (130, b""), (out, err)


async def test_beside_a_running_bot_it_disturbs_nothing(ward: Ward) -> None:
    async with running([bot_named("slack"), bot_named("discord")], agent=False) as host:
        await ward.services.socket.connected()
        await ward.services.discord.gateway.connected()
        ask = asyncio.create_task(
            host.manager.ask(
                FORM,
                to=Place(platform="slack", tenant="T0LOCAL", channel="C0GENERAL"),
                who=Who.only(Actor(platform="slack", id="U0LOCALADA")),
                timeout=None,
            )
        )
        found = await ward.examined()
        assert (found.code, found.bad) == (0, []), found.text
        assert found.good("Database", "lock") == f"It is held by the running bot (process {os.getpid()})."
        assert "no second one was opened" in found.good("Slack", "socket")
        assert "no second session was opened" in found.good("Discord", "gateway")
        assert ward.services.discord.gateway.identified == 1
        assert ward.services.socket.connections == 1
        (open_one,) = await host.manager.pending()
        assert await host.manager.cancel(open_one.id)
        assert (await ask).status == "cancelled"


async def test_one_platform_only_is_looked_at_where_that_is_asked_for(ward: Ward) -> None:
    assert {title for title, _ in (await ward.examined("slack")).findings} == {"Settings", "Database", "Model", "Slack"}
    with pytest.raises(OperatorError, match="There is no bot for 'irc'"):
        await examine("irc")


# Settings


async def test_a_typo_in_the_file_names_what_was_meant(ward: Ward) -> None:
    toml('modell = "claude"\n')
    found = await ward.examined("discord")
    assert found.code == 1
    typo, left = found.bad
    assert "askback.toml sets `modell`, which is no setting." in typo.says
    assert typo.cure == "Is it meant to be `model`?"
    assert left.cure == "Mend the settings first, then run askback doctor again."
    assert found.good("Discord", "permissions"), "what does not depend on it is looked at"


async def test_a_typo_in_a_platforms_part_of_the_file_is_told(ward: Ward) -> None:
    toml('slack_bot_tokn = "xoxb-1"\n')
    for found in (await ward.examined(), await ward.examined("slack")):
        assert "askback.toml sets `slack_bot_tokn`, which is no setting." in found.bad[0].says
        assert found.bad[0].cure == "Is it meant to be `slack_bot_token`?"


@pytest.mark.parametrize(
    ("text", "says"),
    [("model = ", "is no valid TOML"), ("timeout = -1", "timeout in askback.toml must be greater than 0")],
)
async def test_what_is_wrong_in_the_file_is_told_with_the_next_step(ward: Ward, text: str, says: str) -> None:
    toml(text)
    first = (await ward.examined("discord")).bad[0]
    assert (first.grade, says in first.says) == ("broken", True), first
    assert first.cure


async def test_a_tool_of_ones_own_that_cannot_be_had(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    toml('tools = ["AskUserQuestion", "no_such_tools:deploy"]')
    found = (await ward.examined("discord")).one()
    assert found.says == "The tool no_such_tools:deploy is not there: there is no module no_such_tools."
    assert found.cure == "Put it beside askback.toml, or install it where askback is installed."


async def test_a_variable_that_is_no_setting_is_told(ward: Ward) -> None:
    ward.set(ASKBACK_TIMOUT="60")
    found = await ward.examined("discord")
    assert (found.code, found.one().cure) == (0, "Write ASKBACK_TIMEOUT, or unset it.")


async def test_secrets_in_a_file_that_others_can_read_are_told(ward: Ward) -> None:
    toml('discord_token = "s3cret"\n', mode=0o644)
    assert (await ward.examined("discord")).one().cure == "Run: chmod 600 askback.toml"
    toml('discord_token = "s3cret"\n')
    assert not (await ward.examined("discord")).bad


async def test_what_is_missing_is_told_with_where_to_get_it(ward: Ward) -> None:
    for name in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "DISCORD_TOKEN", "ANTHROPIC_API_KEY"):
        ward.patch.delenv(name)
    found = await ward.examined()
    assert found.code == 1
    none, key = found.bad
    assert none.says == "No platform has a token, so there is no bot to run."
    assert "askback doctor --platform slack" in none.cure
    assert (key.says, key.cure.startswith("Make a key in the Anthropic console")) == (
        "ANTHROPIC_API_KEY is missing.",
        True,
    )
    bot, app = (await ward.examined("slack")).bad[-2:]
    assert (bot.says, app.says) == ("SLACK_BOT_TOKEN is missing.", "SLACK_APP_TOKEN is missing.")
    assert "OAuth & Permissions" in bot.cure


# The model


async def test_a_wrong_key_of_the_model(ward: Ward) -> None:
    ward.services.model.bad_keys.add("sk-local")
    found = (await ward.examined("discord")).one()
    assert found.says == "The model's service does not accept ANTHROPIC_API_KEY."
    assert "Anthropic console, and set ANTHROPIC_API_KEY" in found.cure


async def test_a_model_that_nobody_knows(ward: Ward) -> None:
    ward.set(ASKBACK_MODEL="claude-nonesuch")
    ward.services.model.unknown.add("claude-nonesuch")
    found = (await ward.examined("discord")).one()
    assert (found.grade, found.says) == ("broken", "The model's service knows no model claude-nonesuch.")
    assert found.cure.startswith("Set ASKBACK_MODEL to the name of a model")


@pytest.mark.parametrize(("lifecycle", "grade"), [("deprecated", "warning"), ("retired", "broken")])
async def test_a_model_that_is_going_or_gone(ward: Ward, lifecycle: str, grade: str) -> None:
    ward.services.model.lifecycle = lifecycle
    found = (await ward.examined("discord")).one()
    assert (found.grade, found.cure.startswith("Set ASKBACK_MODEL")) == (grade, True)


async def test_a_service_that_describes_no_models_is_no_reason_to_fail(ward: Ward) -> None:
    ward.set(ANTHROPIC_BASE_URL=f"{ward.services.url}/elsewhere")
    found = await ward.examined("discord")
    assert (found.code, found.one().grade) == (0, "warning")
    assert "ANTHROPIC_BASE_URL" in found.one().cure


async def test_nothing_can_be_reached(ward: Ward) -> None:
    nowhere = "http://127.0.0.1:9"
    ward.set(
        ANTHROPIC_BASE_URL=nowhere, ASKBACK_SLACK_API_URL=f"{nowhere}/api/", ASKBACK_DISCORD_API_URL=f"{nowhere}/v10"
    )
    found = await ward.examined()
    assert found.code == 1
    assert {one.about for one in found.bad} == {"model", "token", "bot token", "app token"}
    for one in found.bad:
        assert "cannot be reached" in one.says
        assert one.cure.startswith("Check the network")


async def test_a_service_that_does_not_answer_is_not_waited_for(ward: Ward) -> None:
    ward.services.workspace.faults.add(Fault(kind="delay", seconds=60, times=None))
    found = await ward.examined("slack", IMPATIENT)
    assert {one.says for one in found.bad} >= {"Slack does not answer within 2.5 s."}


# The clock


@pytest.mark.parametrize(
    ("ahead", "grade", "words"),
    [(-90, "warning", "ahead of"), (90, "warning", "behind"), (400, "broken", "signed requests are refused")],
)
async def test_a_clock_that_goes_wrong(ward: Ward, ahead: float, grade: str, words: str) -> None:
    ward.services.date_ahead = ahead
    found = await ward.examined()
    assert found.code == int(grade == "broken")
    assert [(one.about, one.grade) for one in found.bad] == [("clock", grade)] * 3, found.text
    for one in found.bad:
        assert words in one.says
        assert one.cure == "Let the system keep its time, as by: timedatectl set-ntp true"


def test_a_date_is_taken_as_it_is_or_not_at_all() -> None:
    now = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    assert clock_finding("x", None, now) == clock_finding("x", "yesterday", now) == ()
    for seconds, grade in ((0, "good"), (59, "good"), (60, "warning"), (299, "warning"), (300, "broken")):
        for sign in (1, -1):
            (found,) = clock_finding("x", format_datetime(now + timedelta(seconds=seconds * sign)), now)
            assert found.grade == grade


# The database


async def test_a_database_that_others_can_read(ward: Ward) -> None:
    ward.database.chmod(0o644)
    found = await ward.examined("discord")
    assert (found.code, found.one().cure) == (0, "Run: chmod 600 askback.db")
    assert "mode 0644" in found.one().says


@pytest.mark.parametrize(
    ("version", "grade", "cure"),
    [
        ("9999_later", "broken", "Install that askback again, or restore a backup"),
        ("0001_first_release", "warning", "Copy askback.db and start the bot once"),
    ],
)
async def test_a_database_of_another_version(ward: Ward, version: str, grade: str, cure: str) -> None:
    with closing(sqlite3.connect(ward.database)) as connection, connection:
        connection.execute("UPDATE askback_version SET version_num = ?", (version,))
    found = (await ward.examined("discord")).one()
    assert (found.grade, found.about, cure in found.cure) == (grade, "version", True), found


@contextmanager
def held(database: Path) -> Iterator[None]:
    """Another program has begun to write, and does not end."""
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


def test_a_database_that_another_program_keeps_locked(tmp_path: Path, ward: Ward) -> None:
    with held(ward.database):
        found = [
            one for one in examine_database(ward.database, patience=0.05, stop=threading.Event()) if one.grade != "good"
        ]
    assert [(one.about, one.grade) for one in found] == [("commit", "broken")]
    assert "keeps it locked" in found[0].says
    assert found[0].cure == f"Find it and end it: fuser -v {ward.database}"


async def test_a_database_that_cannot_be_made(ward: Ward) -> None:
    ward.set(ASKBACK_DATABASE_URL="/proc/askback.db")
    found = (await ward.examined("discord")).one()
    assert (found.grade, found.about) == ("broken", "file")
    assert found.cure == "Make /proc writable for this user, or set ASKBACK_DATABASE_URL."


@pytest.mark.skipif(os.geteuid() == 0, reason="for root, every file can be written")
async def test_a_database_that_cannot_be_written(ward: Ward) -> None:
    ward.database.chmod(0o400)
    found = (await ward.examined("discord")).bad[0]
    assert (found.grade, found.cure) == ("broken", "Run: chmod 600 askback.db")


async def test_a_database_that_is_damaged(ward: Ward) -> None:
    with closing(sqlite3.connect(ward.database)) as connection, connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.executemany("INSERT INTO meta VALUES (?, ?)", [(f"n{n}", "x" * 500) for n in range(200)])
    size = ward.database.stat().st_size
    with ward.database.open("r+b") as file:
        file.seek(size - 60_000)
        file.write(b"\xff" * 40_000)
    found = await ward.examined("discord")
    assert found.code == 1
    assert {one.about for one in found.bad} <= {"content", "commit"}
    worst = next(one for one in found.bad if one.about == "content")
    assert "It is damaged" in worst.says
    assert "restore a backup" in worst.cure


async def test_a_file_that_is_no_database(ward: Ward) -> None:
    ward.database.write_bytes(b"hello " * 2000)
    found = (await ward.examined("discord")).one()
    assert found.says == "askback.db is no SQLite database."
    assert "Set ASKBACK_DATABASE_URL" in found.cure


async def test_a_database_that_is_somebody_elses(ward: Ward) -> None:
    ward.database.unlink()
    with closing(sqlite3.connect(ward.database)) as connection, connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    ward.database.chmod(0o600)
    assert (await ward.examined("discord")).one().says == "askback.db is a database, but none of askback's."


async def test_looking_at_a_database_that_is_not_there_makes_none(ward: Ward) -> None:
    ward.set(ASKBACK_DATABASE_URL="new/askback.db")
    assert not (await ward.examined("discord")).bad
    assert not is_there("new")


async def test_a_database_that_this_release_cannot_use_is_told_without_its_password(ward: Ward) -> None:
    ward.set(ASKBACK_DATABASE_URL="postgresql://me:s3cret@host/db")
    found = await ward.examined("discord")
    assert "stores in SQLite only" in found.one().says
    assert "s3cret" not in found.text


def test_a_disk_that_is_nearly_full() -> None:
    assert space_finding(10**9, Path("/data")).grade == "good"
    for free, grade in ((10**8, "warning"), (10**6, "broken")):
        found = space_finding(free, Path("/data"))
        assert (found.grade, found.cure) == (grade, "Make room on the disk of /data.")


# Slack


@pytest.mark.parametrize(
    ("code", "says", "cure"),
    [
        ("token_revoked", "SLACK_BOT_TOKEN was revoked.", "Reinstall the app"),
        ("account_inactive", "The app was removed from the workspace.", "Reinstall the app"),
        ("invalid_auth", "Slack does not accept SLACK_BOT_TOKEN (invalid_auth).", "Copy the Bot User OAuth Token"),
    ],
)
async def test_a_token_of_the_bot_that_is_no_good(ward: Ward, code: str, says: str, cure: str) -> None:
    ward.services.workspace.faults.fail("auth.test", code)
    found = (await ward.examined("slack")).one()
    assert (found.grade, found.says) == ("broken", says)
    assert found.cure.startswith(cure)


async def test_a_token_of_the_bot_that_is_a_persons(ward: Ward) -> None:
    ward.services.workspace.bot = replace(ward.services.workspace.bot, bot_id="")
    found = (await ward.examined("slack")).one()
    assert found.says == "SLACK_BOT_TOKEN is a person's token and not the bot's."
    ward.set(SLACK_BOT_TOKEN="xoxp-of-ada")
    found = (await ward.examined("slack")).one()
    assert "SLACK_BOT_TOKEN is no bot token" in found.says
    assert "OAuth & Permissions" in found.cure


def test_the_scopes_that_are_looked_for_are_those_of_the_manifest() -> None:
    manifest = json.loads((ROOT / "manifests/slack.json").read_text(encoding="utf-8"))
    assert sorted(SCOPES) == sorted(manifest["oauth_config"]["scopes"]["bot"])


@pytest.mark.parametrize("scope", sorted(SCOPES))
async def test_each_scope_that_is_missing_is_named_with_what_is_lost(ward: Ward, scope: str) -> None:
    ward.services.workspace.bot = replace(ward.services.workspace.bot, scopes=(*(set(SCOPES) - {scope}), "files:read"))
    found = (await ward.examined("slack")).one()
    assert (found.grade, found.says) == ("broken", f"{scope} is missing: without it, {SCOPES[scope]}.")
    assert "reinstall the app" in found.cure


async def test_a_token_of_the_app_that_is_no_good(ward: Ward) -> None:
    ward.set(SLACK_APP_TOKEN="xapp-wrong")
    found = (await ward.examined("slack")).one()
    assert found.says == "Slack does not accept SLACK_APP_TOKEN (invalid_auth)."
    assert "connections:write" in found.cure


async def test_a_token_of_the_app_without_its_scope(ward: Ward) -> None:
    ward.services.workspace.faults.fail("apps.connections.open", "missing_scope")
    found = (await ward.examined("slack")).one()
    assert found.says == "SLACK_APP_TOKEN lacks the scope connections:write."
    assert "connections:write" in found.cure


@pytest.mark.parametrize(
    ("fault", "says", "cure"),
    [
        ("refused", "Slack refuses the socket (HTTP 403).", "through the firewall or proxy"),
        ("silent", "Slack does not greet on a new socket within 2.5 s.", "through the firewall or proxy"),
        ("link_disabled", "Socket Mode is switched off for the app.", "Switch Socket Mode on"),
        ("too_many_websockets", "Ten processes have a socket of this app open", "End those"),
    ],
)
async def test_a_socket_that_does_not_work(ward: Ward, fault: str, says: str, cure: str) -> None:
    ward.services.workspace.faults.add(Fault(kind="socket", error=fault))
    scene = IMPATIENT if fault == "silent" else None
    found = (await ward.examined("slack", scene)).one()
    assert (found.grade, found.about) == ("broken", "socket")
    assert found.says.startswith(says)
    assert cure in found.cure


async def test_a_second_process_on_the_same_app_is_noticed(ward: Ward) -> None:
    async with running([bot_named("slack")], agent=False):
        await ward.services.socket.connected()
        ward.set(ASKBACK_DATABASE_URL="another.db")
        found = (await ward.examined("slack")).one()
    assert (found.grade, found.about) == ("warning", "socket")
    assert found.says.startswith("1 more socket is open with this app")
    assert "End the other process" in found.cure


async def test_tokens_of_two_apps_are_noticed(ward: Ward) -> None:
    answer = ward.services.workspace.bot
    ward.services.workspace.bot = replace(answer, app_id="A0OTHER")
    first = await ward.examined("slack")
    assert not first.bad, "both say the same"
    hello = ward.services.socket._hello
    ward.patch.setattr(ward.services.socket, "_hello", lambda: {**hello(), "connection_info": {"app_id": "A0THIRD"}})
    found = (await ward.examined("slack")).one()
    assert "The two tokens are of different apps (bot: A0OTHER, socket: A0THIRD)" in found.says
    assert "In the same app" in found.cure


@pytest.mark.parametrize(("platform", "tenant"), [("slack", "T0ELSEWHERE"), ("discord", "1100000000000000999")])
async def test_questions_that_are_open_where_the_bot_is_not_are_noticed(ward: Ward, platform: str, tenant: str) -> None:
    async with running([], agent=False) as host:
        asking = asyncio.create_task(
            host.manager.ask(FORM, to=Place(platform=platform, tenant=tenant, channel="1"), who=Who(anyone=True))
        )
        await until(lambda: look(ward.database, asks.pending))
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    one = (await ward.examined(platform)).one()
    assert (one.grade, tenant in one.says, "askback cancel ID" in one.cure) == ("warning", True, True)


async def test_over_http_the_secret_and_the_address_are_looked_at(ward: Ward) -> None:
    ward.patch.delenv("SLACK_APP_TOKEN")
    ward.set(ASKBACK_SLACK_HTTP="127.0.0.1:0", SLACK_SIGNING_SECRET="8f742231b10e8888abcd9923433355a5")
    found = await ward.examined("slack")
    assert found.bad == [], found.text
    assert "It is set" in found.good("Slack", "signing secret")
    ward.set(SLACK_SIGNING_SECRET="short")
    assert "does not look like one" in (await ward.examined("slack")).one().says
    ward.set(ASKBACK_SLACK_HTTP=ward.services.url.removeprefix("http://"))
    taken = (await ward.examined("slack")).bad[-1]
    assert "Nothing can listen on" in taken.says
    assert "set ASKBACK_SLACK_HTTP to another address" in taken.cure
    ward.patch.delenv("SLACK_SIGNING_SECRET")
    missing = (await ward.examined("slack")).one()
    assert (missing.says, "Basic Information" in missing.cure) == ("SLACK_SIGNING_SECRET is missing.", True)


# Discord


async def test_a_token_that_discord_does_not_accept(ward: Ward) -> None:
    ward.set(DISCORD_TOKEN="another-token")
    found = (await ward.examined("discord")).one()
    assert found.says == "Discord does not accept DISCORD_TOKEN."
    assert found.cure.startswith("Reset the token on the page Bot")


async def test_an_intent_that_is_off_is_a_warning(ward: Ward) -> None:
    guild = ward.services.discord.guild
    guild.app = replace(guild.app, privileged=0)
    found = await ward.examined("discord")
    assert (found.code, found.one().grade) == (0, "warning")
    assert "Message Content Intent is off" in found.one().says
    assert found.one().cure.startswith("Switch on Message Content Intent on the page Bot")


@pytest.mark.parametrize(
    ("code", "says", "cure"),
    [
        (4014, "does not grant the intents", "Switch on Message Content Intent"),
        (4004, "does not accept DISCORD_TOKEN", "Reset the token"),
        (4011, "wants the bot to be split up", "Leave servers"),
        (4000, "closed the connection (4000)", "Wait a minute"),
    ],
)
async def test_a_gateway_that_closes(ward: Ward, code: int, says: str, cure: str) -> None:
    ward.services.discord.guild.faults.add(DiscordFault(kind="close", code=code))
    found = (await ward.examined("discord")).one()
    assert (found.grade, found.about) == ("broken", "gateway")
    assert says in found.says
    assert found.cure.startswith(cure)


async def test_a_gateway_that_never_becomes_ready(ward: Ward) -> None:
    ward.services.discord.guild.faults.add(DiscordFault(kind="silent"))
    found = (await ward.examined("discord", IMPATIENT)).one()
    assert found.says == "Discord's gateway is not ready within 2.5 s."
    assert "through the firewall" in found.cure


async def test_a_gateway_that_cannot_be_reached(ward: Ward) -> None:
    ward.set(ASKBACK_DISCORD_GATEWAY_URL="ws://127.0.0.1:9/")
    found = (await ward.examined("discord")).one()
    assert "cannot be reached" in found.says
    ward.set(ASKBACK_DISCORD_GATEWAY_URL=ward.services.url.replace("http", "ws") + "/nothing")
    assert "refuses the connection (HTTP 404)" in (await ward.examined("discord")).one().says


async def test_each_permission_that_is_missing_is_named_with_the_server(ward: Ward) -> None:
    guild = ward.services.discord.guild
    everyone = guild.roles[guild.id]
    names = {name for name, wanted in PERMISSIONS if wanted}
    for name in sorted(names):
        here = "VIEW_CHANNEL" if name == "read_messages" else name.upper()
        taken = everyone.permissions & ~Permission[here]
        guild.roles[guild.id] = replace(everyone, permissions=int(taken))
        found = (await ward.examined("discord", Scene(worker=1))).one()
        assert (found.grade, found.about) == ("broken", "permissions")
        assert found.says.startswith(f"On Local ({guild.id}), it lacks the permission ")
        assert ": without it, " in found.says, "what is lost is told"
        assert "https://discord.com/oauth2/authorize?client_id=" in found.cure


async def test_clicks_that_go_elsewhere_are_noticed(ward: Ward) -> None:
    guild = ward.services.discord.guild
    guild.app = replace(guild.app, clicks_url="https://old.example/interactions")
    found = (await ward.examined("discord")).one()
    assert (found.grade, found.cure.startswith("Clear Interactions Endpoint URL")) == ("broken", True)


async def test_a_public_bot_for_which_nobody_is_named_is_a_warning(ward: Ward) -> None:
    guild = ward.services.discord.guild
    assert (await ward.examined("discord")).good("Discord", "access") == "Everybody may talk to the bot."
    guild.app = replace(guild.app, public=True)
    found = await ward.examined("discord")
    assert (found.code, found.one().grade, found.one().about) == (0, "warning", "access")
    assert "Set ASKBACK_DISCORD_ALLOW_PEOPLE" in found.one().cure
    ward.set(ASKBACK_DISCORD_ALLOW_PEOPLE=guild.people[next(iter(guild.people))].id)
    assert "1 people" in (await ward.examined("discord")).good("Discord", "access")


async def test_who_may_talk_in_slack_is_told(ward: Ward) -> None:
    found = await ward.examined("slack")
    assert found.good("Slack", "access") == "Everybody of its own workspace may talk to the bot."


# What holds of every finding


def test_what_is_not_good_has_a_cure() -> None:
    with pytest.raises(InvalidValue, match="has a cure"):
        Finding(grade="broken", about="a", says="b")
    with pytest.raises(InvalidValue, match="has a cure"):
        Finding(grade="good", about="a", says="b", cure="c")


async def askback(*arguments: str) -> tuple[int | None, str]:
    """The real command, in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        ASKBACK,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
    )
    said, _ = await process.communicate()
    return process.returncode, said.decode()
