"""Settings from the environment and an optional `askback.toml`."""

from __future__ import annotations

__all__ = ["Settings", "TomlSettings", "checked_address", "given", "is_address", "is_configured", "load"]

import difflib
import os
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Literal, TypeVar, cast
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from askback.address import Address
from askback.budget import ROUNDS
from askback.compaction import COMPACT_AT, LEAST
from askback.durations import seconds_of
from askback.errors import OperatorError
from askback.prompt import SYSTEM_PROMPT
from askback.redaction import hide
from askback.tools import TOOLS, is_import_path
from askback.typed import TypedReplies

FILE = "askback.toml"
LONGEST_TIMEOUT = 10 * 366 * 86_400

S = TypeVar("S", bound="TomlSettings")


class TomlSettings(BaseSettings):
    """Base of every part's settings: the environment first, then the file that all parts share."""

    model_config = SettingsConfigDict(extra="ignore", frozen=True, env_ignore_empty=True, populate_by_name=True)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, InitSettingsSource(settings_cls, _read(cls))

    def model_post_init(self, context: object, /) -> None:
        """No secret of any settings that were read is shown anywhere."""
        for name in type(self).model_fields:
            value: object = getattr(self, name)
            if isinstance(value, SecretStr):
                hide(value.get_secret_value())


class Settings(TomlSettings):
    """The settings of askback itself."""

    model_config = SettingsConfigDict(env_prefix="ASKBACK_")

    anthropic_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("ANTHROPIC_API_KEY", "anthropic_api_key"),
        description="Make a key in the Anthropic console.",
    )
    model: str = Field(default="claude-sonnet-5-5", min_length=1, description="Give the name of an Anthropic model.")
    max_tokens: int = Field(default=8192, ge=1, description="Give the most tokens that one answer may have.")
    tools: Annotated[tuple[str, ...], NoDecode] = Field(
        default=("AskUserQuestion",),
        description="Give names of question tools, and import paths such as mypackage.tools:deploy, in a list.",
    )
    tool_timeout: float = Field(
        default=60.0,
        gt=0,
        le=LONGEST_TIMEOUT,
        allow_inf_nan=False,
        description="Give the seconds that a tool of your own may take.",
    )
    tool_result_limit: int = Field(
        default=100_000, ge=1000, description="Give the most characters that the model reads of one tool's result."
    )
    timeout: float | None = Field(
        default=None,
        gt=0,
        le=LONGEST_TIMEOUT,
        allow_inf_nan=False,
        description='Give the seconds that the agent\'s questions wait for people, or "never" to wait for ever.',
    )
    budget_conversation: int | None = Field(
        default=None, ge=1, description="Give the most tokens that one conversation may use up, or leave it out."
    )
    budget_day: int | None = Field(
        default=None, ge=1, description="Give the most tokens that all conversations may use up on one day (UTC)."
    )
    rounds: int = Field(
        default=ROUNDS, ge=1, description="Give how often the model is called without a word from a person."
    )
    compact_at: int | None = Field(
        default=COMPACT_AT,
        ge=LEAST,
        description=f'Give the tokens from which on a conversation is compacted, {LEAST} at least, or "never".',
    )
    retention: float | None = Field(
        default=None,
        ge=3600,
        le=LONGEST_TIMEOUT,
        allow_inf_nan=False,
        description='Give how long conversations are kept, such as "90d" or "12h", or "never" to keep them for ever.',
    )
    typed_replies: TypedReplies = Field(
        default="offer",
        description="Give answer, offer or off: what becomes of a message that may be meant as an answer.",
    )
    system_prompt: str = Field(default=SYSTEM_PROMPT, description="Give what the model is told about its task.")
    database_url: str = Field(default="askback.db", min_length=1, description="Give the path of an SQLite file.")
    log_level: str = Field(default="INFO", description="Give DEBUG, INFO, WARNING, ERROR or CRITICAL.")
    log_format: Literal["text", "json"] = Field(default="text", description="Give text or json.")
    health: str | None = Field(
        default=None, description="Give HOST:PORT, where /healthz and /readyz are answered, such as 127.0.0.1:8080."
    )

    @property
    def folder(self) -> Path:
        """Where the file lies, or would: what is named by an import path is looked for there first."""
        return _file().parent

    @property
    def model_key(self) -> str:
        """The key for the model. Raises `OperatorError` where there is none."""
        if self.anthropic_api_key is None:
            raise OperatorError(
                "ANTHROPIC_API_KEY is missing. Make a key in the Anthropic console; `askback demo` needs none."
            )
        return self.anthropic_api_key.get_secret_value()

    @field_validator("tools", mode="before")
    @classmethod
    def _names(cls, value: object) -> object:
        if isinstance(value, str):
            value = value.split(",")
        if not isinstance(value, (list, tuple)):
            return value
        names = [str(name).strip() for name in value if str(name).strip()]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - from a file
        unknown = [name for name in names if name not in TOOLS and not is_import_path(name)]
        if unknown or not names:
            raise ValueError(f"names {', '.join(unknown) or 'no tool'}, but the tools are {', '.join(TOOLS)}")
        return tuple(dict.fromkeys(names))

    @field_validator("retention", mode="before")
    @classmethod
    def _kept(cls, value: object) -> object:
        if isinstance(value, str) and value.strip().lower() not in {"never", "none"}:
            return seconds_of(value)
        return None if isinstance(value, str) else value

    @field_validator("timeout", "compact_at", mode="before")
    @classmethod
    def _never(cls, value: object) -> object:
        if isinstance(value, bool):
            raise ValueError("is no number")
        return None if isinstance(value, str) and value.strip().lower() in {"never", "none"} else value

    @field_validator("health")
    @classmethod
    def _health(cls, value: str | None) -> str | None:
        return checked_address(value)

    @field_validator("log_level")
    @classmethod
    def _level(cls, value: str) -> str:
        level = value.strip().upper()
        if level not in {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}:
            raise ValueError("is no level")
        return level


