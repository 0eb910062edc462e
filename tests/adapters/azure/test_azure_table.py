"""The table of the shared core in Azure Tables: how many requests it makes, what it forgets, which keys it takes."""

import asyncio
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from tests.conformance.test_azure_ports import session_of

from tenure.adapters.azure.session import Session
from tenure.adapters.azure.table import AzureTable
from tenure.errors import BadSetting
from tenure.table import KEEP, RowKey, Write
from tenure.testing.row_harness import TableHarness

MANY = 250


class WatchedTables(TableHarness):
    """Every request is counted."""

    def __init__(self, words: tuple[str, ...] = ()) -> None:
        super().__init__()
        self._words = words
        self.requests: list[str] = []

    async def connect(self) -> AzureTable:
        self.session = session_of(self.clock, *self._words)
        tell_time = self.session.hook

        def note(request: Any) -> None:
            assert tell_time is not None
            tell_time(request)
            self.requests.append(f"{request.method} {urlsplit(request.url).path.rpartition('/')[2].partition('(')[0]}")

        self.session.hook = note
        table = AzureTable(self.session)
        await table.open()
        return table

    @property
    def azure(self) -> AzureTable:
        """The table."""
        assert isinstance(self.table, AzureTable)
        return self.table

    async def fill(self, part: str, count: int = MANY) -> list[str]:
        """Rows as logs have them."""
        sorts = [f"{number:020}" for number in range(1, count + 1)]
        await self.table.write([Write(RowKey(part, sort), sort, None) for sort in sorts])
        self.requests.clear()
        return sorts


@pytest.fixture
def harness() -> WatchedTables:
    """In virtual time."""
    return WatchedTables()


async def test_a_log_is_read_backwards_in_two_queries_however_long_it_is(harness: WatchedTables) -> None:
    sorts = await harness.fill("j")
    (row,) = await harness.table.page("j", limit=1, backwards=True)
    assert row.place.sort == sorts[-1]
    assert len(harness.requests) == 2
    rows = await harness.table.page("j", after=sorts[200], limit=10, backwards=True)
    assert [row.text for row in rows] == sorts[199:189:-1]
    assert len(harness.requests) == 4


async def test_rows_and_their_mirrors_are_one_transaction_and_go_together(harness: WatchedTables) -> None:
    sorts = await harness.fill("dead#mail", 40)
    (row, *_) = await harness.table.page("dead#mail", limit=1)
    harness.requests.clear()
    assert await harness.table.write([Write(row.place, None, row.version)]) == [""]
    assert await harness.table.write([Write(RowKey("dead#mail", sorts[-1]), None, None)]) == [""]
    assert harness.requests == ["POST $batch"] * 2
    assert [one.text for one in await harness.table.page("dead#mail")] == sorts[1:-1]
    assert [one.text for one in await harness.table.page("dead#mail", backwards=True)] == sorts[-2:0:-1]
    assert await harness.table.write([Write(RowKey("dead#mail", sorts[0]), "again", None)]) != [None]
    assert [one.text for one in await harness.table.page("dead#mail", limit=1)] == ["again"]


async def test_parts_of_which_one_begins_like_the_other_are_read_apart(harness: WatchedTables) -> None:
    for part in ("s#mail", "s#mail#send", "s#mail$", 's#mail"', "s#mail!"):
        await harness.table.write([Write(RowKey(part, f"{1:020}"), part, None)])
    for part in ("s#mail", "s#mail#send", "s#mail$", 's#mail"', "s#mail!"):
        assert [row.text for row in await harness.table.page(part)] == [part]
        assert [row.text for row in await harness.table.page(part, backwards=True)] == [part]


async def test_rows_whose_time_is_over_are_pruned_and_no_others(harness: WatchedTables) -> None:
    wall = harness.azure.wall()
    rows = {"a": wall + 50.0, "b": wall + 500.0, "c": None, f"{7:020}": wall + 50.0}
    await harness.table.write([Write(RowKey("p", sort), sort, None, at) for sort, at in rows.items()])
    kept, prolonged = RowKey("p", "kept"), RowKey("p", "prolonged")
    versions = await harness.table.write([Write(one, "one", None, wall + 50.0) for one in (kept, prolonged)])
    await harness.table.write([Write(kept, "two", versions[0], KEEP), Write(prolonged, "two", versions[1], None)])
    assert await harness.azure.prune() == 0
    await asyncio.sleep(3700.0)
    assert await harness.azure.prune() == 4
    assert [row.place.sort for row in await harness.table.page("p")] == ["c", "prolonged"]
    assert await harness.table.page("p", backwards=True, after=f"{9:020}") == []


async def test_pruning_looks_at_all_rows_once_an_hour(harness: WatchedTables) -> None:
    await harness.fill("p", 5)
    await harness.azure.prune()
    asked = len(harness.requests)
    assert asked == 1
    await harness.azure.prune()
    assert len(harness.requests) == asked


async def test_pruning_goes_on_where_its_last_call_ended(
    harness: WatchedTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.adapters.azure.table._QUERIES", 1)
    wall, places = harness.azure.wall(), [RowKey("p", f"{number:04}") for number in range(1200)]
    await harness.table.write([Write(one, "text", None, wall - 1.0) for one in places])
    assert await harness.azure.prune() == 1000
    assert await harness.azure.prune() == 200
    assert await harness.table.page("p") == []


@pytest.mark.parametrize("word", ["a/b\\c#d?e%f", "é€😀", "x" * 3000, "y" * 239 + "/", "\udc80", "%21!\"$'"])
async def test_any_words_name_a_row(harness: WatchedTables, word: str) -> None:
    for place in (RowKey(f"m#{word}", "m"), RowKey("kv", f"kind {word}")):
        assert await harness.table.write([Write(place, word, None)]) != [None]
        (row,) = await harness.table.get([place])
        assert row is not None
        assert (row.place, row.text) == (place, word)
        assert [one.place for one in await harness.table.page(place.part)] == [place]
    scanned = await harness.azure.scan("m#", "m")
    assert [row.place for row, _ in scanned.rows] == [RowKey(f"m#{word}", "m")]


async def test_a_scan_goes_on_behind_its_mark_over_all_partitions() -> None:
    async with WatchedTables(("partitions=3",)) as harness:
        ids = [f"id-{number}" for number in range(50)]
        places = [RowKey(f"m#{id}", sort) for id in ids for sort in ("b0001-0000", "m")]
        await harness.table.write([Write(one, "text", None) for one in [*places, RowKey("n#x", "m")]])
        found, looked_at, mark = list[str](), 0, ""
        while True:
            scanned = await harness.azure.scan("m#", "m", after=mark, limit=7)
            assert scanned.looked_at <= 7
            looked_at += scanned.looked_at
            found += [row.place.part.removeprefix("m#") for row, _ in scanned.rows]
            if not (mark := scanned.mark):
                break
        assert sorted(found) == sorted(ids)
        assert looked_at == 100
        with pytest.raises(ValueError, match="no mark"):
            await harness.azure.scan("m#", "m", after="99\nx")


async def test_a_table_made_for_other_partitions_is_refused(harness: WatchedTables) -> None:
    options = msgspec.structs.replace(harness.session.options, partitions=2)
    session = Session(options, harness.clock, hook=harness.session.hook)
    with pytest.raises(BadSetting, match="partitions"):
        await AzureTable(session).open()
