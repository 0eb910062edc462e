"""The sketch: every quantile within 1 %, in little memory, and two of them are one."""

import itertools
import json
import math
import random
from collections.abc import Callable

import pytest
from ddsketch import DDSketch

from tenure.timing.sketch import GAMMA, MOST_BUCKETS, RELATIVE_ERROR, Sketch

QUANTILES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)
MANY = 20_000

#: Four shapes of work: even, skewed, with a heavy tail, and two kinds in one.
DISTRIBUTIONS: dict[str, Callable[[random.Random], float]] = {
    "uniform": lambda chance: chance.uniform(1.0, 100.0),
    "lognormal": lambda chance: chance.lognormvariate(1.0, 1.0),
    "pareto": lambda chance: chance.paretovariate(1.2),
    "bimodal": lambda chance: chance.gauss(0.02, 0.001) if chance.random() < 0.8 else chance.gauss(40.0, 2.0),
}


def drawn(shape: str, seed: int, many: int = MANY) -> list[float]:
    chance = random.Random(seed)
    return [abs(DISTRIBUTIONS[shape](chance)) for _ in range(many)]


def exact(values: list[float], q: float) -> float:
    return sorted(values)[max(0, math.ceil(q * len(values) - 1e-9) - 1)]


def sketch_of(values: list[float]) -> Sketch:
    sketch = Sketch()
    for value in values:
        sketch.add(value)
    return sketch


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", DISTRIBUTIONS)
def test_every_quantile_is_within_one_per_cent_of_the_truth(shape: str, seed: int) -> None:
    values = drawn(shape, seed)
    sketch = sketch_of(values)
    for q in QUANTILES:
        answer = sketch.quantile(q)
        assert answer is not None
        assert answer == pytest.approx(exact(values, q), rel=RELATIVE_ERROR * 1.0001), f"{shape} {q}"


@pytest.mark.parametrize("shape", DISTRIBUTIONS)
def test_it_says_what_ddsketch_says(shape: str) -> None:
    values = drawn(shape, 7)
    ours, theirs = sketch_of(values), DDSketch(RELATIVE_ERROR)
    for value in values:
        theirs.add(value)
    ordered = sorted(values)
    for q in QUANTILES:
        # They take the rank below, we the one within which a part of q is: neighbours, each within 1 % of its truth.
        rank = ordered.index(exact(values, q))
        neighbours = (ordered[max(0, rank - 1)], ordered[rank])
        answer, other = ours.quantile(q), theirs.get_quantile_value(q)
        assert answer is not None
        assert other is not None
        assert any(other == pytest.approx(truth, rel=RELATIVE_ERROR * 1.0001) for truth in neighbours)
        gap = neighbours[1] / neighbours[0]
        assert max(answer, other) / min(answer, other) <= gap * GAMMA * 1.0001


def test_two_sketches_merged_are_one_of_all_values() -> None:
    parts = [drawn(shape, 3, 2_000) for shape in DISTRIBUTIONS]
    merged = Sketch()
    for part in parts:
        merged.merge(sketch_of(part))
    assert merged.to_dict() == sketch_of(list(itertools.chain(*parts))).to_dict()
    assert merged.count == 8_000


def test_it_survives_json() -> None:
    sketch = sketch_of([0.0, *drawn("lognormal", 1, 500)])
    again = Sketch.from_dict(json.loads(json.dumps(sketch.to_dict())))
    assert again.count == sketch.count
    assert [again.quantile(q) for q in QUANTILES] == [sketch.quantile(q) for q in QUANTILES]


def test_it_never_takes_more_than_its_buckets_and_forgets_the_smallest_first() -> None:
    values = [10.0 ** (number / 400.0 - 5.0) for number in range(20_000)]
    sketch = sketch_of(values)
    assert len(sketch) <= MOST_BUCKETS
    assert sketch.count == len(values)
    for q in (0.8, 0.9, 0.99, 1.0):
        assert sketch.quantile(q) == pytest.approx(exact(values, q), rel=0.0101)


def test_many_at_once_are_the_same_as_one_by_one() -> None:
    values = [0.0, *drawn("pareto", 2, 1_000)]
    weights = [1.0 + number % 3 for number in range(len(values))]
    one_by_one, at_once = Sketch(), Sketch()
    for value, weight in zip(values, weights, strict=True):
        one_by_one.add(value, weight)
    at_once.add_all(values, weights)
    assert at_once.to_dict() == one_by_one.to_dict()
    assert at_once.count == one_by_one.count


def test_of_nothing_there_is_no_quantile_and_of_nothings_it_is_zero() -> None:
    sketch = Sketch()
    sketch.add_all([], [])
    assert sketch.quantile(0.99) is None
    sketch.add(0.0)
    sketch.add(0.0)
    sketch.add(5.0)
    assert sketch.quantile(0.5) == 0.0
    assert sketch.quantile(0.99) == pytest.approx(5.0, rel=0.01)


def test_what_faded_counts_less() -> None:
    sketch = sketch_of([1.0] * 100)
    sketch.fade(0.01)
    sketch.add(50.0)
    assert sketch.quantile(0.49) == pytest.approx(1.0, rel=0.01)
    assert sketch.quantile(0.9) == pytest.approx(50.0, rel=0.01)


def test_a_shift_multiplies_every_value_and_adds_no_error() -> None:
    values = drawn("uniform", 5, 3_000)
    sketch = sketch_of(values)
    for _ in range(20):
        sketch.shift(3)
    for q in QUANTILES:
        assert sketch.quantile(q) == pytest.approx(exact(values, q) * GAMMA**60, rel=RELATIVE_ERROR * 1.0001)
