"""Files that people put beside a message: what a platform tells of them is their name, their kind and their size."""

import mimetypes
from dataclasses import dataclass

from pydantic import JsonValue

from .json_values import JsonObject, as_text

MOST = 10  # Discord takes ten files in a message [dd resources/message]; Slack's client takes as many
LONGEST_NAME = 255
PLAIN_SIZE = 1_024
LARGEST = 10 * 2**20


@dataclass(frozen=True)
class Attached:
    """A file that somebody attaches; only its name has to be given."""

    name: str
    size: int = PLAIN_SIZE

    @property
    def mimetype(self) -> str:
        """As the name says it, which is how clients find it out."""
        return mimetypes.guess_type(self.name)[0] or "application/octet-stream"


class NoFileError(ValueError):
    """What was given is no file that could be attached; the message says why."""


def read_attached(value: JsonValue) -> tuple[Attached, ...]:
    """A name, or an object with `name` and `size`, or a list of these; None is no file.

    Raises:
        NoFileError: a name is missing, or there are too many.
    """
    given = [] if value is None else value if isinstance(value, list) else [value]
    if len(given) > MOST:
        raise NoFileError(f"a message takes at most {MOST} files")
    return tuple(_one(item) for item in given)


def _one(value: JsonValue) -> Attached:
    entry: JsonObject = value if isinstance(value, dict) else {"name": value}
    name, size = as_text(entry.get("name")).strip(), entry.get("size", PLAIN_SIZE)
    if not name or len(name) > LONGEST_NAME or "/" in name or "\n" in name:
        raise NoFileError(f"a file needs a name of 1 to {LONGEST_NAME} characters, without slashes")
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= LARGEST:
        raise NoFileError(f"the size of {name!r} has to be a number of bytes, {LARGEST} at most")
    return Attached(name, size)
