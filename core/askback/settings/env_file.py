"""Set variables from the file that `--env-file` or ASKBACK_ENV_FILE names.

No other file is read. A `.env` in the working directory is not, because others may have put it there.
"""

from __future__ import annotations

__all__ = ["VARIABLE", "describe_unread_env_file", "load_env_file"]

import io
import os
import re
from pathlib import Path

from askback.errors import OperatorError

VARIABLE = "ASKBACK_ENV_FILE"
FILE = ".env"
MAX_BYTES = 1_000_000
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def load_env_file() -> None:
    """Set the variables of the named file, except those that are set already. Does nothing if no file is named.

    Values are taken literally: `${NAME}` stays as it is. Raises `OperatorError`.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        return
    from dotenv.parser import parse_stream  # most commands start without it

    found: dict[str, str] = {}
    for binding in parse_stream(io.StringIO(_read(Path(named)))):
        if binding.key is None and not binding.error:
            continue  # an empty line, or a comment
        if binding.key is None or binding.value is None or not _NAME.fullmatch(binding.key) or "\0" in binding.value:
            line = binding.original.line + binding.original.string.count("\n", 0, _count_blank(binding.original.string))
            raise OperatorError(f"Line {line} of {named} is not NAME=value: correct it.")
        found[binding.key] = binding.value
    for name, value in found.items():
        os.environ.setdefault(name, value)


def describe_unread_env_file(command: str) -> str | None:
    """Say that `.env` of the working directory is not read, and how `command` would read it.

    None means that the file does not exist, or that the operator has named a file. Nothing of it is read for this.
    """
    if os.environ.get(VARIABLE) or not os.path.lexists(FILE):
        return None
    return (
        f"{FILE} in this folder is not read, since anybody may have put it here. If it is yours, name it: "
        f"askback --env-file {FILE} {command}"
    )


def _count_blank(text: str) -> int:
    """Return the number of characters before the first word. The parser counts empty lines to the statement below."""
    return len(text) - len(text.lstrip())


def _read(path: Path) -> str:
    try:
        with path.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise OperatorError(f"Could not read {path} ({error.strerror}). Correct --env-file or {VARIABLE}.") from None
    if len(data) > MAX_BYTES:
        raise OperatorError(f"{path} is too large for variables: {MAX_BYTES:,} bytes are allowed. Name another file.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise OperatorError(f"{path} is not UTF-8 text: correct it.") from None
