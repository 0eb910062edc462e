"""Advice: the good, bad and critical signs, each at its threshold, and silence where nothing is known."""

from typing import Any

import pytest

from tenure.finding import Finding, Severity
from tenure.timing.advice import IDS, advise
from tenure.timing.figures import Durations, Standing, TaskFigures

FIXED = Standing(100.0, is_renewed=False)
RENEWED = Standing(30.0)


def _took(q99: float, *, q50: float | None = None, longest: float | None = None, samples: int = 500) -> Durations:
    return Durations(
        samples, 0, q99 / 2, q99 / 2 if q50 is None else q50, q99, q99, q99 if longest is None else longest
    )


def _of(**figures: Any) -> TaskFigures:
    return TaskFigures(queue="q", task="t", **figures)


def _severities(figures: TaskFigures) -> dict[str, Severity]:
    assert {one.id for one in advise(figures)} <= IDS
    return {one.id: one.severity for one in advise(figures)}


def _one(id: str, figures: TaskFigures) -> Finding:
    (found,) = [one for one in advise(figures) if one.id == id]
    return found


# -- the lease that nobody renews -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("q99", "expected"),
    [(79.9, {}), (80.0, {"lease_use_high": "warning"}), (89.9, {"lease_use_high": "warning"}),
     (90.0, {"lease_use_critical": "critical"}), (250.0, {"lease_use_critical": "critical"})],
)  # fmt: skip
def test_the_use_of_a_lease_is_judged_at_80_and_at_90_percent(q99: float, expected: dict[str, str]) -> None:
    assert _severities(_of(standing=FIXED, durations=_took(q99))) == expected


def test_at_90_percent_half_as_much_again_is_advised_and_more_where_that_is_too_little() -> None:
    high = _one("lease_use_critical", _of(standing=FIXED, durations=_took(92.0)))
    assert high.subject == "t on q"
    assert high.evidence == "q99 92 s of 500 runs is 92.0 % of a lease of 100 s"
    assert high.remedy == "Raise the lease to 150 s, or switch the heartbeat on."
    over = _one("lease_use_critical", _of(standing=FIXED, durations=_took(120.0)))
    assert "to 210 s" in over.remedy  # 120 × 1.75; 120 s would be 80 % of 150 s


def test_runs_that_were_ended_at_their_lease_would_have_taken_longer() -> None:
    took = Durations(10, 7, 90.0, 90.0, 100.0, 100.0, 100.0)
    figures = _of(standing=FIXED, durations=took, advised_lease_seconds=350.0)
    assert "to 350 s" in _one("lease_use_critical", figures).remedy
    assert "(7 of them ended from outside)" in _one("lease_use_critical", figures).evidence


def test_no_lease_is_advised_that_the_broker_does_not_give() -> None:
    bounded = Standing(43_200.0, is_renewed=False, ceiling_seconds=43_200.0)
    remedy = _one("lease_use_critical", _of(standing=bounded, durations=_took(43_000.0))).remedy
    assert remedy.startswith("Switch the heartbeat on: 43,200 s is the longest lease")


def test_ten_minutes_for_work_of_45_seconds_is_too_long_and_90_seconds_are_not() -> None:
    took = _took(120.0, q50=45.0)
    long = _one("lease_too_long", _of(standing=Standing(600.0, is_renewed=False), durations=took))
    assert long.severity is Severity.WARNING
    assert "45 s, 7.5 % of a lease of 600 s" in long.evidence
    assert long.remedy == "Lower the lease to 210 s, or switch the heartbeat on."
    assert "lease_too_long" not in _severities(_of(standing=Standing(90.0, is_renewed=False), durations=took))
    few = _took(120.0, q50=45.0, samples=99)
    assert _severities(_of(standing=Standing(600.0, is_renewed=False), durations=few)) == {}


def test_what_was_learned_is_advised_instead_of_the_formula() -> None:
    learned = _of(
        standing=Standing(600.0, is_renewed=False), durations=_took(120.0, q50=45.0), advised_lease_seconds=211.0
    )
    assert "to 211 s" in _one("lease_too_long", learned).remedy


def test_the_shortest_lease_there_is_is_not_too_long() -> None:
    assert _severities(_of(standing=Standing(30.0, is_renewed=False), durations=_took(0.1))) == {}


# -- the lease that the heartbeat renews ------------------------------------------------------------


def test_a_renewed_lease_may_be_outlived_and_only_its_window_matters() -> None:
    assert "lease_use_critical" not in _severities(_of(standing=RENEWED, durations=_took(3000.0)))
    assert _severities(_of(standing=Standing(600.0), durations=_took(3.0, samples=5))) == {"lease_too_long": "info"}


def test_a_limit_is_advised_far_above_every_run_that_was_seen() -> None:
    advised = _one("max_hold_advised", _of(standing=RENEWED, durations=_took(40.0, longest=1000.0)))
    assert advised.severity is Severity.INFO
    assert "max_hold=3000" in advised.remedy
    learned = _of(standing=RENEWED, durations=_took(40.0), advised_hold_seconds=777.0)
    assert "max_hold=777" in _one("max_hold_advised", learned).remedy
    assert _severities(_of(standing=RENEWED, durations=_took(40.0, samples=99))) == {}


@pytest.mark.parametrize(
    ("q99", "expected"),
    [(79.0, {}), (80.0, {"max_hold_use_high": "warning"}), (90.0, {"max_hold_use_critical": "critical"})],
)
def test_runs_close_to_max_hold_are_told(q99: float, expected: dict[str, str]) -> None:
    standing = Standing(30.0, max_hold_seconds=100.0)
    assert _severities(_of(standing=standing, durations=_took(q99))) == expected


