"""The OpenAPI document of `askback serve`, from the models of its bodies."""

from __future__ import annotations

__all__ = ["build_document"]

from collections.abc import Mapping
from typing import Final, cast

from pydantic import BaseModel, JsonValue
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from askback.client.ask_result import AskResult
from askback.client.http_result import Problem
from askback.domain.ask_page import MOST_LISTED
from askback.domain.file_kinds import MEDIA_TYPES
from askback.doors.claude_hooks import HookRequest
from askback.doors.http_bodies import LONGEST_KEY, MAX_BODY, MAX_WAIT, AskBody, AskList, CancelBody

_Json = dict[str, JsonValue]

_BODIES: Final[tuple[type[BaseModel], ...]] = (AskBody, CancelBody, HookRequest)
_RESULTS: Final[tuple[type[BaseModel], ...]] = (AskResult, AskList, Problem)
_FILE: Final[_Json] = {"name": "file", "in": "path", "required": True, "schema": {"type": "string"}}
"""The id of a file, as it is in the answers."""
_ID: Final[_Json] = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
_WAIT: Final[_Json] = {
    "name": "wait",
    "in": "query",
    "description": "The number of seconds that the request waits for an outcome.",
    "schema": {"type": "number", "minimum": 0, "maximum": MAX_WAIT, "default": 0},
}
_KEY: Final[_Json] = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "The same for each attempt at one request. The same question with the same key is asked once. "
    "Another question with that key is refused with 422.",
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": "^[!-~]+$"},
}
_LIMIT: Final[_Json] = {
    "name": "limit",
    "in": "query",
    "description": "The largest number of questions in the answer.",
    "schema": {"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": MOST_LISTED},
}
_CURSOR: Final[_Json] = {
    "name": "cursor",
    "in": "query",
    "description": "The `next_cursor` of the last answer, as it is. The answer has the questions that were asked after "
    "those of that answer.",
    "schema": {"type": "string"},
}
_LAST_EVENT: Final[_Json] = {
    "name": "Last-Event-ID",
    "in": "header",
    "description": "The `id` of the last event. With that of `settled`, the answer is 204, and no client comes again.",
    "schema": {"type": "string"},
}
_HEADERS: Final[Mapping[str, _Json]] = {
    "401": {"WWW-Authenticate": {"description": "Bearer", "schema": {"type": "string"}}},
    "429": {"Retry-After": {"description": "Seconds until the next attempt.", "schema": {"type": "integer"}}},
    "503": {
        "Retry-After": {
            "description": "Seconds until the next attempt, if it is known.", "schema": {"type": "integer"},
        }
    },
}  # fmt: skip
"""The headers of problems."""
_LOCATION: Final[_Json] = {"Location": {"description": "The path of the question.", "schema": {"type": "string"}}}
_RECEIVED: Final[_Json] = {"description": "You have received the outcome."}
_PROBLEMS: Final[Mapping[str, str]] = {
    "400": "The body is not JSON.",
    "401": "The token is not valid.",
    "403": "The token does not allow this.",
    "404": "You have no question with this id.",
    "408": "The body did not arrive in time.",
    "413": "The body is too large.",
    "415": "The body has another type or is compressed.",
    "422": "The request is wrong. `detail` says how to correct it.",
    "429": "There are too many requests, or your questions store too much. `detail` says when to come again.",
    "500": "There is a bug in askback.",
    "503": "askback could not do it now.",
}
_EVENTS: Final = (
    "The events. `open` and `settled` have an AskResult as their data, and the stream ends after `settled`. `error` "
    "means that it ends early: make the request again."
)
_HOOK_ANSWER: Final[_Json] = {
    "type": "object",
    "required": ["hookSpecificOutput"],
    "properties": {"hookSpecificOutput": {"type": "object"}},
}
_INTRODUCTION: Final = (
    "Programs ask people in a team chat. The operator decides for each token where questions go and who may "
    "answer. A question outlives its request: ask again for its id, or make the same request again."
)


