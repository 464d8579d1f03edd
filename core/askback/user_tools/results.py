"""Convert the result or error of a tool for the model, within a size limit and to blocks that the service accepts.

One wrong block makes the service reject the conversation permanently. So only blocks that are known to be valid are
passed on as blocks; anything else becomes text.
"""

from __future__ import annotations

__all__ = ["ToolOutput", "format_error", "to_output"]

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Annotated, Final, Literal, Self, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticSerializationError, to_json

from askback.domain.turn import Blocks
from askback.internal.values import Value, repair_surrogates

T = TypeVar("T")

EMPTY_RESULT_TEXT = "Done."
LARGEST_FILE = 5_000_000
"""Maximum characters of one image or document that the service accepts."""
LARGEST_FILES = 10_000_000
"""Maximum characters of all files together: they are sent again with every later turn."""
MOST_BLOCKS = 100


class ToolOutput(Value):
    """The result of a call, as the model reads it."""

    text: str
    blocks: Blocks = ()
    """Content blocks to send instead of the text. Empty if there are none."""
    is_error: bool = False


def to_output(value: object, limit: int) -> ToolOutput:
    """Convert a tool's return value. Runs code of the value, such as its `__repr__`."""
    if value is None:
        return ToolOutput(text=EMPTY_RESULT_TEXT)
    if isinstance(value, str):
        return ToolOutput(text=_cut(value, limit))
    if isinstance(value, Iterator):
        value = list(islice(cast("Iterator[object]", value), MOST_BLOCKS))
    blocks = _to_blocks(value)
    if blocks:
        return ToolOutput(text="", blocks=_cut_blocks(blocks, limit))
    return ToolOutput(text=_cut(_to_text(value), limit))


def format_error(error: BaseException, limit: int) -> ToolOutput:
    """Convert a tool's exception to its type and text, without any place in the code. Never raises."""
    from anthropic.lib.tools import ToolError

    kind = type(error).__name__
    try:
        if isinstance(error, ToolError):
            content: object = error.content
            result = to_output(content if isinstance(content, str) else list(error.content), limit)
            # The service accepts only texts with an error.
            texts = tuple(
                one if one["type"] == "text" else _to_note_block(f"[Left out: {one['type']}.]") for one in result.blocks
            )
            return result.evolve(blocks=texts, is_error=True)
        words = str(error)
    except BaseException as broken:  # noqa: BLE001 - an error of the operator's may do anything when it is shown
        words = f"(reading its text failed: {type(broken).__name__})"
    return ToolOutput(text=_cut(f"{kind}: {words}" if words else kind, limit), is_error=True)


def _to_text(value: object) -> str:
    try:
        return to_json(value, fallback=_describe_value, inf_nan_mode="constants").decode()
    except (PydanticSerializationError, ValueError, RecursionError, TypeError):
        return _describe_value(value)


def _describe_value(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - as above
        return f"<{type(value).__name__} that cannot be shown>"


def _cut(text: str, limit: int) -> str:
    if len(text) > limit:
        text = f"{text[:limit]}\n[Truncated: these are the first {limit} of {len(text)} characters. Ask for less.]"
    return repair_surrogates(text).replace("\x00", "\ufffd")


def _cut_blocks(blocks: Blocks, limit: int) -> Blocks:
    """Cut all texts to one common limit, and replace files that are too large by a note."""
    left, files = limit, LARGEST_FILES
    kept: list[dict[str, JsonValue]] = []
    for block in blocks:
        text = block.get("text")
        if block["type"] == "text" and isinstance(text, str):
            if left > 0:
                kept.append({**block, "text": _cut(text, left)})
            left -= len(text)
        elif (size := len(to_json(block))) > min(LARGEST_FILE, files):
            kept.append(_to_note_block(f"[Left out: {block['type']} of {size} characters, more than can be sent.]"))
        else:
            files -= size
            kept.append(block)
    if left < 0 and len(kept) < len(blocks):
        kept.append(_to_note_block("[The remaining texts are left out.]"))
    return tuple(kept)


def _to_note_block(text: str) -> dict[str, JsonValue]:
    return {"type": "text", "text": text}


# The blocks that a result may contain, by the service's own reference. Blocks with a URL are not among them: once a URL
# is dead, the service rejects the whole conversation. The model reads the URL as text.

_Filled = Annotated[str, StringConstraints(pattern=r"\S")]


def _check_base64(data: str) -> str:
    base64.b64decode(data, validate=True)  # binascii.Error is a ValueError
    return data


_Base64 = Annotated[str, StringConstraints(min_length=1), AfterValidator(_check_base64)]


_BEGINNINGS: Final = {
    "image/jpeg": rb"\xff\xd8\xff",
    "image/png": rb"\x89PNG\r\n\x1a\n",
    "image/gif": rb"GIF8[79]a",
    "image/webp": rb"RIFF.{4}WEBP",
    "application/pdf": rb"%PDF-",
}


def _check_media_type(block: T, media_type: str, data: str) -> T:
    """Raise `ValueError` for a file of a different type than declared: the service rejects those."""
    if re.match(_BEGINNINGS[media_type], base64.b64decode(data[:32]), re.DOTALL) is None:
        raise ValueError(f"is not {media_type}")
    return block


class _Block(BaseModel):
    # Other fields of anthropic's types are for other uses of a block, such as cache breakpoints.
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class _Encoded(_Block):
    type: Literal["base64"]
    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
    data: _Base64

    @model_validator(mode="after")
    def _check_data(self) -> Self:
        return _check_media_type(self, self.media_type, self.data)


class _Pdf(_Block):
    type: Literal["base64"]
    media_type: Literal["application/pdf"]
    data: _Base64

    @model_validator(mode="after")
    def _check_data(self) -> Self:
        return _check_media_type(self, self.media_type, self.data)


class _Plain(_Block):
    type: Literal["text"]
    media_type: Literal["text/plain"]
    data: _Filled


class _Text(_Block):
    type: Literal["text"]
    text: _Filled


class _Image(_Block):
    type: Literal["image"]
    source: _Encoded


class _Document(_Block):
    type: Literal["document"]
    source: _Pdf | _Plain
    title: str | None = None
    context: str | None = None


_KNOWN: Final = TypeAdapter[_Text | _Image | _Document](
    Annotated[_Text | _Image | _Document, Field(discriminator="type")]
)


def _to_blocks(value: object) -> Blocks:
    """Return the value as content blocks; empty if it is anything else."""
    if not isinstance(value, list | tuple) or len(cast("Sequence[object]", value)) > MOST_BLOCKS:
        return ()
    found: list[dict[str, JsonValue]] = []
    for one in cast("Sequence[object]", value):
        if not isinstance(one, Mapping):
            return ()
        try:
            block = _KNOWN.validate_python(dict(cast("Mapping[str, object]", one)))
        except ValidationError:
            return ()
        found.append(block.model_dump(mode="json", exclude_none=True))
    return tuple(found)
