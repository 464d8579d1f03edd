"""The arguments of an API call, which slack_sdk may send as a query, a form or JSON."""

import json
from collections.abc import Mapping

from aiohttp import web
from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject, as_object, objects

from .checks import Problem, SlackRefusalError

_ENCODED = ("blocks", "attachments", "view", "metadata", "chunks", "loading_messages")


class Arguments:
    """The arguments of one call."""

    def __init__(self, values: Mapping[str, JsonValue]) -> None:
        self.values = dict(values)

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def raw(self, name: str) -> JsonValue:
        """Return the value as received."""
        return self.values.get(name)

    def text(self, name: str) -> str | None:
        """Return a string; numbers become their digits, as in a form. None if it is something else."""
        value = self.values.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        return None

    def need(self, name: str) -> str:
        """Return a required string.

        Raises:
            SlackRefusalError: `invalid_arguments`, if it is missing or empty.
        """
        value = self.text(name)
        if not value:
            raise SlackRefusalError("invalid_arguments", [Problem(f"missing required field: {name}", f"/{name}")])
        return value

    def flag(self, name: str) -> bool:
        """Return True for every spelling of true that Slack accepts."""
        return self.values.get(name) in (True, 1, "1", "true", "True")

    def number(self, name: str, default: int) -> int:
        """Return a whole number, or `default` if it is missing or something else."""
        value = self.text(name)
        return int(value) if value and value.isdigit() else default

    def objects(self, name: str) -> list[JsonObject]:
        """Return the objects of a list."""
        return objects(self.values.get(name))

    def without_token(self) -> JsonObject:
        """Return the arguments that a log may show."""
        return {name: value for name, value in self.values.items() if name != "token"}


def _decoded(name: str, value: JsonValue) -> JsonValue:
    """Decode a structured argument that may have come as JSON in a string."""
    if name not in _ENCODED or not isinstance(value, str):
        return value
    try:
        decoded: JsonValue = json.loads(value)
    except ValueError:
        return value
    return decoded


async def read_arguments(request: web.Request) -> Arguments:
    """Return the arguments of a request, from its query and its body.

    Raises:
        SlackRefusalError: `invalid_json`, `invalid_form_data` or `invalid_post_type`.
    """
    values: JsonObject = dict(request.query)
    if request.can_read_body:
        if request.content_type == "application/json":
            try:
                body: JsonValue = json.loads(await request.text())
            except ValueError as error:
                raise SlackRefusalError("invalid_json") from error
            values.update(as_object(body))
        elif request.content_type in ("application/x-www-form-urlencoded", "multipart/form-data"):
            for name, value in (await request.post()).items():
                if not isinstance(value, str):
                    raise SlackRefusalError("invalid_form_data")
                values[name] = value
        else:
            raise SlackRefusalError("invalid_post_type")
    return Arguments({name: _decoded(name, value) for name, value in values.items()})


def bearer(request: web.Request, arguments: Arguments) -> str | None:
    """Return the token from the header or, failing that, from the arguments."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return token.strip()
    return arguments.text("token")
