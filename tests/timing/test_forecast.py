"""Forecasts: what a worker would come to, laid open step by step."""

import math

import pytest

from tenure.sample import Ended, Sample
from tenure.timing.forecast import Forecast, beats_needed, forecasts
from tenure.timing.learned import Bounds
from tenure.timing.prior import Prior
from tenure.timing.profile import PROFILES, Profile

PROCESSOR = Prior(PROFILES["content-processor"], "content-processor")


def _samples(*seconds: float, hardware: str = "x 2", size: int | None = None) -> list[Sample]:
    return [Sample("q", "t", one, float(at), size=size, hardware=hardware) for at, one in enumerate(seconds)]


def _product(forecast: Forecast) -> float:
    """What the steps come to, from the last number of seconds before the factors on."""
    steps = {step.name: step.value for step in forecast.steps}
    base = next(steps[name] for name in ("with the profile", "q99", "profile", "default") if name in steps)
    return base * steps["caution"] * steps.get("margin", 1.0)


@pytest.mark.parametrize("runs", [1, 20, 99, 100, 500])
@pytest.mark.parametrize("prior", [Prior(), PROCESSOR, Prior(Profile(1, 2, 3, 4))])
def test_the_steps_come_to_the_lease(runs: int, prior: Prior) -> None:
    seconds = [5.0 + number % 7 for number in range(runs)]
    (forecast,) = forecasts(_samples(*seconds), prior=prior)
    assert forecast.lease_seconds == math.ceil(_product(forecast) - 1e-6)
    assert forecast.why.startswith(f"{forecast.lease_seconds:.0f} s: ")
    assert forecast.steps[-1].value == forecast.lease_seconds


def test_predicted_times_spread_is_q99() -> None:
    (forecast,) = forecasts(_samples(*([4.0] * 90 + [40.0] * 10)))
    steps = {step.name: step.value for step in forecast.steps}
    assert steps["predicted"] == pytest.approx(4.0, rel=0.02)
    assert steps["spread"] == pytest.approx(10.0, rel=0.03)
    assert steps["predicted"] * steps["spread"] == pytest.approx(steps["q99"])


def test_without_samples_the_profile_is_doubled() -> None:
    (forecast,) = forecasts([], prior=PROCESSOR)
    assert (forecast.runs, forecast.evidence, forecast.q99_seconds) == (0, 0.0, None)
    assert forecast.typical_seconds == 45.0
    assert forecast.lease_seconds == 158.0
    assert forecast.hold_seconds is None
    assert [step.name for step in forecast.steps] == ["profile", "caution", "margin", "lease"]


def test_without_anything_the_default_is_doubled() -> None:
    (forecast,) = forecasts([], default=30.0)
    assert forecast.typical_seconds is None
    assert forecast.lease_seconds == 60.0 == _product(forecast)


def test_each_kind_of_machine_has_a_forecast_of_its_own() -> None:
    slow, fast = _samples(*[20.0] * 150, hardware="old 2"), _samples(*[2.0] * 120, hardware="new 8")
    first, second = forecasts([*slow, *fast])
    assert (first.hardware, first.runs, second.hardware, second.runs) == ("old 2", 150, "new 8", 120)
    assert first.lease_seconds > 5 * second.lease_seconds


def test_a_size_is_predicted_from_runs_of_other_sizes() -> None:
    samples = [
        Sample("q", "t", 10.0 + size / 1e6, float(at), size=size, hardware="x")
        for at, size in enumerate([1_000_000, 5_000_000, 20_000_000, 50_000_000] * 40)
    ]
    (small,), (large,) = forecasts(samples, size=1e6), forecasts(samples, size=100e6)
    assert small.typical_seconds == pytest.approx(11.0, rel=0.05)
    assert large.typical_seconds == pytest.approx(110.0, rel=0.05)
    # Sizes about as large share a lease: a little more than the steps come to, never less.
    assert _product(large) <= large.lease_seconds <= 1.1 * _product(large)


def test_the_brokers_bounds_hold_and_are_told() -> None:
    (forecast,) = forecasts(_samples(*[90_000.0] * 100), bounds=Bounds(1.0, 43_200.0))
    assert forecast.lease_seconds == 43_200.0
    assert "at least 1 s and at most 43,200 s" in forecast.steps[-1].why


def test_a_limit_is_advised_once_there_are_runs_enough() -> None:
    (few,), (enough,) = forecasts(_samples(*[4.0] * 50)), forecasts(_samples(*[4.0] * 150))
    assert few.hold_seconds is None
    assert enough.hold_seconds == pytest.approx(12.0, abs=1.0)
    assert enough.hold_why is not None


def test_what_was_ended_from_outside_makes_a_lease_longer() -> None:
    runs = _samples(*[4.0] * 99)
    (plain,) = forecasts(runs)
    (longer,) = forecasts([*runs, *(Sample("q", "t", 60.0, 200.0, Ended.KILLED, hardware="x 2") for _ in range(5))])
    assert longer.lease_seconds > 5 * plain.lease_seconds


@pytest.mark.parametrize(("seconds", "beats"), [(0.0, 0), (9.9, 0), (10.0, 1), (19.9, 1), (20.0, 2), (95.0, 9)])
def test_a_run_is_renewed_so_often(seconds: float, beats: int) -> None:
    assert beats_needed(seconds, 10.0, 10.0) == beats
