"""Samples become text that Prometheus reads: names of the catalogue, exact borders, escaped labels."""

import pytest

from tenure.monitoring.catalogue import LABELS, METRICS, MetricKind
from tenure.monitoring.metrics.exposition import BORDERS, cumulative, render, wants_openmetrics
from tenure.monitoring.metrics.sample import Sample, Times


def lines_of(*samples: Sample, openmetrics: bool = False) -> list[str]:
    return render(samples, openmetrics=openmetrics).decode().splitlines()


def test_a_counter_has_its_help_its_type_and_its_labels_in_the_order_of_the_catalogue() -> None:
    sample = Sample("tenure_messages_total", ("mail-tasks", "send", "completed"), 3)
    assert lines_of(sample) == [
        "# HELP tenure_messages_total Messages that left the worker.",
        "# TYPE tenure_messages_total counter",
        'tenure_messages_total{queue="mail-tasks",task="send",outcome="completed"} 3',
    ]


def test_openmetrics_names_a_counter_without_its_ending_and_ends_with_a_mark() -> None:
    sample = Sample("tenure_workers_crashed_total", (), 1)
    found = lines_of(sample, openmetrics=True)
    assert found[1:] == ["# TYPE tenure_workers_crashed counter", "tenure_workers_crashed_total 1", "# EOF"]


@pytest.mark.parametrize(
    ("accept", "wanted"), [("", False), ("text/plain", False), ("application/openmetrics-text;version=1.0.0,*/*", True)]
)
def test_openmetrics_is_for_those_who_ask_for_it(accept: str, wanted: bool) -> None:
    assert wants_openmetrics(accept) is wanted


def test_what_a_user_named_cannot_break_a_line() -> None:
    sample = Sample("tenure_queue_paused", ('a"b\\c\nd',), 1)
    assert lines_of(sample)[-1] == 'tenure_queue_paused{queue="a\\"b\\\\c\\nd"} 1'


def test_a_histogram_counts_each_time_below_the_borders_above_it() -> None:
    times = Times()
    for seconds in (0.0001, 0.003, 1.5, 1.9, 10_000.0):
        times.note(seconds)
    counts = dict(zip(BORDERS, cumulative(times), strict=False))
    assert (counts[2.0**-9], counts[2.0**-8], counts[1.0], counts[2.0], counts[4096.0]) == (1, 2, 2, 4, 4)
    assert cumulative(times)[-1] == 5
    found = lines_of(Sample("tenure_webhook_duration_seconds", (), times))
    assert 'tenure_webhook_duration_seconds_bucket{le="2.0"} 4' in found
    assert 'tenure_webhook_duration_seconds_bucket{le="+Inf"} 5' in found
    assert "tenure_webhook_duration_seconds_count 5" in found


@pytest.mark.parametrize("seconds", [0.0, 0.001953125, 0.5, 1.0, 3.9999, 4095.0])
def test_no_time_is_counted_above_a_border_that_it_is_below(seconds: float) -> None:
    times = Times()
    times.note(seconds)
    counts = cumulative(times)
    assert all(count == (1 if seconds < border else 0) for border, count in zip(BORDERS, counts, strict=False))


def test_a_sample_that_is_not_in_the_catalogue_is_an_error() -> None:
    with pytest.raises(KeyError):
        render([Sample("tenure_made_up_total", (), 1)])


def test_labels_that_do_not_fit_the_catalogue_are_an_error() -> None:
    with pytest.raises(ValueError, match="zip"):
        render([Sample("tenure_messages_total", ("mail-tasks",), 1)])


def test_each_label_of_a_metric_is_described_once_and_each_name_says_what_it_is() -> None:
    described = [one.name for one in LABELS]
    assert len(set(described)) == len(described)
    assert {name for one in METRICS for name in one.labels} == set(described)
    names = [one.name for one in METRICS]
    assert len(set(names)) == len(names)
    for one in METRICS:
        assert one.name.endswith("_total") is (one.kind is MetricKind.COUNTER), one.name
        assert one.about.endswith("."), one.name
        if one.unit == "s":
            assert "seconds" in one.name, one.name
