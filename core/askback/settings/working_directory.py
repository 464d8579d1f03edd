"""Report files in the working directory that earlier releases used and this one ignores, with ways to use them."""

from __future__ import annotations

__all__ = ["check_database", "check_file", "describe_unread_database", "describe_unread_file"]

import os
from pathlib import Path
from shlex import quote

from askback.errors import OperatorError
from askback.settings.core import Settings
from askback.settings.loader import find_file
from askback.settings.paths import DATABASE, FILE, find_config_folder, find_default_database


def describe_unread_file(command: str = "") -> str | None:
    """Say that `askback.toml` of the working directory is not read, and how `command` would read it.

    None means that the file does not exist, that it is read, or that --config or ASKBACK_CONFIG names a file.
    """
    read = find_file()
    if os.environ.get("ASKBACK_CONFIG") or not os.path.lexists(FILE) or (read is not None and _is_same(read, FILE)):
        return None
    ways = [f"set ASKBACK_CONFIG={FILE}"]
    if command:
        ways.insert(0, f"name it: {command} --config {FILE}")
    folder = find_config_folder()
    if folder is not None and not os.path.lexists(folder / FILE):
        ways.append(f"move it to {folder / FILE}")
    return (
        f"{FILE} in this folder is not read, since anybody may have put it here. If it is yours, {', or '.join(ways)}."
    )


def describe_unread_database(settings: Settings) -> str | None:
    """Say that `askback.db` of the working directory is not used, and how to keep using it.

    None means that the file does not exist, that it is empty or in use already, or that a setting names the database.
    """
    try:
        if settings.database_url != find_default_database() or os.lstat(DATABASE).st_size == 0:
            return None
    except (OSError, OperatorError):
        return None
    used = Path(settings.database_url)
    if _is_same(used, DATABASE):
        return None
    ways = [f"set ASKBACK_DATABASE_URL={quote(str(Path(DATABASE).absolute()))}"]
    if not os.path.lexists(used):
        folder = quote(str(used.parent))
        ways.append(f"move it while no process uses it: mkdir -p -m 700 {folder} && mv -n {DATABASE}* {folder}/")
    return f"{DATABASE} in this folder is not used; the database is {used}. If it is yours, {', or '.join(ways)}"


def check_file(command: str = "") -> None:
    """Raise `OperatorError` if a bot would run without the settings file in the working directory.

    Without its allow lists, the bot would talk to everyone.
    """
    unread, read = describe_unread_file(command), find_file()
    if unread is not None and (read is None or not read.exists()):
        raise OperatorError(f"{unread} To start without it: ASKBACK_CONFIG={os.devnull}")


def check_database(settings: Settings) -> None:
    """Raise `OperatorError` if a bot would start an empty database despite the one in the working directory."""
    unread = describe_unread_database(settings)
    if unread is not None:
        raise OperatorError(f"{unread}\nTo start without it, move {DATABASE} to another folder.")


def _is_same(one: Path, other: str) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
