"""Variables that no part knows: a misspelt name is refused, with the name that was meant."""

from __future__ import annotations

import os
from importlib.metadata import EntryPoint

import pytest

from askback.errors import OperatorError
from askback.ports.installed_bots import list_bot_names
from askback.settings import environment
from askback.settings.environment import check_environment, describe_unknown_variables, load_settings
from askback.settings.loader import is_configured, list_environment_variables, load
from askback_discord.settings import DiscordSettings
from askback_slack.settings import SlackSettings


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("ASKBACK_", "SLACK_", "DISCORD_", "ANTHROPIC_", "KUBERNETES_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ASKBACK_CONFIG", os.devnull)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ASKBACK_APPROVER", "ASKBACK_APPROVERS"),
        ("ASKBACK_APPROVAL_TOOL", "ASKBACK_APPROVAL_TOOLS"),
        ("ASKBACK_SLACK_ALLOWED_PEOPLE", "ASKBACK_SLACK_ALLOW_PEOPLE"),
        ("ASKBACK_DISCORD_ALLOW_GUILD", "ASKBACK_DISCORD_ALLOW_GUILDS"),
        ("askback_aprovers", "ASKBACK_APPROVERS"),
        ("ASKBACK_SLACK_BOT_TOKEN", "SLACK_BOT_TOKEN"),
    ],
)
def test_a_misspelt_variable_is_refused_with_the_name_that_was_meant(
    monkeypatch: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    monkeypatch.setenv(name, "s3cret")
    assert describe_unknown_variables() == [f"{name} is set, but askback has no such setting. Did you mean {meant}?"]
    with pytest.raises(OperatorError, match="has no such setting"):
        check_environment()


def test_all_problems_are_told_in_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKBACK_APPROVER", "slack:U0LOCALBEN")
    monkeypatch.setenv("ASKBACK_ZZZ", "1")
    monkeypatch.setenv("ASKBACK_TIMEOUT", "soon")
    with pytest.raises(OperatorError) as caught:
        load_settings()
    misspelt, unheard, wrong = str(caught.value).splitlines()
    assert misspelt.endswith("Did you mean ASKBACK_APPROVERS?")
    assert unheard == (
        "ASKBACK_ZZZ is set, but askback has no such setting. Unset it; the documentation lists all settings "
        "on its page “All settings”."
    )
    assert wrong.startswith("ASKBACK_TIMEOUT is not a duration")


def test_every_setting_of_every_installed_bot_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (SlackSettings, DiscordSettings, environment.Settings):
        for name in list_environment_variables(kind):
            monkeypatch.setenv(name, "x")
    monkeypatch.setenv("ASKBACK_TEST_POSTGRES_URL", "x")
    assert describe_unknown_variables() == []


def test_the_variables_of_a_bot_whose_libraries_are_missing_name_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def describe(entry: EntryPoint) -> str | None:
        return f"The bot for {entry.name} is missing." if entry.name == "discord" else None

    monkeypatch.setattr(environment, "describe_missing", describe)
    monkeypatch.setenv("ASKBACK_DISCORD_ADMINS", "1")
    monkeypatch.setenv("ASKBACK_SLACK_ADMINS", "U0LOCALADA")
    (told,) = describe_unknown_variables()
    assert told == (
        "ASKBACK_DISCORD_ADMINS is set, but has no effect. The bot for discord is missing. Or unset the variable."
    )


def test_the_variables_of_a_bot_that_lists_no_settings_are_its_own_business(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("matrix", "askback.ports.bot:create", "askback.bots")
    monkeypatch.setattr(environment, "list_entries", lambda: (entry,))
    monkeypatch.setenv("ASKBACK_MATRIX_HOMESERVER", "x")
    monkeypatch.setenv("ASKBACK_MATRICES", "x")
    assert [told.split()[0] for told in describe_unknown_variables()] == ["ASKBACK_MATRICES"]
    assert "matrix" not in list_bot_names()


def test_what_kubernetes_sets_for_a_service_of_that_name_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    links = (
        "ASKBACK_SERVICE_HOST", "ASKBACK_SERVICE_PORT", "ASKBACK_SERVICE_PORT_HEALTH", "ASKBACK_PORT",
        "ASKBACK_PORT_8080_TCP", "ASKBACK_PORT_8080_TCP_ADDR", "ASKBACK_SLACK_SERVICE_HOST", "ASKBACK_SLACK_PORT",
    )  # fmt: skip
    for name in links:
        monkeypatch.setenv(name, "tcp://10.0.0.1:8080")
    assert len(describe_unknown_variables()) == len(links)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert describe_unknown_variables() == []


@pytest.mark.parametrize("kind", [SlackSettings, DiscordSettings])
def test_the_name_of_a_field_alone_sets_nothing(
    monkeypatch: pytest.MonkeyPatch, kind: type[SlackSettings] | type[DiscordSettings]
) -> None:
    """A variable that any other program may read, such as TOKEN or ADMINS, never configures a bot."""
    for name in kind.model_fields:
        monkeypatch.setenv(name.upper(), "x")
        monkeypatch.setenv(name, "x")
    assert not is_configured(kind)
    with pytest.raises(OperatorError) as caught:
        load(kind)
    assert all(" is missing" in line for line in str(caught.value).splitlines()), caught.value
