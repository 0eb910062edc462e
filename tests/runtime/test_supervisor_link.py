"""The link: what a child worker says arrives, whole and in order, however slowly it is heard."""

import asyncio
import os
import socket

import pytest

from tenure.owner import Owner
from tenure.runtime.processes.frames import encode, read
from tenure.runtime.supervisor.protocol import Arrived, Enlisted, FromWorker, Hurry, Missed, News, from_worker
from tenure.runtime.supervisor.shared_status import RunningNote, SharedStatus
from tenure.runtime.supervisor.supervisor_link import SupervisorLink


def _supervisor_link(theirs: socket.socket, status: SharedStatus) -> SupervisorLink:
    return SupervisorLink(
        socket_descriptor=os.dup(theirs.fileno()),
        status_descriptor=os.dup(status.descriptor),
        number=3,
        keeps_leases=True,
    )


@pytest.mark.real_time
async def test_what_does_not_fit_into_the_line_waits_and_nothing_is_lost_or_mixed() -> None:
    ours, theirs = socket.socketpair()
    status = SharedStatus.make()
    with theirs:
        link = _supervisor_link(theirs, status)
    await link.listen("memory://here", lambda: None)
    owners = [Owner("w", str(number), host="x" * 10_000) for number in range(200)]  # two megabytes
    for owner in owners:
        link.tell(Enlisted(owner))
    assert link._backlog, "everything fitted: this test is about nothing"
    reader, writer = await asyncio.open_unix_connection(sock=ours)
    heard: list[FromWorker] = []
    for _ in range(201):
        data = await read(reader)
        assert data is not None
        heard.append(from_worker.decode(data))
    assert heard == [Arrived("memory://here"), *map(Enlisted, owners)]
    assert not link._backlog
    link.close()
    writer.close()
    status.close()


@pytest.mark.real_time
async def test_it_hears_and_notes() -> None:
    ours, theirs = socket.socketpair()
    status = SharedStatus.make()
    with theirs:
        link = _supervisor_link(theirs, status)
    news: asyncio.Queue[News | None] = asyncio.Queue()
    link.subscribe(news.put_nowait)
    await link.listen("memory://here", lambda: news.put_nowait(None))
    ours.sendall(encode(Missed([1, 2], "away")) + encode(Hurry()))
    assert await news.get() == Missed([1, 2], "away")
    assert await news.get() is None
    link.enlisted(Owner("w", "1"))
    assert status.read() == RunningNote("w/1")
    link.note("w/1", {"a"})
    assert status.read() == RunningNote("w/1", ("a",))
    link.close()
    ours.close()
    status.close()
