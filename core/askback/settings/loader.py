"""Read settings from the environment first, then from one file; report wrong ones.

The file is the one that `--config` or ASKBACK_CONFIG names, or else the one in the user's configuration folder. A file
in the working directory is read only if it is named: others may have written it, as in a pipeline's checkout.
"""

from __future__ import annotations

__all__ = [
    "TomlSettings",
    "describe_value",
    "find_file",
    "get_environment_variable",
    "get_file_key",
    "is_configured",
    "list_environment_variables",
    "list_set_fields",
    "load",
    "read_file",
    "register_set_secrets",
]

import difflib
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar, cast, get_args

from pydantic import AliasChoices, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from askback.errors import OperatorError
from askback.ports.installed_bots import list_bot_names
from askback.settings.paths import FILE, find_config_folder
from askback.text.redaction import register_secrets

S = TypeVar("S", bound="TomlSettings")


class TomlSettings(BaseSettings):
    """Base class for the settings of each part. The environment takes precedence over the file that all parts share.

    The reference shows the docstring of each field. Its `description` ends the error about an invalid value.
    """

    # A default is never wrong, and only a list that somebody set must have entries.
    model_config = SettingsConfigDict(extra="ignore", frozen=True, populate_by_name=True, validate_default=False)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        # pydantic's own source would also take `TOKEN` or `ADMINS`, which are names of fields and not of settings.
        in_file = _read(cls)
        sources = (_read_environment(cls, in_file), in_file)
        return init_settings, *(InitSettingsSource(settings_cls, values) for values in sources)

    @classmethod
    def resolve_paths(cls, values: dict[str, object], folder: Path) -> dict[str, object]:
        """Return the values of the file in `folder`, with relative paths resolved from that folder."""
        del folder
        return values

    def model_post_init(self, context: object, /) -> None:
        """Register every secret for redaction, so that it is shown nowhere."""
        for name in type(self).model_fields:
            value: object = getattr(self, name)
            if isinstance(value, SecretStr):
                register_secrets(value.get_secret_value())


def register_set_secrets(kind: type[TomlSettings]) -> None:
    """Register the secrets of a part that may not run here, so that they are shown nowhere either."""
    try:
        in_file = _read(kind)
    except OperatorError:
        in_file = {}  # the part itself reports what is wrong in the file
    values = {**in_file, **_read_environment(kind, in_file)}
    for name, field in kind.model_fields.items():
        value = values.get(name)
        if isinstance(value, str) and SecretStr in (field.annotation, *get_args(field.annotation)):
            register_secrets(value)


def is_configured(kind: type[TomlSettings]) -> bool:
    """Return True if any required setting is set, even to a wrong value."""
    try:
        kind()
    except ValidationError as error:
        missing = {entry["loc"] for entry in error.errors() if entry["type"] == "missing"}
        return len(missing) < sum(field.is_required() for field in kind.model_fields.values())
    return True


def list_set_fields(kind: type[TomlSettings]) -> frozenset[str]:
    """Return the fields that are set in the environment or the file, even to an invalid value."""
    in_file = _read(kind)
    return frozenset({name for name, value in _read_environment(kind, in_file).items() if value}.union(in_file))


def load(kind: type[S], **fixed: str | None) -> S:
    """Read settings; `fixed` values take precedence.

    Raises `OperatorError` with one line for each setting that is missing or wrong.
    """
    try:
        return cast("Callable[..., S]", kind)(**{name: value for name, value in fixed.items() if value is not None})
    except ValidationError as error:
        lines = [_describe_problem(kind, entry["loc"], entry["type"], entry["msg"]) for entry in error.errors()]
        raise OperatorError("\n".join(dict.fromkeys(lines))) from None


def describe_value(kind: type[TomlSettings], name: str, value: str) -> str | None:
    """Say what is wrong with a value for one field, whatever the other fields have. None means nothing.

    The sentence has no subject, and never contains the value.
    """
    try:
        kind.model_validate({name: value})
    except ValidationError as error:
        names = {name, *_list_aliases(kind.model_fields[name])}
        for entry in error.errors(include_input=False, include_url=False):
            if entry["loc"] and entry["loc"][0] in names:
                return _describe_type(entry["type"], entry["msg"])
    return None


def find_file() -> Path | None:
    """Return the path of the file that all parts share, which may not exist; None if there can be none."""
    named = os.environ.get("ASKBACK_CONFIG")
    if named:
        return None if named == os.devnull else Path(named)
    folder = find_config_folder()
    return None if folder is None else folder / FILE


