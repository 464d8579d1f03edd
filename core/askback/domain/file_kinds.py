"""The kinds of files that the model reads, their limits, and how to recognize them. Pure.

The limits of kinds and pixels are those of the Messages API: https://docs.claude.com/en/docs/build-with-claude/vision
and https://docs.claude.com/en/docs/build-with-claude/pdf-support. The others keep a request below the API's 32 MB.
"""

from __future__ import annotations

__all__ = [
    "ALL_LIMITS",
    "MAX_FILES",
    "MAX_MESSAGE_BYTES",
    "MAX_PDF_PAGES",
    "MAX_PIXELS",
    "MEDIA_TYPES",
    "FileKind",
    "claim_kind",
    "count_pages",
    "detect_kind",
    "estimate_tokens",
    "format_size",
    "get_limit",
    "get_page_estimate",
    "read_pixels",
]

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

FileKind = Literal["png", "jpeg", "gif", "webp", "pdf", "text"]

MEDIA_TYPES: Final[Mapping[FileKind, str]] = MappingProxyType(
    {
        "png": "image/png",
        "jpeg": "image/jpeg",
        "gif": "image/gif",
        "webp": "image/webp",
        "pdf": "application/pdf",
        "text": "text/plain",
    }
)

_MIB: Final = 2**20
MAX_IMAGE_BYTES: Final = 5 * _MIB * 3 // 4
"""The API accepts 5 MiB of base64, which has four characters for three bytes."""
MAX_PDF_BYTES: Final = 10 * _MIB
MAX_TEXT_BYTES: Final = 200_000
"""About 50,000 tokens. A longer text would fill the model's window after a few messages."""
ALL_LIMITS: Final = max(MAX_IMAGE_BYTES, MAX_PDF_BYTES, MAX_TEXT_BYTES)
"""The size of the largest file of any kind, in bytes."""
MAX_FILES: Final = 10
"""Maximum number of files of one message that are read. Slack and Discord accept as many."""
MAX_MESSAGE_BYTES: Final = 16 * _MIB
"""Maximum size of all files of one message. As base64, they take 22 of the 32 MB of a request."""
MAX_PIXELS: Final = 8_000
"""Maximum width and height of an image. The API rejects larger ones."""
MAX_PDF_PAGES: Final = 100

_IMAGE_TOKENS: Final = 4_800
"""The tokens of the largest image. The service scales images down to this."""
_PAGE_TOKENS: Final = 4_500
"""The tokens of a page: up to 3,000 of text, and its image."""
_PAGE_BYTES: Final = 20_000
"""The size of a page, for a PDF that does not show how many it has."""
_BYTES_PER_TOKEN: Final = 2
"""As for other text, on the high side."""

_IMAGES: Final = frozenset[FileKind]({"png", "jpeg", "gif", "webp"})
_CLAIMS: Final[Mapping[str, FileKind]] = MappingProxyType(
    {**{media_type: kind for kind, media_type in MEDIA_TYPES.items()}, "image/jpg": "jpeg", "application/x-pdf": "pdf"}
)
_UNSPECIFIC: Final = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/x-unknown"})
_TEXTS: Final = frozenset(
    {
        "application/json", "application/ld+json", "application/x-ndjson", "application/xml", "application/yaml",
        "application/x-yaml", "application/toml", "application/javascript", "application/x-javascript",
        "application/typescript", "application/ecmascript", "application/sql", "application/x-sql", "application/x-sh",
        "application/x-shellscript", "application/x-csh", "application/x-python", "application/x-python-code",
        "application/x-httpd-php", "application/x-tex", "application/x-latex", "application/x-subrip",
        "application/x-perl", "application/x-ruby", "application/graphql", "application/x-tcl", "message/rfc822",
    }
)  # fmt: skip
"""Media types of texts that do not begin with `text/`."""
_SUFFIXES: Final[Mapping[str, FileKind]] = MappingProxyType(
    {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".webp": "webp", ".pdf": "pdf"}
)
_TEXT_SUFFIXES: Final = frozenset({".ts", ".mts", ".cts"})
"""Suffixes of source code that platforms take for a video."""

_CONTROLS: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
"""Characters that no text contains. Logs of terminals contain escape characters."""
_START: Final = 4_096
"""Number of bytes in which `detect_kind` searches for characters that no text contains."""
_PAGE: Final = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")


