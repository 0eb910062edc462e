"""The differences between two JSON values, by path."""

from typing import Any

import pytest

from tenure.client.operations.difference import differences


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1, "b": 2}, {"b": 3, "c": 4}, ["removed p.a", "changed p.b", "added p.c"]),
        ({"a": [1, {"x": 1}]}, {"a": [1, {"x": 2}, 3]}, ["changed p.a[1].x", "added p.a[2]"]),
        ([1, 2], [1], ["removed p[1]"]),
        (1, True, ["changed p"]),
        (1, 1.0, ["changed p"]),
        (None, {}, ["changed p"]),
    ],
)
def test_differences(before: Any, after: Any, told: list[str]) -> None:
    assert [f"{one.kind} {one.path}" for one in differences(before, after, "p")] == told
