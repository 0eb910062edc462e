"""Which messages are followed: by their ids alone, and about as many as were asked for."""

import pytest

from tenure.message import new_id
from tenure.rules.sampling import sample_weight


@pytest.mark.parametrize(("rate", "weight"), [(1.0, 1.0), (2.0, 1.0), (0.0, None), (-1.0, None)])
def test_all_or_none(rate: float, weight: float | None) -> None:
    assert {sample_weight(new_id(at), rate) for at in range(100)} == {weight}


def test_the_chosen_ones_stand_for_all() -> None:
    weights = [sample_weight(f"m{number}", 0.1) for number in range(10_000)]
    assert set(weights) == {None, 10.0}
    assert sum(weight or 0.0 for weight in weights) == pytest.approx(10_000, rel=0.1)


def test_every_worker_chooses_the_same_and_a_lower_part_chooses_fewer_of_them() -> None:
    ids = [f"m{number}" for number in range(1_000)]
    some, few = ({id for id in ids if sample_weight(id, rate)} for rate in (0.5, 0.05))
    assert some == {id for id in ids if sample_weight(id, 0.5)}
    assert few < some


def test_an_id_that_is_no_proper_text_is_chosen_too() -> None:
    assert sample_weight("\ud800", 0.999_999) is not None
