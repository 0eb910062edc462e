"""Scaling: what waits and what runs both need workers, and nobody is stopped who works."""

from typing import Any

import pytest

from tenure.errors import BadArgument
from tenure.limit import Limit
from tenure.timing.scaling import Backlog, Pace, ScalingRules, compare, desired_workers, slots_needed, visible_only

EVEN = Pace(6.0, 6.0, 100)
RULES = ScalingRules(target_age_seconds=60.0, slots=10)


def _backlog(ready: int | None = 0, leased: int | None = 0, due: int | None = 0) -> Backlog:
    return Backlog(ready=ready, leased=leased, due=due)


def test_an_empty_queue_needs_nobody() -> None:
    scale = desired_workers(_backlog(), EVEN, RULES)
    assert (scale.workers, scale.why) == (0, "nothing waits or runs")


def test_workers_follow_from_the_work_and_the_time_for_it() -> None:
    # 1,000 × 6 s in 60 s are 100 slots, 10 workers.
    scale = desired_workers(_backlog(1000), EVEN, RULES)
    assert scale.workers == 10
    assert scale.why == "1,000 to begin × 6 s (q99 6 s, 100 runs) within 60 s need 100 slots, 10 a worker"


@pytest.mark.parametrize("backlog", [_backlog(1000), _backlog(400, 600), _backlog(200, 300, 500), _backlog(due=1000)])
def test_what_waits_what_runs_and_what_is_due_count_alike(backlog: Backlog) -> None:
    expected = max(10, -(-(backlog.leased or 0) // 10))
    assert desired_workers(backlog, EVEN, RULES).workers == expected


def test_a_longer_time_needs_fewer() -> None:
    rules = ScalingRules(target_age_seconds=600.0, slots=10)
    assert desired_workers(_backlog(1000), EVEN, rules).workers == 1


def test_a_slow_tail_leaves_less_time_but_never_less_than_half() -> None:
    assert slots_needed(100, 0, Pace(6.0, 6.0, 1), 60.0) == 10
    assert slots_needed(100, 0, Pace(6.0, 26.0, 1), 60.0) == 15  # 600 s of work in 40 s
    assert slots_needed(100, 0, Pace(6.0, 6000.0, 1), 60.0) == 20  # in 30 s


def test_there_is_never_a_slot_without_a_message() -> None:
    assert slots_needed(3, 1, Pace(3600.0, 3600.0, 1), 60.0) == 4
    assert slots_needed(3, 1, Pace(0.0, 0.0, 1), 60.0) == 1
    assert slots_needed(0, 0, EVEN, 60.0) == 0


@pytest.mark.parametrize(
    ("limit", "workers", "told"),
    [
        (Limit(running=25), 3, "; the queue's limit, 25 running, can use 25"),
        (Limit(running=500), 10, "10 a worker"),
        (Limit(per_second=2.5), 2, "; the queue's limit, 2.5/s, can use 15"),  # 2.5 a second, each for 6 s
        (Limit(per_second=0.01), 1, "; the queue's limit, 36/h, can use 1"),
        (Limit(running=3, per_second=100.0), 1, "; the queue's limit, 3 running, 100/s, can use 3"),
        (Limit(per_second=1000.0), 10, "10 a worker"),
    ],
)
def test_no_worker_is_asked_for_that_the_limit_of_the_queue_cannot_use(limit: Limit, workers: int, told: str) -> None:
    rules = ScalingRules(target_age_seconds=60.0, slots=10, limit=limit)
    both = compare(_backlog(1000), EVEN, rules)
    assert both.desired.workers == both.visible_only.workers == workers
    assert both.desired.why.endswith(told)


def test_a_limit_that_was_lowered_stops_no_worker_that_is_busy() -> None:
    rules = ScalingRules(slots=10, limit=Limit(running=5))
    scale = desired_workers(_backlog(1000, 30), EVEN, rules)
    assert scale.workers == 3
    assert scale.why.endswith("1 would do, but what runs keeps 3 busy")


def test_short_runs_may_start_together() -> None:
    # 20 a second, of 10 ms each: one second's worth may begin at once.
    rules = ScalingRules(target_age_seconds=1.0, slots=1, limit=Limit(per_second=20.0))
    assert desired_workers(_backlog(100_000), Pace(0.01, 0.01, 9), rules).workers == 20


def test_bounds_hold_and_are_told() -> None:
    rules = ScalingRules(target_age_seconds=60.0, slots=10, minimum=2, maximum=5)
    most, least = desired_workers(_backlog(1000), EVEN, rules), desired_workers(_backlog(), EVEN, rules)
    assert most.workers == 5
    assert most.why.endswith("; it would take 10, and 5 is the most")
    assert least.workers == 2
    assert least.why.endswith("; 2 is the least")


def test_workers_that_run_something_are_not_taken_away() -> None:
    # 40 runs of 6 s need 4 slots within a minute; but they run now, on 4 workers at least.
    scale = desired_workers(_backlog(0, 40), EVEN, RULES, current=8)
    assert scale.workers == 4
    assert scale.why.endswith("; 1 would do, but what runs keeps 4 busy")


def test_nobody_is_taken_away_within_the_cooldown() -> None:
    def at(seconds: float, backlog: Backlog, **more: Any) -> int | None:
        rules = ScalingRules(target_age_seconds=60.0, slots=10, cooldown_seconds=300.0, **more)
        return desired_workers(backlog, EVEN, rules, current=8, since_added_seconds=seconds).workers

    assert at(299.0, _backlog()) == 8
    assert at(300.0, _backlog()) == 0
    assert at(0.0, _backlog(1000)) == 10, "more are added at any time"
    assert at(0.0, _backlog(), maximum=3) == 3, "the bound stands above the cooldown"


def test_looking_at_what_waits_alone_stops_workers_that_run() -> None:
    # The end of a backlog: nothing waits any more, forty long runs are under way.
    long = Pace(600.0, 900.0, 100)
    both = compare(_backlog(0, 40), long, RULES, current=4)
    assert both.desired.workers == 4
    assert both.visible_only.workers == 0
    assert both.interrupted == 40


def test_both_rules_agree_while_nothing_runs() -> None:
    both = compare(_backlog(1000), EVEN, RULES)
    assert both.desired == both.visible_only
    assert both.interrupted == 0


def test_without_a_measured_run_one_worker_finds_out() -> None:
    scale = desired_workers(_backlog(1000), None, RULES)
    assert scale.workers == 1
    assert "no run was measured yet" in scale.why
    assert desired_workers(_backlog(1000, 35), None, RULES).workers == 4


@pytest.mark.parametrize("backlog", [_backlog(None, 3), _backlog(3, None)])
def test_what_the_broker_cannot_say_is_not_guessed(backlog: Backlog) -> None:
    assert desired_workers(backlog, EVEN, RULES).workers is None
    assert compare(backlog, EVEN, RULES).interrupted is None


def test_unknown_due_messages_are_left_out_and_that_is_told() -> None:
    scale = desired_workers(_backlog(1000, 0, None), EVEN, RULES)
    assert scale.workers == 10
    assert scale.why.endswith("is not known, and they are left out")
    assert visible_only(_backlog(None), EVEN, RULES).workers is None


@pytest.mark.parametrize(
    "rules", [{"target_age_seconds": 0.0}, {"slots": 0}, {"minimum": -1}, {"maximum": 0}, {"minimum": 3, "maximum": 2}]
)
def test_rules_that_nothing_can_meet_are_refused(rules: dict[str, Any]) -> None:
    with pytest.raises(BadArgument):
        ScalingRules(**rules)
