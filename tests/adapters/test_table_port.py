"""The table port: what every table does alike, whoever keeps it.

Brokers without a truth of their own rely on this alone. So their state need not be tried with every suite in every
place (`state=redis://…`, `state=local`): above the port it is the same code. `test_tables.py` has what only tables with
groups can do. Not asked here, because they differ and nobody relies on it: an empty text, and whether a row that is
gone already was removed (DynamoDB says yes).
"""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.servers import KINDS
from tests.servers.aws import shared_aws
from tests.servers.shared import shared

from tenure.adapters import aws, redis
from tenure.adapters.aws.session import Session
from tenure.adapters.redis.table import RedisTable
from tenure.adapters.sqlite.table import LocalTable
from tenure.clock import SYSTEM_CLOCK
from tenure.rowstore.memory_table import MemoryTable
from tenure.table import KEEP, RowKey, Table, Write

pytestmark = pytest.mark.real_time

#: More than any of the services takes in one call.
MANY = 130


Opened = Callable[[], AbstractAsyncContextManager[Table]]


@pytest.fixture(
    params=["memory", "local", *KINDS, pytest.param("dynamodb", marks=[pytest.mark.cloud, pytest.mark.timeout(400)])]
)
def opened(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opened:
    """An empty one of each kind, opened by the test's own loop."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    return lambda: _opened(request.param, tmp_path)


@asynccontextmanager
async def _opened(kind: str, folder: Path) -> AsyncIterator[Table]:
    async with AsyncExitStack() as stack:
        table = await _dynamo(stack) if kind == "dynamodb" else _table(kind, folder)
        await table.open()
        stack.push_async_callback(table.close)
        yield table


async def _dynamo(stack: AsyncExitStack) -> Table:
    end, name = shared_aws("ministack").url, f"t{os.urandom(6).hex()}"
    link = Session(
        aws.Options(region="eu-west-1", endpoint=end, state_endpoint=end, prefix=name, table=name, create=True),
        SYSTEM_CLOCK,
    )
    await link.open()
    stack.push_async_callback(link.close)
    return aws.DynamoTable(link)


def _table(kind: str, folder: Path) -> Table:
    match kind:
        case "memory":
            return MemoryTable(SYSTEM_CLOCK)
        case "local":
            return LocalTable(str(folder / "state.db"), SYSTEM_CLOCK)
        case "valkey9" | "redis62" | "redis70":
            url = f"{shared(kind).url}?prefix=t{os.urandom(6).hex()}"
            return RedisTable(redis.read_options(url, urlsplit(url)), SYSTEM_CLOCK)
    raise ValueError(kind)


def _place(sort: str, part: str = "p") -> RowKey:
    return RowKey(part, sort)


async def _texts(table: Table, *places: RowKey) -> list[str | None]:
    return [None if row is None else row.text for row in await table.get(places)]


async def test_a_row_is_written_where_there_is_none_and_only_there(opened: Opened) -> None:
    async with opened() as table:
        place = _place("a")
        assert await table.get([place]) == [None]
        assert await table.write([Write(place, "one", None)]) == [True]
        assert await table.write([Write(place, "two", None)]) == [False]
        assert await _texts(table, place) == ["one"]


async def test_only_whoever_knows_what_it_says_changes_it(opened: Opened) -> None:
    async with opened() as table:
        place = _place("a")
        await table.write([Write(place, "one", None)])
        assert await table.write([Write(place, "two", "never")]) == [False]
        assert await table.write([Write(place, "two", "one")]) == [True]
        assert await table.write([Write(place, "three", "one")]) == [False]
        assert await _texts(table, place) == ["two"]
        assert await table.write([Write(_place("nowhere"), "two", "one")]) == [False]


async def test_a_row_is_removed_by_whoever_knows_what_it_says_or_whatever_it_says(opened: Opened) -> None:
    async with opened() as table:
        first, second = _place("a"), _place("b")
        await table.write([Write(first, "one", None), Write(second, "one", None)])
        assert await table.write([Write(first, None, "never")]) == [False]
        assert await table.write([Write(first, None, "one"), Write(second, None, None)]) == [True, True]
        assert await table.write([Write(second, None, None)]) == [True]
        assert await table.get([first, second]) == [None, None]
        assert await table.page("p") == []


async def test_each_write_of_a_batch_is_for_itself(opened: Opened) -> None:
    async with opened() as table:
        places = [_place(f"{number:04d}") for number in range(MANY)]
        await table.write([Write(place, "old", None) for place in places[::2]])
        answers = await table.write([Write(place, "new", None) for place in places])
        assert answers == [number % 2 == 1 for number in range(MANY)]
        assert await _texts(table, *places) == ["new" if number % 2 else "old" for number in range(MANY)]


async def test_a_place_may_be_asked_for_twice(opened: Opened) -> None:
    async with opened() as table:
        here, nowhere = _place("a"), _place("b")
        await table.write([Write(here, "one", None)])
        assert await _texts(table, here, nowhere, here, nowhere) == ["one", None, "one", None]


async def test_rows_of_a_part_come_in_order_from_either_end(opened: Opened) -> None:
    async with opened() as table:
        sorts = [f"{number:04d}" for number in range(MANY)]
        await table.write([Write(_place(sort), sort, None) for sort in reversed(sorts)])
        await table.write([Write(_place("0005", "other"), "elsewhere", None)])
        assert [row.place.sort for row in await table.page("p", limit=MANY)] == sorts
        assert [row.text for row in await table.page("p", after="0005", limit=3)] == ["0006", "0007", "0008"]
        assert [row.text for row in await table.page("p", limit=2, backwards=True)] == [sorts[-1], sorts[-2]]
        assert [row.text for row in await table.page("p", after="0003", backwards=True)] == ["0002", "0001", "0000"]
        assert await table.page("p", after=sorts[-1]) == []
        assert [row.text for row in await table.page("other")] == ["elsewhere"]


async def test_any_text_comes_back_as_it_was(opened: Opened) -> None:
    async with opened() as table:
        text = "ä\x00\"'\\\n\x7f\u2028😀" + "x" * 100_000
        place = _place("a#b/ü?", "part#with/marks")
        assert await table.write([Write(place, text, None)]) == [True]
        assert await _texts(table, place) == [text]
        assert [row.text for row in await table.page(place.part)] == [text]


async def test_a_row_that_may_be_forgotten_later_is_there_until_then(opened: Opened) -> None:
    async with opened() as table:
        place, later = _place("a", "m#one"), SYSTEM_CLOCK.wall() + 500.0
        assert await table.write([Write(place, "one", None, later)]) == [True]
        assert await table.write([Write(place, "two", "one", KEEP)]) == [True]
        assert await table.write([Write(place, "three", "two", None)]) == [True]
        assert await _texts(table, place) == ["three"]


async def test_time_does_not_go_back(opened: Opened) -> None:
    async with opened() as table:
        moments = [table.now() for _ in range(100)]
        assert moments == sorted(moments)
