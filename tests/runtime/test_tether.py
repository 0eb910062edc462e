"""The tether: what a child worker says arrives, whole and in order, however slowly it is heard."""

import asyncio
import os
import socket

import pytest

from tenure.owner import Owner
from tenure.runtime.orders import Arrived, Enlisted, FromWard, Hurry, Missed, News, from_ward
from tenure.runtime.slate import Note, Slate
from tenure.runtime.tether import Tether
from tenure.runtime.wire import encode, read


def _tether(theirs: socket.socket, slate: Slate) -> Tether:
    return Tether(
        socket_descriptor=os.dup(theirs.fileno()), slate_descriptor=os.dup(slate.descriptor), number=3,
        keeps_leases=True,
    )  # fmt: skip


@pytest.mark.real_time
async def test_what_does_not_fit_into_the_line_waits_and_nothing_is_lost_or_mixed() -> None:
    ours, theirs = socket.socketpair()
    slate = Slate.make()
    with theirs:
        tether = _tether(theirs, slate)
    await tether.listen("memory://here", lambda: None)
    owners = [Owner("w", str(number), host="x" * 10_000) for number in range(200)]  # two megabytes
    for owner in owners:
        tether.tell(Enlisted(owner))
    assert tether._backlog, "everything fitted: this test is about nothing"
    reader, writer = await asyncio.open_unix_connection(sock=ours)
    heard: list[FromWard] = []
    for _ in range(201):
        data = await read(reader)
        assert data is not None
        heard.append(from_ward.decode(data))
    assert heard == [Arrived("memory://here"), *map(Enlisted, owners)]
    assert not tether._backlog
    tether.close()
    writer.close()
    slate.close()


@pytest.mark.real_time
async def test_it_hears_and_notes() -> None:
    ours, theirs = socket.socketpair()
    slate = Slate.make()
    with theirs:
        tether = _tether(theirs, slate)
    news: asyncio.Queue[News | None] = asyncio.Queue()
    tether.subscribe(news.put_nowait)
    await tether.listen("memory://here", lambda: news.put_nowait(None))
    ours.sendall(encode(Missed(2, "away")) + encode(Hurry()))
    assert await news.get() == Missed(2, "away")
    assert await news.get() is None
    tether.enlisted(Owner("w", "1"))
    assert slate.read() == Note("w/1")
    tether.note("w/1", {"a"})
    assert slate.read() == Note("w/1", ("a",))
    tether.close()
    ours.close()
    slate.close()
