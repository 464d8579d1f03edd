"""The body of a request: JSON, or JSON with files."""

import json

from aiohttp import web
from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject

from . import limits
from .guild import Guild
from .objects import attachment_object
from .refusals import DiscordRefusalError


async def read_body(request: web.Request, guild: Guild) -> tuple[JsonObject, tuple[JsonObject, ...]]:
    """Return the JSON object of a request, and its files as attachments.

    Raises:
        DiscordRefusalError: 40005, if the body is too large; 50109, if it is not a JSON object.
    """
    if not request.can_read_body:
        return {}, ()
    if request.content_type == "multipart/form-data":
        return await _read_parts(request, guild)
    data = b""
    async for chunk in request.content.iter_any():
        data += chunk
        if len(data) > limits.BODY_BYTES:
            raise DiscordRefusalError(40005)
    return _decoded(data), ()


def _decoded(data: bytes) -> JsonObject:
    if not data:
        return {}
    try:
        value: JsonValue = json.loads(data)
    except ValueError:
        raise DiscordRefusalError(50109) from None
    if not isinstance(value, dict):
        raise DiscordRefusalError(50109)
    return value


async def _read_parts(request: web.Request, guild: Guild) -> tuple[JsonObject, tuple[JsonObject, ...]]:
    body: JsonObject = {}
    files: list[JsonObject] = []
    total = 0
    for name, value in (await request.post()).items():
        if isinstance(value, web.FileField):
            content = value.file.read()
            total += len(content)
            file = attachment_object(guild, value.filename, len(content), value.content_type)
            guild.files[str(file["id"])] = content
            files.append(file)
        elif name == "payload_json":
            data = value if isinstance(value, bytes | bytearray) else value.encode()
            body = _decoded(bytes(data))
    if total > limits.BODY_BYTES:
        raise DiscordRefusalError(40005)
    return body, tuple(files)
