"""Calls the model once, and turns its stream into a complete response or a sentence about the failure."""

from __future__ import annotations

__all__ = ["ModelRequest", "ModelResponse", "stream_response"]

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from pydantic import Field, JsonValue

from askback.agent.budget import CHARACTERS_PER_TOKEN
from askback.agent.compaction import BETA, build_context_management, count_characters, is_wanted
from askback.agent.file_blocks import fill_in_contents, list_references
from askback.agent.model_response import ResponseAccumulator
from askback.agent.token_meter import TokenMeter
from askback.domain.turn import get_text
from askback.internal.values import Value
from askback.observability import telemetry
from askback.observability.telemetry import ModelCallSpan
from askback.store.errors import StoreError
from askback.translations.catalogue import N_, _

# Importing it is the slowest part of a start (`askback.agent.client_loader`). A client exists only after the import.
if TYPE_CHECKING:
    import anthropic
    from anthropic import AsyncAnthropic

log = logging.getLogger("askback.model")

Blocks = tuple[dict[str, JsonValue], ...]

TOO_LONG_MESSAGE = N_(
    "This conversation has become longer than the model can read. I have removed the earlier part: "
    "please tell me briefly where we were."
)

OUT_OF_BUDGET_MESSAGE = N_("The answer was cut off because the budget is used up. Ask my operator for more.")
REQUEST_REJECTED_MESSAGE = N_(
    "The model's service rejected my request. My operator finds its id in the log. You can keep writing here."
)


class ModelRequest(Value):
    """The parameters of one call of the model."""

    model: str
    system: str
    max_tokens: int
    messages: tuple[dict[str, JsonValue], ...]
    tools: tuple[dict[str, JsonValue], ...]
    compact_at: int | None = None
    """Number of tokens at which the API replaces the beginning of the conversation with a summary. None means never."""
    silence_timeout: float = 120.0
    """Seconds of silence after which the stream counts as broken. A working service sends keep-alive events
    meanwhile."""
    is_rationed: bool = False
    """True if a budget limits `max_tokens`."""
    contents: Mapping[int, bytes] | None = Field(default_factory=dict[int, bytes])
    """The contents of the files that the messages refer to, by their ids. None sends no file."""

    @property
    def input_estimate(self) -> int:
        """An estimate of the input tokens, on the high side. A compaction reads the input twice."""
        read = -(
            -(count_characters(self.messages) + count_characters(self.tools) + len(self.system)) // CHARACTERS_PER_TOKEN
        )
        return 2 * read if is_wanted(self.messages, self.compact_at) else read


class ModelResponse(Value):
    """The result of one call of the model."""

    content: Blocks = ()
    """The model's content blocks for the transcript, tool calls included."""
    text: str = ""
    """The text for people."""
    problem: str | None = None
    """A sentence for people about the failure, if any."""
    forget: Literal["nothing", "last", "all"] = "nothing"
    paused: bool = False
    rejected_files: tuple[int, ...] = ()
    """The ids of the files that the service did not accept. It answered a request without them."""
    parse_errors: Mapping[int, str] = Field(default_factory=dict[int, str])
    """Parse errors of inputs, by index in `calls`. Such an input is an empty object in `content`."""

    @property
    def calls(self) -> Blocks:
        return tuple(block for block in self.content if block.get("type") == "tool_use")


class _Stream(Protocol):
    """The common interface of the SDK's two streams, plain and beta."""

    def __aiter__(self) -> AsyncIterator[Any]: ...
    async def close(self) -> None: ...


async def _open_stream(client: AsyncAnthropic, request: ModelRequest) -> _Stream:
    import anthropic

    parameters: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "system": request.system,
        "messages": fill_in_contents(request.messages, request.contents),
        "tools": list(request.tools),
        "cache_control": {"type": "ephemeral"},
        "timeout": anthropic.Timeout(request.silence_timeout, connect=min(request.silence_timeout, 10.0)),
        "stream": True,
    }
    if is_wanted(request.messages, request.compact_at):
        parameters |= {"betas": [BETA], "context_management": build_context_management(request.compact_at)}
        return cast("_Stream", await client.beta.messages.create(**parameters))
    return cast("_Stream", await client.messages.create(**parameters))


