"""Decides which files the model gets: by what the platform says of them, and by their content. Pure."""

from __future__ import annotations

__all__ = ["check_claims", "check_content", "get_read_limit"]

import re
from collections.abc import Sequence
from typing import Final

from askback.domain.attached_file import AttachedFile, FileProblem
from askback.domain.file_kinds import (
    ALL_LIMITS,
    MAX_FILES,
    MAX_MESSAGE_BYTES,
    MAX_PDF_PAGES,
    MAX_PIXELS,
    FileKind,
    claim_kind,
    count_pages,
    detect_kind,
    format_size,
    get_limit,
    read_pixels,
)

_ENCRYPTED: Final = re.compile(rb"/Encrypt\s*(?:\d|<<)")
_BOM: Final = b"\xef\xbb\xbf"


def check_claims(files: Sequence[AttachedFile]) -> tuple[FileProblem | None, ...]:
    """Return a problem for each file of a message that is not worth reading. None for the others."""
    problems: list[FileProblem | None] = []
    count = total = 0
    for file in files:
        problem = _check_claim(file)
        if problem is None:
            count, total = count + 1, total + (file.size or 0)
            if count > MAX_FILES:
                problem = FileProblem(code="too_many", detail=str(MAX_FILES))
            elif total > MAX_MESSAGE_BYTES:
                problem, total = _build_too_large(MAX_MESSAGE_BYTES), total - (file.size or 0)
        problems.append(problem)
    return tuple(problems)


def _check_claim(file: AttachedFile) -> FileProblem | None:
    claim = claim_kind(file.name, file.media_type)
    if not file.has_content or claim == "unsupported":
        return FileProblem(code="unsupported")
    if file.size == 0:
        return FileProblem(code="empty")
    limit = get_read_limit(file)
    return _build_too_large(limit) if file.size is not None and file.size > limit else None


def get_read_limit(file: AttachedFile) -> int:
    """Return the number of bytes to read of a file at most."""
    claim = claim_kind(file.name, file.media_type)
    return ALL_LIMITS if claim is None or claim == "unsupported" else get_limit(claim)


def check_content(file: AttachedFile, content: bytes) -> FileKind | FileProblem:
    """Return the kind of a content, or the reason for which the model does not get it."""
    if not content:
        return FileProblem(code="empty")
    kind, claim = detect_kind(content), claim_kind(file.name, file.media_type)
    if claim == "text" and kind in {"text", None}:
        return _check_text(content)
    if claim not in {None, kind}:
        return FileProblem(code="mismatch", detail=str(claim))
    if kind is None:
        return FileProblem(code="unsupported")
    if len(content) > get_limit(kind):
        return _build_too_large(get_limit(kind))
    if kind == "text":
        return _check_text(content)
    return _check_pdf(content) if kind == "pdf" else _check_image(kind, content)


def _check_text(content: bytes) -> FileKind | FileProblem:
    try:
        text = content.removeprefix(_BOM).decode()
    except UnicodeDecodeError:
        return FileProblem(code="not_text")
    # PostgreSQL and JSON have no place for it, and no text contains it.
    if "\x00" in text:
        return FileProblem(code="not_text")
    if not text.strip():
        return FileProblem(code="empty")
    limit = get_limit("text")
    return _build_too_large(limit) if len(content) > limit else "text"


def _check_pdf(content: bytes) -> FileKind | FileProblem:
    if _ENCRYPTED.search(content):
        return FileProblem(code="protected")
    return FileProblem(code="too_large", detail=f"{MAX_PDF_PAGES} pages") if _has_many_pages(content) else "pdf"


def _has_many_pages(content: bytes) -> bool:
    return count_pages(content) > MAX_PDF_PAGES


def _check_image(kind: FileKind, content: bytes) -> FileKind | FileProblem:
    pixels = read_pixels(kind, content)
    if pixels is None or min(pixels) < 1:
        return FileProblem(code="broken")
    return FileProblem(code="too_wide", detail=f"{MAX_PIXELS:,}") if max(pixels) > MAX_PIXELS else kind


def _build_too_large(limit: int) -> FileProblem:
    return FileProblem(code="too_large", detail=format_size(limit))
