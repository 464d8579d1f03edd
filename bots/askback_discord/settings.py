"""The Discord bot's settings."""

from __future__ import annotations

__all__ = ["OPENING", "DiscordSettings", "load_settings"]

import re
from typing import Annotated, Final

from pydantic import AliasChoices, Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from askback.domain.bot_access import DIRECT, Access, Opening
from askback.settings.address import is_address
from askback.settings.id_list import EVERYBODY, parse_ids
from askback.settings.loader import TomlSettings, load
from askback.text.redaction import register_secret_pattern
from askback.translations.catalogue import N_
from askback_discord import id_patterns
from askback_discord.shards import Shard

# Tokens of bots and of people, and tokens of interactions and webhooks in addresses.
register_secret_pattern(r"\b[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}")
register_secret_pattern(r"\bmfa\.[\w-]{20,}")
register_secret_pattern(r"\baW50ZXJhY3Rpb246[\w+/=-]+")
register_secret_pattern(r"(?P<keep>/(?:webhooks|interactions)/\d+/)[\w.=-]+")

Ids = Annotated[tuple[str, ...], NoDecode]

_SNOWFLAKE: Final = re.compile(id_patterns.SNOWFLAKE)
_COPY = (
    "To copy one, turn on Developer Mode in Discord's settings (Advanced). Then right-click the {what} and choose "
    "Copy {name} ID."
)
_COPY_PERSON = _COPY.format(what="person", name="User")
_COPY_ROLE = _COPY.format(what="role in the server's settings", name="Role")


OPENING: Final = Opening(
    tenants="ASKBACK_DISCORD_ALLOW_GUILDS",
    people="ASKBACK_DISCORD_ALLOW_PEOPLE",
    otherwise=N_("turn off Public Bot on the page Bot of the application in Discord's developer portal"),
    why=N_("Public Bot is on, so anybody can invite it to any server."),
)