def test_runs_that_max_hold_ended_are_told_instead_of_how_close_the_others_came() -> None:
    standing = Standing(30.0, max_hold_seconds=100.0)
    figures = _of(standing=standing, durations=_took(95.0, longest=100.0), completed=97, retried=3, held=3)
    assert _severities(figures) == {"max_hold_reached": "warning", "redelivered_retry": "info"}
    assert _one("max_hold_reached", figures).remedy.startswith("Raise max_hold to 300 s if they did not hang")
    assert " ended 1 run; " in _one("max_hold_reached", _of(standing=standing, durations=_took(95.0), held=1)).evidence


# -- what came again --------------------------------------------------------------------------------


def test_of_fewer_than_twenty_messages_a_duplicate_is_told_and_not_judged() -> None:
    few = _of(completed=18, duplicates=1)
    assert _severities(few) == {"healthy": "info"}
    assert _one("healthy", few).evidence.startswith("18 completed, 1 duplicate (too few messages to judge)")
    assert _severities(_of(completed=19, duplicates=1)) == {"duplicates": "critical"}
    assert _severities(_of(completed=0, duplicates=3)) == {}


@pytest.mark.parametrize(("duplicates", "severity"), [(1, "warning"), (49, "warning"), (50, "critical")])
def test_one_duplicate_is_too_many_and_five_percent_are_critical(duplicates: int, severity: str) -> None:
    figures = _of(completed=1000 - duplicates, duplicates=duplicates)
    assert _severities(figures) == {"duplicates": severity}
    assert (
        f"{duplicates} of 1,000 were delivered again after they were completed" in _one("duplicates", figures).evidence
    )


@pytest.mark.parametrize(
    ("failed", "expected"), [(0, []), (9, []), (10, ["warning"]), (19, ["warning"]), (20, ["critical"])]
)
def test_deletes_are_judged_at_one_and_at_two_percent(failed: int, expected: list[str]) -> None:
    found = advise(_of(deletes=1000, deletes_failed=failed))
    assert [(one.id, one.severity) for one in found] == [("deletion_failures", severity) for severity in expected]


def test_what_came_back_is_told_apart_by_why() -> None:
    figures = _of(completed=80, retried=10, expired=4, crashed=6)
    assert figures.redelivered == 20
    assert _severities(figures) == {
        "redelivered_crash": "critical",
        "redelivered_expiry": "warning",
        "redelivered_retry": "warning",
    }
    assert "6 came back because a worker or a process died (6.0 % of 100 deliveries)" in advise(figures)[0].evidence


def test_a_lease_that_ended_has_another_remedy_where_it_is_renewed() -> None:
    def remedy(standing: Standing | None) -> str:
        return _one("redelivered_expiry", _of(completed=99, expired=1, standing=standing, durations=_took(60.0))).remedy

    assert remedy(FIXED) == "Raise the lease to 150 s, or switch the heartbeat on."
    assert "heartbeat_failed" in remedy(RENEWED)
    assert remedy(None).startswith("Look whether the lease is renewed")


def test_a_lease_that_the_sweep_and_its_late_holder_told_of_is_one_delivery() -> None:
    figures = _of(completed=99, expired=1, overran=1)
    assert figures.deliveries == 100
    evidence = _one("redelivered_expiry", figures).evidence
    assert evidence == "1 came back because the lease had ended; 1 run outlived the lease (1.0 % of 100 deliveries)"


def test_few_retries_are_as_it_should_be() -> None:
    assert _severities(_of(completed=991, retried=9)) == {"healthy": "info"}
    assert _severities(_of(completed=990, retried=10)) == {"redelivered_retry": "info", "healthy": "info"}
    assert _severities(_of(completed=900, retried=100)) == {"redelivered_retry": "warning"}


# -- good signs, and nothing ------------------------------------------------------------------------


def test_where_all_is_well_that_is_told() -> None:
    good = _one("healthy", _of(standing=FIXED, durations=_took(50.0), completed=1240))
    assert good.severity is Severity.INFO
    assert (
        good.evidence == "1,240 completed, no duplicate, nothing came back by itself, 50.0 % of the lease used at q99"
    )
    unsure = _one("healthy", _of(completed=5, expired=None))
    assert unsure.evidence == "5 completed, no duplicate"


def test_where_nothing_is_known_nothing_is_said() -> None:
    figures = _of(standing=FIXED)
    assert advise(figures) == []
    assert (figures.duplicate_rate, figures.deletion_failure_rate, figures.lease_use) == (None, None, None)
    assert _of(crashed=None).redelivered is None
    assert Durations.of([]) is None


def test_the_worst_comes_first() -> None:
    figures = _of(standing=RENEWED, durations=_took(3.0), completed=80, duplicates=1, crashed=19)
    assert [one.severity for one in advise(figures)] == ["critical", "warning", "info"]


def test_quantiles_are_those_of_the_runs() -> None:
    took = Durations.of([float(number) for number in range(1, 101)], killed=2)
    assert took == Durations(100, 2, 50.5, 50.0, 95.0, 99.0, 100.0)
    assert Durations.of([7.0]) == Durations(1, 0, 7.0, 7.0, 7.0, 7.0, 7.0)


def test_where_each_message_has_a_lease_for_its_size_there_is_no_one_lease_to_judge() -> None:
    standing = Standing(30.0, is_renewed=False, is_learned=True, is_by_size=True)
    figures = _of(standing=standing, durations=Durations.of([29.0] * 200), completed=200)
    assert figures.lease_use is None
    assert [one.id for one in advise(figures)] == ["healthy"]


def test_one_delivery_is_one() -> None:
    assert "(100.0 % of 1 delivery)" in _one("redelivered_crash", _of(crashed=1)).evidence
