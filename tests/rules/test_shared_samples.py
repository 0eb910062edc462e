"""Under which queue samples are kept."""

import pytest

from tenure.rules.shared_samples import MANY, is_shared, shared_queue


@pytest.mark.parametrize(
    ("served", "shared"),
    [
        (["mail"], False), ([f"q{number}" for number in range(MANY)], False),
        ([f"q{number}" for number in range(MANY + 1)], True), (["*-tasks"], True), (["mail", "x*"], True),
    ],
)  # fmt: skip
def test_samples_are_shared_where_queues_are_many(served: list[str], shared: bool) -> None:
    assert is_shared(served) is shared


def test_the_shared_name_belongs_to_the_namespace() -> None:
    assert [shared_queue(queue) for queue in ("mail", "*", "shop/mail", "shop/*")] == ["*", "*", "shop/*", "shop/*"]
