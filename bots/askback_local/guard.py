"""Who may talk to the services: this machine, and no web page from elsewhere."""

import ipaddress
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web
from pydantic import JsonValue, TypeAdapter, ValidationError

from .json_values import JsonObject, as_object

DOOR_BODY_BYTES = 1_000_000
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_json: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


def is_loopback(host: str) -> bool:
    """Whether a host name means this machine and nothing else."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host_of(value: str, *, is_url: bool) -> str:
    try:
        return urlsplit(value if is_url else f"//{value}").hostname or ""
    except ValueError:
        return ""


@web.middleware
async def loopback_only(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse what a foreign page or a rebound name could send: it carries its own Host or Origin."""
    origin = request.headers.get("Origin")
    if not is_loopback(_host_of(request.headers.get("Host", ""), is_url=False)):
        return web.json_response({"ok": False, "error": "host_not_loopback"}, status=403)
    if origin is not None and not is_loopback(_host_of(origin, is_url=True)):
        return web.json_response({"ok": False, "error": "origin_not_loopback"}, status=403)
    # An image or a link elsewhere carries no Origin, but browsers mark it; only the page may be linked to.
    cross_site = request.headers.get("Sec-Fetch-Site") == "cross-site"
    if cross_site and request.path != "/" and not request.path.startswith("/page/"):
        return web.json_response({"ok": False, "error": "cross_site"}, status=403)
    return await handler(request)


async def read_object(request: web.Request) -> JsonObject:
    """The JSON object in a request, one megabyte at most.

    Raises:
        web.HTTPRequestEntityTooLarge: it is larger.
        web.HTTPBadRequest: it is no JSON object.
    """
    data = b""
    async for chunk in request.content.iter_any():
        data += chunk
        if len(data) > DOOR_BODY_BYTES:
            raise web.HTTPRequestEntityTooLarge(max_size=DOOR_BODY_BYTES, actual_size=len(data))
    try:
        value = _json.validate_json(data)
    except ValidationError as error:
        raise web.HTTPBadRequest(text="a JSON object was expected") from error
    if not isinstance(value, dict):
        raise web.HTTPBadRequest(text="a JSON object was expected")
    return as_object(value)