def checked_address(value: str | None) -> str | None:
    """HOST:PORT written out in full. Raises `ValueError` where it is none."""
    return None if value is None else str(Address.read(value))


def is_address(text: str, *schemes: str) -> bool:
    """Whether a text is an address under one of these schemes that names a host."""
    try:
        parts = urlsplit(text)
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, a bracket that is not closed
        return False


def is_configured(kind: type[TomlSettings]) -> bool:
    """Whether anything that these settings cannot do without is set. Says nothing of whether it is right."""
    try:
        kind()
    except ValidationError as error:
        missing = {entry["loc"] for entry in error.errors() if entry["type"] == "missing"}
        return len(missing) < sum(field.is_required() for field in kind.model_fields.values())
    return True


def given(kind: type[TomlSettings]) -> frozenset[str]:
    """The fields that are set anywhere at all. Says nothing of whether they are right."""
    there = {name.lower() for name, value in os.environ.items() if value}
    file = _read(kind)
    return frozenset(
        name
        for name, field in kind.model_fields.items()
        if name in file
        or not there.isdisjoint(map(str.lower, (name_in_environment(kind, name, field), *_aliases(field))))
    )


def load(kind: type[S], **fixed: str | None) -> S:
    """Read settings; what is `fixed` wins. Raises `OperatorError` with one line for each that is missing or wrong."""
    try:
        return cast("Callable[..., S]", kind)(**{name: value for name, value in fixed.items() if value is not None})
    except ValidationError as error:
        lines = [_sentence(kind, entry["loc"], entry["type"], entry["msg"]) for entry in error.errors()]
        raise OperatorError("\n".join(dict.fromkeys(lines))) from None


def _file() -> Path:
    return Path(os.environ.get("ASKBACK_CONFIG") or FILE)


def _read(kind: type[TomlSettings]) -> dict[str, object]:
    """What stands in the file for this part. Raises `OperatorError`."""
    path = _file()
    try:
        with path.open("rb") as file:
            values: dict[str, object] = tomllib.load(file)
    except FileNotFoundError:
        if os.environ.get("ASKBACK_CONFIG"):
            raise OperatorError(f"ASKBACK_CONFIG names {path}, but there is no such file.") from None
        return {}
    except OSError as error:
        raise OperatorError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        # The parser's message names line and column, never the text.
        raise OperatorError(f"{path} is no valid TOML: {str(error).rstrip('.')}.") from None
    known = {name_in_file(kind, name, field): name for name, field in kind.model_fields.items()}
    part = _part_of(next(iter(known)))
    for key in values:
        if _part_of(key) == part and key not in known:
            near = difflib.get_close_matches(key.lower(), known, n=1)
            hint = f"Is it meant to be `{near[0]}`?" if near else f"There are: {', '.join(known)}."
            raise OperatorError(f"{path} sets `{key}`, which is no setting. {hint}")
    return {known[key]: value for key, value in values.items() if key in known}


def _part_of(key: str) -> str:
    """The bot whose setting a name in the file is, since it begins with that bot's name; empty for askback's own."""
    return next((one.name for one in entry_points(group="askback.bots") if key.startswith(f"{one.name}_")), "")


def _aliases(field: FieldInfo) -> Iterator[str]:
    if isinstance(field.validation_alias, AliasChoices):
        yield from (str(choice) for choice in field.validation_alias.choices)


def name_in_file(kind: type[TomlSettings], name: str, field: FieldInfo) -> str:
    return next((alias for alias in _aliases(field) if alias.islower()), name)


def name_in_environment(kind: type[TomlSettings], name: str, field: FieldInfo) -> str:
    """The variable that sets a field."""
    variable = next((alias for alias in _aliases(field) if alias.isupper()), "")
    return variable or f"{kind.model_config.get('env_prefix', '')}{name}".upper()


_WORDS = {
    "missing": "is missing",
    "float_parsing": "is no number",
    "float_type": "is no number",
    "finite_number": "is no number",
    "int_parsing": "is no whole number",
    "int_type": "is no whole number",
    "int_from_float": "is no whole number",
    "string_too_short": "is empty",
    "string_type": "is no text",
    "tuple_type": "is neither a text nor a list",
}


def _sentence(kind: type[TomlSettings], loc: tuple[int | str, ...], problem: str, message: str) -> str:
    """What is wrong with a setting and what to do, without the value: it may be a secret."""
    given = str(loc[0]) if loc else ""
    name, field = next(
        (name, field) for name, field in kind.model_fields.items() if given == name or given in _aliases(field)
    )
    variable = name_in_environment(kind, name, field)
    if problem == "missing" or os.environ.get(variable):
        shown = variable
    else:
        shown = f"{name_in_file(kind, name, field)} in {_file()}"
    what = _WORDS.get(problem) or message.removeprefix("Value error, ").replace("Input should", "must")
    return f"{shown} {what}. {field.description or ''}".rstrip()
