"""How long runs take: distributions as people write them, files as people keep them."""

import math
from statistics import mean, median

import pytest

from tenure.errors import BadArgument
from tenure.simulation.durations import drawn, read_csv, replayed
from tenure.simulation.scenario import Work
from tenure.timing.profile import PROFILES, SIZE_ESTIMATES


def _seconds(spec: str, count: int = 4000) -> list[float]:
    return [work.seconds for work in drawn(spec, count, 1)]


def test_each_distribution_is_as_it_says() -> None:
    assert set(_seconds("fixed:90")) == {90.0}
    uniform = _seconds("uniform:30:120")
    assert 30 <= min(uniform) < 32
    assert 118 < max(uniform) <= 120
    assert mean(_seconds("exponential:45")) == pytest.approx(45, rel=0.1)
    lognormal = _seconds("lognormal:45:0.6")
    assert median(lognormal) == pytest.approx(45, rel=0.1)
    assert sorted(lognormal)[int(0.84 * len(lognormal))] == pytest.approx(45 * math.exp(0.6), rel=0.1)
    long = [seconds for seconds in _seconds("bimodal:30:900:0.2") if seconds > 300]
    assert len(long) / 4000 == pytest.approx(0.2, abs=0.03)


def test_a_profile_is_drawn_between_its_marks() -> None:
    seconds, profile = sorted(_seconds("profile:content-collector")), PROFILES["content-collector"]
    assert profile.p1 <= seconds[0]
    assert seconds[-1] <= profile.worst
    assert median(seconds) == pytest.approx(profile.typical, rel=0.1)


def test_sizes_are_the_five_files_and_take_about_what_the_table_says() -> None:
    works = drawn("sizes", 2000, 1)
    assert {work.size for work in works} == {int(row.size_bytes) for row in SIZE_ESTIMATES}
    for row in SIZE_ESTIMATES:
        taken = [work.seconds for work in works if work.size == int(row.size_bytes)]
        assert median(taken) == pytest.approx(row.seconds, rel=0.1)


def test_the_same_seed_draws_the_same() -> None:
    assert drawn("lognormal:45:0.6", 100, 7) == drawn("lognormal:45:0.6", 100, 7)
    assert drawn("lognormal:45:0.6", 100, 7) != drawn("lognormal:45:0.6", 100, 8)


@pytest.mark.parametrize(
    "spec",
    ["", "gauss:1", "fixed", "fixed:0", "fixed:nan", "fixed:1:2", "lognormal:45", "lognormal:x:1", "bimodal:1:2:3",
     "exponential:-1", "profile:nobody", "sizes:x", "fixed:1e99"],
)  # fmt: skip
def test_a_bad_distribution_is_refused_with_the_way_to_write_it(spec: str) -> None:
    with pytest.raises(BadArgument, match="nothing was simulated"):
        drawn(spec, 1, 1)


def test_a_csv_may_have_a_header_and_sizes_and_blank_lines() -> None:
    works, bad = read_csv(["seconds,size\n", "1.5,100\n", "\n", "2\n", "3,\n"])
    assert works == [Work(1.5, 100), Work(2.0), Work(3.0)]
    assert not bad
    assert read_csv(["5\n", "6\n"])[0] == [Work(5.0), Work(6.0)]


def test_bad_lines_of_a_csv_are_told_by_their_numbers() -> None:
    works, bad = read_csv(["seconds\n", "1\n", "fast\n", "-3\n", "2,big\n", "1,2,3\n", "nan\n", "4\n"])
    assert [work.seconds for work in works] == [1.0, 4.0]
    assert [line.number for line in bad] == [3, 4, 5, 6, 7]
    assert "'fast' is not a number of seconds" in bad[0].why


def test_recorded_runs_are_replayed_in_their_order_unless_another_number_is_asked_for() -> None:
    recorded = [Work(float(number)) for number in range(1, 6)]
    assert replayed(recorded, None, 1) == tuple(recorded)
    more = replayed(recorded, 50, 1)
    assert len(more) == 50
    assert set(more) <= set(recorded)


def test_bounds_are_written_as_people_read_them() -> None:
    with pytest.raises(BadArgument, match=r"1000000000 is not between 0\.001 and 2,592,000\b"):
        drawn("uniform:1:1000000000", 1, 1)
