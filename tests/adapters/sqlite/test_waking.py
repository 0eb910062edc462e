"""Waking: those who wait are up within milliseconds, also in other processes, and cost nothing meanwhile."""

import asyncio
import contextlib
import os
import resource
from pathlib import Path

import pytest

from tenure.adapters.sqlite.wake import Wake
from tenure.clock import SYSTEM_CLOCK

from .place import QUEUE, Place, ended, line_of, say, start

WAITER = """
import asyncio, sys
from tenure.adapters.sqlite import connect, store
from tenure.clock import SYSTEM_CLOCK
from tenure.lease import LeaseRequest
async def main():
    store._LOOK_AGAIN_SECONDS = 60.0  # nobody is woken by his own look
    broker, _ = connect(sys.argv[1])
    await broker.open()
    for _ in range(int(sys.argv[2])):
        print("waiting", flush=True)
        await broker.wait(["mail"], 30.0)
        leases = await broker.lease(LeaseRequest("other/1", "r", ("mail",), 10, 30.0))
        print(SYSTEM_CLOCK.monotonic(), *(lease.id for lease in leases), flush=True)
    await broker.close()
asyncio.run(main())
"""


@pytest.mark.real_time
async def test_a_send_wakes_a_waiter_in_another_process(real_place: Place) -> None:
    loop = asyncio.get_running_loop()
    took = []
    with ended(start(WAITER, real_place.path, 5)) as process:
        for number in range(5):
            assert await loop.run_in_executor(None, line_of, process) == "waiting"
            await asyncio.sleep(0.1)
            sent = SYSTEM_CLOCK.monotonic()
            await real_place.send(f"m{number}")
            at, id = (await loop.run_in_executor(None, line_of, process)).split()
            assert id == f"m{number}"
            took.append(float(at) - sent)
    # Milliseconds, but the machine may be busy; without the wake-up it would be half a minute.
    assert sorted(took)[2] < 15.0


@pytest.mark.real_time
async def test_what_falls_due_wakes_a_waiter_in_another_process(real_place: Place) -> None:
    assert await waited_twice(real_place, 0.3) or await waited_twice(real_place, 5.0)


async def waited_twice(place: Place, delay: float) -> bool:
    """Whether it was woken by the send, leased in vain, and waited again, now until the message is due.

    A machine that stands still for longer than the delay comes to the first lease when there is something to lease.
    """
    loop = asyncio.get_running_loop()
    with ended(start(WAITER, place.path, 2)) as process:
        assert await loop.run_in_executor(None, line_of, process) == "waiting"
        await asyncio.sleep(0.1)
        sent = SYSTEM_CLOCK.monotonic()
        await place.send(f"in {delay}", delay=delay)
        lines = [await loop.run_in_executor(None, line_of, process) for _ in range(3)]
    at, _, id = lines[2].partition(" ")
    assert float(at) < sent + delay + 15.0, "it waited for as long as it may"
    return [line.partition(" ")[2] for line in lines] == ["", "", id] == ["", "", f"in {delay}"]


@pytest.mark.real_time
async def test_a_waiter_costs_next_to_nothing(real_place: Place) -> None:
    used: list[float] = []
    while len(used) < 3 and not (used and used[-1] < 0.1):  # what an earlier test left behind may end meanwhile
        before = resource.getrusage(resource.RUSAGE_SELF)
        await real_place.broker.wait([QUEUE], 2.0)
        after = resource.getrusage(resource.RUSAGE_SELF)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert used[-1] < 0.1, used


async def settle(place: Place) -> None:
    """Others are told after the answer was given: wait until the writer is past that."""
    await place.store.write(lambda tx: None)


async def test_many_may_wait_at_once_and_only_those_concerned_wake(place: Place) -> None:
    clock = place.clock
    mail = [asyncio.ensure_future(place.broker.wait([QUEUE], 50.0)) for _ in range(3)]
    other = asyncio.ensure_future(place.broker.wait(["other"], 50.0))
    await asyncio.sleep(5.0)
    began = clock.monotonic()
    await place.send("a")
    await asyncio.gather(*mail)
    assert clock.monotonic() == began
    await other
    assert clock.monotonic() == began + 45.0


