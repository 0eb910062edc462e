"""The embedded metric format: metrics as log lines that CloudWatch reads, without an SDK.

    {"_aws": {"Timestamp": 1896080520000, "CloudWatchMetrics": [{"Namespace": "Tenure",
      "Dimensions": [["queue", "task", "outcome"]],
      "Metrics": [{"Name": "tenure_messages_total", "Unit": "Count"}]}]},
     "queue": "mail-tasks", "task": "mail", "outcome": "completed", "tenure_messages_total": 12}

One line for each set of labels. Metrics have the names of the catalogue, and its labels as dimensions. A counter's
value is what was added since the line before, so that CloudWatch's sum over a period is the growth, over all
processes. Times are exported as `…_count` and `…_sum`, and percentiles as gauges of the last five minutes.

Lines become metrics in a log group of Lambda or ECS (`awslogs`), or by the CloudWatch agent (`emf_target.py`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tenure.monitoring.catalogue.metrics import METRICS
from tenure.monitoring.catalogue.spec import MetricKind
from tenure.monitoring.cloudwatch.dimension import dimension_value
from tenure.monitoring.cloudwatch.signal import NAMESPACE
from tenure.monitoring.metrics.sample import Sample, Times

#: Limits of the format.
MOST_METRICS, MOST_DIMENSIONS = 100, 30
_UNITS = {"s": "Seconds", "ms": "Milliseconds", "By": "Bytes", "1": "None"}
_SPECS = {spec.name: spec for spec in METRICS}
_encoder = msgspec.json.Encoder()

_Labels = tuple[tuple[str, str], ...]


def unit_of(unit: str | None) -> str:
    """A unit as CloudWatch names it: `{message}` is a count."""
    return "Count" if unit is not None and unit.startswith("{") else _UNITS.get(unit or "1", "None")


class EmfLines:
    """Makes lines of samples; it knows what the counters were the last time."""

    def __init__(self, namespace: str = NAMESPACE) -> None:
        """Begin with the start of the process."""
        self._namespace = namespace
        self._before: dict[tuple[str, _Labels], float] = {}
        self._last_written = self._before

    def lines(self, samples: Iterable[Sample], at: float) -> list[bytes]:
        """One line for each set of labels; `at` in Unix seconds."""
        self._last_written = dict(self._before)
        grouped: dict[_Labels, dict[str, tuple[float, str]]] = {}
        for sample in samples:
            spec = _SPECS.get(sample.metric)
            if spec is None:
                continue
            labels = tuple(zip(spec.labels, map(dimension_value, sample.labels), strict=True))
            for name, value, unit, grows in _values(sample, spec.kind, spec.unit):
                shown = self._growth(name, labels, value) if grows else value
                if shown is not None:
                    grouped.setdefault(labels, {})[name] = (shown, unit)
        return [
            line
            for labels, metrics in grouped.items()
            for line in self._encoded(dict(labels), list(metrics.items()), round(at * 1000))
        ]

    def take_back(self) -> None:
        """The last lines were not written: the next ones say what these would have added."""
        self._before = self._last_written

    def _growth(self, name: str, labels: _Labels, value: float) -> float | None:
        """What was added. None: it began anew, and how much was added is not known."""
        before = self._before.get((name, labels))
        self._before[name, labels] = value
        if before is None:
            return value
        # A process that has ended takes its counts along: nothing is counted less than nothing.
        grown = value - before
        return grown if grown >= 0 else None

    def _encoded(
        self, labels: Mapping[str, str], metrics: Sequence[tuple[str, tuple[float, str]]], at_ms: int
    ) -> Iterable[bytes]:
        for start in range(0, len(metrics), MOST_METRICS):
            part = metrics[start : start + MOST_METRICS]
            document: dict[str, Any] = {
                "_aws": {
                    "Timestamp": at_ms,
                    "CloudWatchMetrics": [
                        {
                            "Namespace": self._namespace,
                            "Dimensions": [list(labels)],
                            "Metrics": [{"Name": name, "Unit": unit} for name, (_, unit) in part],
                        }
                    ],
                },
                **labels,
                **{name: int(value) if value.is_integer() else value for name, (value, _) in part},
            }
            yield _encoder.encode(document)


def _values(sample: Sample, kind: MetricKind, unit: str | None) -> list[tuple[str, float, str, bool]]:
    """Name, value, unit, and whether the value only grows."""
    if isinstance(sample.value, Times):
        count = float(sum(sample.value.buckets.values()))
        return [
            (f"{sample.metric}_count", count, "Count", True),
            (f"{sample.metric}_sum", sample.value.seconds, unit_of(unit), True),
        ]
    return [(sample.metric, float(sample.value), unit_of(unit), kind is MetricKind.COUNTER)]
