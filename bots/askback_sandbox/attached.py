"""Files that people attach to a message; a platform reports only their name, type and size."""

import mimetypes
from dataclasses import dataclass

from pydantic import JsonValue

from .json_values import JsonObject, as_text

MOST = 10  # Discord allows ten files per message [dd resources/message]; Slack's client allows as many
LONGEST_NAME = 255
PLAIN_SIZE = 1_024
LARGEST = 10 * 2**20


@dataclass(frozen=True)
class Attached:
    """A file that a person attaches; only its name is required."""

    name: str
    size: int = PLAIN_SIZE

    @property
    def mimetype(self) -> str:
        """The MIME type guessed from the name, as clients guess it."""
        return mimetypes.guess_type(self.name)[0] or "application/octet-stream"


class NoFileError(ValueError):
    """The given value is not a file that can be attached; the message gives the reason."""


def read_attached(value: JsonValue) -> tuple[Attached, ...]:
    """Read a name, an object with `name` and `size`, or a list of these; None means no files.

    Raises:
        NoFileError: a name or a size is invalid, or there are more than `MOST` files.
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