async def test_a_wait_that_is_cancelled_leaves_nothing_behind(place: Place) -> None:
    waiting = asyncio.ensure_future(place.broker.wait([QUEUE], 50.0))
    await asyncio.sleep(0.5)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not any(place.store._wake.messages._waiters.values())


async def test_pipes_are_removed_when_the_store_is_closed(tmp_path: Path) -> None:
    async with Place(tmp_path / "q.db") as place:
        await place.broker.wait([QUEUE], 0.1)
        assert len(list(tmp_path.glob("q.db-workers/*.wake"))) == 1  # noqa: ASYNC240 - nothing else runs here
    assert list(tmp_path.glob("q.db-workers/*")) == []  # noqa: ASYNC240


async def test_the_pipe_of_a_dead_process_is_removed(place: Place) -> None:
    folder = place.path.with_name("q.db-workers")
    folder.mkdir()
    os.mkfifo(folder / "dead.wake")
    await place.send("a")
    await settle(place)
    assert list(folder.glob("*.wake")) == []


async def test_a_full_pipe_holds_nobody_up(place: Place) -> None:
    folder = place.path.with_name("q.db-workers")
    folder.mkdir()
    os.mkfifo(folder / "full.wake")
    descriptor = os.open(folder / "full.wake", os.O_RDWR | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(descriptor, b"x" * 65536)
    await place.send("a")
    await place.send("b")
    os.close(descriptor)
    await place.send("c")
    await settle(place)
    assert list(folder.glob("*.wake")) == []


async def test_without_pipes_waiting_looks_often(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: object, mode: int = 0) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "mkfifo", refuse)
    waiting = asyncio.ensure_future(place.broker.wait([QUEUE], 50.0))
    await asyncio.sleep(1.0)
    async with Place(place.path, place.clock) as other:
        began = place.clock.monotonic()
        await other.send("a")
        await waiting
    assert place.clock.monotonic() - began <= 0.011


def test_a_loop_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    wake = Wake(tmp_path)

    async def wait() -> None:
        assert wake.listen()
        assert wake.listen()
        wake.enter([QUEUE])

    asyncio.run(wait())
    wake.rouse([QUEUE])
    assert not wake._waiters
    wake.close()
    assert list(tmp_path.iterdir()) == []


TALKER = """
import asyncio, sys
import msgspec
from tenure.adapters.sqlite import connect
from tenure.lease import LeaseRequest
from tenure.message import Message, Outgoing
from tenure.settlement import Ack
async def main():
    broker, _ = connect(sys.argv[1])
    await broker.open()
    name = sys.argv[2]
    sys.stdin.readline()
    body = msgspec.Raw(b"{}")
    for start in range(0, 200, 10):
        ids = [f"{name}{start + n}" for n in range(10)]
        await broker.send([Outgoing(Message(id=id, queue="mail", task="t", body=body)) for id in ids])
    done = []
    while leases := await broker.lease(LeaseRequest(name, "r", ("mail",), 7, 30.0)):
        outcomes = await broker.ack([Ack(lease, b"1") for lease in leases])
        assert all(one.outcome == "deleted" for one in outcomes), outcomes
        done += [lease.id for lease in leases]
    print(*done, flush=True)
    await broker.close()
asyncio.run(main())
"""


@pytest.mark.real_time
async def test_processes_share_a_file_and_each_message_runs_once(real_place: Place) -> None:
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(ended(start(TALKER, real_place.path, name))) for name in ("x", "y", "z")]
        await asyncio.sleep(0.5)
        for process in processes:
            say(process, "go")
        done = [id for process in processes for id in line_of(process).split()]
    assert sorted(done) == sorted(f"{name}{n}" for name in "xyz" for n in range(200))
    (depth,) = await real_place.broker.depth([QUEUE])
    assert (depth.ready, depth.leased, depth.dead) == (0, 0, 0)
