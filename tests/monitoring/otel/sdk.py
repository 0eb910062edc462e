"""An SDK as a program would set it up, whose spans and metrics are kept in memory."""

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased, Sampler


class Sdk:
    """Providers that export nothing anywhere."""

    def __init__(self, sampler: Sampler = ALWAYS_ON) -> None:
        self._exporter = InMemorySpanExporter()
        self.tracers = TracerProvider(sampler=ParentBased(sampler))
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self._reader = InMemoryMetricReader()
        self.meters = MeterProvider([self._reader])

    def spans(self, name: str = "") -> list[ReadableSpan]:
        """Those that have ended, whose name begins so."""
        return [span for span in self._exporter.get_finished_spans() if span.name.startswith(name)]

    def metrics(self) -> dict[str, dict[tuple[tuple[str, object], ...], float]]:
        """Collect: values by instrument and attributes."""
        data = self._reader.get_metrics_data()
        found: dict[str, dict[tuple[tuple[str, object], ...], float]] = {}
        for resource in data.resource_metrics if data is not None else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in metric.data.data_points:
                        key = tuple(sorted((point.attributes or {}).items()))
                        found.setdefault(metric.name, {})[key] = point.value  # type: ignore[union-attr]
        return found
