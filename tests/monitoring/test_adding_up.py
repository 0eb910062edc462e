"""Names are bounded, processes are added up, and what is recent follows from what only grows."""

import pytest

from tenure.monitoring.metrics.bounded import BoundedNames
from tenure.monitoring.metrics.merge import growing, merge
from tenure.monitoring.metrics.recent import Recent
from tenure.monitoring.metrics.sample import Sample, Times
from tenure.timing.tallied import OTHER

_DURATION, _LEASED = "tenure_process_duration_seconds", "tenure_lease_seconds_total"


def times(*seconds: float) -> Times:
    found = Times()
    for one in seconds:
        found.note(one)
    return found


def values(samples: list[Sample]) -> dict[tuple[str, tuple[str, ...]], float]:
    return {(one.metric, one.labels): one.value for one in samples if not isinstance(one.value, Times)}


def test_the_first_names_keep_theirs_and_the_rest_is_other() -> None:
    names = BoundedNames(2)
    assert [names.of(one) for one in ("a", "b", "c", "a", "d", "b", OTHER)] == [
        "a",
        "b",
        "other",
        "a",
        "other",
        "b",
        "other",
    ]


def test_counters_and_histograms_of_processes_are_added_up_and_stay_as_they_were() -> None:
    one, other = times(1.0), times(1.0, 3.0)
    first = [Sample("tenure_events_total", ("dead",), 2), Sample(_DURATION, ("q", "t"), one)]
    second = [Sample("tenure_events_total", ("dead",), 3), Sample(_DURATION, ("q", "t"), other)]
    merged = {sample.metric: sample.value for sample in merge([first, second])}
    assert merged == {"tenure_events_total": 5, _DURATION: times(1.0, 1.0, 3.0)}
    assert (one, other) == (times(1.0), times(1.0, 3.0))


def test_gauges_are_merged_as_they_mean_it() -> None:
    names = ("tenure_store_up", "tenure_sweep_age_seconds", "tenure_clock_skew_seconds", "tenure_worker_slots")
    first = [Sample(name, (), value) for name, value in zip(names, (1.0, 2.0, -5.0, 10.0), strict=True)]
    second = [Sample(name, (), value) for name, value in zip(names, (0.0, 9.0, 1.0, 10.0), strict=True)]
    found = values(merge([first, second]))
    assert [found[name, ()] for name in names] == [0.0, 2.0, -5.0, 20.0]


def test_of_a_process_that_has_ended_only_what_grows_is_kept() -> None:
    kept = growing([Sample("tenure_events_total", ("dead",), 2), Sample("tenure_worker_slots", (), 10)])
    assert [one.metric for one in kept] == ["tenure_events_total"]


def test_percentiles_and_the_use_of_the_lease_are_of_the_last_five_minutes() -> None:
    recent, labels = Recent(), ("q", "t")
    early = [Sample(_DURATION, labels, times(1.0, 1.0)), Sample(_LEASED, labels, 60.0)]
    found = values(recent.samples(early, 0.0))
    assert found["tenure_process_duration_percentile_seconds", (*labels, "95")] == pytest.approx(1.0, rel=0.04)
    recent.samples(early, 30.0)
    late = [Sample(_DURATION, labels, times(1.0, 1.0, *[27.0] * 8)), Sample(_LEASED, labels, 60.0 + 8 * 30.0)]
    found = values(recent.samples(late, 331.0))
    assert found["tenure_process_duration_percentile_seconds", (*labels, "50")] == pytest.approx(27.0, rel=0.04)
    assert found["tenure_lease_use_ratio", labels] == pytest.approx(27.0 / 30.0, rel=0.04)


def test_where_nothing_ran_lately_nothing_is_said_of_it() -> None:
    recent, labels = Recent(), ("q", "t")
    samples = [Sample(_DURATION, labels, times(1.0)), Sample(_LEASED, labels, 30.0)]
    assert recent.samples(samples, 0.0)
    recent.samples(samples, 20.0)
    assert recent.samples(samples, 330.0) == []