class DiscordSettings(TomlSettings):
    """Read from the environment and `askback.toml`, by the names that Discord's own tools use."""

    token: SecretStr = Field(
        validation_alias=AliasChoices("DISCORD_TOKEN", "discord_token"),
        description="Copy it from the page Bot of your application in Discord's developer portal (Reset Token).",
    )
    """The bot's token."""
    api_url: str = Field(
        default="https://discord.com/api/v10",
        validation_alias=AliasChoices("ASKBACK_DISCORD_API_URL", "discord_api_url"),
        description="Give the base URL of Discord's API, such as https://discord.com/api/v10.",
    )
    """The address of Discord's API, for a proxy."""
    gateway_url: str = Field(
        default="wss://gateway.discord.gg/",
        validation_alias=AliasChoices("ASKBACK_DISCORD_GATEWAY_URL", "discord_gateway_url"),
        description="Give the address of Discord's gateway, such as wss://gateway.discord.gg/.",
    )
    """The address of Discord's gateway, for a proxy."""
    shard: str | None = Field(
        default=None,
        validation_alias=AliasChoices("ASKBACK_DISCORD_SHARD", "discord_shard"),
        description="Leave it out if one process receives all events.",
    )
    """The shard of the events that this process receives (`NUMBER/COUNT`), like `--shard`. By default, the process
    receives all events."""
    allow_people: Ids = Field(
        default=(),
        validation_alias=AliasChoices("ASKBACK_DISCORD_ALLOW_PEOPLE", "discord_allow_people"),
        description=f"Give ids of people, or {EVERYBODY} for everybody. {_COPY_PERSON}",
    )
    """The ids of people who may talk to the bot. `*` means everybody."""
    allow_roles: Ids = Field(
        default=(),
        validation_alias=AliasChoices("ASKBACK_DISCORD_ALLOW_ROLES", "discord_allow_roles"),
        description=f"Give ids of roles. {_COPY_ROLE}",
    )
    """The ids of roles whose members may talk to the bot."""
    allow_programs: Ids = Field(
        default=(),
        validation_alias=AliasChoices("ASKBACK_DISCORD_ALLOW_PROGRAMS", "discord_allow_programs"),
        description="Give ids of bots or webhooks. The log names those left out.",
    )
    """The ids of bots and webhooks whose earlier messages the agent reads in the threads that it joins. People who can
    write through them can write to the agent."""
    allow_channels: Ids = Field(
        default=(),
        validation_alias=AliasChoices("ASKBACK_DISCORD_ALLOW_CHANNELS", "discord_allow_channels"),
        description=f"Give ids of channels, and {DIRECT} for direct messages. "
        + _COPY.format(what="channel", name="Channel"),
    )
    """The ids of channels in which the bot talks. `dm` means direct messages."""
    allow_guilds: Ids = Field(
        default=(),
        validation_alias=AliasChoices("ASKBACK_DISCORD_ALLOW_GUILDS", "discord_allow_guilds"),
        description="Give ids of servers. " + _COPY.format(what="server", name="Server"),
    )
    """The ids of servers in which the bot talks."""
    admins: Ids = Field(
        default=(),
        validation_alias=AliasChoices("ASKBACK_DISCORD_ADMINS", "discord_admins"),
        description=f"Give ids of people. {_COPY_PERSON}",
    )
    """The ids of administrators: people who may stop conversations and questions of others."""
    admin_roles: Ids = Field(
        default=(),
        validation_alias=AliasChoices("ASKBACK_DISCORD_ADMIN_ROLES", "discord_admin_roles"),
        description=f"Give ids of roles. {_COPY_ROLE}",
    )
    """The ids of roles whose members are administrators."""

    @property
    def part(self) -> Shard:
        """The shard that this process receives: all events, if none is set."""
        return Shard() if self.shard is None else Shard.read(self.shard)

    def to_access(self, *, public: bool, owners: tuple[str, ...] = ()) -> Access:
        """Return the rules for talking to the bot.

        Anyone can invite a `public` bot anywhere, so no one may talk to it until the settings allow someone. `owners`
        are the ids of the people who own its application.
        """
        everybody = EVERYBODY in self.allow_people
        return Access(
            people=() if everybody else self.allow_people,
            groups=() if everybody else self.allow_roles,
            programs=self.allow_programs,
            channels=self.allow_channels,
            tenants=self.allow_guilds,
            admins=self.admins,
            admin_groups=self.admin_roles,
            open=everybody or not public,
            opening=OPENING,
            owners=owners,
        )

    @field_validator("allow_people", mode="before")
    @classmethod
    def _check_people(cls, value: object) -> tuple[str, ...]:
        return parse_ids(value, _SNOWFLAKE, "a person, which has only digits", also=[EVERYBODY])

    @field_validator("admins", mode="before")
    @classmethod
    def _check_admins(cls, value: object) -> tuple[str, ...]:
        return parse_ids(value, _SNOWFLAKE, "a person, which has only digits")

    @field_validator("allow_programs", mode="before")
    @classmethod
    def _check_programs(cls, value: object) -> tuple[str, ...]:
        return parse_ids(value, _SNOWFLAKE, "a bot or a webhook, which has only digits")

    @field_validator("allow_roles", "admin_roles", mode="before")
    @classmethod
    def _check_roles(cls, value: object) -> tuple[str, ...]:
        return parse_ids(value, _SNOWFLAKE, "a role, which has only digits")

    @field_validator("allow_channels", mode="before")
    @classmethod
    def _check_channels(cls, value: object) -> tuple[str, ...]:
        return parse_ids(value, _SNOWFLAKE, "a channel, which has only digits", also=[DIRECT])

    @field_validator("allow_guilds", mode="before")
    @classmethod
    def _check_guilds(cls, value: object) -> tuple[str, ...]:
        return parse_ids(value, _SNOWFLAKE, "a server, which has only digits")

    @field_validator("token")
    @classmethod
    def _check_token(cls, value: SecretStr) -> SecretStr:
        text = value.get_secret_value().strip()
        if not text or " " in text:
            raise ValueError("is not a bot token: give only the token, without “Bot” before it")
        return SecretStr(text)

    @field_validator("api_url")
    @classmethod
    def _check_api_url(cls, value: str) -> str:
        if not is_address(value, "https", "http"):
            raise ValueError("is not an address: it begins with https:// and a host")
        return value.rstrip("/")

    @field_validator("shard")
    @classmethod
    def _check_shard(cls, value: str | None) -> str | None:
        return None if value is None else str(Shard.read(value))

    @field_validator("gateway_url")
    @classmethod
    def _check_gateway_url(cls, value: str) -> str:
        if not is_address(value, "wss", "ws"):
            raise ValueError("is not an address: it begins with wss:// and a host")
        return value


def load_settings(shard: str | None = None) -> DiscordSettings:
    """Read the settings; `shard` overrides the configured shard.

    Raises `OperatorError` with a line for each setting that is missing or wrong.
    """
    return load(DiscordSettings, shard=shard)
