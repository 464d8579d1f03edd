"""Find variables of the environment that look like settings, but that no part of askback knows.

A misspelt name must not switch off what it was meant to set, such as the approvers. The settings file rejects unknown
names for the same reason.
"""

from __future__ import annotations

__all__ = [
    "check_environment",
    "describe_unknown_variables",
    "list_setting_names",
    "load_settings",
    "register_secrets_of_bots",
]

import difflib
import os
import re
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint
from importlib.util import find_spec

from askback.errors import OperatorError
from askback.ports.installed_bots import describe_missing, list_entries
from askback.settings.core import Settings
from askback.settings.env_file import VARIABLE, load_env_file
from askback.settings.loader import TomlSettings, list_environment_variables, load, register_set_secrets

PREFIX = "ASKBACK_"
OTHERS = frozenset({"ASKBACK_CONFIG", VARIABLE})
"""Variables that are not a field of any settings."""
TESTS = "ASKBACK_TEST_"
"""The beginning of variables that only the tests read."""
_SERVICE_LINK = re.compile(r"ASKBACK_(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)\w*)?)")
"""The variables that Kubernetes sets in every container if a service is called askback, or askback-slack."""


def load_settings() -> Settings:
    """Read askback's own settings, and register the secrets of every bot.

    Raises one `OperatorError` for all that are wrong, missing or unknown.
    """
    load_env_file()
    register_secrets_of_bots()
    problems = describe_unknown_variables()
    try:
        settings = load(Settings)
    except OperatorError as error:
        problems.append(str(error))
    else:
        if not problems:
            return settings
    raise OperatorError("\n".join(problems))


def check_environment() -> None:
    """Raise one `OperatorError` that names every variable which no part knows, with what was probably meant."""
    problems = describe_unknown_variables()
    if problems:
        raise OperatorError("\n".join(problems))


def describe_unknown_variables() -> list[str]:
    """Return a sentence about each variable that looks like a setting, but has no effect."""
    known = {*list_environment_variables(Settings), *OTHERS}
    lacking: dict[str, str] = {}
    accepted: list[str] = [TESTS]
    for entry in list_entries():
        kinds = _load_kinds(entry)
        if kinds is None:
            accepted.append(f"{PREFIX}{entry.name.upper()}_")
            continue
        names = frozenset[str]().union(*map(list_environment_variables, kinds))
        known |= names
        if any(name.upper() in names for name in os.environ) and (missing := describe_missing(entry)):
            lacking |= dict.fromkeys(names, missing)
    found: list[str] = []
    for name in sorted(os.environ):
        upper = name.upper()
        if not upper.startswith(PREFIX) or upper.startswith(tuple(accepted)) or _is_service_link(os.environ, name):
            continue
        if upper not in known:
            found.append(f"{name} is set, but askback has no such setting. {_suggest(upper, known)}")
        elif upper in lacking:
            found.append(f"{name} is set, but has no effect. {lacking[upper]} Or unset the variable.")
    return found


def register_secrets_of_bots() -> None:
    """Register the secrets of every bot for redaction, also of those that do not run in this process."""
    for entry in list_entries():
        for kind in _load_kinds(entry) or ():
            register_set_secrets(kind)


def list_setting_names(bot: str) -> frozenset[str] | None:
    """Return the names of a bot's settings. None if its package does not tell them, or there is no such bot."""
    for entry in list_entries():
        if entry.name == bot and (kinds := _load_kinds(entry)) is not None:
            return frozenset[str]().union(*(kind.model_fields for kind in kinds))
    return None


def _load_kinds(entry: EntryPoint) -> list[type[TomlSettings]] | None:
    """Return the settings of a bot. None if its package does not have the module for them.

    Its module `settings` needs none of its libraries, so that one bot can tell those of another that is not installed.
    """
    module = f"{entry.module.rpartition('.')[0]}.settings".lstrip(".")
    try:
        if find_spec(module) is None:
            return None
    except ModuleNotFoundError:
        return None
    found: list[object] = list(vars(import_module(module)).values())
    return [
        value
        for value in found
        if isinstance(value, type) and issubclass(value, TomlSettings) and value is not TomlSettings
    ]


def _suggest(name: str, known: set[str]) -> str:
    """Return a question with the nearest name, or what else to do."""
    ours = {one.removeprefix(PREFIX): one for one in sorted(known)}
    near = difflib.get_close_matches(name.removeprefix(PREFIX), ours, n=1)
    if near:
        return f"Did you mean {ours[near[0]]}?"
    return "Unset it; the documentation lists all settings on its page “All settings”."


def _is_service_link(environment: Mapping[str, str], name: str) -> bool:
    return "KUBERNETES_SERVICE_HOST" in environment and _SERVICE_LINK.fullmatch(name) is not None
