"""Learned: the lease follows what was measured, says why, and is never shorter than is safe for long."""

import math
import random

import pytest

from tenure.timing.fit import Fit, FittedLine
from tenure.timing.learned import Bounds, Choice, Learned
from tenure.timing.policy import first_beat
from tenure.timing.prior import Prior, prior_for
from tenure.timing.profile import PROFILES, Profile, SizeEstimate, SizeTable
from tenure.timing.why import amount, duration

GB = 10**9


def of_runs(*seconds: float, learned: Learned | None = None, size: float | None = None) -> Learned:
    learned = learned or Learned()
    for one in seconds:
        learned.observe(one, size, at=learned.count + 1.0)
    return learned


# --- cold start -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROFILES)
def test_before_the_first_run_the_lease_is_the_profile_doubled_and_its_margin(name: str) -> None:
    learned = Learned(prior=prior_for(name, "a-task"))
    typical = PROFILES[name].typical
    assert learned.choose().seconds == math.ceil(typical * 2 * 1.75)
    assert learned.choose().why == f"{learned.choose().seconds:,.0f} s: {typical:g} s by profile {name} × 2 × 1.75"
    assert learned.predict() == typical


def test_a_task_is_believed_to_take_what_the_profile_of_its_own_name_says() -> None:
    assert prior_for(None, "site-publisher").profile == PROFILES["site-publisher"]
    assert prior_for(None, "no-such").profile is None
    assert prior_for(Profile(1, 2, 3, 4), "site-publisher").profile == Profile(1, 2, 3, 4)


def test_with_nothing_known_it_is_the_default_doubled() -> None:
    choice = Learned(default=30.0).choose()
    assert (choice.seconds, choice.why) == (60.0, "60 s: nothing is known of it, the default 30 s × 2")
    assert Learned().predict() is None
    assert Learned().quantile(0.99) is None
    assert Learned().hold() is None


def test_a_size_table_decides_by_size_until_there_are_runs() -> None:
    learned = Learned(prior=prior_for("transcoding", "t"))
    assert learned.predict(4096 * 2**20) == 1860.0
    assert learned.choose(4096 * 2**20).seconds >= 1860 * 2 * 1.75
    assert learned.choose(4096 * 2**20).why.endswith("by size table transcoding × 2 × 1.75, size 4 GiB")
    own = Learned(prior=Prior(SizeTable((SizeEstimate(1, 10, 20), SizeEstimate(2, 20, 40)))))
    assert own.predict(1.5) == 15.0
    assert own.predict() is None, "it knows nothing of what has no size"


def test_doubt_and_the_profile_shrink_as_runs_come_in_and_are_gone_at_a_hundred() -> None:
    chosen = []
    for runs in (1, 10, 50, 90, 110, 200):
        learned = of_runs(*[10.0] * runs, learned=Learned(prior=prior_for("content-processor", "")))
        chosen.append(learned.choose().seconds)
    assert chosen == sorted(chosen, reverse=True)
    assert chosen[0] == pytest.approx(45 * 2 * 1.75, rel=0.03)
    assert chosen[-2] == chosen[-1] == pytest.approx(10 * 1.75, abs=1)


def test_a_profile_that_says_less_than_was_measured_makes_nothing_shorter() -> None:
    with_profile = of_runs(100.0, learned=Learned(prior=prior_for("markdown-generator", "")))
    assert with_profile.choose().seconds == of_runs(100.0).choose().seconds


# --- what is learned --------------------------------------------------------------------------------------


def test_it_says_why_in_one_sentence() -> None:
    learned = of_runs(*[41.0] * 1240)
    assert learned.choose().why == "72 s: q99 41 s of 1,000 runs × 1.75".replace("1,000", f"{learned.runs:,.0f}")
    sized = Learned()
    for number in range(1000):
        sized.observe(41.0, 2.1 * GB, at=float(number))
    assert sized.choose(2.1 * GB).why.startswith("72 s: q99 41 s of ")
    assert sized.choose(2.1 * GB).why.endswith(" runs × 1.75, size 2.1 GB")
    assert repr(Choice(1.0, "1 s: so")) == "<Choice 1 s: so>"


