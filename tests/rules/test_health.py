"""What is wrong: one judgement for `tenure health` and `/readyz`."""

from typing import Any

import pytest

from tenure.rules.health import late_after, problems_of


@pytest.mark.parametrize(
    ("found", "problems"),
    [
        ({"store": True}, ()),
        ({"store": True, "sweep": True, "late_seconds": 10.0}, ()),
        ({"store": True, "sweep": None, "late_seconds": 10.0}, ()),
        ({"store": True, "sweep": False, "late_seconds": 10.0}, ("no sweep has run for 10 s",)),
        ({"store": False}, ("the store does not answer",)),
        ({"store": False, "sweep": False, "late_seconds": 2.5},
         ("the store does not answer", "no sweep has run for 2.5 s")),
        ({"store": True, "unserved": ("a", "b"), "workers": 0},
         ("no worker serves queue a", "no worker serves queue b")),
        ({"store": True, "needs_worker": True, "workers": 0}, ("no worker is alive",)),
        ({"store": True, "needs_worker": True, "workers": 1}, ()),
        ({"store": True, "needs_worker": False, "workers": 0}, ()),
    ],
)  # fmt: skip
def test_each_trouble_is_a_clause(found: dict[str, Any], problems: tuple[str, ...]) -> None:
    assert problems_of(**found) == problems


def test_the_sweep_is_late_after_two_intervals() -> None:
    assert late_after(5.0) == 10.0
    assert late_after(1.0) == 2.0
    assert late_after(1.0, least_seconds=10.0) == 10.0
    assert late_after(60.0, least_seconds=10.0) == 120.0
