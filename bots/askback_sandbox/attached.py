"""Files that people attach to a message: their names, types and sizes, and their contents if they have any."""

import base64
import binascii
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
    content: bytes | None = None
    """Its content. Without one, the platform tells of the file, but cannot send it."""
    kind: str | None = None
    """Its MIME type; None guesses it from the name, as clients do."""

    @property
    def mimetype(self) -> str:
        """The MIME type that the platform states."""
        return self.kind or mimetypes.guess_type(self.name)[0] or "application/octet-stream"


class NoFileError(ValueError):
    """The given value is not a file that can be attached; the message gives the reason."""


def read_attached(value: JsonValue) -> tuple[Attached, ...]:
    """Read a name, an object, or a list of these; None means no files.

    An object has a `name`, and either a `size`, or its content as `text` or `base64`. `type` is its MIME type.

    Raises:
        NoFileError: a file is invalid, or there are more than `MOST` files.
    """
    given = [] if value is None else value if isinstance(value, list) else [value]
    if len(given) > MOST:
        raise NoFileError(f"a message takes at most {MOST} files")
    return tuple(_one(item) for item in given)


def _one(value: JsonValue) -> Attached:
    entry: JsonObject = value if isinstance(value, dict) else {"name": value}
    name = as_text(entry.get("name")).strip()
    if not name or len(name) > LONGEST_NAME or "/" in name or "\n" in name:
        raise NoFileError(f"a file needs a name of 1 to {LONGEST_NAME} characters, without slashes")
    content = _content(name, entry)
    size = entry.get("size", PLAIN_SIZE) if content is None else len(content)
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= LARGEST:
        raise NoFileError(f"the size of {name!r} has to be a number of bytes, {LARGEST} at most")
    return Attached(name, size, content, as_text(entry.get("type")) or None)


def _content(name: str, entry: JsonObject) -> bytes | None:
    text, encoded = entry.get("text"), entry.get("base64")
    if isinstance(text, str):
        return text.encode()
    if encoded is None:
        return None
    try:
        return base64.b64decode(as_text(encoded), validate=True)
    except (binascii.Error, ValueError) as error:
        raise NoFileError(f"the content of {name!r} is not base64") from error
