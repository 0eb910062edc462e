"""Which send a run belongs to."""

import pytest

from tenure.rules.send_id import send_id

CASES = [
    ("order-7", 1_700_000_000.25, "order-7@1700000000.25"),
    ("order-7", 1_700_604_800.25, "order-7@1700604800.25"),
    ("a@b", 0.1 + 0.2, "a@b@0.30000000000000004"),
    ("order-7", 0.0, ""),
]


@pytest.mark.parametrize(("id", "sent_at", "expected"), CASES)
def test_an_id_and_its_moment_name_a_send(id: str, sent_at: float, expected: str) -> None:
    assert send_id(id, sent_at) == expected
