"""A sample: one value of one metric, as a process hands it on."""

import msgspec

from tenure.timing import tallied


class Times(msgspec.Struct):
    """How long something took each time: counts in the buckets of `timing/tallied.py`, and the sum."""

    buckets: dict[int, int] = msgspec.field(default_factory=dict)
    seconds: float = 0.0

    def note(self, seconds: float) -> None:
        """Count one more."""
        bucket = tallied.bucket_of(seconds)
        self.buckets[bucket] = self.buckets.get(bucket, 0) + 1
        self.seconds += seconds

    def add(self, buckets: dict[int, int], seconds: float) -> None:
        """Count many more."""
        tallied.add_counts(self.buckets, buckets)
        self.seconds += seconds


class Sample(msgspec.Struct, frozen=True):
    """One value."""

    #: A name of the catalogue.
    metric: str
    #: In the order of the metric's labels there.
    labels: tuple[str, ...]
    value: float | Times


class SampleSet:
    """Samples while they are put together: what has the same name and labels is added up."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._numbers: dict[tuple[str, tuple[str, ...]], float] = {}
        self._times: dict[tuple[str, tuple[str, ...]], Times] = {}

    def add(self, metric: str, value: float, *labels: str) -> None:
        """Add a number."""
        key = (metric, labels)
        self._numbers[key] = self._numbers.get(key, 0.0) + value

    def add_times(self, metric: str, buckets: dict[int, int], seconds: float, *labels: str) -> None:
        """Add counts of times."""
        times = self._times.get((metric, labels))
        if times is None:
            times = self._times[metric, labels] = Times()
        times.add(buckets, seconds)

    def samples(self) -> list[Sample]:
        """What was put together."""
        numbers = [Sample(metric, labels, value) for (metric, labels), value in self._numbers.items()]
        return numbers + [Sample(metric, labels, times) for (metric, labels), times in self._times.items()]
