"""Quotas as people write and read them."""

from typing import Any

import pytest

from tenure.errors import BadArgument
from tenure.quota import NO_QUOTA, Quota, bytes_from, quota_from
from tenure.rules.client_quota import SendQuota, read, written

WRONG: list[dict[str, Any]] = [
    {"waiting": -1}, {"waiting": 1.5}, {"waiting": True}, {"waiting": 10**10}, {"running": 0}, {"rate": "often"},
    {"payload": "big"}, {"payload": 0}, {"payload": "1 GiB"}, {"payload": "300MiB"}, {"payload": True},
]  # fmt: skip


def test_a_quota_is_read_and_told() -> None:
    quota = quota_from(waiting=10_000, running=5, rate="100/m", payload="64KiB")
    assert str(quota) == "10,000 waiting, 5 running, 100/m, 65,536 bytes a payload"
    assert (quota.limit.running, str(NO_QUOTA), NO_QUOTA.is_none, quota.is_none) == (5, "no quota", True, False)


@pytest.mark.parametrize(
    ("text", "size"), [("65536", 65_536), (65_536, 65_536), ("64KiB", 65_536), ("1 MB", 1_000_000), ("10b", 10)]
)
def test_sizes_are_read(text: object, size: int) -> None:
    assert bytes_from(text) == size


@pytest.mark.parametrize("given", WRONG, ids=str)
def test_what_makes_no_sense_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(BadArgument):
        quota_from(**given)


def test_what_is_set_counts_over_the_default_field_by_field() -> None:
    default, own = Quota(waiting=10, payload_bytes=100), Quota(waiting=5, running=2)
    assert own.over(default) == Quota(waiting=5, running=2, payload_bytes=100)


def test_a_document_that_cannot_be_read_is_no_quota() -> None:
    row = SendQuota(waiting=5, at=1.0, by="ada")
    assert read(written(row)) == row
    assert (read(b"{"), read(b'{"waiting": "x"}')) == (None, None)
    assert read(b'{"waiting": 5, "of_a_newer_version": 1}') == SendQuota(waiting=5)
