"""Rows behave the same in the account's table, in Redis and in a file: groups as a whole, changes by comparison."""

import asyncio

import msgspec
import pytest
from tests.conformance.azure_harness import AzureHarness, LocalStateHarness, RedisStateHarness

from tenure.adapters.azure.rows import Change, Row
from tenure.adapters.azure.where import EQ, GE, IS, IS_NOT, LT, NE, Where

_KINDS = (AzureHarness, RedisStateHarness, LocalStateHarness)
FIELDS = {"Text": "größe", "Number": 7, "At": 1.5, "IsNew": True, "Data": b"\x00\xff" * 70_000}


@pytest.fixture(params=_KINDS, ids=[kind.__name__ for kind in _KINDS])
def harness(request: pytest.FixtureRequest) -> AzureHarness:
    """In virtual time."""
    kind: type[AzureHarness] = request.param
    return kind()


def _insert(key: str, **fields: object) -> Change:
    return Change("insert", Row("00", key, fields))


async def test_a_row_is_read_as_it_was_written(harness: AzureHarness) -> None:
    rows = harness._store.rows
    (written,) = await rows.commit_one(Change("insert", Row("00", "m:a", FIELDS))) or []
    found = await rows.get("00", "m:a")
    assert found is not None
    assert (found.fields, found.etag) == (FIELDS, written.etag)
    assert await rows.get("00", "m:b") is None


async def test_a_group_is_carried_out_as_a_whole_or_not_at_all(harness: AzureHarness) -> None:
    rows = harness._store.rows
    assert await rows.commit_one(_insert("m:a", Number=1), _insert("m:b", Number=1)) is not None
    groups = [
        [_insert("m:c", Number=1), _insert("m:b", Number=2)],
        [_insert("m:d", Number=1), Change("delete", Row("00", "m:nobody", {}))],
        [_insert("m:e", Number=1), Change("merge", Row("00", "m:a", {"IsNew": True}))],
    ]
    told = await rows.commit(groups)
    assert [one is not None for one in told] == [False, False, True]
    found = await rows.scan("00", "m:")
    assert [(row.key, row.fields.get("IsNew")) for row in found] == [("m:a", True), ("m:b", None), ("m:e", None)]


async def test_only_who_knows_what_a_row_says_may_change_it(harness: AzureHarness) -> None:
    rows = harness._store.rows
    (first,) = await rows.commit_one(_insert("m:a", Number=1)) or []
    new = msgspec.structs.replace(first, fields={"Number": 2})
    (second,) = await rows.commit_one(Change("replace", new)) or []
    for act in ("replace", "merge", "delete"):
        assert await rows.commit_one(Change(act, new), _insert("m:b")) is None, act
    assert await rows.commit_one(Change("delete", second)) is not None
    assert await rows.get("00", "m:a") is None
    assert await rows.get("00", "m:b") is None


async def test_marks_that_compare_nothing_all_come_through(harness: AzureHarness) -> None:
    rows = harness._store.rows
    await rows.commit_one(_insert("m:a", Number=1))
    marks = [rows.commit_one(Change("merge", Row("00", "m:a", {f"Mark{n}": n}))) for n in range(8)]
    assert None not in await asyncio.gather(*marks)
    found = await rows.get("00", "m:a")
    assert found is not None
    assert found.fields == {"Number": 1} | {f"Mark{n}": n for n in range(8)}


async def test_what_is_put_whatever_was_there_is_put_also_where_something_was(harness: AzureHarness) -> None:
    rows = harness._store.rows
    await rows.commit_one(_insert("m:a", Number=1))
    puts = [[Change("upsert", Row("00", key, {"Number": 2})), _insert(f"m:with-{key[2:]}")] for key in ("m:a", "m:b")]
    assert [one is not None for one in await rows.commit(puts)] == [True, True]
    assert [row.fields.get("Number") for row in await rows.scan("00", "m:")] == [2, 2, None, None]
    taken = [Change("upsert", Row("00", "m:a", {"Number": 3})), _insert("m:with-a")]
    both = [[Change("upsert", Row("00", "m:b", {"Number": 4}))], [Change("merge", Row("00", "m:b", {"IsNew": True}))]]
    assert [one is not None for one in await rows.commit([taken, *both])] == [False, True, True]
    found = await rows.get_all([("00", "m:a"), ("00", "m:b")])
    assert [row and row.fields for row in found] == [{"Number": 2}, {"Number": 4, "IsNew": True}]


async def test_rows_are_found_by_their_keys_and_fields(harness: AzureHarness) -> None:
    rows = harness._store.rows
    few = [_insert(f"m:{n:04d}", Number=n, IsNew=n % 2 == 0, Text=f"t{n % 3}") for n in range(60)]
    await rows.commit([[change] for change in few])
    await rows.commit_one(_insert("n:0001", Number=1))

    async def numbers(where: Where | None) -> list[int]:
        return [row.fields["Number"] for row in await rows.scan("00", "m:", where)]

    assert await numbers(None) == list(range(60))
    assert await numbers(IS("IsNew") & LT("Number", 6)) == [0, 2, 4]
    assert await numbers((EQ("Text", "t0") | IS_NOT("IsNew")) & GE("Number", 55)) == [55, 57, 59]
    assert await numbers(NE("Text", "t0") & NE("Text", "t1") & LT("Number", 9)) == [2, 5, 8]
    between = [row.key async for row in rows.between("00", "m:0010", "m:0013", limit=2)]
    assert between == ["m:0010", "m:0011", "m:0012"]
