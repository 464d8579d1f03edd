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


def _host_of(value: str) -> str:
    try:
        return urlsplit(f"//{value}").hostname or ""
    except ValueError:
        return ""


@web.middleware
async def same_origin_only(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse what another page or a rebound name could send: it carries its own Host or Origin.

    A page on another port of this machine is another page: whatever is developed or previewed there.
    """
    origin, host = request.headers.get("Origin"), request.headers.get("Host", "")
    if not is_loopback(_host_of(host)):
        return web.json_response({"ok": False, "error": "host_not_loopback"}, status=403)
    if origin is not None and origin.lower() != f"http://{host.lower()}":
        return web.json_response({"ok": False, "error": "other_origin"}, status=403)
    # An image or a link elsewhere carries no Origin, but browsers mark it; only the page itself may be linked to.
    elsewhere = request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin")
    if elsewhere and request.path != "/":
        return web.json_response({"ok": False, "error": "other_site"}, status=403)
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
