"""How long to wait before the next try."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.rules.backoff import backoff_seconds

CASES = [
    ("the first pause", 1, 3.0, 100.0, None, 3.0),
    ("it doubles", 2, 3.0, 100.0, None, 6.0),
    ("and doubles again", 3, 3.0, 100.0, None, 12.0),
    ("up to the longest", 7, 3.0, 100.0, None, 100.0),
    ("a first one over the longest", 1, 3.0, 2.0, None, 2.0),
    ("many failures stay at the longest", 10**9, 3.0, 100.0, None, 100.0),
    ("no pause at all", 5, 0.0, 100.0, None, 0.0),
    ("the draw takes away half at most", 1, 3.0, 100.0, 0.0, 1.5),
    ("or nothing", 2, 3.0, 100.0, 1.0, 6.0),
    ("the longest is spread as well", 9, 3.0, 100.0, 0.5, 75.0),
]


@pytest.mark.parametrize(
    ("failures", "first", "longest", "drawn", "pause"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_pause(failures: int, first: float, longest: float, drawn: float | None, pause: float) -> None:
    draw = None if drawn is None else lambda: drawn
    assert backoff_seconds(failures, first, longest, draw) == pause


@given(
    failures=st.integers(1, 10**9),
    first=st.floats(0, 1e6),
    longest=st.floats(0, 1e6),
    drawn=st.none() | st.floats(0, 1),
)
def test_no_pause_is_longer_than_the_longest(failures: int, first: float, longest: float, drawn: float | None) -> None:
    draw = None if drawn is None else lambda: drawn
    assert 0 <= backoff_seconds(failures, first, longest, draw) <= longest
