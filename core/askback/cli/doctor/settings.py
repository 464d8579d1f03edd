"""Check the settings of askback itself, and the file that all parts share."""

from __future__ import annotations

__all__ = ["examine_settings"]

import difflib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from shlex import quote

from askback.errors import OperatorError
from askback.ports.findings import Finding, findings_from_error, good, warning
from askback.settings.core import Settings
from askback.settings.loader import find_file, get_environment_variable, load
from askback.settings.working_directory import describe_unread_database, describe_unread_file
from askback.user_tools.loader import load_tools

PREFIX = "ASKBACK_"
SECRET = ("token", "key", "secret")
OTHERS = ("ASKBACK_CONFIG",)


def examine_settings(bots: Iterable[str]) -> tuple[Settings | None, list[Finding]]:
    """Return the settings, if they can be read, and findings about them.

    `bots` are the names of all bots, with which the variables of their own settings begin.
    """
    path = find_file()
    named = "the environment" if path is None else str(path)
    found = [*_find_unknown_variables(bots), *_parse_warning("settings", describe_unread_file("askback doctor"))]
    settings: Settings | None = None
    try:
        settings = load(Settings)
    except OperatorError as error:
        found += findings_from_error("settings", error, f"Mend it in {named}.")
    else:
        try:
            load_tools(settings.tools, settings.folder, settings.approval_tools)
        except OperatorError as error:
            found += findings_from_error("tools", error, f"Mend it in {named}.")
    if path is not None:
        found += _open_to_others(path)
    if settings is not None:
        found += _parse_warning("database", describe_unread_database(settings))
    if settings is not None and not found:
        both = path is not None and path.exists()
        sources = f"{path} and the environment" if both else "the environment"
        found.append(good("settings", f"Every setting from {sources} is understood."))
    return settings, found


def _parse_warning(what: str, sentence: str | None) -> list[Finding]:
    """Return a warning about a file in the working directory that is not used."""
    if sentence is None:
        return []
    summary, _, cure = sentence.partition(" If it is yours, ")
    return [warning(what, summary, f"If it is yours, {cure}")]


def _find_unknown_variables(bots: Iterable[str]) -> list[Finding]:
    """Return warnings about variables that look like settings but are not."""
    known = {get_environment_variable(Settings, name, field) for name, field in Settings.model_fields.items()}
    theirs = tuple(f"{PREFIX}{bot.upper()}_" for bot in bots)
    found: list[Finding] = []
    for name in sorted(os.environ):
        if not name.upper().startswith(PREFIX) or name.upper() in {*known, *OTHERS} or name.upper().startswith(theirs):
            continue
        near = difflib.get_close_matches(name.upper(), known, n=1)
        listed = "Unset it; the documentation lists all settings on its page “All settings”."
        cure = f"Write {near[0]}, or unset it." if near else listed
        found.append(warning("settings", f"{name} is set, which is no setting.", cure))
    return found


def _open_to_others(path: Path) -> list[Finding]:
    """Return a warning if others can change the file, or read secrets in it."""
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8").lower()
    except (OSError, ValueError):
        return []  # loading the settings reports that the file cannot be read
    cure = f"Run: chmod 600 {quote(str(path))}"
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        summary = f"Others on this machine can change {path}, which decides whom the bot trusts."
        return [warning("settings", summary, cure)]
    if mode & (stat.S_IRWXG | stat.S_IRWXO) and any(word in text for word in SECRET):
        return [warning("settings", f"Others on this machine can read the secrets in {path}.", cure)]
    return []
