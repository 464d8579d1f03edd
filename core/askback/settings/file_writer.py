"""Write secrets into the settings file, so that only its user can read them and nobody ever sees half of it."""

from __future__ import annotations

__all__ = ["check_target", "store_secrets"]

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import tomlkit
from pydantic import SecretStr
from tomlkit.exceptions import TOMLKitError

from askback.errors import OperatorError
from askback.internal.folder import flush_folder
from askback.settings.loader import find_file


def check_target() -> Path:
    """Return the settings file to write, before anybody types a secret. Raises `OperatorError`.

    Nothing is created. A link is rejected, since somebody else may have chosen where it leads.
    """
    path = find_file()
    if path is None:
        raise OperatorError(
            "There is no folder for the settings file, or ASKBACK_CONFIG switches it off. Name a file: --config FILE"
        )
    path = path.absolute()
    if path.is_symlink():
        raise OperatorError(f"{path} is a link. Name the file itself: --config {path.resolve()}")
    if path.exists() and not path.is_file():
        raise OperatorError(f"{path} is not a file. Name another: --config FILE")
    folder = next(one for one in path.parents if one.exists())
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OperatorError(f"Could not write in {folder}. Allow it, or name another file: --config FILE")
    return path


def store_secrets(path: Path, secrets: Mapping[str, SecretStr]) -> None:
    """Set these values in the file, and keep everything else in it, comments included. Raises `OperatorError`.

    Afterwards the file has mode 600 and its former owner. A reader sees the former file or the new one.
    """
    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.document()
        for key, secret in secrets.items():
            document[key] = secret.get_secret_value()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace(path, tomlkit.dumps(document))  # pyright: ignore[reportUnknownMemberType] - tomlkit leaves a part open
    except OSError as error:
        raise OperatorError(f"Could not write {path}: {error.strerror}. It is unchanged.") from None
    except (TOMLKitError, UnicodeDecodeError):
        raise OperatorError(f"{path} is not valid TOML: correct it first. It is unchanged.") from None


def _replace(path: Path, text: str) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # its mode is 600
    part = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(text)
            opened.flush()
            if path.exists():
                former = path.stat()
                os.fchown(opened.fileno(), former.st_uid, former.st_gid)
            os.fsync(opened.fileno())
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    flush_folder(path.parent)
