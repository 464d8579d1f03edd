"""Finds the folders of the user that askback runs as. It trusts these, unlike the working directory."""

from __future__ import annotations

__all__ = ["DATABASE", "FILE", "find_config_folder", "find_default_database"]

from collections.abc import Callable
from pathlib import Path

from platformdirs import user_config_dir, user_state_dir

from askback.errors import OperatorError

FILE = "askback.toml"
DATABASE = "askback.db"
_APP = "askback"


def find_config_folder() -> Path | None:
    """Return the folder of the default settings file; None if the user has no home directory."""
    return _get_absolute_folder(user_config_dir)


def find_default_database() -> str:
    """Return the path of the default database. Raises `OperatorError` if the user has no home directory."""
    folder = _get_absolute_folder(user_state_dir)
    if folder is None:
        raise OperatorError(
            "Cannot place the database, because this user has no home directory. Set ASKBACK_DATABASE_URL to "
            "a file or a PostgreSQL database, or set HOME."
        )
    return str(folder / DATABASE)


def _get_absolute_folder(folder: Callable[[str], str]) -> Path | None:
    """Return the folder. None for a relative one, such as an unresolved ~: it would be in the working directory."""
    try:
        path = Path(folder(_APP))
    except RuntimeError:
        return None  # no home directory
    return path if path.is_absolute() else None