async def stream_response(
    client: AsyncAnthropic, request: ModelRequest, on_text: Callable[[str], Awaitable[None]], meter: TokenMeter
) -> ModelResponse:
    """Call the model once. `on_text` receives its text while it streams, and `meter` counts its tokens.

    A failure of the model or its service never raises; the result's `problem` describes it. Raises `StoreError` if
    `on_text` does.
    """
    with telemetry.trace_model_call(request.model) as call:
        return await _stream(client.with_middleware(meter.attempt), request, on_text, meter, call)


async def _stream(
    client: AsyncAnthropic,
    request: ModelRequest,
    on_text: Callable[[str], Awaitable[None]],
    meter: TokenMeter,
    call: ModelCallSpan,
) -> ModelResponse:
    import anthropic

    written: list[str] = []
    answer = ResponseAccumulator()
    try:
        stream = await _open_stream(client, request)
        try:
            async for event in stream:
                meter.add_event(event)
                text = answer.add_event(event)
                if text is not None:
                    written.append(text)
                    await on_text(text)
        finally:
            await stream.close()
    except StoreError:
        raise
    except anthropic.BadRequestError as error:
        if request.compact_at is not None and _is_about_compaction(error):
            log.warning(
                "The model's service does not support compaction; retrying the call without it.",
                extra={"action": "no_compaction"},
            )
            return await _stream(client, request.evolve(compact_at=None), on_text, meter, call)
        if request.contents and "too long" not in str(error):
            return await _retry_without_files(client, request, on_text, meter, call)
        return _build_failed_response(call, error, "".join(written).strip())
    except Exception as error:  # noqa: BLE001 - a malformed stream surfaces as nearly any exception in the SDK
        return _build_failed_response(call, error, "".join(written).strip())
    if answer.stop_reason is None:
        # The connection closed cleanly, but before the end of the answer.
        return _build_failed_response(
            call, ConnectionError("The stream ended before the message was complete."), "".join(written).strip()
        )
    return _finish_response(call, request, answer, answer.stop_reason, meter)


async def _retry_without_files(
    client: AsyncAnthropic,
    request: ModelRequest,
    on_text: Callable[[str], Awaitable[None]],
    meter: TokenMeter,
    call: ModelCallSpan,
) -> ModelResponse:
    """Call the model without the files, since a file that the service rejects would end the conversation for good.

    If that helps, the newest message has the file: the service accepted the others before.
    """
    log.warning(
        "The model's service rejected a request with files; retrying it without them.",
        extra={"action": "files_rejected", "files": len(request.contents or ())},
    )
    response = await _stream(client, request.evolve(contents=None), on_text, meter, call)
    if response.problem is not None:
        return response
    references = list_references(request.messages)
    newest = max(references.values(), default=-1)
    return response.evolve(rejected_files=tuple(one for one, seq in references.items() if seq == newest))


def _finish_response(
    call: ModelCallSpan, request: ModelRequest, answer: ResponseAccumulator, stop_reason: str, meter: TokenMeter
) -> ModelResponse:
    blocks = tuple(map(_to_api_block, answer.blocks))
    content = tuple(block for block in blocks if block.get("type") != "text" or str(block.get("text", "")).strip())
    log.info(
        "The model ended its response: %s.",
        stop_reason,
        extra={
            "action": "model_turn",
            "stop_reason": stop_reason,
            "input_tokens": meter.input_tokens,
            "output_tokens": meter.output_tokens,
        },
    )
    call.record_result(stop_reason, read=meter.input_tokens, cached=meter.cached_tokens, written=meter.output_tokens)
    calls = [index for index, block in enumerate(blocks) if block.get("type") == "tool_use"]
    unreadable = {calls.index(index): why for index, why in answer.parse_errors.items() if index in calls}
    return _build_response(request, stop_reason, content, unreadable)


def _build_response(
    request: ModelRequest, stop_reason: str, content: Blocks, unreadable: Mapping[int, str]
) -> ModelResponse:
    text = get_text(content)
    uncalled = tuple(block for block in content if block.get("type") != "tool_use")
    match stop_reason:
        case "refusal":
            return ModelResponse(
                text=text,
                problem=_("The model refused to answer this. I have removed that message: please rephrase it."),
                forget="last",
            )
        case "max_tokens":
            return ModelResponse(
                content=uncalled,
                text=get_text(uncalled),
                problem=_(OUT_OF_BUDGET_MESSAGE)
                if request.is_rationed
                else _("The answer was cut off at its maximum length. Write “continue” and I will."),
            )
        case "model_context_window_exceeded":
            return ModelResponse(text=text, problem=_(TOO_LONG_MESSAGE), forget="all")
        case "pause_turn" | "compaction":
            return ModelResponse(content=uncalled, text=text, paused=True)
        case _:
            return ModelResponse(content=content, text=text, parse_errors=unreadable)


