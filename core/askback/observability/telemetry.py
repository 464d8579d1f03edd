"""Metrics and traces through the API of OpenTelemetry; its SDK is optional.

Attributes contain categories and counts, but no person and no text of a person or the model. Errors are named by their
type. A span does not survive a restart. So a conversation or a question stores the traceparent of its beginning in its
row, and later events join the trace through that.
"""

from __future__ import annotations

__all__ = [
    "MessageSpan",
    "ModelCallSpan",
    "observe_open_asks",
    "record_ack",
    "record_delivery",
    "record_settled",
    "record_tool_result",
    "set_providers",
    "start_ask_trace",
    "trace_click",
    "trace_delivery",
    "trace_model_call",
    "trace_turn",
]  # fmt: skip

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import TypeAlias

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from askback.internal.clock import to_micros
from askback.store.errors import StoreError

log = logging.getLogger("askback.telemetry")

Attributes: TypeAlias = dict[str, str | int | float | bool]
Count: TypeAlias = Callable[[], Awaitable[int]]

NAME = "askback"
COUNT_TIMEOUT_SECONDS = 5.0
"""Seconds that an export waits for the database."""
_PEOPLE = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0, 604800.0, 2592000.0)
"""Histogram buckets in seconds for the time that people take: from seconds to weeks."""
_CLICKS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0)
_DELIVERIES = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0)
_MODEL = (0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0)

_traceparents = TraceContextTextMapPropagator()
_counts: list[Count] = []


class _Instruments:
    """All instruments. Without an SDK, each of them does nothing."""

    def __init__(self, tracer: trace.Tracer, meter: metrics.Meter) -> None:
        self.tracer = tracer
        meter.create_observable_up_down_counter(
            "askback.asks.open", [_count_open_asks], unit="{ask}", description="Number of open questions."
        )
        self.ask_duration = meter.create_histogram(
            "askback.ask.duration",
            unit="s",
            description="Time from asking a question to its outcome.",
            explicit_bucket_boundaries_advisory=_PEOPLE,
        )
        self.ack_duration = meter.create_histogram(
            "askback.ack.duration",
            unit="s",
            description="Time from receiving a click to acknowledging it.",
            explicit_bucket_boundaries_advisory=_CLICKS,
        )
        self.outbox_lag = meter.create_histogram(
            "askback.outbox.lag",
            unit="s",
            description="Time from when a delivery is due to its confirmation.",
            explicit_bucket_boundaries_advisory=_DELIVERIES,
        )
        self.model_duration = meter.create_histogram(
            "askback.model.duration",
            unit="s",
            description="Duration of a model call.",
            explicit_bucket_boundaries_advisory=_MODEL,
        )
        self.model_tokens = meter.create_counter(
            "askback.model.tokens", unit="{token}", description="Tokens that model calls used."
        )
        self.turns = meter.create_counter("askback.turns", unit="{turn}", description="Turns of the agent.")


def set_providers(
    tracer_provider: trace.TracerProvider | None = None, meter_provider: metrics.MeterProvider | None = None
) -> None:
    """Report to these providers from now on. Without one, report to OpenTelemetry's global provider, once it is set."""
    global _to
    _to = _Instruments(
        trace.get_tracer(NAME, tracer_provider=tracer_provider), metrics.get_meter(NAME, meter_provider=meter_provider)
    )


# Messages, turns, the model


class MessageSpan:
    """The span of a received message. It is reported only if `end` is called."""

    def __init__(self, platform: str) -> None:
        self._began = time.time_ns()
        self._attributes: Attributes = {"askback.platform": platform}
        self._span = _begin("askback.message", SpanKind.SERVER, None, self._attributes, at=self._began)
        self.trace = _format_traceparent(self._span)
        """The traceparent for the conversation of this message, unless the conversation already has a trace."""

    def end(self, belongs_to: str | None) -> None:
        """End the span: the message was stored in a conversation of this trace."""
        span = self._span
        if belongs_to != self.trace:
            # The conversation already has a trace, so join it. The other span never ends and is not reported.
            span = _begin("askback.message", SpanKind.SERVER, belongs_to, self._attributes, at=self._began)
        span.end()


