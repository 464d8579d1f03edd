"""The Slack bot's settings."""

from __future__ import annotations

__all__ = ["SlackCalls", "SlackSettings", "is_configured", "load_settings"]

import re
from typing import Annotated, Final

from pydantic import AliasChoices, Field, SecretStr, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import NoDecode

from askback.domain.bot_access import DIRECT, Access
from askback.settings.address import check_address, is_address
from askback.settings.id_list import EVERYBODY, parse_ids
from askback.settings.loader import TomlSettings, list_set_fields, load
from askback.text.redaction import register_secret_pattern
from askback_slack import id_patterns

# Slack's tokens of every kind, signatures, and addresses that contain a secret.
register_secret_pattern(r"x(?:ox[a-z]|app)[-.][\w.%-]{6,}")
register_secret_pattern(r"v0=[0-9a-f]{64}")
register_secret_pattern(r"(?P<keep>/(?:services|actions|commands|workflows|triggers)/)T\w+/[\w/-]+")

Ids = Annotated[tuple[str, ...], NoDecode]

_PERSON: Final = re.compile(id_patterns.PERSON)
_PROGRAM: Final = re.compile(f"{id_patterns.PROGRAM}|{id_patterns.PERSON}")
_GROUP: Final = re.compile(id_patterns.GROUP)
_CHANNEL: Final = re.compile(f"{id_patterns.CHANNEL}|{id_patterns.DIRECT}")
_COPY_PERSON = "A person's id is under ⋮ (More) in their profile: Copy member ID."
_COPY_GROUP = "A user group's id is under ⋮ (More) where Slack shows the group: Copy group ID."