def claim_kind(name: str, media_type: str | None) -> FileKind | Literal["unsupported"] | None:
    """Return the kind that a file claims to be, by its media type, or else by its name.

    None means that it makes no claim, and "unsupported" that the model cannot read such a file.
    """
    stated = (media_type or "").partition(";")[0].strip().lower()
    _, dot, ending = name.lower().rpartition(".")
    suffix = f"{dot}{ending}"
    if suffix in _TEXT_SUFFIXES and not stated.startswith("image/"):
        return "text"
    if stated in _UNSPECIFIC:
        return _SUFFIXES.get(suffix)
    if stated in _CLAIMS:
        return _CLAIMS[stated]
    if stated.startswith("text/") or stated in _TEXTS or stated.endswith(("+json", "+xml", "+yaml")):
        return "text"
    return "unsupported"


def detect_kind(start: bytes) -> FileKind | None:
    """Return the kind of a content by its first bytes, some thousand if there are as many. None for an unknown one.

    A text may still turn out to be none further on.
    """
    if start.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if start.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if start.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        return "webp"
    if start.startswith(b"%PDF-"):
        return "pdf"
    return "text" if start and not _CONTROLS.search(start[:_START]) else None


def read_pixels(kind: FileKind, content: bytes) -> tuple[int, int] | None:
    """Return the width and height of an image. None if it is none, or if it does not state them."""
    match kind:
        case "png":
            return _read_pair(content, 16, 4, "big") if content[12:16] == b"IHDR" else None
        case "gif":
            return _read_pair(content, 6, 2, "little")
        case "jpeg":
            return _read_jpeg_pixels(content)
        case "webp":
            return _read_webp_pixels(content)
        case _:
            return None


def _read_pair(content: bytes, at: int, width: int, order: Literal["big", "little"]) -> tuple[int, int] | None:
    """Return two numbers of `width` bytes each."""
    if len(content) < at + 2 * width:
        return None
    return int.from_bytes(content[at : at + width], order), int.from_bytes(content[at + width : at + 2 * width], order)


def _read_jpeg_pixels(content: bytes) -> tuple[int, int] | None:
    """Go through the segments up to the start of the frame, which states the height and the width."""
    at = 2
    while at + 4 <= len(content) and content[at] == 0xFF:
        marker = content[at + 1]
        if marker == 0xFF:
            at += 1  # a fill byte
        elif 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:
            found = _read_pair(content, at + 5, 2, "big")
            return None if found is None else (found[1], found[0])
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:
            at += 2
        else:
            at += 2 + int.from_bytes(content[at + 2 : at + 4], "big")
    return None


def _read_webp_pixels(content: bytes) -> tuple[int, int] | None:
    match content[12:16]:
        case b"VP8X":
            found = _read_pair(content, 24, 3, "little")
            return None if found is None else (found[0] + 1, found[1] + 1)
        case b"VP8 ":
            found = _read_pair(content, 26, 2, "little")
            return None if found is None else (found[0] & 0x3FFF, found[1] & 0x3FFF)
        case b"VP8L" if len(content) >= 25:
            bits = int.from_bytes(content[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case _:
            return None


def count_pages(content: bytes) -> int:
    """Return the number of pages of a PDF, as far as it shows it uncompressed; otherwise, an estimate by its size."""
    shown = len(_PAGE.findall(content))
    return shown or min(MAX_PDF_PAGES, 1 + len(content) // _PAGE_BYTES)


def get_limit(kind: FileKind) -> int:
    """Return the size of the largest file of a kind, in bytes."""
    if kind in _IMAGES:
        return MAX_IMAGE_BYTES
    return MAX_PDF_BYTES if kind == "pdf" else MAX_TEXT_BYTES


def estimate_tokens(kind: FileKind, content: bytes) -> int:
    """Return a high estimate of the tokens that the model reads for a file."""
    if kind in _IMAGES:
        return _IMAGE_TOKENS
    if kind == "pdf":
        return count_pages(content) * _PAGE_TOKENS
    return -(-len(content) // _BYTES_PER_TOKEN)


def get_page_estimate(kind: FileKind, tokens: int) -> int:
    """Return the number of pages that `estimate_tokens` assumed for a PDF; 0 for another kind."""
    return -(-tokens // _PAGE_TOKENS) if kind == "pdf" else 0


def format_size(size: int) -> str:
    """Return a size in bytes for people: `3.7 MB`, `200 kB`."""
    if size >= 1_000_000:
        return f"{size / 1_000_000:.1f} MB".replace(".0 ", " ")
    return f"{max(1, round(size / 1_000))} kB" if size else "0 kB"
