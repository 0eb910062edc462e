"""Documents and posts in SQS's table: answers that got lost, rows of other versions, and what a look costs."""

from typing import Any

import msgspec
import pytest
from tests.adapters.aws.house import ProxiedHarness, asks
from tests.conformance.aws_harness import LocalStateHarness

from tenure.notice import Pause, Post, PostKind
from tenure.table import RowKey, Write

POST = Post(kind=PostKind.PAUSED_SCHEDULE, name="nightly", at=1.0)


@pytest.fixture
def house() -> ProxiedHarness:
    return ProxiedHarness()


@pytest.fixture
def local() -> LocalStateHarness:
    return LocalStateHarness()


async def test_a_document_whose_write_got_no_answer_is_created_once(house: ProxiedHarness) -> None:
    rule = house.proxy.rule(asks("BatchExecuteStatement"), house.proxy.drop_reply, times=1)
    put = await house.state.key_values.put("token", "a", b"1", expect=None)
    assert rule.used == 1
    assert put is not None
    assert await house.state.key_values.get("token", "a") == put


async def test_a_removal_whose_delete_fails_is_one_all_the_same(house: ProxiedHarness) -> None:
    await house.state.key_values.put("token", "a", b"1", expect=None)
    house.proxy.rule(lambda call: asks("BatchExecuteStatement")(call) and b"DELETE" in call.body, house.proxy.cut)
    assert await house.state.key_values.remove("token", "a") is True
    house.proxy.clear()
    assert await house.state.key_values.get("token", "a") is None
    assert await house.state.key_values.list("token") == []
    assert await house.state.key_values.put("token", "a", b"2", expect=None) is not None


async def test_a_look_at_the_board_is_one_reading_of_one_row(local: Any) -> None:
    board, table = local.state.board, local.state._store.table
    await board.pause(Pause("mail", 1.0))
    await board.post(POST)
    asked: list[Any] = []
    get = table.get

    async def counted(places: Any) -> Any:
        asked.append(list(places))
        return await get(places)

    table.get = counted
    notices = await board.read()
    assert (notices.paused, notices.posts) == ((Pause("mail", 1.0),), (POST,))
    assert asked == [[RowKey("board", "board")]]


async def test_posts_of_kinds_that_a_newer_version_knows_survive(local: Any) -> None:
    board, table = local.state.board, local.state._store.table
    await board.post(POST)
    place = RowKey("board", "board")
    (row,) = await table.get([place])
    said = msgspec.json.decode(row.text)
    said["posts"].append({"kind": "profile", "name": "m", "at": 1.0})
    assert None not in await table.write([Write(place, msgspec.json.encode(said).decode(), row.text)])
    assert (await board.read()).posts == (POST,)
    await board.pause(Pause("mail", 1.0))
    (row,) = await table.get([place])
    assert [one["kind"] for one in msgspec.json.decode(row.text)["posts"]] == ["paused_schedule", "profile"]