@contextmanager
def trace_turn(belongs_to: str | None, answers: Iterable[str | None], *, resumed: bool) -> Generator[None]:
    """Trace a turn of the agent, which follows from the `answers` to questions, if there were any."""
    first, *more = [one for one in answers if one is not None] or [belongs_to]
    attributes: Attributes = {"askback.turn.resumed": resumed}
    with _trace_block("askback.turn", SpanKind.INTERNAL, first, attributes, links=more):
        _to.turns.add(1)
        yield


class ModelCallSpan:
    """Records the result of one model call."""

    def __init__(self, span: Span, attributes: Attributes) -> None:
        self._span = span
        self._attributes = attributes
        self._began = time.monotonic()

    def record_result(self, stop_reason: str, *, read: int, cached: int, written: int) -> None:
        """Record the answer, with the number of tokens read, read from the cache, and written."""
        self._span.set_attribute("askback.model.result", stop_reason)
        for direction, count in (("input", read), ("cache", cached), ("output", written)):
            self._span.set_attribute(f"askback.model.tokens.{direction}", count)
            _to.model_tokens.add(count, {**self._attributes, "direction": direction})
        self._record_duration({**self._attributes, "result": stop_reason})

    def record_error(self, error: BaseException) -> None:
        """Record that the call failed."""
        _record_error(self._span, error)
        self._record_duration({**self._attributes, "result": "error"})

    def _record_duration(self, attributes: Attributes) -> None:
        _to.model_duration.record(time.monotonic() - self._began, attributes)


@contextmanager
def trace_model_call(model: str) -> Generator[ModelCallSpan]:
    """Trace a call of the model. The anthropic package adds its own span for the request below it."""
    attributes: Attributes = {"gen_ai.request.model": model}
    with _trace_block("askback.model", SpanKind.INTERNAL, None, attributes) as span:
        yield ModelCallSpan(span, attributes)


def record_tool_result(tool: str, status: str, question: str | None) -> None:
    """Record that an askback tool gave the model the answer to a question of this trace."""
    attributes: Attributes = {"gen_ai.tool.name": tool, "askback.ask.status": status}
    _begin("askback.tool_result", SpanKind.INTERNAL, None, attributes, links=[question]).end()


# Questions


def start_ask_trace(platform: str) -> str | None:
    """Begin the trace of a question, and return its traceparent; None if nothing is traced."""
    span = _begin("askback.ask", SpanKind.PRODUCER, None, {"askback.platform": platform})
    span.end()
    return _format_traceparent(span)


def trace_click(
    question: str | None, platform: str, operation: str, received_at: datetime
) -> AbstractContextManager[object]:
    """Trace the consequences of a click on this question. `received_at` is the time at which it arrived."""
    attributes: Attributes = {"askback.platform": platform, "askback.operation": operation}
    return _trace_block("askback.click", SpanKind.SERVER, question, attributes, at=_to_nanos(received_at))


def record_ack(platform: str, kind: str, received_at: float) -> None:
    """Record that a click received at this `time.monotonic()` was acknowledged."""
    _to.ack_duration.record(time.monotonic() - received_at, {"platform": platform, "kind": kind})


def record_settled(question: str | None, status: str, asked_at: datetime, settled_at: datetime) -> None:
    """Record that a question was settled. Its span is written only now: none stays open while people think."""
    _to.ask_duration.record(max((settled_at - asked_at).total_seconds(), 0.0), {"status": status})
    if question is None:
        return
    cause = _format_traceparent(trace.get_current_span())
    span = _begin(
        "askback.wait",
        SpanKind.INTERNAL,
        question,
        {"askback.ask.status": status},
        links=[cause],
        at=_to_nanos(asked_at),
    )
    span.end(max(_to_nanos(settled_at), _to_nanos(asked_at)))


