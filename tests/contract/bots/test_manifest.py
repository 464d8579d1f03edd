"""`manifests/`: Slack and Discord accept them, and they request exactly the permissions that the bots use."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jsonschema_rs
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from askback_discord import install
from askback_discord.setup import DiscordSetup
from askback_sandbox.services import Services
from askback_slack.http import PATHS
from support.processes import Launcher

from .discord import OPENAPI

ROOT = Path(__file__).parents[3]
MANIFESTS = ROOT / "manifests"
MANIFEST = MANIFESTS / "slack.json"
SCHEMA = ROOT.parent / "shared/schemas/slack-manifest.schema.json"
BOT = ROOT / "bots/askback_slack"

# The scopes of each method, from docs.slack.dev/reference/methods; the last two need any one of theirs.
HISTORY = frozenset({"channels:history", "groups:history", "im:history", "mpim:history"})
SCOPES: dict[str, frozenset[str]] = {
    "apps.connections.open": frozenset(),  # uses the app-level token's scope, connections:write
    "auth.test": frozenset(),
    "chat.getPermalink": frozenset(),
    "views.open": frozenset(),
    "views.update": frozenset(),
    "agents.sessions.setStatus": frozenset({"chat:write"}),
    "assistant.threads.setStatus": frozenset({"chat:write"}),
    "chat.appendStream": frozenset({"chat:write"}),
    "chat.delete": frozenset({"chat:write"}),
    "chat.postEphemeral": frozenset({"chat:write"}),
    "chat.postMessage": frozenset({"chat:write"}),
    "chat.startStream": frozenset({"chat:write"}),
    "chat.stopStream": frozenset({"chat:write"}),
    "chat.update": frozenset({"chat:write"}),
    "usergroups.users.list": frozenset({"usergroups:read"}),
    "users.info": frozenset({"users:read"}),
    "bots.info": frozenset({"users:read"}),
    "conversations.info": frozenset({"channels:read", "groups:read"}),
    "conversations.list": frozenset({"channels:read", "groups:read"}),
    "conversations.open": frozenset({"im:write"}),
    "usergroups.list": frozenset({"usergroups:read"}),
    "users.list": frozenset({"users:read"}),
    "files.info": frozenset({"files:read"}),
    "conversations.history": HISTORY,
    "conversations.replies": HISTORY,
}
# For each event with a listener: the possible subscriptions, and the scope of each.
EVENTS: dict[str, dict[str, str]] = {
    "agent_session_stopped": {"agent_session_stopped": "assistant:write"},
    "app_mention": {"app_mention": "app_mentions:read"},
    "channel_archive": {"channel_archive": "channels:read"},
    "channel_deleted": {"channel_deleted": "channels:read"},
    "group_archive": {"group_archive": "groups:read"},
    "group_deleted": {"group_deleted": "groups:read"},
    "message": {
        "message.channels": "channels:history",
        "message.groups": "groups:history",
        "message.im": "im:history",
        "message.mpim": "mpim:history",
    },
}


def manifest() -> dict[str, Any]:
    return json.loads(MANIFEST.read_text(encoding="utf-8"))


OVER_HTTP = ROOT / "manifests/slack-http.json"


def over_http() -> dict[str, Any]:
    return json.loads(OVER_HTTP.read_text(encoding="utf-8"))


def trees() -> Iterator[ast.AST]:
    for path in sorted(BOT.glob("*.py")):
        yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def methods_used() -> set[str]:
    """Return the names of Slack's methods anywhere in the bot's code."""
    names = {name.replace("_", ".", 1) for name in dir(AsyncWebClient) if not name.startswith("_")}
    families = {name.partition(".")[0] for name in names}
    strings = (node.value for node in trees() if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return {
        text for text in strings if re.fullmatch(r"[a-z]+(\.[a-zA-Z]+)+", text) and text.partition(".")[0] in families
    }


def events_used() -> set[str]:
    """Return the event names in calls of `.event(…)`; other first arguments match any event."""
    return {
        node.args[0].value
        for node in trees()
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "event"
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    }


@pytest.mark.parametrize("read", [manifest, over_http])
def test_slack_takes_it(read: Callable[[], dict[str, Any]]) -> None:
    if not SCHEMA.exists():
        pytest.skip("Slack's manifest schema is not on this machine")
    validator = jsonschema_rs.validator_for(json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert [error.message for error in validator.iter_errors(read())] == []
    wrong = {**read(), "surprise": True}
    assert not validator.is_valid(wrong), "the schema checks something"
    wrong = read()
    wrong["settings"]["interactivity"]["surprise"] = True
    assert not validator.is_valid(wrong), "also in the part where the two differ"


def test_its_texts_fit() -> None:
    information = manifest()["display_information"]
    assert information["name"] == "askback"
    assert len(information["description"]) <= 140
    assert 175 <= len(information["long_description"]) <= 4000


def test_the_code_is_known_to_this_test() -> None:
    assert methods_used() - set(SCOPES) == set(), "say which scope it needs"
    assert events_used() == set(EVENTS)
    assert "chat.postMessage" in methods_used()


def test_its_scopes_are_those_that_the_code_uses() -> None:
    needed = set[str]().union(*(SCOPES[method] for method in methods_used()))
    needed |= {scope for event in events_used() for scope in EVENTS[event].values()}
    scopes = manifest()["oauth_config"]["scopes"]
    assert scopes == {"bot": sorted(needed)}


def test_its_events_are_those_that_the_code_listens_to() -> None:
    subscribed = manifest()["settings"]["event_subscriptions"]
    assert subscribed == {"bot_events": sorted(name for event in events_used() for name in EVENTS[event])}


def test_two_tokens_are_all_that_is_needed() -> None:
    settings = manifest()["settings"]
    assert settings["socket_mode_enabled"] is True
    assert settings["interactivity"] == {"is_enabled": True}
    assert "request_url" not in MANIFEST.read_text(encoding="utf-8")
    home = manifest()["features"]["app_home"]
    assert home["messages_tab_enabled"] is True
    assert home["messages_tab_read_only_enabled"] is False


def test_over_http_it_is_the_same_app_with_addresses_instead_of_a_socket() -> None:
    """Each kind of request has its own address at the bot."""
    whole = over_http()
    settings = whole["settings"]
    assert settings.pop("socket_mode_enabled") is False
    addresses = [
        settings["event_subscriptions"].pop("request_url"),
        settings["interactivity"].pop("request_url"),
        settings["interactivity"].pop("message_menu_options_url"),
    ]
    assert addresses == [f"https://YOUR-HOST{path}" for path in PATHS]
    usual = manifest()
    assert usual["settings"].pop("socket_mode_enabled") is True
    assert whole == usual


# Discord


DISCORD = ROOT / "manifests/discord.json"
FORM = {"$ref": "#/components/schemas/ApplicationFormPartial"}
GATEWAY_MESSAGE_CONTENT_LIMITED = 1 << 19
"""The flag of an application that may read messages; any app on fewer than a hundred servers may set it."""
INTENT_NAMES = {"guilds": "GUILDS", "guild_messages": "GUILD_MESSAGES", "dm_messages": "DIRECT_MESSAGES"}


def discords() -> dict[str, Any]:
    return json.loads(DISCORD.read_text(encoding="utf-8"))


def test_discord_takes_it() -> None:
    if not OPENAPI.exists():
        pytest.skip("Discord's OpenAPI document is not on this machine")
    document = json.loads(OPENAPI.read_text(encoding="utf-8"))
    form = document["components"]["schemas"]["ApplicationFormPartial"]
    application = discords()["application"]
    assert application.keys() <= form["properties"].keys()
    assert 1 <= len(application["description"]) <= 400
    validator = jsonschema_rs.Draft202012Validator({**FORM, "components": document["components"]})
    # In Discord's reference the description and the permissions are texts. In its OpenAPI document they are an object
    # and a number. The reference is right.
    whole = json.loads(json.dumps({**application, "description": {"default": application["description"]}}))
    for params in (whole["install_params"], whole["integration_types_config"]["0"]["oauth2_install_params"]):
        params["permissions"] = int(params["permissions"])
    assert [error.message for error in validator.iter_errors(whole)] == []
    assert not validator.is_valid({**whole, "flags": "all"}), "the document checks something"


def test_discord_is_asked_for_what_the_code_asks_for() -> None:
    application = discords()["application"]
    params = {"scopes": [*install.SCOPES], "permissions": str(install.PERMISSIONS.value)}
    assert application["install_params"] == params
    assert application["integration_types_config"] == {"0": {"oauth2_install_params": params}}
    assert application["flags"] == GATEWAY_MESSAGE_CONTENT_LIMITED
    assert discords()["privileged_intents"] == ["MESSAGE_CONTENT"]
    assert discords()["intents"] == [INTENT_NAMES[name] for name, on in install.INTENTS if on]


async def test_the_invite_is_for_just_those_scopes_and_permissions(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Services(port=0) as services:
        for name, value in services.environment.items():
            monkeypatch.setenv(name, value)
        invitation = await DiscordSetup().get_invitation()
    assert not invitation.remark
    address = urlsplit(invitation.address)
    assert address.hostname == "discord.com"
    assert {name: values for name, values in parse_qs(address.query).items() if name != "client_id"} == {
        "scope": ["bot"],
        "permissions": [str(install.PERMISSIONS.value)],
    }
    assert parse_qs(address.query)["client_id"] == [services.discord.guild.app.id]


def test_every_permission_is_one_that_the_local_services_ask_for() -> None:
    """`test_the_bot_needs_no_more_than_it_is_invited_with` runs with exactly these."""
    assert {name for name, on in install.PERMISSIONS if on} == {
        "read_messages",  # View Channel
        "send_messages",
        "create_public_threads",
        "send_messages_in_threads",
        "read_message_history",
    }


async def test_the_invite_of_a_public_application_says_what_else_to_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with Services(port=0) as services:
        for name, value in services.environment.items():
            monkeypatch.setenv(name, value)
        services.discord.guild.app = replace(services.discord.guild.app, public=True)
        invitation = await DiscordSetup().get_invitation()
        monkeypatch.setenv("ASKBACK_DISCORD_ALLOW_GUILDS", services.discord.guild.id)
        assert not (await DiscordSetup().get_invitation()).remark
    assert "turn off Public Bot" in invitation.remark
    assert "ASKBACK_DISCORD_ALLOW_GUILDS" in invitation.remark


PRINTED = {
    "slack.json": ["slack", "--manifest"],
    "slack-http.json": ["slack", "--manifest", "--http", "127.0.0.1:3000"],
    "discord.json": ["discord", "--manifest"],
}


@pytest.mark.parametrize("name", PRINTED)
def test_an_installed_askback_prints_the_manifests(name: str, tmp_path: Path, launcher: Launcher) -> None:
    """It needs neither a file of the repository nor a token."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SLACK", "DISCORD"))}
    printed = launcher.run(*PRINTED[name], folder=tmp_path, environment=environment)
    assert (printed.returncode, printed.stderr) == (0, "")
    assert printed.stdout == (MANIFESTS / name).read_text(), f"copy manifests/{name} into the package of its bot"


def test_the_invite_names_the_manifest(tmp_path: Path, launcher: Launcher) -> None:
    invited = launcher.run("slack", "--invite", folder=tmp_path, environment=os.environ)
    assert (invited.returncode, invited.stdout) == (0, "https://api.slack.com/apps?new_app=1\n")
    assert "askback slack --manifest" in invited.stderr
