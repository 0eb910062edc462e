"""The real worker in virtual time: what happens to messages, and what it would have cost."""

import random
import signal

import pytest

from tenure.simulation.durations import drawn
from tenure.simulation.policy import policy_of
from tenure.simulation.result import Result
from tenure.simulation.running import simulate
from tenure.simulation.scenario import Scenario, Work


def _run(policy: str, spec: str = "fixed:100", count: int = 60, **scenario: object) -> Result:
    seed = int(str(scenario.get("seed", 1)))
    settings = {"workers": 3, "slots": 2, **scenario}
    return simulate(Scenario(works=drawn(spec, count, seed), **settings), policy_of(policy))  # type: ignore[arg-type]


def test_the_heartbeat_keeps_what_outlives_its_lease_many_times() -> None:
    found = _run("heartbeat:30", "fixed:1000").measures
    assert (found.duplicates, found.overlapped, found.given_up, found.wasted_seconds) == (0, 0, 0, 0.0)
    assert (found.runs, found.finished) == (60, 60)
    # Every third of a lease, until shortly before the end.
    assert found.beats / 60 == pytest.approx(99, abs=2)


def test_work_takes_the_time_that_it_takes() -> None:
    result = _run("heartbeat:30", "fixed:100", count=60, workers=3, slots=2)
    assert result.measures.worked_seconds == pytest.approx(6000)
    assert result.drain_seconds == pytest.approx(1000, abs=1)
    assert result.oldest_seconds == pytest.approx(1000, abs=1)
    assert result.worker_seconds == pytest.approx(3000, abs=3)


def test_a_crash_is_got_over_within_the_lease_where_nobody_proves_it() -> None:
    found = _run("heartbeat:30", crash_rate=0.2).measures
    assert found.recoveries > 5
    assert found.recovery_p99 is not None
    assert found.recovery_p50 is not None
    # A lease of 30 s that was renewed at most 10 s before, a restart after 10 s, and whoever is free.
    assert 10 <= found.recovery_p50 <= found.recovery_p99 <= 150
    assert (found.duplicates, found.overlapped, found.finished) == (0, 0, 60)
    assert found.wasted_seconds > 0


def test_a_long_lease_that_is_renewed_is_as_safe_and_slower_to_come_back() -> None:
    short, long = (_run(policy, crash_rate=0.2).measures for policy in ("heartbeat:30", "heartbeat:600"))
    assert short.recovery_p50 is not None
    assert long.recovery_p50 is not None
    assert long.recovery_p50 > 5 * short.recovery_p50
    assert long.duplicates == 0


def test_a_proven_death_brings_messages_back_at_once() -> None:
    found = _run("heartbeat:600", crash_rate=0.2, proof_seconds=1.0, restart_seconds=1.0).measures
    assert found.recovery_p50 is not None
    assert found.recovery_p50 < 10


def test_workers_may_die_by_the_hour_instead() -> None:
    result = _run("heartbeat:30", crashes_an_hour=6.0)
    assert result.crashes > 1
    assert result.measures.finished == 60


def test_a_delete_that_fails_is_tried_again_and_nothing_runs_twice() -> None:
    calm, rough = _run("heartbeat:30"), _run("heartbeat:30", delete_failure_rate=0.3)
    assert rough.measures.duplicates == 0
    assert rough.measures.runs == 60
    assert rough.calls["delete"] > calm.calls["delete"] == 30


def test_requests_are_counted_as_they_are_billed() -> None:
    result = _run("heartbeat:30", "fixed:5", count=20, workers=1, slots=20)
    # Ten entries a request; a short message never touches the network for its lease.
    calls = {"send": 2, "receive": 2, "empty_receive": 0, "delete": 2, "change_visibility": 0, "state_write": 60}
    assert result.calls == calls
    assert result.requests_a_message == pytest.approx(0.3)
    beaten = _run("heartbeat:30", "fixed:25", count=20, workers=1, slots=20)
    assert beaten.calls["change_visibility"] == 2 * 2
    assert beaten.calls["state_write"] == 60 + 2 * 20


def test_an_idle_worker_pays_for_its_polls() -> None:
    result = simulate(Scenario(works=(Work(1.0), Work(60.0)), workers=2, slots=1), policy_of("heartbeat:30"))
    assert result.calls["receive"] == 2
    assert result.calls["empty_receive"] == pytest.approx(59 / 5, abs=1.5)


def test_arrivals_come_at_their_rate() -> None:
    result = _run("heartbeat:30", "fixed:1", count=400, rate=0.5, slots=10)
    assert result.drain_seconds == pytest.approx(800, rel=0.2)
    assert result.calls["send"] == 400
    assert result.oldest_seconds == pytest.approx(1.0, abs=0.5)


def test_the_same_seed_gives_the_same_result_and_another_seed_another() -> None:
    def once(seed: int) -> Result:
        return _run("heartbeat:30", "lognormal:45:0.6", count=200, crash_rate=0.05, delete_failure_rate=0.05, seed=seed)

    assert once(1) == once(1)
    assert once(1) != once(2)


def test_chance_of_the_process_itself_is_left_as_it_was() -> None:
    random.seed(5)
    expected = random.random()
    random.seed(5)
    _run("heartbeat:30", delete_failure_rate=0.3)
    assert random.random() == expected


def test_every_policy_meets_the_same_crashes() -> None:
    scenario = Scenario(works=(Work(100.0),) * 500, crash_rate=0.1)
    crashes = [scenario.crash_of_run(index, 0) for index in range(500)]
    assert crashes == [scenario.crash_of_run(index, 0) for index in range(500)]
    assert sum(one is not None for one in crashes) == pytest.approx(50, abs=15)
    assert all(0 <= one <= 100 for one in crashes if one is not None)


def test_sizes_are_told_apart() -> None:
    result = _run("heartbeat:30", "sizes", count=50, slots=10)
    assert sorted(result.by_size) == [size << 20 for size in (100, 500, 2048, 4096, 6144)]
    assert sum(found.messages for found in result.by_size.values()) == 50
    beats = [found.beats / found.messages for found in result.by_size.values()]
    assert beats == sorted(beats)


def test_ctrl_c_ends_it_with_what_is_known() -> None:
    def press(done: int) -> None:
        if done >= 20:
            signal.raise_signal(signal.SIGINT)  # to this very thread: a whole process may hear of it late

    scenario = Scenario(works=(Work(100.0),) * 100, workers=2, slots=2)
    result = simulate(scenario, policy_of("heartbeat:30"), progress=press)
    assert not result.complete
    assert 20 <= result.measures.finished < 100