# Deliveries


def trace_delivery(belongs_to: str | None, platform: str) -> AbstractContextManager[object]:
    """Trace the delivery of a card."""
    return _trace_block("askback.deliver", SpanKind.CLIENT, belongs_to, {"askback.platform": platform})


def record_delivery(kind: str, due_at: datetime, now: datetime) -> None:
    """Record the delay of a delivery that was due at `due_at`."""
    _to.outbox_lag.record(max((now - due_at).total_seconds(), 0.0), {"kind": kind})


@contextmanager
def observe_open_asks(count: Count) -> Generator[None]:
    """Count the open questions at every export until the block ends, so the number is right after any restart."""
    _counts.append(count)
    try:
        yield
    finally:
        _counts.remove(count)


def _count_open_asks(options: metrics.CallbackOptions) -> Sequence[metrics.Observation]:
    """Return the number of open questions. Exporters call this in any thread; the event loop may wait for them."""
    del options
    if not _counts:
        return []
    asking = ThreadPoolExecutor(max_workers=1, thread_name_prefix="askback-telemetry")
    try:
        return [metrics.Observation(asking.submit(asyncio.run, _sum_counts([*_counts])).result())]
    except (StoreError, TimeoutError) as error:
        log.warning(
            "Could not count the open questions for an export of metrics: %s",
            type(error).__name__,
            extra={"action": "count_failed"},
        )
        return []
    finally:
        asking.shutdown(wait=False)


async def _sum_counts(counts: Sequence[Count]) -> int:
    async with asyncio.timeout(COUNT_TIMEOUT_SECONDS):
        return sum([await count() for count in counts])


# Spans


def _begin(
    name: str,
    kind: SpanKind,
    parent: str | None,
    attributes: Attributes,
    *,
    links: Iterable[str | None] = (),
    at: int | None = None,
) -> Span:
    """Begin a span as a child of a stored traceparent, or of the current span if there is none."""
    return _to.tracer.start_span(
        name,
        context=None if parent is None else _extract_context(parent),
        kind=kind,
        attributes=attributes,
        links=[Link(_extract_span_context(one)) for one in links if one is not None],
        start_time=at,
    )


@contextmanager
def _trace_block(
    name: str,
    kind: SpanKind,
    parent: str | None,
    attributes: Attributes,
    *,
    links: Iterable[str | None] = (),
    at: int | None = None,
) -> Generator[Span]:
    """Run a block in a span. Errors are recorded without their text, which may quote a person."""
    span = _begin(name, kind, parent, attributes, links=links, at=at)
    try:
        if not span.get_span_context().is_valid:
            yield span  # nothing is traced, so there is no context for spans below it
            return
        with trace.use_span(span, record_exception=False, set_status_on_exception=False):
            yield span
    except BaseException as error:
        _record_error(span, error)
        raise
    finally:
        span.end()


def _record_error(span: Span, error: BaseException) -> None:
    kind = type(error).__qualname__
    span.set_attribute("error.type", kind)
    if not isinstance(error, asyncio.CancelledError):  # someone stopped it, or the process ends
        span.set_status(Status(StatusCode.ERROR, kind))


def _extract_context(traceparent: str) -> Context:
    return _traceparents.extract({"traceparent": traceparent}, Context())


def _extract_span_context(traceparent: str) -> trace.SpanContext:
    return trace.get_current_span(_extract_context(traceparent)).get_span_context()


def _format_traceparent(span: Span) -> str | None:
    """Return the span as a W3C traceparent; None if nothing is traced."""
    carrier: dict[str, str] = {}
    _traceparents.inject(carrier, trace.set_span_in_context(span, Context()))
    return carrier.get("traceparent")


def _to_nanos(moment: datetime) -> int:
    return to_micros(moment) * 1000


_to: _Instruments
set_providers()