def read_file(path: Path | None) -> dict[str, object]:
    """Return all values in the settings file; none if there is no such file.

    Raises `OperatorError` if the file cannot be read or is not TOML, or if the operator names one that does not exist.
    """
    if path is None:
        return {}
    try:
        with path.open("rb") as opened:
            return tomllib.load(opened)
    except FileNotFoundError:
        if os.environ.get("ASKBACK_CONFIG"):
            raise OperatorError(
                f"The settings file {path} does not exist. Correct --config or ASKBACK_CONFIG."
            ) from None
        return {}
    except OSError as error:
        raise OperatorError(
            f"Could not read the settings file {path}: {error.strerror}. Correct its path or its permissions."
        ) from None
    except ValueError as error:
        # The parser's message contains line and column, never the text.
        raise OperatorError(f"{path} is not valid TOML: {str(error).rstrip('.')}. Correct it there.") from None


def _read(kind: type[TomlSettings]) -> dict[str, object]:
    """Return this part's values in the file. Raises `OperatorError`."""
    path = find_file()
    values = read_file(path)
    if path is None:
        return {}
    known = {get_file_key(kind, name, field): name for name, field in kind.model_fields.items()}
    part = _find_bot_name(next(iter(known)))
    for key in values:
        if _find_bot_name(key) == part and key not in known:
            near = difflib.get_close_matches(key.lower(), known, n=1)
            hint = f"Did you mean `{near[0]}`?" if near else f"The settings are: {', '.join(known)}."
            raise OperatorError(f"{path} sets `{key}`, which is not a setting. {hint}")
    return kind.resolve_paths({known[key]: value for key, value in values.items() if key in known}, path.parent)


def _read_environment(kind: type[TomlSettings], in_file: Mapping[str, object]) -> dict[str, object]:
    """Return this part's values in the environment. Capital and small letters are the same there.

    An empty variable counts as not set. But an empty list that no file sets is kept, so that it is rejected: a program
    that could not fill it in must not make everybody an approver.
    """
    there = {name.upper(): value for name, value in os.environ.items()}
    given = ((name, field, there.get(variable)) for name, field, variable in _list_variables(kind))
    return {
        name: value
        for name, field, value in given
        if value or (value is not None and name not in in_file and field.annotation == tuple[str, ...])
    }


def list_environment_variables(kind: type[TomlSettings]) -> frozenset[str]:
    """Return the environment variables that set this part's fields."""
    return frozenset(variable for _, _, variable in _list_variables(kind))


def _list_variables(kind: type[TomlSettings]) -> Iterator[tuple[str, FieldInfo, str]]:
    for name, field in kind.model_fields.items():
        yield name, field, get_environment_variable(kind, name, field)


def _find_bot_name(key: str) -> str:
    """Return the bot whose name begins this name in the file; empty for askback's own settings."""
    return next((name for name in list_bot_names() if key.startswith(f"{name}_")), "")


def _list_aliases(field: FieldInfo) -> Iterator[str]:
    if isinstance(field.validation_alias, AliasChoices):
        yield from (str(choice) for choice in field.validation_alias.choices)


def get_file_key(kind: type[TomlSettings], name: str, field: FieldInfo) -> str:
    return next((alias for alias in _list_aliases(field) if alias.islower()), name)


def get_environment_variable(kind: type[TomlSettings], name: str, field: FieldInfo) -> str:
    """Return the environment variable that sets a field."""
    variable = next((alias for alias in _list_aliases(field) if alias.isupper()), "")
    return variable or f"{kind.model_config.get('env_prefix', '')}{name}".upper()


_WORDS = {
    "missing": "is missing",
    "float_parsing": "is not a number",
    "float_type": "is not a number",
    "finite_number": "is not a number",
    "int_parsing": "is not a whole number",
    "int_type": "is not a whole number",
    "int_from_float": "is not a whole number",
    "string_too_short": "is empty",
    "string_type": "must be a string",
    "tuple_type": "is neither a text nor a list",
}


def _describe_problem(kind: type[TomlSettings], loc: tuple[int | str, ...], problem: str, message: str) -> str:
    """Describe a wrong setting and its fix, without the value: it may be a secret."""
    given = str(loc[0]) if loc else ""
    name, field = next(
        (name, field) for name, field in kind.model_fields.items() if given == name or given in _list_aliases(field)
    )
    variable = get_environment_variable(kind, name, field)
    if problem == "missing" or name in _read_environment(kind, _read(kind)):
        shown = variable
    else:
        shown = f"{get_file_key(kind, name, field)} in {find_file()}"
    return f"{shown} {_describe_type(problem, message)}. {field.description or ''}".rstrip()


def _describe_type(problem: str, message: str) -> str:
    return _WORDS.get(problem) or message.removeprefix("Value error, ").replace("Input should", "must")
