"""The settings of askback itself, and the file that all parts share."""

from __future__ import annotations

__all__ = ["examine_settings"]

import difflib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from askback.doctor.findings import Finding, good, told_by, warning
from askback.errors import OperatorError
from askback.own.loading import load_tools
from askback.settings.core import Settings
from askback.settings.reading import FILE, load, name_in_environment

PREFIX = "ASKBACK_"
SECRET = ("token", "key", "secret")
OTHERS = ("ASKBACK_CONFIG",)


def examine_settings(bots: Iterable[str]) -> tuple[Settings | None, list[Finding]]:
    """The settings, if they can be read, and what there is to say of them. `bots`: whose names begin their own."""
    path = Path(os.environ.get("ASKBACK_CONFIG") or FILE)
    found = _unknown(bots)
    settings: Settings | None = None
    try:
        settings = load(Settings)
    except OperatorError as error:
        found += told_by("settings", error, f"Mend it in {path}.")
    else:
        try:
            load_tools(settings.tools, settings.folder, settings.approval_tools)
        except OperatorError as error:
            found += told_by("tools", error, f"Mend it in {path}.")
    found += _readable(path)
    if settings is not None and not found:
        file = f"{path} and the environment" if path.exists() else "the environment"
        found.append(good("settings", f"Every setting from {file} is understood."))
    return settings, found


def _unknown(bots: Iterable[str]) -> list[Finding]:
    """Variables that look like settings and are none."""
    known = {name_in_environment(Settings, name, field) for name, field in Settings.model_fields.items()}
    theirs = tuple(f"{PREFIX}{bot.upper()}_" for bot in bots)
    found: list[Finding] = []
    for name in sorted(os.environ):
        if not name.upper().startswith(PREFIX) or name.upper() in {*known, *OTHERS} or name.upper().startswith(theirs):
            continue
        near = difflib.get_close_matches(name.upper(), known, n=1)
        cure = f"Write {near[0]}, or unset it." if near else "Unset it; the README lists those that there are."
        found.append(warning("settings", f"{name} is set, which is no setting.", cure))
    return found


def _readable(path: Path) -> list[Finding]:
    """A file with secrets in it that others can read."""
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8").lower()
    except (OSError, ValueError):
        return []  # that it cannot be read is told by whoever loads it
    if mode & (stat.S_IRWXG | stat.S_IRWXO) and any(word in text for word in SECRET):
        return [
            warning("settings", f"Others on this machine can read the secrets in {path}.", f"Run: chmod 600 {path}")
        ]
    return []
