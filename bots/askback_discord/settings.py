"""The Discord bot's settings."""

from __future__ import annotations

__all__ = ["DiscordSettings"]

from pydantic import AliasChoices, Field, SecretStr, field_validator

from askback.redaction import hide_shape
from askback.settings import TomlSettings, is_address

# Tokens of bots and of people, and those of interactions and webhooks, which stand in addresses.
hide_shape(r"\b[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}")
hide_shape(r"\bmfa\.[\w-]{20,}")
hide_shape(r"\baW50ZXJhY3Rpb246[\w+/=-]+")
hide_shape(r"(?P<keep>/(?:webhooks|interactions)/\d+/)[\w.=-]+")


class DiscordSettings(TomlSettings):
    """Read from the environment and `askback.toml`, by the names that Discord's own tools use."""

    token: SecretStr = Field(
        validation_alias=AliasChoices("DISCORD_TOKEN", "discord_token"),
        description="Copy it from the page Bot of your application in Discord's developer portal (Reset Token).",
    )
    api_url: str = Field(
        default="https://discord.com/api/v10",
        validation_alias=AliasChoices("ASKBACK_DISCORD_API_URL", "discord_api_url"),
        description="Give the address that Discord's API stands under, such as https://discord.com/api/v10.",
    )
    gateway_url: str = Field(
        default="wss://gateway.discord.gg/",
        validation_alias=AliasChoices("ASKBACK_DISCORD_GATEWAY_URL", "discord_gateway_url"),
        description="Give the address of Discord's gateway, such as wss://gateway.discord.gg/.",
    )

    @field_validator("token")
    @classmethod
    def _token(cls, value: SecretStr) -> SecretStr:
        text = value.get_secret_value().strip()
        if not text or " " in text:
            raise ValueError("is no bot token: write it alone, without “Bot” in front")
        return SecretStr(text)

    @field_validator("api_url")
    @classmethod
    def _api(cls, value: str) -> str:
        if not is_address(value, "https", "http"):
            raise ValueError("is no address: it begins with https:// and a host")
        return value.rstrip("/")

    @field_validator("gateway_url")
    @classmethod
    def _gateway(cls, value: str) -> str:
        if not is_address(value, "wss", "ws"):
            raise ValueError("is no address: it begins with wss:// and a host")
        return value
