"""The files of messages as blocks of the Messages API.

A request holds references to files while it is composed, counted and budgeted, inside a transaction. The contents take
their places only when it is sent. Pure.
"""

from __future__ import annotations

__all__ = ["MAX_FILE_NAME", "add_references", "count_tokens", "fill_in_contents", "list_references", "render_file"]

import base64
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, cast

from pydantic import JsonValue

from askback.domain.attached_file import MessageFile
from askback.domain.file_kinds import MAX_MESSAGE_BYTES, MAX_PDF_PAGES, MEDIA_TYPES, FileKind, get_page_estimate
from askback.domain.file_problems import explain_to_model
from askback.domain.turn import Blocks, Message
from askback.text.literal import fit_line, quote_name

_TYPE: Final = "askback_file"
"""The type of a reference. The API never sees one."""
MAX_FILE_NAME: Final = 120
"""Maximum number of characters of a file's name for the model."""
MAX_REQUEST_BYTES: Final = MAX_MESSAGE_BYTES
"""Maximum size of all files of a request. The newest message with files always fits."""
MAX_REQUEST_IMAGES: Final = 20
"""Maximum number of images of a request. With more, the API accepts only small ones."""

NOT_YET: Final = "It is still being read. If it arrives, you get it with the next message."
LEFT_OUT: Final = "Its content is left out here, since newer files take its place."
REJECTED: Final = "The model's service rejected a file, so no file is part of this request."
GONE: Final = "Its content is no longer stored."


def render_file(file: MessageFile) -> dict[str, JsonValue]:
    """Return the text block that represents a file in the stored transcript."""
    return _to_text(_format_name(file))


def add_references(history: tuple[Message, ...], files: Iterable[MessageFile]) -> tuple[Message, ...]:
    """Return the history with a reference to each file that the model gets, and the reasons for the others."""
    known = tuple(files)
    if not known:
        return history
    shown = _select(known, _find_compaction(history))
    by_block = {(file.seq, file.block): file for file in known}
    return tuple(
        message.evolve(
            content=tuple(
                part
                for index, block in enumerate(message.content)
                for part in _refer(block, by_block.get((message.seq, index)), shown)
            )
        )
        if any(file.seq == message.seq for file in known)
        else message
        for message in history
    )


def _refer(block: dict[str, JsonValue], file: MessageFile | None, shown: Collection[int]) -> Blocks:
    if file is None:
        return (block,)
    if file.id in shown and file.kind is not None:
        reference: dict[str, JsonValue] = {
            "type": _TYPE,
            "file": file.id,
            "seq": file.seq,
            "kind": file.kind,
            "title": fit_line(file.file.name, MAX_FILE_NAME),
            "tokens": file.tokens,
        }
        return block, reference
    if file.problem is not None:
        return (_to_text(f"{_format_name(file)}. You cannot read it. {explain_to_model(file.problem)}"),)
    return (_to_text(f"{_format_name(file)}. {LEFT_OUT if file.state == 'stored' else NOT_YET}"),)


def _find_compaction(history: tuple[Message, ...]) -> int:
    """Return the row of the last compaction. The API ignores everything before it."""
    return max(
        (message.seq for message in history if any(block.get("type") == "compaction" for block in message.content)),
        default=-1,
    )


def _select(files: tuple[MessageFile, ...], after: int) -> frozenset[int]:
    """Return the ids of the files that fit into a request, the newest ones first."""
    shown: set[int] = set()
    size = images = pages = 0
    for file in sorted(files, key=lambda one: (one.seq or 0, one.block or 0), reverse=True):
        if file.state != "stored" or file.kind is None or (file.seq or 0) < after:
            continue
        is_image, paper = file.kind not in {"pdf", "text"}, get_page_estimate(file.kind, file.tokens)
        if (
            size + file.size > MAX_REQUEST_BYTES
            or images + is_image > MAX_REQUEST_IMAGES
            or pages + paper > MAX_PDF_PAGES
        ):
            continue
        size, images, pages = size + file.size, images + is_image, pages + paper
        shown.add(file.id)
    return frozenset(shown)


def count_tokens(messages: Iterable[Mapping[str, JsonValue]]) -> int:
    """Return a high estimate of the tokens of all files in a request."""
    return sum(cast("int", block["tokens"]) for block in _iter_references(messages))


def list_references(messages: Iterable[Mapping[str, JsonValue]]) -> dict[int, int]:
    """Return the ids of the files in a request, each with the transcript row of its message."""
    return {cast("int", block["file"]): cast("int", block["seq"]) for block in _iter_references(messages)}


def _iter_references(messages: Iterable[Mapping[str, JsonValue]]) -> Iterator[Mapping[str, JsonValue]]:
    for message in messages:
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == _TYPE:
                yield block


def fill_in_contents(
    messages: tuple[dict[str, JsonValue], ...], contents: Mapping[int, bytes] | None
) -> list[dict[str, JsonValue]]:
    """Return messages as the API takes them, with the contents of the files in place of the references.

    None means that the service rejected one of them, so that the model gets none.
    """
    return [_fill_in(message, contents) if list_references((message,)) else message for message in messages]


def _fill_in(message: dict[str, JsonValue], contents: Mapping[int, bytes] | None) -> dict[str, JsonValue]:
    blocks = cast("list[dict[str, JsonValue]]", message["content"])
    filled = [_to_content(block, contents) if block.get("type") == _TYPE else block for block in blocks]
    return {**message, "content": cast("JsonValue", filled)}


def _to_content(reference: Mapping[str, JsonValue], contents: Mapping[int, bytes] | None) -> dict[str, JsonValue]:
    """Return the block with a file's content. It is a separate value, so that nothing in a text can end it."""
    if contents is None:
        return _to_note(REJECTED)
    content = contents.get(cast("int", reference["file"]))
    if content is None:
        return _to_note(GONE)
    kind, title = cast("FileKind", reference["kind"]), reference["title"] or "unnamed file"
    if kind == "text":
        text = content.decode("utf-8-sig")
        source: dict[str, JsonValue] = {"type": "text", "media_type": MEDIA_TYPES[kind], "data": text}
        return {"type": "document", "source": source, "title": title}
    data = base64.b64encode(content).decode("ascii")
    source = {"type": "base64", "media_type": MEDIA_TYPES[kind], "data": data}
    if kind == "pdf":
        return {"type": "document", "source": source, "title": title}
    return {"type": "image", "source": source}


def _format_name(file: MessageFile) -> str:
    """Return the name of a file for the model. Nothing in it can be taken for the end of the name."""
    return f"attached file: {quote_name(file.file.name, MAX_FILE_NAME)}"


def _to_text(text: str) -> dict[str, JsonValue]:
    return {"type": "text", "text": f"[{text}]"}


def _to_note(text: str) -> dict[str, JsonValue]:
    return _to_text(text)
