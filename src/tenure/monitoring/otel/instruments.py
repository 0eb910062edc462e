"""Instruments: the metrics of the catalogue for an OpenTelemetry SDK, read from the aggregate when the SDK collects.

All of them are observable, so nothing happens for a message: recording one in a histogram of the SDK takes 16 µs.
OpenTelemetry has no observable histogram. So each histogram is exported as what can be added up, `….count` and `….sum`;
percentiles are gauges of the last five minutes, for backends that keep no histograms.
"""

import asyncio
import functools
import threading
from collections.abc import Callable, Iterable

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation

from tenure.clock import SYSTEM_CLOCK
from tenure.monitoring.catalogue.metrics import METRICS
from tenure.monitoring.catalogue.spec import MetricKind, MetricSpec
from tenure.monitoring.metrics.loop_reading import LoopReading
from tenure.monitoring.metrics.merge import merge
from tenure.monitoring.metrics.recent import Recent
from tenure.monitoring.metrics.sample import Sample, Times
from tenure.monitoring.otel.attributes import attribute_of

#: One collection asks each instrument; they share a reading for so long.
_FRESH_SECONDS = 0.5

Callback = Callable[[CallbackOptions], Iterable[Observation]]


class Instruments:
    """The instruments of one app."""

    def __init__(self, provider: MeterProvider | None) -> None:
        """Make them with the first worker."""
        self._provider = provider
        self._sources: list[LoopReading] = []
        self._recent = Recent()
        #: Of the list of sources. A worker's loop takes it, so a holder must not wait for a loop.
        self._lock = threading.Lock()
        #: Of what was read.
        self._reading = threading.Lock()
        self._read_at = float("-inf")
        self._samples: dict[str, list[Sample]] = {}
        self._are_made = False

    def watch(self, read: Callable[[], list[Sample]]) -> Callable[[], None]:
        """Export what `read` returns, called on this loop. Returns what ends it."""
        source = LoopReading(asyncio.get_running_loop(), read)
        with self._lock:
            self._sources.append(source)
            is_first, self._are_made = not self._are_made, True
        if is_first:
            self._make()
        return functools.partial(self._forget, source)

    def _forget(self, source: LoopReading) -> None:
        with self._lock:
            self._sources.remove(source)

    def _make(self) -> None:
        meter = metrics.get_meter("tenure", meter_provider=self._provider)
        for spec in METRICS:
            if spec.otel is None:
                continue
            unit = spec.unit or "1"
            if spec.kind is MetricKind.HISTOGRAM:
                count, total = self._callback(spec, _count_of), self._callback(spec, _sum_of)
                meter.create_observable_counter(f"{spec.otel}.count", [count], "1", f"{spec.about} How many.")
                meter.create_observable_counter(f"{spec.otel}.sum", [total], unit, f"{spec.about} Added up.")
            elif spec.kind is MetricKind.COUNTER:
                meter.create_observable_counter(spec.otel, [self._callback(spec, _value_of)], unit, spec.about)
            else:
                meter.create_observable_gauge(spec.otel, [self._callback(spec, _value_of)], unit, spec.about)

    def _callback(self, spec: MetricSpec, value_of: Callable[[float | Times], float]) -> Callback:
        names = tuple(map(attribute_of, spec.labels))

        def observe(_options: CallbackOptions) -> Iterable[Observation]:
            for one in self._current().get(spec.name, ()):
                yield Observation(value_of(one.value), dict(zip(names, one.labels, strict=True)))

        return observe

    def _current(self) -> dict[str, list[Sample]]:
        """The samples of all workers of this process, by metric. Called in a thread of the SDK."""
        with self._reading:
            now = SYSTEM_CLOCK.monotonic()
            if now - self._read_at >= _FRESH_SECONDS:
                with self._lock:
                    sources = list(self._sources)
                samples = merge(source.read() for source in sources)
                by_metric: dict[str, list[Sample]] = {}
                for one in (*samples, *self._recent.samples(samples, now)):
                    by_metric.setdefault(one.metric, []).append(one)
                self._read_at, self._samples = now, by_metric
            return self._samples


def _value_of(value: float | Times) -> float:
    return 0.0 if isinstance(value, Times) else value


def _count_of(value: float | Times) -> float:
    return float(sum(value.buckets.values())) if isinstance(value, Times) else 0.0


def _sum_of(value: float | Times) -> float:
    return value.seconds if isinstance(value, Times) else 0.0
