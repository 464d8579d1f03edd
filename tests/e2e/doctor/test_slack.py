"""`askback doctor` with a fault at Slack."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from askback.ports.installed_bots import get_bot
from askback.runtime.app import open_host
from askback_sandbox.slack.faults import Fault
from askback_slack.install import OPTIONAL, SCOPES

from .conftest import IMPATIENT, Ward

ROOT = Path(__file__).parents[3]


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
    assert (found.grade, found.summary) == ("broken", says)
    assert found.cure.startswith(cure)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (403, "<html>Blocked</html>", "text/html"),
        (403, '{"message": "Forbidden"}', "application/json"),
        (302, "", "text/html"),
    ],
    ids=["a page", "JSON of something else", "a redirect"],
)
async def test_a_proxy_that_answers_is_not_taken_for_slack(ward: Ward, status: int, body: str, kind: str) -> None:
    fault = Fault(kind="foreign", method="*", status=status, body=body, content_type=kind, times=None)
    ward.services.workspace.faults.add(fault)
    found = await ward.examined("slack")
    assert {one.summary for one in found.bad} == {f"The server at Slack's address is not Slack (HTTP {status})."}


async def test_a_token_of_the_bot_that_is_a_persons(ward: Ward) -> None:
    ward.services.workspace.bot = replace(ward.services.workspace.bot, bot_id="")
    found = (await ward.examined("slack")).one()
    assert found.summary == "SLACK_BOT_TOKEN is a person's token and not the bot's."
    ward.set(SLACK_BOT_TOKEN="xoxp-of-ada")
    found = (await ward.examined("slack")).one()
    assert "SLACK_BOT_TOKEN is not a bot token" in found.summary
    assert "OAuth & Permissions" in found.cure


def test_the_scopes_that_are_looked_for_are_those_of_the_manifest() -> None:
    manifest = json.loads((ROOT / "manifests/slack.json").read_text(encoding="utf-8"))
    assert sorted(SCOPES) == sorted(manifest["oauth_config"]["scopes"]["bot"])


@pytest.mark.parametrize("scope", sorted(SCOPES))
async def test_each_scope_that_is_missing_is_named_with_what_is_lost(ward: Ward, scope: str) -> None:
    ward.services.workspace.bot = replace(
        ward.services.workspace.bot, scopes=(*(set(SCOPES) - {scope}), "reactions:read")
    )
    found = (await ward.examined("slack")).one()
    grade = "warning" if scope in OPTIONAL else "broken"
    assert (found.grade, found.summary) == (grade, f"{scope} is missing: without it, {SCOPES[scope]}.")
    assert "reinstall the app" in found.cure


async def test_a_token_of_the_app_that_is_no_good(ward: Ward) -> None:
    ward.set(SLACK_APP_TOKEN="xapp-wrong")
    found = (await ward.examined("slack")).one()
    assert found.summary == "Slack does not accept SLACK_APP_TOKEN (invalid_auth)."
    assert "connections:write" in found.cure


async def test_a_token_of_the_app_without_its_scope(ward: Ward) -> None:
    ward.services.workspace.faults.fail("apps.connections.open", "missing_scope")
    found = (await ward.examined("slack")).one()
    assert found.summary == "SLACK_APP_TOKEN lacks the scope connections:write."
    assert "connections:write" in found.cure


@pytest.mark.parametrize(
    ("fault", "says", "cure"),
    [
        ("refused", "Slack rejected the socket (HTTP 403).", "in the firewall or proxy"),
        ("silent", "Slack sent no hello on a new socket within 2.5 s.", "in the firewall or proxy"),
        ("link_disabled", "Socket Mode is turned off for the app.", "Turn on Socket Mode"),
        ("too_many_websockets", "This app already has ten open sockets", "Stop processes of this app"),
    ],
)
async def test_a_socket_that_does_not_work(ward: Ward, fault: str, says: str, cure: str) -> None:
    ward.services.workspace.faults.add(Fault(kind="socket", error=fault))
    scene = IMPATIENT if fault == "silent" else None
    found = (await ward.examined("slack", scene)).one()
    assert (found.grade, found.about) == ("broken", "socket")
    assert found.summary.startswith(says)
    assert cure in found.cure


async def test_a_second_process_on_the_same_app_is_noticed(ward: Ward) -> None:
    async with open_host([get_bot("slack")], agent=False):
        await ward.services.socket.connected()
        ward.set(ASKBACK_DATABASE_URL="another.db")
        found = (await ward.examined("slack")).one()
    assert (found.grade, found.about) == ("warning", "socket")
    assert found.summary.startswith("1 more socket is open for this app")
    assert "Stop the other process" in found.cure


async def test_tokens_of_two_apps_are_noticed(ward: Ward) -> None:
    answer = ward.services.workspace.bot
    ward.services.workspace.bot = replace(answer, app_id="A0OTHER")
    first = await ward.examined("slack")
    assert not first.bad, "both say the same"
    hello = ward.services.socket._hello
    ward.patch.setattr(ward.services.socket, "_hello", lambda: {**hello(), "connection_info": {"app_id": "A0THIRD"}})
    found = (await ward.examined("slack")).one()
    assert "The two tokens belong to different apps (bot: A0OTHER, socket: A0THIRD)" in found.summary
    assert "in the same app" in found.cure


async def test_over_http_the_secret_and_the_address_are_looked_at(ward: Ward) -> None:
    ward.patch.delenv("SLACK_APP_TOKEN")
    ward.set(ASKBACK_SLACK_HTTP="127.0.0.1:0", SLACK_SIGNING_SECRET="8f742231b10e8888abcd9923433355a5")
    found = await ward.examined("slack")
    assert found.bad == [], found.text
    assert "It is set" in found.good("Slack", "signing secret")
    ward.set(SLACK_SIGNING_SECRET="short")
    assert "does not look like a signing secret" in (await ward.examined("slack")).one().summary
    ward.set(ASKBACK_SLACK_HTTP=ward.services.url.removeprefix("http://"))
    taken = (await ward.examined("slack")).bad[-1]
    assert "Could not listen on" in taken.summary
    assert "set ASKBACK_SLACK_HTTP to another address" in taken.cure
    ward.patch.delenv("SLACK_SIGNING_SECRET")
    missing = (await ward.examined("slack")).one()
    assert (missing.summary, "Basic Information" in missing.cure) == ("SLACK_SIGNING_SECRET is missing.", True)


async def test_who_may_talk_in_slack_is_told(ward: Ward) -> None:
    found = await ward.examined("slack")
    assert found.good("Slack", "access") == "Everybody in its own workspace may talk to the bot."