class SlackSettings(TomlSettings):
    """Read from the environment and `askback.toml`, by the names that Slack's own tools use.

    Signed HTTP needs only the signing secret, and Socket Mode only the app-level token.
    """

    http: str | None = Field(
        default=None,
        validation_alias=AliasChoices("ASKBACK_SLACK_HTTP", "slack_http"),
        description="Give the HOST:PORT for Slack's requests, such as 127.0.0.1:3000.",
    )
    """The address (`HOST:PORT`) at which askback receives Slack's signed requests, like `--http`. By default, askback
    uses Socket Mode."""
    bot_token: SecretStr = Field(
        validation_alias=AliasChoices("SLACK_BOT_TOKEN", "slack_bot_token"),
        description="Copy the Bot User OAuth Token (xoxb-…) from OAuth & Permissions in your Slack app's settings.",
    )
    """The bot's token, `xoxb-…`."""
    app_token: SecretStr | None = Field(
        default=None,
        validate_default=True,
        validation_alias=AliasChoices("SLACK_APP_TOKEN", "slack_app_token"),
        description="Create an app-level token (xapp-…) with the scope connections:write under Basic Information.",
    )
    """The app-level token, `xapp-…`. Only Socket Mode needs it."""
    signing_secret: SecretStr | None = Field(
        default=None,
        validate_default=True,
        validation_alias=AliasChoices("SLACK_SIGNING_SECRET", "slack_signing_secret"),
        description="Copy the Signing Secret from Basic Information in your Slack app's settings.",
    )
    """The app's signing secret. Only signed HTTP needs it."""
    api_url: str = Field(
        default="https://slack.com/api/",
        validation_alias=AliasChoices("ASKBACK_SLACK_API_URL", "slack_api_url"),
        description="Give the base URL of Slack's API methods, such as https://slack-gov.com/api/.",
    )
    """The address of Slack's API, for GovSlack or a proxy."""
    allow_people: Ids = Field(
        default=(),
        validation_alias=AliasChoices("ASKBACK_SLACK_ALLOW_PEOPLE", "slack_allow_people"),
        description=f"Give ids of people, or {EVERYBODY} for everybody. {_COPY_PERSON}",
    )
    """The ids of people who may talk to the bot. `*` means everybody, including guests from other workspaces."""
    allow_groups: Ids = Field(
        default=(),
        validation_alias=AliasChoices("ASKBACK_SLACK_ALLOW_GROUPS", "slack_allow_groups"),
        description=f"Give ids of user groups. {_COPY_GROUP}",
    )
    """The ids of user groups whose members may talk to the bot."""
    allow_programs: Ids = Field(
        default=(),
        validation_alias=AliasChoices("ASKBACK_SLACK_ALLOW_PROGRAMS", "slack_allow_programs"),
        description="Give ids of apps' bots (U…) or of workflows and webhooks (B…). The log names those left out.",
    )
    """The ids of apps, workflows and webhooks whose earlier messages the agent reads in the threads that it joins.
    People who can write through them can write to the agent."""
    allow_channels: Ids = Field(
        default=(),
        validation_alias=AliasChoices("ASKBACK_SLACK_ALLOW_CHANNELS", "slack_allow_channels"),
        description=f"Give ids of channels, and {DIRECT} for direct messages. A channel's id is at the end of its "
        "details.",
    )
    """The ids of channels in which the bot talks. `dm` means direct messages."""
    admins: Ids = Field(
        default=(),
        validation_alias=AliasChoices("ASKBACK_SLACK_ADMINS", "slack_admins"),
        description=f"Give ids of people. {_COPY_PERSON}",
    )
    """The ids of administrators: people who may stop conversations and questions of others."""
    admin_groups: Ids = Field(
        default=(),
        validation_alias=AliasChoices("ASKBACK_SLACK_ADMIN_GROUPS", "slack_admin_groups"),
        description=f"Give ids of user groups. {_COPY_GROUP}",
    )
    """The ids of user groups whose members are administrators."""

    def to_access(self, home: str | None) -> Access:
        """Return the access rules. By default, all members of the bot's workspace or organization may talk to it."""
        everybody = EVERYBODY in self.allow_people
        return Access(
            people=() if everybody else self.allow_people,
            groups=() if everybody else self.allow_groups,
            programs=self.allow_programs,
            channels=self.allow_channels,
            admins=self.admins,
            admin_groups=self.admin_groups,
            home=None if everybody else home,
            open=True,
        )

    @field_validator("allow_people", mode="before")
    @classmethod
    def _check_people(cls, value: object) -> tuple[str, ...]:
        return parse_ids(value, _PERSON, "a person (U…)", also=[EVERYBODY])

    @field_validator("allow_programs", mode="before")
    @classmethod
    def _check_programs(cls, value: object) -> tuple[str, ...]:
        return parse_ids(value, _PROGRAM, "an app's bot (U…) or a workflow (B…)")

    @field_validator("allow_groups", "admin_groups", mode="before")
    @classmethod
    def _check_groups(cls, value: object) -> tuple[str, ...]:
        return parse_ids(value, _GROUP, "a user group (S…)")

    @field_validator("allow_channels", mode="before")
    @classmethod
    def _check_channels(cls, value: object) -> tuple[str, ...]:
        return parse_ids(value, _CHANNEL, "a channel (C…)", also=[DIRECT])

    @field_validator("admins", mode="before")
    @classmethod
    def _check_admins(cls, value: object) -> tuple[str, ...]:
        return parse_ids(value, _PERSON, "a person (U…)")

    @field_validator("bot_token")
    @classmethod
    def _check_bot_token(cls, value: SecretStr) -> SecretStr:
        if not value.get_secret_value().startswith(("xoxb-", "xoxe.")):
            raise ValueError("is not a bot token: those begin with xoxb-")
        return value

    @field_validator("http")
    @classmethod
    def _check_http(cls, value: str | None) -> str | None:
        return check_address(value)

    @field_validator("app_token")
    @classmethod
    def _check_app_token(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        # A wrong `http` has its own error message. Then it is unknown which of the two secrets is missing.
        if value is None and "http" in info.data and info.data["http"] is None:
            raise PydanticCustomError("missing", "is missing")
        if value is not None and not value.get_secret_value().startswith("xapp-"):
            raise ValueError("is not an app-level token: those begin with xapp-")
        return value

    @field_validator("signing_secret")
    @classmethod
    def _check_signing_secret(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if value is None and info.data.get("http") is not None:
            raise PydanticCustomError("missing", "is missing")
        if value is not None and not (value.get_secret_value().isascii() and value.get_secret_value().isalnum()):
            raise ValueError("is not a signing secret: those are letters and digits")
        return value

    @field_validator("api_url")
    @classmethod
    def _check_url(cls, value: str) -> str:
        if not is_address(value, "https", "http"):
            raise ValueError("is not an address: it begins with https:// and a host")
        return value if value.endswith("/") else f"{value}/"


class SlackCalls(SlackSettings):
    """The settings for calls to Slack's API: only the bot's token is needed."""

    @field_validator("app_token")
    @classmethod
    def _check_app_token(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        return value

    @field_validator("signing_secret")
    @classmethod
    def _check_signing_secret(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        return value


def load_settings(http: str | None = None) -> SlackSettings:
    """Read the settings; `http` overrides the configured address.

    Raises `OperatorError` with a line for each setting that is missing or wrong.
    """
    return load(SlackSettings, http=http)


def is_configured(http: str | None = None) -> bool:
    """Return True if any secret is set that the bot needs."""
    there = list_set_fields(SlackSettings)
    second = "signing_secret" if http is not None or "http" in there else "app_token"
    return not there.isdisjoint({"bot_token", second})
