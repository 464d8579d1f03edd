"""Discord's own OpenAPI document, as a second check of every body that a bot sends."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject, as_object

from .refusals import DiscordRefusalError, Fault

if TYPE_CHECKING:
    from jsonschema_rs import Validator

_LARGEST_NUMBER = 2**31 - 1  # larger numbers are ids
_LONGEST = 500  # of an error text, because the library quotes the value


class OpenApi:
    """Checks bodies against the document at `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def check(self, operation: str, body: JsonValue) -> None:
        """Refuse a body that the document does not allow; one that it does not describe passes.

        Raises:
            DiscordRefusalError: 50035.
        """
        validator = _validator(self._path, operation)
        problems = list(validator.iter_errors(_with_text_ids(body))) if validator is not None else []
        if problems:
            faults = [
                Fault(tuple(problem.instance_path), "OPENAPI_DOCUMENT", problem.message[:_LONGEST])
                for problem in problems
            ]
            raise DiscordRefusalError(50035, faults=faults)


def _with_text_ids(value: JsonValue, *, attachment: bool = False) -> JsonValue:
    """Return the body with ids as strings, as the document wants them.

    Discord accepts numbers too, and discord.py sends them.
    """
    if isinstance(value, dict):
        return {
            name: str(inner)
            if attachment and name == "id" and isinstance(inner, int)
            else _with_text_ids(inner, attachment=name == "attachments")
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_with_text_ids(entry, attachment=attachment) for entry in value]
    return str(value) if isinstance(value, int) and value > _LARGEST_NUMBER else value


@lru_cache(maxsize=4)
def _document(path: Path) -> JsonObject:
    value: JsonValue = json.loads(path.read_text(encoding="utf-8"))
    return as_object(value)


@lru_cache(maxsize=4)
def _bodies(path: Path) -> dict[str, JsonObject]:
    """Return the schema of the JSON body of every operation, by operationId."""
    found: dict[str, JsonObject] = {}
    for item in as_object(_document(path).get("paths")).values():
        for description in as_object(item).values():
            operation = as_object(description)
            content = as_object(as_object(operation.get("requestBody")).get("content"))
            schema = as_object(as_object(content.get("application/json")).get("schema"))
            if schema:
                found[str(operation.get("operationId"))] = schema
    return found


@lru_cache(maxsize=256)
def _validator(path: Path, operation: str) -> Validator | None:
    # Imported here, because the library is needed only with a document.
    from jsonschema_rs import Draft202012Validator

    schema = _bodies(path).get(operation)
    if schema is None:
        return None
    return Draft202012Validator({**schema, "components": _document(path)["components"]})
