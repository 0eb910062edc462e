"""How long to hide a message: the documented numbers, and the bounds."""

import functools
import logging
import math

import pytest

from tenure.errors import BadArgument
from tenure.standalone import (
    PROCESSING_TIME_ESTIMATES,
    calculate_visibility_timeout,
    estimate_processing_seconds,
    get_recommended_timeout,
    validate_visibility_timeout,
)
from tenure.standalone.visibility_timeout import SQS_CEILING_SECONDS
from tenure.timing.margin import lease_seconds_for, slowest_usual
from tenure.timing.profile import SIZE_ESTIMATES, estimate_for_size

GIB = 1 << 30


@pytest.mark.parametrize(
    ("name", "seconds", "worst"),
    [
        ("content-collector", 180, 540),
        ("content-processor", 90, 210),
        ("markdown-generator", 60, 120),
        ("site-publisher", 180, 540),
    ],
)
def test_the_services_have_the_documented_timeouts(name: str, seconds: int, worst: int) -> None:
    assert calculate_visibility_timeout(name) == seconds
    assert calculate_visibility_timeout(name, True) == worst
    typical = PROCESSING_TIME_ESTIMATES[name]["average"]
    assert validate_visibility_timeout(seconds, typical * 1000), "the typical run fits"


def test_a_measured_duration_wins_also_for_an_unknown_name() -> None:
    assert calculate_visibility_timeout("content-processor", custom_duration_ms=100_000) == 180
    assert calculate_visibility_timeout("test", custom_duration_ms=10_000) == 30
    assert calculate_visibility_timeout("test", custom_duration_ms=40_000) == 90


def test_an_unknown_name_gets_the_default_and_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert calculate_visibility_timeout("nobody") == 30
    assert "no estimate and no measured duration for 'nobody'" in caplog.text


def test_a_timeout_is_rounded_up_and_stays_within_the_bounds_of_the_service() -> None:
    assert lease_seconds_for(0) == 30
    assert [lease_seconds_for(30 * count / 1.75) for count in range(1, 100)] == [30 * count for count in range(1, 100)]
    assert lease_seconds_for(120.1 / 1.75) == 150
    day = 86_400_000.0
    assert calculate_visibility_timeout("x", custom_duration_ms=day) == 151_200
    assert calculate_visibility_timeout("x", custom_duration_ms=day, ceiling_seconds=SQS_CEILING_SECONDS) == 43_200
    assert calculate_visibility_timeout("x", custom_duration_ms=30 * day) == 604_800
    assert calculate_visibility_timeout("x", custom_duration_ms=0, floor_seconds=1) == 1


@pytest.mark.parametrize("duration", [-1.0, math.nan, math.inf])
def test_what_is_no_duration_is_refused(duration: float) -> None:
    with pytest.raises(BadArgument, match="is not a duration"):
        calculate_visibility_timeout("content-processor", custom_duration_ms=duration)


@pytest.mark.parametrize(
    ("timeout", "milliseconds", "is_enough"),
    [(90, 45_000, True), (90, 75_000, False), (100, 79_999, True), (100, 80_000, False), (100, 150_000, False)],
)
def test_from_80_percent_on_a_timeout_is_too_short(timeout: int, milliseconds: float, is_enough: bool) -> None:
    assert validate_visibility_timeout(timeout, milliseconds) is is_enough


def test_from_90_percent_on_half_as_much_again_is_advised(caplog: pytest.LogCaptureFixture) -> None:
    validate_visibility_timeout(100, 85_000)
    assert "by a heartbeat" in caplog.records[-1].message
    validate_visibility_timeout(100, 90_000)
    assert "raise it to 150 s" in caplog.records[-1].message


@pytest.mark.parametrize("timeout", [0, -5, math.nan])
def test_no_timeout_is_no_measure(timeout: float) -> None:
    with pytest.raises(BadArgument):
        validate_visibility_timeout(timeout, 10)


def test_a_recommendation_says_why() -> None:
    assert get_recommended_timeout("content-processor") == {
        "container": "content-processor",
        "recommended_timeout_seconds": 90,
        "reasoning": "typical 45 s × 1.75, by an estimate (worst 120 s)",
        "safety_buffer_percent": 75.0,
    }
    measured = [1000.0] * 99 + [60_000.0]
    assert slowest_usual(measured) == 1000.0
    found = get_recommended_timeout("anything", [*measured, 60_000.0])
    assert (found["recommended_timeout_seconds"], found["reasoning"]) == (
        120,
        "q99 60.0 s of 101 measured operations × 1.75",
    )
    unknown = get_recommended_timeout("nobody")
    assert (unknown["recommended_timeout_seconds"], "the default" in unknown["reasoning"]) == (30, True)


def test_an_own_estimate_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROCESSING_TIME_ESTIMATES, "mine", {"min": 1, "average": 200, "max": 400})
    assert calculate_visibility_timeout("mine") == 360


def test_an_estimate_that_says_too_little_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROCESSING_TIME_ESTIMATES, "mine", {"average": 200})
    assert get_recommended_timeout("mine")["recommended_timeout_seconds"] == 360
    with pytest.raises(BadArgument, match="PROCESSING_TIME_ESTIMATES\\['mine'\\] has no 'max'"):
        calculate_visibility_timeout("mine", use_max=True)


def test_sizes_are_estimated_between_the_rows() -> None:
    assert estimate_processing_seconds(4 * GIB) == 1860
    assert estimate_processing_seconds(3 * GIB) == 1500
    assert estimate_processing_seconds(10) == 180
    assert estimate_processing_seconds(12 * GIB) == 5760
    for row in SIZE_ESTIMATES:
        assert estimate_for_size(row.size_bytes) == row
        assert row.lease_seconds > row.seconds
    with pytest.raises(BadArgument):
        estimate_processing_seconds(-1)


def test_on_sqs_no_timeout_is_longer_than_the_service_allows(caplog: pytest.LogCaptureFixture) -> None:
    ten_hours = 36_000_000.0
    assert calculate_visibility_timeout("x", custom_duration_ms=ten_hours) == 63_000
    assert not caplog.records
    assert calculate_visibility_timeout("x", custom_duration_ms=ten_hours, queue_url="q") == 43_200
    assert "needs a visibility timeout of 63000 s, and the service allows 43200 s" in caplog.text
    found = get_recommended_timeout("x", [ten_hours], queue_url="q")
    assert found["recommended_timeout_seconds"] == 43_200
    assert "renew it by a heartbeat" in found["reasoning"]
    high = functools.partial(calculate_visibility_timeout, ceiling_seconds=100_000.0, queue_url="q")
    assert high("x", custom_duration_ms=ten_hours) == 43_200
    assert not validate_visibility_timeout(40_000, 39_000_000, queue_url="q")
    assert "the service allows no more than 43200 s" in caplog.text
