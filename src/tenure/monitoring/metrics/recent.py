"""Recent figures: quantiles of the duration and the use of the lease, of the last five minutes.

Made from the change of what only grows, so it is the same for one process and for several together. They are gauges for
backends that keep no histograms, and right within 4 %, which an estimate from the borders of a histogram is not.
"""

from collections import deque
from collections.abc import Iterable

from tenure.monitoring.metrics.sample import Sample, Times
from tenure.timing import tallied

WINDOW_SECONDS = 300.0
#: What was known is noted so often.
_NOTE_SECONDS = 15.0
_QUANTILES = {"50": 0.5, "95": 0.95, "99": 0.99}
_DURATION, _LEASED = "tenure_process_duration_seconds", "tenure_lease_seconds_total"

_Labels = tuple[str, ...]
#: The counts by bucket, and the seconds that were lent.
_Known = dict[_Labels, tuple[dict[int, int], float]]


class Recent:
    """The figures of the last minutes. Asked at every scrape."""

    def __init__(self) -> None:
        """Begin with the start of the process."""
        self._course: deque[tuple[float, _Known]] = deque()

    def samples(self, samples: Iterable[Sample], now: float) -> list[Sample]:
        """The gauges that follow from these samples, at this monotonic time."""
        known = _known(samples)
        course = self._course
        while len(course) > 1 and now - course[1][0] >= WINDOW_SECONDS:
            course.popleft()
        before: _Known = course[0][1] if course else {}
        found: list[Sample] = []
        for labels, (buckets, leased) in known.items():
            old_buckets, old_leased = before.get(labels, ({}, 0.0))
            found += _gauges(labels, _change(buckets, old_buckets), leased - old_leased)
        if not course or now - course[-1][0] >= _NOTE_SECONDS:
            course.append((now, known if course else {}))
        return found


def _known(samples: Iterable[Sample]) -> _Known:
    durations: dict[_Labels, dict[int, int]] = {}
    leased: dict[_Labels, float] = {}
    for one in samples:
        if one.metric == _DURATION and isinstance(one.value, Times):
            durations[one.labels] = dict(one.value.buckets)
        elif one.metric == _LEASED and not isinstance(one.value, Times):
            leased[one.labels] = one.value
    return {labels: (buckets, leased.get(labels, 0.0)) for labels, buckets in durations.items()}


def _change(now: dict[int, int], before: dict[int, int]) -> dict[int, int]:
    """What came on top. A process that has ended takes its counts along: nothing is counted less than nothing."""
    return {bucket: number for bucket in now if (number := now[bucket] - before.get(bucket, 0)) > 0}


def _gauges(labels: _Labels, buckets: dict[int, int], leased: float) -> list[Sample]:
    runs = sum(buckets.values())
    quantiles = {name: tallied.quantile(buckets, q) for name, q in _QUANTILES.items()}
    found = [
        Sample("tenure_process_duration_percentile_seconds", (*labels, name), seconds)
        for name, seconds in quantiles.items()
        if seconds is not None
    ]
    high = quantiles["95"]
    if high is not None and leased > 0.0:
        found.append(Sample("tenure_lease_use_ratio", labels, high * runs / leased))
    return found
