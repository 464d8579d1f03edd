"""The rules of the Messages API for images and documents, with its error messages."""

from __future__ import annotations

import base64
import binascii

from pydantic import JsonValue

from .tools import Object, Refused, is_object

__all__ = ["check_media"]

_LARGEST_IMAGE = 5 * 2**20  # of base64 [api docs vision; error messages that people quote]
_MOST_PIXELS = 8_000
_STARTS = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
    "application/pdf": (b"%PDF-",),
}
_IMAGES = tuple(kind for kind in _STARTS if kind.startswith("image/"))
_BROKEN = b"askback-sandbox-broken"
"""A content with these bytes counts as one that the service cannot process."""


def check_media(block: Object, path: str) -> None:
    """Raise `Refused` for an `image` or `document` block that the API would reject."""
    kind = str(block["type"])
    source = block.get("source")
    if not is_object(source):
        raise Refused(f"{path}.{kind}.source: Field required")
    where = f"{path}.{kind}.source.{source.get('type')}"
    data, media_type = source.get("data"), source.get("media_type")
    if not isinstance(data, str) or not data:
        raise Refused(f"{where}.data: Field required")
    title = block.get("title")
    if title is not None and (not isinstance(title, str) or not 1 <= len(title) <= 500):
        raise Refused(f"{path}.{kind}.title: String should have between 1 and 500 characters")
    match kind, source.get("type"):
        case "document", "text":
            if media_type != "text/plain":
                raise Refused(f"{where}.media_type: Input should be 'text/plain'")
        case "document", "base64":
            _check_encoded(data, media_type, ("application/pdf",), where, "PDF")
        case "image", "base64":
            if len(data) > _LARGEST_IMAGE:
                raise Refused(f"{where}: image exceeds 5 MB maximum: {len(data)} bytes > {_LARGEST_IMAGE} bytes")
            content = _check_encoded(data, media_type, _IMAGES, where, "image")
            if media_type == "image/png" and max(_read_pixels(content)) > _MOST_PIXELS:
                raise Refused(
                    f"{where}.data: At least one of the image dimensions exceed max allowed size: {_MOST_PIXELS} pixels"
                )
        case _:
            raise Refused(f"{path}.{kind}.source.type: Input should be 'base64', 'text', 'url' or 'file'")


def _check_encoded(data: str, media_type: JsonValue | None, kinds: tuple[str, ...], where: str, what: str) -> bytes:
    if media_type not in kinds:
        raise Refused(f"{where}.media_type: Input should be {' or '.join(map(repr, kinds))}")
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise Refused(f"{where}.data: Invalid base64 data") from None
    if not content.startswith(_STARTS[str(media_type)]):
        raise Refused(f"{where}: The {what} was specified using the {media_type} media type, but appears to be another")
    if _BROKEN in content:
        raise Refused(f"{where}.data: Could not process {what}")
    return content


def _read_pixels(content: bytes) -> tuple[int, int]:
    return int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")