def test_a_lease_is_within_what_the_broker_lends_and_says_so() -> None:
    learned = of_runs(*[50_000.0] * 200, learned=Learned(bounds=Bounds(1, 43_200)))
    assert learned.choose().seconds == 43_200
    assert "the broker's bound is 43,200 s" in learned.choose().why
    short = of_runs(*[0.001] * 200, learned=Learned(bounds=Bounds(5, 600))).choose()
    assert short.seconds == 5
    assert "and the least is 5 s" in short.why


def test_what_is_over_the_bound_falls_from_the_bound() -> None:
    """Runs that were stuck for a day must not keep the lease at the bound for longer than their evidence does."""
    learned = of_runs(*[20.0] * 20, learned=Learned(bounds=Bounds(5, 600)))
    learned.observe(3_600.0, at=4_000.0)
    learned.observe(3_600.0, at=8_000.0)
    learned.observe(20.0, at=8_030.0)
    assert learned.choose().seconds == 600
    for second in range(300):
        learned.observe(20.0, at=8_100.0 + second)
        learned.choose()
    assert 200 < learned.choose().seconds < 350, "from 600 s on, once there are runs enough"


# --- once is no rule --------------------------------------------------------------------------------------

HOUR = 3600.0


def after_a_mishap(*, before: int = 20, at_once: int = 1, size: float | None = None) -> Learned:
    """Runs of two seconds, and then some of six hours that were under way at the same time."""
    learned = Learned()
    for number in range(before):
        learned.observe(2.0, size, at=2.0 * number)
        learned.choose(size)  # as a worker does, before every run
    for number in range(at_once):
        learned.observe(6 * HOUR, size, at=6 * HOUR + 2.0 * before + number)
    learned.observe(2.0, size, at=6 * HOUR + 1_000.0)
    return learned


@pytest.mark.parametrize("size", [None, 5e6], ids=["without a size", "with a size"])
@pytest.mark.parametrize("at_once", [1, 10])
@pytest.mark.parametrize("before", [3, 20, 90, 400])
def test_what_took_hours_once_does_not_decide_the_lease(before: int, at_once: int, size: float | None) -> None:
    learned = after_a_mishap(before=before, at_once=at_once, size=size)
    assert learned.choose(size).seconds <= 10 * 2.0 * 2 * 1.8
    assert learned.choose(size).seconds >= 4


def test_a_size_that_was_never_seen_is_not_strange() -> None:
    learned = Learned()
    for number in range(200):
        learned.observe(10.0, 1.0, at=float(number))
        learned.choose(1.0)
    for number in range(400):
        learned.observe(500.0, 50.0, at=200.0 + number)
        learned.choose(50.0)
    assert learned.choose(50.0).seconds >= 500 * 1.7


def test_the_lease_says_what_it_does_not_believe() -> None:
    why = after_a_mishap().choose().why
    assert "one of 21,600 s not counted in full until it happens again" in why
    assert "until it happens" not in after_a_mishap(before=400).choose().why, "there it decides nothing anyway"


def test_what_happens_again_is_believed_at_once() -> None:
    learned = after_a_mishap()
    learned.observe(HOUR, at=7.5 * HOUR)  # it began after the others had ended
    learned.observe(2.0, at=7.5 * HOUR + 2.0)
    assert learned.choose().seconds >= HOUR * 1.75
    assert "until it happens" not in learned.choose().why


def test_what_happens_again_another_night_is_another_mishap() -> None:
    learned = after_a_mishap()
    learned.observe(6 * HOUR, at=30 * HOUR)
    learned.observe(2.0, at=30 * HOUR + 2.0)
    assert learned.choose().seconds <= 72


