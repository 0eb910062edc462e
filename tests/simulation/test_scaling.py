"""Workers that come and go: what runs is part of the work, whoever forgets it stops workers too early."""

from tenure.simulation.durations import drawn
from tenure.simulation.fleet import scaling_of
from tenure.simulation.policy import policy_of
from tenure.simulation.result import Result
from tenure.simulation.running import simulate
from tenure.simulation.scenario import Scenario

WORKS = drawn("lognormal:120:0.5", 120, 1)


def _scaled(rule: str, **scenario: object) -> Result:
    settings = {"workers": 10, "slots": 1, "rate": 60 / 3600, "target_age_seconds": 300.0, **scenario}
    return simulate(Scenario(works=WORKS, **settings), policy_of("heartbeat:30"), scaling_of(rule))  # type: ignore[arg-type]


def test_forgetting_what_runs_cuts_runs_and_costs_more() -> None:
    visible, backlog = _scaled("visible:300"), _scaled("backlog:300", idle_first=True)
    assert backlog.interrupted == 0
    assert backlog.measures.wasted_seconds == 0
    assert visible.interrupted > 20
    assert visible.measures.wasted_seconds > 0.1 * visible.measures.worked_seconds
    assert backlog.measures.finished == 120


def test_who_goes_by_lot_may_be_busy_though_the_number_is_right() -> None:
    assert _scaled("backlog:300").interrupted > 0


def test_workers_are_only_there_while_there_is_work() -> None:
    scaled = _scaled("backlog:300", idle_first=True)
    assert scaled.drain_seconds is not None
    assert scaled.worker_seconds < 0.9 * 10 * scaled.drain_seconds
    assert max(glance.workers for glance in scaled.seen) <= 10
    assert scaled.seen[0].workers == 0
    # A worker that came later counts from the beginning, too.
    assert scaled.oldest_seconds is not None
    assert scaled.oldest_seconds >= max(work.seconds for work in WORKS)


def test_a_shorter_cooldown_needs_fewer_worker_hours() -> None:
    long, short = (_scaled(rule, idle_first=True, rate=20 / 3600) for rule in ("backlog:1500", "backlog:300"))
    assert short.worker_seconds < long.worker_seconds
    assert short.measures.wasted_seconds == long.measures.wasted_seconds == 0


def test_a_rule_that_stops_every_run_is_given_up_soon_and_says_why() -> None:
    """48 minutes of work, and a cooldown of 25: each run is stopped before it is over, for ever."""
    long = Scenario(
        works=drawn("fixed:2880", 3, 1), workers=5, slots=1, rate=20 / 3600, target_age_seconds=300.0, idle_first=True
    )
    result = simulate(long, policy_of("heartbeat:600"), scaling_of("visible:25m"))
    assert result.stuck
    assert result.complete, "nobody pressed Ctrl-C"
    assert result.measures.finished == 1, "the first one had a worker to itself for long enough"
    assert result.cut_in_a_row == 20 * 2
    assert result.seconds < 16 * 3600, "before, it took more than a day"


def test_a_rule_that_stops_some_runs_is_not_given_up() -> None:
    found = _scaled("visible:420")
    assert (found.stuck, found.measures.finished, found.cut_in_a_row) == (False, 120, 0)
    assert found.interrupted > 10
