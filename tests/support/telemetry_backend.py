"""OpenTelemetry's own SDK, in memory, like an operator's backend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from askback.observability import telemetry


@dataclass(frozen=True)
class Point:
    """A value with its attributes. For a histogram, it has the count and the sum."""

    attributes: dict[str, Any]
    value: float
    count: int = 1


class Backend:
    """Everything that was reported."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self._reader = InMemoryMetricReader()
        self.meters = MeterProvider([self._reader], shutdown_on_exit=False)

    def spans(self, name: str = "") -> list[ReadableSpan]:
        """Return ended spans whose name has this prefix, in the order of their ends."""
        return [span for span in self._spans.get_finished_spans() if span.name.startswith(name)]

    def span(self, name: str) -> ReadableSpan:
        (one,) = self.spans(name)
        return one

    def traces(self) -> set[int]:
        return {span.context.trace_id for span in self.spans()}

    def points(self, metric: str) -> list[Point]:
        """Return the values of a metric, by attributes."""
        data = self._reader.get_metrics_data()
        found: list[Point] = []
        for resource in data.resource_metrics if data is not None else ():
            for scope in resource.scope_metrics:
                for one in scope.metrics:
                    if one.name == metric:
                        for point in one.data.data_points:
                            histogram = hasattr(point, "sum")
                            value = point.sum if histogram else point.value  # type: ignore[union-attr]
                            count = point.count if histogram else 1  # type: ignore[union-attr]
                            found.append(Point(dict(point.attributes or {}), value, count))
        return found

    def units(self) -> dict[str, str]:
        data = self._reader.get_metrics_data()
        return {
            one.name: one.unit
            for resource in (data.resource_metrics if data is not None else ())
            for scope in resource.scope_metrics
            for one in scope.metrics
        }

    def words(self) -> str:
        """Return every name and every value of every attribute, status and event, for searching."""
        shown: list[str] = []
        for span in self.spans():
            shown += [span.name, str(dict(span.attributes or {})), str(span.status.description)]
            shown += [f"{event.name} {dict(event.attributes or {})}" for event in span.events]
        for metric in self.units():
            shown += [str(point.attributes) for point in self.points(metric)]
        return "\n".join(shown)


@contextmanager
def reported() -> Iterator[Backend]:
    """Collect all reports until the block ends, and turn reporting off afterwards."""
    backend = Backend()
    telemetry.set_providers(backend.tracers, backend.meters)
    try:
        yield backend
    finally:
        telemetry.set_providers()
        backend.tracers.shutdown()
        backend.meters.shutdown()


def parents(spans: list[ReadableSpan]) -> list[tuple[str, str | None]]:
    """Return each span's name and its parent's, in the order of their beginnings."""
    names = {span.context.span_id: span.name for span in spans}
    ordered = sorted(spans, key=lambda span: (span.start_time or 0, span.end_time or 0))
    return [(span.name, None if span.parent is None else names.get(span.parent.span_id, "?")) for span in ordered]


def linked(span: ReadableSpan, spans: list[ReadableSpan]) -> list[str]:
    """Return the names of the spans that a span links to."""
    names = {one.context.span_id: one.name for one in spans}
    return [names.get(link.context.span_id, "?") for link in span.links]
