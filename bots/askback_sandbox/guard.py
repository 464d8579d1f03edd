"""Access control for the services: only this machine, and no web page of another origin."""

import ipaddress
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web
from pydantic import JsonValue, TypeAdapter, ValidationError

from .json_values import JsonObject, as_object

DOOR_BODY_BYTES = 1_000_000
FILES_BODY_BYTES = 30 * 2**20
"""The limit for a message with files, which are base64."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_json: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


def is_loopback(host: str) -> bool:
    """Return True if a host name is `localhost` or a loopback address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host_of(value: str) -> str:
    try:
        return urlsplit(f"//{value}").hostname or ""
    except ValueError:
        return ""


@web.middleware
async def same_origin_only(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Reject requests with a foreign Host or Origin, as other pages and rebound names send them.

    A page on another port of this machine is foreign too: any project may be served there.
    """
    origin, host = request.headers.get("Origin"), request.headers.get("Host", "")
    if not is_loopback(_host_of(host)):
        return web.json_response({"ok": False, "error": "host_not_loopback"}, status=403)
    if origin is not None and origin.lower() != f"http://{host.lower()}":
        return web.json_response({"ok": False, "error": "other_origin"}, status=403)
    # Images and links on other sites send no Origin, but browsers mark them. Other sites may link only to the page
    # itself.
    elsewhere = request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin")
    if elsewhere and request.path != "/":
        return web.json_response({"ok": False, "error": "other_site"}, status=403)
    return await handler(request)


async def read_object(request: web.Request, at_most: int = DOOR_BODY_BYTES) -> JsonObject:
    """Return the JSON object in a request of at most one megabyte, or another limit.

    Raises:
        web.HTTPRequestEntityTooLarge: the body is larger.
        web.HTTPBadRequest: the body is not a JSON object.
    """
    data = bytearray()
    async for chunk in request.content.iter_any():
        data += chunk
        if len(data) > at_most:
            raise web.HTTPRequestEntityTooLarge(max_size=at_most, actual_size=len(data))
    try:
        value = _json.validate_json(bytes(data))
    except ValidationError as error:
        raise web.HTTPBadRequest(text="a JSON object was expected") from error
    if not isinstance(value, dict):
        raise web.HTTPBadRequest(text="a JSON object was expected")
    return as_object(value)
