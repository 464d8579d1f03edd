"""Check askback's own settings, and the settings file that all parts share."""

from __future__ import annotations

__all__ = ["examine_file", "examine_settings", "parse_warning"]

import os
import stat
from pathlib import Path
from shlex import quote

from askback.errors import OperatorError
from askback.ports.findings import Finding, report_error, report_good, report_warning
from askback.settings.core import Settings
from askback.settings.env_file import VARIABLE
from askback.settings.environment import describe_unknown_variables
from askback.settings.loader import find_file, load, read_file
from askback.settings.working_directory import describe_unread_database, describe_unread_file
from askback.user_tools.loader import load_tools

SECRET = ("token", "key", "secret")


def examine_file() -> list[Finding]:
    """Return findings if the settings file itself cannot be read, so that nothing else can be checked."""
    path = find_file()
    try:
        read_file(path)
    except OperatorError as error:
        found = report_error("settings", error, f"Fix {path}.")
        return [one.evolve(cure=f"{one.cure} Then run askback doctor again for everything else.") for one in found]
    return []


def examine_settings() -> tuple[Settings | None, list[Finding]]:
    """Return the settings, if they can be read, and findings about them."""
    path = find_file()
    named = "the environment" if path is None else str(path)
    unknown = OperatorError("\n".join(describe_unknown_variables()))
    found = report_error("settings", unknown, "Unset it.")
    found += parse_warning("settings", describe_unread_file("askback doctor"))
    settings: Settings | None = None
    try:
        settings = load(Settings)
    except OperatorError as error:
        found += report_error("settings", error, f"Fix it in {named}.")
    else:
        try:
            load_tools(settings.tools, settings.folder, settings.approval_tools)
        except OperatorError as error:
            found += report_error("tools", error, f"Fix it in {named}.")
    for file in filter(None, (path, os.environ.get(VARIABLE))):
        found += _open_to_others(Path(file))
    if settings is not None:
        found += parse_warning("database", describe_unread_database(settings))
    if settings is not None and not found:
        both = path is not None and path.exists()
        sources = f"{path} and the environment" if both else "the environment"
        found.append(report_good("settings", f"All settings from {sources} are valid."))
    return settings, found


def parse_warning(what: str, sentence: str | None) -> list[Finding]:
    """Return a warning about a file in the working directory that is not used."""
    if sentence is None:
        return []
    summary, _, cure = sentence.partition(" If it is yours, ")
    return [report_warning(what, summary, f"If it is yours, {cure}")]


def _open_to_others(path: Path) -> list[Finding]:
    """Return a warning if others can change the file, or read secrets in it."""
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8").lower()
    except (OSError, ValueError):
        return []  # loading the settings reports that the file cannot be read
    cure = f"Run: chmod 600 {quote(str(path))}"
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        summary = f"Other users of this machine can change {path}, which decides whom the bot trusts."
        return [report_warning("settings", summary, cure)]
    if mode & (stat.S_IRWXG | stat.S_IRWXO) and any(word in text for word in SECRET):
        return [report_warning("settings", f"Other users of this machine can read the secrets in {path}.", cure)]
    return []
