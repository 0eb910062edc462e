"""The table of the benchmarks: a bar is met, missed, or cannot be told from what was measured."""

import random
from statistics import median

from benchmarks.interval import Interval, interval_of
from benchmarks.table import Table


def _verdict(low: float, value: float, high: float, sign: str = "≥", limit: float = 0.97) -> tuple[str, bool]:
    table = Table("timing")
    table.add_interval("a rate", Interval(value, low, high), sign, limit)
    return table.rows[0].verdict, table.holds


def test_a_figure_whose_interval_has_the_bar_in_it_is_neither_met_nor_missed() -> None:
    assert _verdict(0.92, 0.956, 0.99) == ("not resolved", True)
    assert _verdict(0.92, 0.985, 1.05) == ("not resolved", True), "it looks as if it were met, and is not known to be"
    assert _verdict(0.975, 0.985, 0.99) == ("ok", True)
    assert _verdict(0.92, 0.94, 0.96) == ("MISSED", False)
    assert _verdict(1.1, 1.2, 1.3, "≤", 1.0) == ("MISSED", False)
    assert _verdict(0.9, 1.0, 1.1, "", 0.0) == ("", True), "without a bar it is information"


def test_an_interval_holds_the_truth_and_gets_narrower_with_more_rounds() -> None:
    chance = random.Random(4)
    many = [chance.gauss(1.0, 0.1) for _ in range(900)]
    few = many[:25]
    wide, narrow = interval_of(few, median), interval_of(many, median)
    assert wide.low < 1.0 < wide.high
    assert narrow.low < 1.0 < narrow.high
    assert narrow.high - narrow.low < (wide.high - wide.low) / 3
    assert interval_of(few, median) == wide, "the same rounds tell the same"
