"""Tables that keep the state of brokers without one (`state=redis://…`, `state=local`): what each must do alike."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from redis import Redis
from tests.servers import KINDS
from tests.servers.shared import shared

from tenure.adapters import redis
from tenure.adapters.redis.table import RedisTable
from tenure.adapters.sqlite.table import LocalTable
from tenure.clock import SystemClock
from tenure.table import GroupTable, RowKey, Write

pytestmark = pytest.mark.real_time

REDIS = [f"redis:{kind}" for kind in KINDS]


@pytest.fixture(params=["local", *REDIS])
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of table that there is."""
    return str(request.param)


@asynccontextmanager
async def _opened(kind: str, folder: Path) -> AsyncIterator[GroupTable]:
    """An empty one."""
    clock = SystemClock()
    table: GroupTable
    if kind == "local":
        table = LocalTable(str(folder / "state.db"), clock)
    else:
        url = f"{_server(kind).url}?prefix=t{os.urandom(6).hex()}"
        table = RedisTable(redis.read_options(url, urlsplit(url)), clock)
    await table.open()
    try:
        yield table
    finally:
        await table.close()


def _server(kind: str) -> Any:
    return shared(kind.partition(":")[2])


def _new(sort: str, text: str = "one", part: str = "p") -> Write:
    return Write(RowKey(part, sort), text, None)


async def _texts(table: GroupTable, *sorts: str, part: str = "p") -> list[str | None]:
    return [None if row is None else row.text for row in await table.get([RowKey(part, sort) for sort in sorts])]


async def _order(table: GroupTable, part: str = "p") -> list[str]:
    return [row.place.sort for row in await table.page(part)]


async def test_a_group_is_carried_out_as_a_whole_or_not_at_all(kind: str, tmp_path: Path) -> None:
    async with _opened(kind, tmp_path) as table:
        assert await table.commit([[_new("a"), _new("b", part="q")]]) == [True]
        stale = [Write(RowKey("p", "a"), "two", "one"), Write(RowKey("q", "b"), "two", "never")]
        assert await table.commit([stale, [_new("c")], [_new("d"), _new("a")]]) == [False, True, False]
        assert await _texts(table, "a", "b", "c", "d") == ["one", None, "one", None]
        assert await _texts(table, "b", part="q") == ["one"]
        assert await _order(table) == ["a", "c"]


async def test_a_group_finds_what_those_before_it_in_the_same_call_have_written(kind: str, tmp_path: Path) -> None:
    async with _opened(kind, tmp_path) as table:
        place = RowKey("p", "a")
        groups = [[_new("a")], [_new("a")], [Write(place, "two", "one")], [Write(place, "three", "one")]]
        assert await table.commit(groups) == [True, False, True, False]
        assert await _texts(table, "a") == ["two"]
        assert await table.commit([[Write(place, None, "two")], [_new("a", "anew")]]) == [True, True]
        assert (await _texts(table, "a"), await _order(table)) == (["anew"], ["a"])
        assert await table.commit([[_new("b")], [Write(RowKey("p", "b"), None, "one")]]) == [True, True]
        assert (await _texts(table, "b"), await _order(table)) == ([None], ["a"])


async def test_what_goes_whatever_it_says_need_not_be_there(kind: str, tmp_path: Path) -> None:
    async with _opened(kind, tmp_path) as table:
        await table.commit([[_new("a")]])
        gone = [[Write(RowKey("p", sort), None, None)] for sort in ("a", "b")]
        assert await table.commit(gone) == [True, True]
        assert (await _texts(table, "a", "b"), await _order(table)) == ([None, None], [])


async def test_thousands_of_rows_in_one_call_and_the_same_place_asked_for_twice(kind: str, tmp_path: Path) -> None:
    async with _opened(kind, tmp_path) as table:
        sorts = [f"{number:05d}" for number in range(2500)]
        assert await table.commit([[_new(sort, sort)] for sort in sorts]) == [True] * 2500
        assert await table.commit([[_new(f"x{sort}") for sort in sorts]]) == [True]  # also as one group
        assert await _texts(table, *sorts, "00007", "00007") == [*sorts, "00007", "00007"]
        assert await _texts(table, "x02499") == ["one"]
        assert [row.place.sort for row in await table.page("p", after="02400", limit=3)] == ["02401", "02402", "02403"]
        back = await table.page("p", after="00003", limit=9, backwards=True)
        assert [row.text for row in back] == ["00002", "00001", "00000"]


@pytest.mark.parametrize("kind", REDIS)
async def test_many_rows_take_a_redis_few_commands(kind: str, tmp_path: Path) -> None:
    """A command is most of what a row costs the server; it was five of them for each row, and the script's text."""
    client: Any = Redis(port=_server(kind).port)

    def commands() -> int:
        return int(client.info("stats")["total_commands_processed"])

    async with _opened(kind, tmp_path) as table:
        places = [RowKey("p", f"{number:03d}") for number in range(100)]
        await table.commit([[_new("warm")]])
        before = commands()
        assert all(await table.commit([[Write(place, "one", None)] for place in places]))
        assert all(row is not None for row in await table.get(places))
        assert all(await table.commit([[Write(place, "two", "one"), _new(place.sort, part="q")] for place in places]))
        assert all(await table.commit([[Write(place, None, "two")] for place in places]))
        taken = commands() - before
    client.close()
    assert taken <= 25  # for 500 rows


@pytest.mark.parametrize("part", ["m#one", "k#key", "u#word", "banned#one/1"])
@pytest.mark.parametrize("kind", REDIS)
async def test_a_part_of_one_row_may_be_forgotten_and_lives_on_when_that_is_taken_back(
    kind: str, part: str, tmp_path: Path
) -> None:
    client: Any = Redis(port=_server(kind).port)
    async with _opened(kind, tmp_path) as table:
        soon, place = SystemClock().wall() + 500.0, RowKey(part, "a")
        key = f"{table._store.names.common}t:{part}"  # type: ignore[attr-defined]
        await table.commit([[Write(place, "one", None, soon)]])
        assert 0 < client.ttl(key) <= 500
        await table.commit([[Write(place, "two", "one", -1.0)]])
        assert 0 < client.ttl(key) <= 500
        await table.commit([[Write(place, "three", "two", None)]])
        assert client.ttl(key) == -1
    client.close()