def _to_api_block(block: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a block in the form that the API accepts in requests, without fields that only responses have."""
    match block.get("type"):
        case "text":
            return {"type": "text", "text": block.get("text", "")}
        case "tool_use":
            return {key: block.get(key) for key in ("type", "id", "name", "input")}
        case _:
            return block


def _is_about_compaction(error: anthropic.BadRequestError) -> bool:
    return any(word in str(error) for word in ("context_management", "compact", "anthropic-beta"))


def _build_failed_response(call: ModelCallSpan, error: Exception, written: str) -> ModelResponse:
    """Return the turn of a failed call. Text that people have read stays in the transcript, unless all of it is
    forgotten."""
    import anthropic

    call.record_error(error)
    content: Blocks = ({"type": "text", "text": written},) if written else ()
    problem, forget = _explain_error(error)
    status = error.status_code if isinstance(error, anthropic.APIStatusError) else None
    request_id = error.request_id if isinstance(error, anthropic.APIStatusError) else None
    log.error(
        "The call of the model failed: %s",
        type(error).__name__,
        extra={"action": "model_failed", "status": status, "request_id": request_id},
        exc_info=status is None,
    )
    if forget == "all":
        return ModelResponse(text=written, problem=problem, forget=forget)
    return ModelResponse(content=content, text=written, problem=problem)


def _explain_error(error: Exception) -> tuple[str, Literal["nothing", "all"]]:
    """Return a sentence for people, and how much of the transcript to clear. The sentence never quotes the error, which
    may hold private data."""
    import anthropic

    again = _("Write “try again” and I will.")
    if isinstance(error, anthropic.AuthenticationError):
        return _("The model's service rejected my API key. My operator has to check ANTHROPIC_API_KEY."), "nothing"
    if isinstance(error, anthropic.PermissionDeniedError):
        return _("My API key may not use this model. My operator has to check ASKBACK_MODEL and the key."), "nothing"
    if isinstance(error, anthropic.NotFoundError):
        return _("The model's service does not know this model. My operator has to check ASKBACK_MODEL."), "nothing"
    if isinstance(error, anthropic.APIStatusError):
        if error.status_code == 413 or (error.status_code == 400 and "too long" in str(error)):
            return _(TOO_LONG_MESSAGE), "all"
        # An error in the middle of a stream has the stream's status, so its kind decides.
        kind = _get_error_type(error)
        if error.status_code == 429 or kind == "rate_limit_error":
            return " ".join((_("The model's service asks me to slow down. Please wait a minute."), again)), "nothing"
        if error.status_code == 529 or kind == "overloaded_error":
            return f"{_('The model is overloaded at the moment. Please wait a little.')} {again}", "nothing"
        if error.status_code >= 500 or kind in {"api_error", "timeout_error"}:
            return " ".join((_("The model's service has an internal error."), again)), "nothing"
        return _(REQUEST_REJECTED_MESSAGE), "nothing"
    if isinstance(error, (anthropic.APITimeoutError, TimeoutError)) or "Timeout" in type(error).__name__:
        # In the middle of a stream, the transport raises its own error, whichever package it comes from.
        return f"{_('The model did not answer in time.')} {again}", "nothing"
    if isinstance(error, anthropic.AnthropicError) and not isinstance(error, anthropic.APIError):
        return _("I cannot call the model with these settings. My operator has to check ANTHROPIC_API_KEY."), "nothing"
    return f"{_('The connection to the model broke.')} {again}", "nothing"


def _get_error_type(error: anthropic.APIStatusError) -> str | None:
    """Return the service's own name for the error, since a mid-stream error has the status of the stream."""
    body = error.body
    if isinstance(body, dict):
        detail = cast("dict[str, object]", body).get("error")
        if isinstance(detail, dict):
            kind = cast("dict[str, object]", detail).get("type")
            return kind if isinstance(kind, str) else None
    return None
