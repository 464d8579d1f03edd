"""The Slack bot's settings."""

from __future__ import annotations

__all__ = ["SlackSettings"]

from pydantic import AliasChoices, Field, SecretStr, field_validator

from askback.settings import TomlSettings, is_address


class SlackSettings(TomlSettings):
    """Read from the environment and `askback.toml`, by the names that Slack's own tools use."""

    bot_token: SecretStr = Field(
        validation_alias=AliasChoices("SLACK_BOT_TOKEN", "slack_bot_token"),
        description="Copy the Bot User OAuth Token (xoxb-…) from OAuth & Permissions in your Slack app's settings.",
    )
    app_token: SecretStr = Field(
        validation_alias=AliasChoices("SLACK_APP_TOKEN", "slack_app_token"),
        description="Make an app-level token (xapp-…) with the scope connections:write under Basic Information.",
    )
    api_url: str = Field(
        default="https://slack.com/api/",
        validation_alias=AliasChoices("ASKBACK_SLACK_API_URL", "slack_api_url"),
        description="Give the address that Slack's methods stand under, such as https://slack-gov.com/api/.",
    )

    @field_validator("bot_token")
    @classmethod
    def _bot(cls, value: SecretStr) -> SecretStr:
        if not value.get_secret_value().startswith(("xoxb-", "xoxe.")):
            raise ValueError("is no bot token: those begin with xoxb-")
        return value

    @field_validator("app_token")
    @classmethod
    def _app(cls, value: SecretStr) -> SecretStr:
        if not value.get_secret_value().startswith("xapp-"):
            raise ValueError("is no app-level token: those begin with xapp-")
        return value

    @field_validator("api_url")
    @classmethod
    def _url(cls, value: str) -> str:
        if not is_address(value, "https", "http"):
            raise ValueError("is no address: it begins with https:// and a host")
        return value if value.endswith("/") else f"{value}/"
