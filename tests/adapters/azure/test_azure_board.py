"""The board on Azure: one query with posts on it, and workers of an older version that know no posts."""

from typing import Any

import msgspec
import pytest
from tests.conformance.azure_harness import AzureHarness

from tenure.notice import Notices, Pause, Post, PostKind

POST = Post(kind=PostKind.STACK, name="a message/7", at=1.0, by="ada")


@pytest.fixture
def harness() -> AzureHarness:
    return AzureHarness()


async def test_a_look_at_the_board_is_one_query(harness: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    board = harness.state.board
    await board.pause(Pause("mail", 1.0))
    await board.post(POST)
    calls: list[str] = []
    call = harness._store.call

    async def counted(what: str, act: Any) -> Any:
        calls.append(what)
        return await call(what, act)

    monkeypatch.setattr(harness._store, "call", counted)
    assert await board.read() == Notices((Pause("mail", 1.0),), posts=(POST,))
    # The SDK asks for pages until it is told that there are no more; that takes no request.
    assert calls == ["a query", "a query"]


async def test_an_older_version_reads_a_pause_of_no_queue(harness: AzureHarness) -> None:
    await harness.state.board.post(POST)
    rows = await harness._store.rows.scan("common", "p")
    # As the version before posts read each of these rows but that of the cancels.
    assert [msgspec.json.decode(row.fields["Pause"], type=Pause) for row in rows] == [Pause("", 0.0)]
