"""Tests that every table must pass (`tenure/table.py`).

Bring a fixture `harness`, a `TableHarness` (`tenure.testing.row_harness`), and run them under pytest, in one line:

    globals().update(pytest_classes([Tables]))

Not asked here, because tables differ and nothing relies on it: an empty text, and whether a row that is gone already
was removed (DynamoDB says yes).
"""

from tenure.table import KEEP, RowKey, Write
from tenure.testing.row_harness import TableHarness

#: More than a service takes in one call.
MANY = 130


def place(sort: str, part: str = "p") -> RowKey:
    """A place in the part that most tests use."""
    return RowKey(part, sort)


async def _put(harness: TableHarness, *places: RowKey, text: str = "one") -> list[str]:
    """Write new rows; their versions."""
    versions = await harness.table.write([Write(one, text, None) for one in places])
    assert None not in versions
    return [version or "" for version in versions]


class Tables:
    """Rows that are changed only by a writer that knows their version."""

    async def test_a_row_is_written_where_there_is_none_and_only_there(self, harness: TableHarness) -> None:
        assert await harness.table.get([place("a")]) == [None]
        await _put(harness, place("a"))
        assert await harness.table.write([Write(place("a"), "two", None)]) == [None]
        assert await harness.texts(place("a")) == ["one"]

    async def test_only_a_writer_that_knows_the_version_changes_a_row(self, harness: TableHarness) -> None:
        (first,) = await _put(harness, place("a"))
        assert await harness.table.write([Write(place("a"), "two", f"{first}-never")]) == [None]
        (second,) = await harness.table.write([Write(place("a"), "two", first)])
        assert second is not None
        assert await harness.table.write([Write(place("a"), "three", first)]) == [None]
        assert await harness.texts(place("a")) == ["two"]
        assert await harness.table.write([Write(place("nowhere"), "two", first)]) == [None]

    async def test_the_version_that_a_write_answers_is_the_one_that_is_read(self, harness: TableHarness) -> None:
        (version,) = await _put(harness, place("a"))
        for text in ("two", "three"):
            (row,) = await harness.table.get([place("a")])
            assert row is not None
            assert row.version == version
            (changed,) = await harness.table.write([Write(place("a"), text, version)])
            assert changed is not None
            version = changed
        (row,) = await harness.table.page("p")
        assert (row.text, row.version) == ("three", version)

    async def test_of_writers_that_know_the_same_version_one_wins(self, harness: TableHarness) -> None:
        (version,) = await _put(harness, place("a"))
        answers = [await harness.table.write([Write(place("a"), str(number), version)]) for number in range(3)]
        assert [answer != [None] for answer in answers] == [True, False, False]
        assert await harness.texts(place("a")) == ["0"]

    async def test_a_row_is_removed_by_its_version_or_whatever_it_says(self, harness: TableHarness) -> None:
        first, second = place("a"), place("b")
        version, _ = await _put(harness, first, second)
        assert await harness.table.write([Write(first, None, f"{version}-never")]) == [None]
        answers = await harness.table.write([Write(first, None, version), Write(second, None, None)])
        assert None not in answers
        assert None not in await harness.table.write([Write(second, None, None)])
        assert await harness.table.get([first, second]) == [None, None]
        assert await harness.table.page("p") == []

    async def test_each_write_of_a_batch_is_for_itself(self, harness: TableHarness) -> None:
        places = [place(f"{number:04d}") for number in range(MANY)]
        await _put(harness, *places[::2], text="old")
        answers = await harness.table.write([Write(one, "new", None) for one in places])
        assert [answer is not None for answer in answers] == [number % 2 == 1 for number in range(MANY)]
        assert await harness.texts(*places) == ["new" if number % 2 else "old" for number in range(MANY)]

    async def test_a_place_may_be_asked_for_twice(self, harness: TableHarness) -> None:
        here, nowhere = place("a"), place("b")
        await _put(harness, here)
        assert await harness.texts(here, nowhere, here, nowhere) == ["one", None, "one", None]

    async def test_parts_are_kept_apart(self, harness: TableHarness) -> None:
        await _put(harness, place("a", "p"), text="here")
        await _put(harness, place("a", "q"), text="there")
        assert await harness.texts(place("a", "p"), place("a", "q")) == ["here", "there"]
        assert [row.text for row in await harness.table.page("q")] == ["there"]

    async def test_rows_of_a_part_come_in_order_from_either_end(self, harness: TableHarness) -> None:
        table, sorts = harness.table, [f"{number:04d}" for number in range(MANY)]
        await table.write([Write(place(sort), sort, None) for sort in reversed(sorts)])
        await _put(harness, place("0005", "other"), text="elsewhere")
        assert [row.place.sort for row in await table.page("p", limit=MANY)] == sorts
        assert [row.text for row in await table.page("p", after="0005", limit=3)] == ["0006", "0007", "0008"]
        assert [row.text for row in await table.page("p", limit=2, backwards=True)] == [sorts[-1], sorts[-2]]
        assert [row.text for row in await table.page("p", after="0003", backwards=True)] == ["0002", "0001", "0000"]
        assert await table.page("p", after=sorts[-1]) == []
        assert [row.text for row in await table.page("other")] == ["elsewhere"]

    async def test_any_text_comes_back_as_it_was(self, harness: TableHarness) -> None:
        text = "ä\x00\"'\\\n\x7f\u2028😀" + "x" * 100_000
        there = place("a#b/ü?", "part#with/marks")
        await _put(harness, there, text=text)
        assert await harness.texts(there) == [text]
        assert [row.text for row in await harness.table.page(there.part)] == [text]

    async def test_a_row_that_may_be_forgotten_later_is_there_until_then(self, harness: TableHarness) -> None:
        table, there, later = harness.table, place("a", "m#one"), harness.clock.wall() + 500.0
        (first,) = await table.write([Write(there, "one", None, later)])
        (second,) = await table.write([Write(there, "two", first, KEEP)])
        assert second is not None
        assert await table.write([Write(there, "three", second, None)]) != [None]
        assert await harness.texts(there) == ["three"]

    async def test_time_does_not_go_back(self, harness: TableHarness) -> None:
        moments = [harness.table.now() for _ in range(100)]
        assert moments == sorted(moments)
