"""Merges the samples of several processes into those of one: `tenure worker --processes` is scraped at one place.

What only grows is added up, also for processes that have ended, so that no counter goes back when one is replaced.
"""

from collections.abc import Callable, Iterable

from tenure.monitoring.catalogue.metrics import METRICS
from tenure.monitoring.catalogue.spec import MetricKind
from tenure.monitoring.metrics.sample import Sample, Times

_KINDS = {spec.name: spec.kind for spec in METRICS}


def _widest(one: float, other: float) -> float:
    return one if abs(one) >= abs(other) else other


def _sum(one: float, other: float) -> float:
    return one + other


#: Gauges that are not added up.
_MERGED: dict[str, Callable[[float, float], float]] = {
    "tenure_store_up": min,
    "tenure_worker_responds": min,
    "tenure_sweep_age_seconds": min,
    "tenure_sweep_interval_seconds": max,
    "tenure_announcement_oldest_seconds": max,
    "tenure_clock_skew_seconds": _widest,
}


def merge(processes: Iterable[Iterable[Sample]]) -> list[Sample]:
    """The samples of all of them together. They stay as they are."""
    numbers: dict[tuple[str, tuple[str, ...]], float] = {}
    times: dict[tuple[str, tuple[str, ...]], Times] = {}
    for samples in processes:
        for one in samples:
            key = (one.metric, one.labels)
            if isinstance(one.value, Times):
                times.setdefault(key, Times()).add(one.value.buckets, one.value.seconds)
            elif key in numbers:
                numbers[key] = _MERGED.get(one.metric, _sum)(numbers[key], one.value)
            else:
                numbers[key] = one.value
    merged = [Sample(metric, labels, value) for (metric, labels), value in numbers.items()]
    return merged + [Sample(metric, labels, value) for (metric, labels), value in times.items()]


def growing(samples: Iterable[Sample]) -> list[Sample]:
    """Those that only grow: what is kept of a process that has ended."""
    return [one for one in samples if _KINDS[one.metric] is not MetricKind.GAUGE]
