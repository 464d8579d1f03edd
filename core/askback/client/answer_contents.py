"""Reads the contents of files that people gave as answers, and saves them in a folder."""

from __future__ import annotations

__all__ = ["build_name", "read_content", "read_file", "save_files"]

import os
from pathlib import Path
from typing import Final

from askback.domain.ask import Ask
from askback.domain.attached_file import MessageFile
from askback.errors import CallerError, OperatorError
from askback.settings.environment import load_settings
from askback.store.external_access import DatabaseLocation, read_snapshot
from askback.store.queries import answer_files
from askback.store.url import parse_database_url
from askback.text.literal import quote_line, to_single_line

_LONGEST: Final = 100
"""Maximum number of characters of the name of a saved file."""
_TRIES: Final = 1_000
"""Maximum number of files of the same name in a folder."""


def read_file(ask_id: str, file_id: str) -> bytes:
    """Return the contents of a file in the answer to a question, by the ids in `AskOutcome.answers`.

    Reads the database without disturbing a running bot. Raises `CallerError` if there is no such file, or if it could
    not be read from the platform, and `OperatorError` if the database cannot be read.
    """
    found = read_content(parse_database_url(load_settings().database_url), ask_id, file_id)
    if found is None:
        raise CallerError(
            f"The question {quote_line(ask_id)} has no answer with the file {quote_line(file_id)} whose contents were "
            "read: use the `id` of a file without a `problem`."
        )
    return found[1]


def read_content(where: DatabaseLocation, ask_id: str, file_id: str) -> tuple[MessageFile, bytes] | None:
    """Return a file of an answer with its contents. None if there is none, or if it was not read."""
    return read_snapshot(where, lambda connection: answer_files.get_content(connection, ask_id, file_id))


def save_files(where: DatabaseLocation, ask: Ask, folder: Path) -> tuple[Path, ...]:
    """Save the files of the answers to a question, and return their paths. No file is ever replaced.

    A file whose contents were not read is left out. Raises `OperatorError` if the folder cannot be written.
    """
    saved: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in () if ask.outcome is None else ask.outcome.files:
            found = read_content(where, ask.id, file.id)
            if found is not None:
                saved.append(_write(folder, build_name(file.name), found[1]))
    except OSError as error:
        problem = f"The files cannot be saved in {folder}: {error.strerror}. Choose another folder."
        raise OperatorError(problem) from error
    return tuple(saved)


def build_name(given: str) -> str:
    """Return a safe name for a file that a person's program has named. It has no folder, and hides nothing."""
    line = to_single_line(given)
    kept = "".join(one if one.isalnum() or one in "._- ()" else "_" for one in line).strip(" .")
    stem, dot, suffix = kept.rpartition(".")
    if not dot or len(suffix) > _LONGEST // 4:
        return kept[:_LONGEST].strip(" .") or "file"
    return f"{stem[: _LONGEST - len(suffix) - 1].strip(' .') or 'file'}.{suffix}"


def _write(folder: Path, name: str, content: bytes) -> Path:
    """Write a new file. If its name is taken, it gets a number."""
    whole = Path(name)
    for number in range(1, _TRIES):
        path = folder / (name if number == 1 else f"{whole.stem} ({number}){whole.suffix}")
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        return path
    raise OperatorError(f"The folder {folder} has too many files named {name}: choose another folder.")
