"""What `docs/explanation/what-a-policy-costs.md` says of duplicates, retries and worker hours, on a smaller scale."""

from functools import cache

import pytest

from tenure.simulation.durations import drawn
from tenure.simulation.fleet import scaling_of
from tenure.simulation.policy import policy_of
from tenure.simulation.result import Result
from tenure.simulation.running import simulate
from tenure.simulation.scenario import Scenario

GIB = 1 << 30


@cache
def _of_sizes(policy: str) -> Result:
    works = drawn("sizes", 150, 1)
    scenario = Scenario(
        works=works, workers=30, slots=1, rate=40 / 3600, crash_rate=0.05, stale_deletes_work=True,
        profile="transcoding",
    )  # fmt: skip
    return simulate(scenario, policy_of(policy))


def test_what_outlives_a_fixed_timeout_is_run_twice_and_what_is_renewed_is_not() -> None:
    fixed, renewed = _of_sizes("fixed:1200"), _of_sizes("heartbeat:600")
    assert renewed.measures.duplicates == renewed.measures.overlapped == 0
    assert fixed.by_size[4 * GIB].duplicate_share > 0.8
    assert fixed.by_size[100 << 20].duplicate_share == 0
    assert fixed.measures.wasted_share > 0.3


def test_retries_come_within_the_lease_and_a_short_one_is_enough() -> None:
    fixed, renewed = _of_sizes("fixed:1200").measures, _of_sizes("heartbeat:600").measures
    assert fixed.recovery_p99 is not None
    assert renewed.recovery_p99 is not None
    assert 600 < fixed.recovery_p99 <= 1500
    assert 300 < renewed.recovery_p99 <= 610


def test_five_percent_are_run_twice_where_five_percent_outlive_the_timeout() -> None:
    works = drawn("bimodal:420:1860:0.05", 400, 1)
    long = sum(work.seconds > 1200 for work in works) / 400
    scenario = Scenario(works=works, workers=30, slots=1, rate=120 / 3600, stale_deletes_work=True)
    assert simulate(scenario, policy_of("fixed:1200")).measures.duplicate_share == pytest.approx(long, abs=0.005)


def test_a_shorter_cooldown_saves_worker_hours_without_cutting_a_run() -> None:
    scenario = Scenario(works=drawn("sizes", 60, 1), workers=10, slots=1, rate=6 / 3600, idle_first=True)
    long, short = (simulate(scenario, policy_of("heartbeat:600"), scaling_of(f"backlog:{s}")) for s in (1500, 600))
    assert long.interrupted == short.interrupted == 0
    assert 0.80 < short.worker_seconds / long.worker_seconds < 0.95