def build_document(version: str) -> _Json:
    """Return the document."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "askback", "version": version, "description": _INTRODUCTION},
        "security": [{"bearer": []}],
        "paths": {
            "/v1/asks": {
                "get": _operation(
                    "list", "List your open questions, oldest first.", _respond("AskList"),
                    parameters=[_LIMIT, _CURSOR],
                ),
                "post": _operation(
                    "create",
                    "Ask people. The answer is 202 while the question is open, and 200 once it has an outcome.",
                    _respond("AskResult", headers=_LOCATION)
                    | {"202": _describe("The question is open.", "AskResult", headers=_LOCATION)},
                    parameters=[_KEY, _WAIT],
                    body="AskBody",
                ),
            },
            "/v1/asks/{id}": {
                "get": _operation(
                    "get", "Read a question, or wait for its outcome.", _respond("AskResult", "404"),
                    parameters=[_ID, _WAIT],
                ),
            },
            "/v1/asks/{id}/events": {
                "get": _operation(
                    "stream",
                    "Wait for the outcome of a question as server-sent events: open, then settled.",
                    _respond(None, "404") | {"204": _RECEIVED},
                    parameters=[_ID, _LAST_EVENT],
                ),
            },
            "/v1/asks/{id}/files/{file}": {
                "get": _operation(
                    "read_file",
                    "Get the contents of a file that a person gave as an answer. Its type is that of the contents.",
                    _describe_file(),
                    parameters=[_ID, _FILE],
                ),
            },
            "/v1/asks/{id}/cancel": {
                "post": _operation(
                    "cancel", "Withdraw a question. People see the reason.", _respond("AskResult", "404"),
                    parameters=[_ID], body="CancelBody", needs_body=False,
                ),
            },
            "/v1/hooks/claude-code": {
                "post": _operation(
                    "hook", "Answer a hook of Claude Code: PermissionRequest, PreToolUse or Elicitation.",
                    _respond("hook"), body="HookRequest",
                ),
            },
            "/healthz": {"get": _describe_health("live", "Find out if the server lives.", "ok")},
            "/readyz": {"get": _describe_health("ready", "Find out if the server serves callers.", "ok", "degraded")},
        },
        "webhooks": {"outcome": {"post": _describe_webhook()}},
        "components": {
            "schemas": _build_schemas(),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }  # fmt: skip


def _describe_webhook() -> _Json:
    """Return the request that a webhook gets."""
    names = {
        "webhook-id": "The same in each attempt. Handle each id once.",
        "webhook-timestamp": "The time of this attempt, in Unix seconds.",
        "webhook-signature": "Signatures of the id, the timestamp and the body, separated by spaces: v1, a comma, and "
        "the HMAC-SHA256 in Base64.",
    }
    headers: list[JsonValue] = [
        {"name": name, "in": "header", "required": True, "description": text, "schema": {"type": "string"}}
        for name, text in names.items()
    ]
    return {
        "operationId": "receive_outcome",
        "summary": "Receive the outcome of a question that named this address, signed by Standard Webhooks.",
        "security": [],
        "parameters": headers,
        "requestBody": {"required": True, "content": {"application/json": {"schema": _refer("AskResult")}}},
        "responses": {
            "2XX": {"description": "The outcome has arrived."},
            "410": {"description": "Nothing more is wanted here, and no further attempt is made."},
            "default": {"description": "The outcome is sent again later, for a day."},
        },
    }


def _build_schemas() -> _Json:
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        *((model, "validation") for model in _BODIES),
        *((model, "serialization") for model in _RESULTS),
    ]
    _, found = models_json_schema(models, ref_template="#/components/schemas/{model}")
    return cast("_Json", found["$defs"])


def _operation(
    name: str,
    summary: str,
    responses: Mapping[str, JsonValue],
    *,
    parameters: list[_Json] | None = None,
    body: str | None = None,
    needs_body: bool = True,
) -> _Json:
    found: _Json = {"operationId": name, "summary": summary, "responses": dict(responses)}
    if parameters:
        found["parameters"] = list[JsonValue](parameters)
    if body is not None:
        found["requestBody"] = {
            "required": needs_body,
            "description": f"At most {MAX_BODY:,} bytes.",
            "content": {"application/json": {"schema": _refer(body)}},
        }
    return found


def _respond(result: str | None, *further: str, headers: _Json | None = None) -> _Json:
    """Return the answers of an operation: a result, and the problems that every operation has."""
    found: _Json = {
        status: _describe(text, "Problem", "application/problem+json", _HEADERS.get(status))
        for status, text in _PROBLEMS.items()
        if status != "404" or status in further
    }
    found["200"] = (
        {"description": _EVENTS, "content": {"text/event-stream": {"schema": {"type": "string"}}}}
        if result is None
        else _describe("The result.", result, headers=headers)
    )
    return found


def _describe_health(name: str, summary: str, *states: str) -> _Json:
    """Return an operation about the health of the server, which needs no token."""

    def describe(text: str, *known: str) -> _Json:
        properties: _Json = {
            "status": {"type": "string", "enum": list[JsonValue](known)},
            "away": {
                "type": "array", "items": {"type": "string"}, "description": "The platforms that cannot be used now.",
            },
        }  # fmt: skip
        schema: _Json = {"type": "object", "required": ["status"], "properties": properties}
        return {"description": text, "content": {"application/json": {"schema": schema}}}

    responses: _Json = {"200": describe("Yes.", *states)}
    if len(states) > 1:
        responses["503"] = describe("No.", "not ready")
    return {"operationId": name, "summary": summary, "security": [], "responses": responses}


def _describe_file() -> _Json:
    """Return the answers of the operation that sends a file."""
    found = _respond(None, "404")
    kinds = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in sorted(set(MEDIA_TYPES.values()))}
    found["200"] = {"description": "The contents.", "content": cast("JsonValue", kinds)}
    return found


def _describe(text: str, schema: str, kind: str = "application/json", headers: _Json | None = None) -> _Json:
    found: _Json = {"description": text, "content": {kind: {"schema": _refer(schema)}}}
    if headers is not None:
        found["headers"] = headers
    return found


def _refer(schema: str) -> _Json:
    return _HOOK_ANSWER if schema == "hook" else {"$ref": f"#/components/schemas/{schema}"}