def test_work_that_has_become_a_hundred_times_as_long_is_believed_with_the_second_run() -> None:
    learned = of_runs(*[2.0] * 50)
    for number in range(1, 4):
        learned.observe(200.0, at=60.0 + 201.0 * number)
        learned.choose()
    assert learned.choose().seconds >= 200 * 1.75


def test_what_is_ten_times_as_long_as_usual_is_not_strange() -> None:
    learned = of_runs(*[10.0] * 50)
    learned.observe(99.0, at=160.0)
    learned.observe(10.0, at=172.0)
    assert learned.choose().seconds >= 99 * 1.75


def test_a_second_among_milliseconds_is_not_strange() -> None:
    assert of_runs(*[0.001] * 50, 8.0, 0.001).choose().seconds >= 8 * 1.75


def test_the_advice_for_max_hold_knows_the_longest_run_all_the_same() -> None:
    hold = after_a_mishap(before=400).hold()
    assert hold is not None
    assert hold.seconds == 3 * 6 * HOUR


def test_a_lease_far_too_long_falls_by_half_a_minute_until_it_is_not() -> None:
    """What happened twice stood; a hundred runs later it is known to be rare, and a crash must not cost half a day."""
    learned = of_runs(6 * HOUR, 6 * HOUR)  # nothing is known that would be usual: it is believed
    assert learned.choose().seconds == 43_200
    fell: dict[int, float] = {}
    for second in range(60 * 60):
        learned.observe(2.0, at=100.0 + second)
        fell[second // 60] = learned.choose().seconds
    known = next(minute for minute, seconds in fell.items() if seconds < 43_200)
    assert fell[known + 11] < 100, "some ten times what is needed, after as many minutes"
    assert fell[known + 11] > 10, "and from there on slowly"
    assert fell[59] == 4


def test_predicted_follows_the_size_and_so_does_the_lease() -> None:
    chance = random.Random(3)
    learned = Learned()
    for number in range(600):
        size = 10 ** chance.uniform(5, 9.5)
        learned.observe((5 + size * 1e-7) * chance.lognormvariate(0, 0.1), size, at=float(number))
    for size in (1e5, 1e7, 1e9, 3e9, 1e10):
        truth = 5 + size * 1e-7
        assert learned.predict(size) == pytest.approx(truth, rel=0.15)
        q99 = truth * math.exp(2.326 * 0.1)
        assert learned.choose(size).seconds == pytest.approx(q99 * 1.75, rel=0.3, abs=2)
        assert learned.choose(size).seconds > q99
    assert learned.predict() is not None, "and of an unknown size it knows what all of them take"


def test_where_all_sizes_get_slower_the_lease_follows_and_does_not_count_it_twice() -> None:
    learned = Learned()
    for number in range(4_000):
        size = 1e6 * (1 + number % 50)
        slower = 1.0 if number < 1000 else 10.0
        learned.observe(size * 1e-6 * slower, size, at=number * 1.0)
        learned.choose(size)
    assert learned.predict(10e6) == pytest.approx(100.0, rel=0.1)
    assert 100 * 1.7 <= learned.choose(10e6).seconds <= 100 * 1.75 * 1.4


def test_old_runs_fade() -> None:
    day = 86_400.0
    learned = Learned()
    for number in range(400):
        learned.observe(100.0, at=float(number))
    for number in range(40):
        learned.observe(10.0, at=30 * day + number)
    assert learned.quantile(0.99) == pytest.approx(10.0, rel=0.02)
    assert learned.runs == pytest.approx(40, abs=1)
    assert learned.count == 440


def test_years_of_silence_and_a_clock_that_went_wrong_do_no_harm() -> None:
    learned = Learned()
    learned.observe(1.0, 5.0, at=0.0)
    learned.observe(2.0, 5.0, at=1.8e9)
    assert learned.quantile(1.0) == pytest.approx(2.0, rel=0.01)
    learned.observe(3.0, 5.0, at=0.0)
    assert learned.choose(5.0).seconds >= 4


def test_wobble_changes_nothing() -> None:
    chance = random.Random(5)
    learned = of_runs(*[chance.uniform(20, 40) for _ in range(500)])
    first = learned.choose().seconds
    chosen = set()
    for number in range(2_000):
        learned.observe(chance.uniform(20, 40) * (1.04 if number // 200 % 2 else 0.97), at=600.0 + number)
        chosen.add(learned.choose().seconds)
    assert chosen == {first}


def test_longer_runs_make_it_longer_at_once_and_shorter_ones_slowly_shorter() -> None:
    learned = of_runs(*[10.0] * 300)
    assert learned.choose().seconds == 18
    for number in range(5):
        learned.observe(50.0, at=301.0 + number)
    rose = learned.choose()
    assert rose.seconds == pytest.approx(50 * 1.75, abs=2)
    last = rose.seconds
    moment = 306.0
    for _ in range(30):  # minutes
        for _ in range(400):
            moment += 0.15
            learned.observe(10.0, at=moment)
            assert learned.choose().seconds <= last
        chosen = learned.choose().seconds
        assert chosen >= math.floor(last * 0.89), "it fell by more than a tenth in a minute"
        last = chosen
    assert last <= 20
    assert rose.seconds > 80, "a choice that was made does not change"


def test_while_it_falls_it_says_so() -> None:
    learned = of_runs(*[100.0] * 200)
    learned.choose()
    for number in range(2_900 * 6):
        learned.observe(10.0, at=201.0 + number * 0.005)
    assert "and it falls slowly" in learned.choose().why


# --- runs that were ended from outside --------------------------------------------------------------------


def test_a_run_that_was_killed_makes_the_lease_longer() -> None:
    learned = of_runs(*[10.0] * 100)
    before = learned.choose().seconds
    learned.observe(before, killed=True, at=101.0)
    learned.observe(before, killed=True, at=101.0)
    assert learned.choose().seconds >= 2 * before


def test_a_run_that_was_killed_before_it_could_tell_anything_makes_nothing_shorter() -> None:
    learned = of_runs(*[10.0] * 100)
    before = (learned.choose().seconds, learned.predict(), learned.quantile(0.01))
    for number in range(200):
        learned.observe(0.1, killed=True, at=101.0 + number)
    assert (learned.choose().seconds, learned.predict(), learned.quantile(0.01)) == before


def test_where_every_run_is_killed_the_lease_grows_until_one_is_not() -> None:
    learned = of_runs(*[1.0] * 300)
    at, kills = 300.0, 0
    while learned.choose().seconds < 1_000:
        at += learned.choose().seconds
        learned.observe(learned.choose().seconds, killed=True, at=at)
        kills += 1
    assert kills <= 25


# --- what else it is for ----------------------------------------------------------------------------------


def test_it_advises_a_max_hold_that_nothing_would_have_met() -> None:
    chance = random.Random(1)
    seconds = [chance.lognormvariate(1, 0.4) * (100 if number % 1000 == 500 else 1) for number in range(2_000)]
    hold = of_runs(*seconds).hold()
    assert hold is not None
    assert hold.seconds > 2.9 * max(seconds)
    assert "the longest of" in hold.why
    assert of_runs(*[1.0] * 20).hold() is None, "twenty runs tell nothing of what hangs"


def test_the_first_beat_is_later_only_where_it_saves_beats_and_never_after_two_thirds() -> None:
    assert first_beat(30, None) == 10
    assert first_beat(30, 4) == 10, "they are over before it anyway"
    assert first_beat(30, 14) == 20, "they are over between a third and two thirds: no beat for most of them"
    assert first_beat(30, 20) == 20
    assert first_beat(30, 21) == 10, "most need a beat whatever is done"


def test_too_few_runs_tell_nothing_of_the_first_beat() -> None:
    assert of_runs(*[14.0] * 60).usual() is None
    assert of_runs(*[14.0] * 150).usual() == pytest.approx(14.0, rel=0.01)


def test_many_sizes_take_no_more_memory_than_some() -> None:
    learned = Learned()
    for number in range(3_000):
        size = 1.02**number
        learned.observe(1.0, size, at=float(number))
        learned.choose(size)
    assert len(learned._standing) <= 256


# --- the fit ----------------------------------------------------------------------------------------------


def line_of(*runs: tuple[float, float]) -> FittedLine:
    fit, line = Fit(), FittedLine(runs[0][1])
    for _ in range(6):  # as it is redrawn, it weighs by per cent more and more truly
        fit = Fit()
        fit.add_all([(size, seconds, 1.0) for size, seconds in runs], line)
        line = fit.line() or line
    return line


def test_of_nothing_there_is_no_line() -> None:
    assert Fit().line() is None


def test_a_line_is_found_over_many_orders_of_magnitude() -> None:
    line = line_of(*[(10**power, 3.0 + 2e-6 * 10**power) for power in range(2, 10)])
    for power in range(2, 11):
        assert line.at(10**power) == pytest.approx(3.0 + 2e-6 * 10**power, rel=0.05)


@pytest.mark.parametrize(
    "runs",
    [
        [(10.0, 5.0)],
        [(10.0, 5.0), (1000.0, 7.0)],
        [(10.0, 5.0), (10.0, 5.2), (10.05, 4.9), (10.0, 5.0), (10.0, 5.1)],
        [(1.0, 9.0), (10.0, 5.0), (100.0, 4.0), (1000.0, 3.0), (1e4, 1.0)],
        [(1.0, 0.0), (2.0, 0.0), (3.0, 0.0), (4.0, 0.0)],
        [(0.0, 1.0), (0.0, 2.0), (0.0, 1.0), (0.0, 2.0)],
    ],
    ids=["one", "two", "the same size", "larger is faster", "no time", "no size"],
)
def test_too_few_sizes_or_senseless_ones_make_it_flat_and_nothing_makes_it_negative(
    runs: list[tuple[float, float]],
) -> None:
    line = line_of(*runs)
    assert line.each == 0.0
    assert line.at(0) == line.at(1e15) > 0.0


def test_a_line_that_would_begin_below_zero_begins_at_zero() -> None:
    line = line_of((100.0, 1.0), (200.0, 5.0), (300.0, 9.0), (400.0, 13.0), (500.0, 17.0))
    assert line.fixed == 0.0
    assert line.at(0) > 0.0
    assert line.at(1000.0) > line.at(500.0)


# --- words ------------------------------------------------------------------------------------------------


def test_seconds_and_sizes_are_written_for_people() -> None:
    assert [duration(one) for one in (0.25, 4.24, 41.3, 1240.0, 7.0)] == ["0.25 s", "4.2 s", "41 s", "1,240 s", "7 s"]
    assert [duration(one) for one in (0.0, 0.000023, 0.001, 0.0042)] == ["0 s", "<1 ms", "0.001 s", "0.0042 s"]
    assert [amount(one) for one in (12, 1500, 2.1e9, 3e12)] == ["12", "1.5 kB", "2.1 GB", "3 TB"]


def test_a_round_number_of_mebibytes_or_gibibytes_is_told_as_one() -> None:
    assert [amount(one * 2**20) for one in (1, 100, 500, 1.5)] == ["1 MiB", "100 MiB", "500 MiB", "1.5 MiB"]
    assert [amount(one * 2**30) for one in (1, 2, 6, 1.5)] == ["1 GiB", "2 GiB", "6 GiB", "1.5 GiB"]
    assert amount(2**30 + 1) == "1.07 GB"
    assert [amount(one) for one in (80e6, 5e9, 16.384e9, 2048)] == ["80 MB", "5 GB", "16.4 GB", "2.05 kB"]
