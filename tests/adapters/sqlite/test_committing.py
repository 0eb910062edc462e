"""Committing: calls share a transaction and still stand or fall alone; and trouble is told as it is."""

import asyncio
import contextlib
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from tenure.adapters.sqlite import faults
from tenure.errors import BrokerError, BrokerUnavailable, OwnerRetired, StoreDamaged, StoreUnwritable
from tenure.event import Event, EventKind
from tenure.message import MessageState
from tenure.record import Progress
from tenure.settlement import Ack, Nack, Outcome
from tenure.verdict import Reason

from .place import Place, ended, line_of, start


class Gate:
    """Holds the writer's thread until everything has gathered behind it."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._shut = threading.Event()
        self._open = threading.Event()

    def _hold(self, tx: Any) -> None:
        self._shut.set()
        self._open.wait(5)

    async def together(self, *calls: Any) -> list[Any]:
        first = asyncio.ensure_future(self._place.store.write(self._hold))
        await asyncio.get_running_loop().run_in_executor(None, self._shut.wait, 5)
        waiting = [asyncio.ensure_future(call) for call in calls]
        await asyncio.sleep(0)
        self._open.set()
        await first
        return list(await asyncio.gather(*waiting, return_exceptions=True))


def begins(place: Place) -> list[str]:
    """From now on, what the writer's connection runs."""
    statements: list[str] = []
    place.store._writer._db.set_trace_callback(statements.append)
    return statements


async def test_calls_that_gather_share_a_commit(place: Place) -> None:
    statements = begins(place)
    answers = await Gate(place).together(*(place.send(f"m{n}") for n in range(20)))
    assert [sent.id for (sent,) in answers] == [f"m{n}" for n in range(20)]
    # One for the call that held the writer up, one for all the others.
    assert statements.count("COMMIT") == 2


async def test_a_call_that_fails_does_not_hurt_those_beside_it(place: Place) -> None:
    await place.send("a")
    await place.broker.retire("banned/1", crashed=True)

    def spoil(tx: Any) -> None:
        tx.db.execute("DELETE FROM message")
        raise ZeroDivisionError

    before, retired, broken, leased, after = await Gate(place).together(
        place.send("b"), place.lease(owner="banned/1"), place.store.write(spoil), place.lease(10), place.send("c")
    )
    assert [sent.id for sent in (*before, *after)] == ["b", "c"]
    assert isinstance(retired, OwnerRetired)
    assert isinstance(broken, ZeroDivisionError)
    assert [lease.id for lease in leased] == ["a", "b"]
    assert (await place.record("c")).state is MessageState.READY


async def test_a_call_that_fails_alone_leaves_nothing_behind(place: Place) -> None:
    def spoil(tx: Any) -> None:
        tx.db.execute("DELETE FROM message")
        raise ZeroDivisionError

    await place.send("a")
    with pytest.raises(ZeroDivisionError):
        await place.store.write(spoil)
    assert (await place.record("a")).state is MessageState.READY


def waits_for_disk(statements: list[str]) -> list[bool]:
    """Of each transaction: whether its commit waits for the disk."""
    modes = [line.rpartition(" ")[2] if "synchronous" in line else line for line in statements]
    waits: list[bool] = []
    mode = ""
    for word in modes:
        mode = word if word in ("full", "normal") else mode
        if word == "BEGIN IMMEDIATE":
            waits.append(mode == "full")
    return waits


async def test_only_what_must_survive_a_power_cut_waits_for_the_disk(tmp_path: Path) -> None:
    """Leases, beats and progress are worth nothing after one: their holders are gone as well."""
    async with Place(tmp_path / "q.db", synchronous="full") as place:
        statements = begins(place)
        await place.send("a", "b")
        leases = await place.lease(2)
        await place.broker.touch(leases)
        await place.state.records.progress([(leases[0], Progress(0.5))])
        await place.broker.ack([Ack(leases[0])])
        await place.broker.nack([Nack(leases[1], 0.0, Reason("error", "it broke"))])
        assert waits_for_disk(statements) == [True, False, False, False, True, True]
        await place.lease()
        await Gate(place).together(place.lease(), place.send("c"))
        assert waits_for_disk(statements)[-1]


async def test_what_a_sweep_leaves_for_later_does_not_wait_for_the_disk(tmp_path: Path) -> None:
    """After a power cut what it forgot is forgotten again; until then no message waits for it."""
    async with Place(tmp_path / "q.db", synchronous="full") as place:
        await place.send("a")
        statements = begins(place)
        await place.lease()
        place.store.later(lambda tx: tx.db.execute("DELETE FROM loan WHERE fence < 0"))
        await place.store.write(lambda _: None, is_light=True)
        assert "DELETE FROM loan WHERE fence < 0" in statements
        assert not any(waits_for_disk(statements))


async def test_an_idle_lease_takes_no_lock(place: Place) -> None:
    statements = begins(place)
    assert await place.lease() == []
    assert not any(statement.startswith("BEGIN") for statement in statements)


async def test_an_empty_lease_is_answered_while_somebody_else_writes(place: Place) -> None:
    with contextlib.closing(sqlite3.connect(place.path, isolation_level=None)) as stranger:
        stranger.execute("BEGIN IMMEDIATE")
        assert await place.lease() == []
        assert await place.broker.depth() == []


async def test_a_store_can_be_opened_and_looked_at_while_somebody_else_holds_the_lock(place: Place) -> None:
    await place.send("a")
    with contextlib.closing(sqlite3.connect(place.path, isolation_level=None)) as stranger:
        stranger.execute("BEGIN IMMEDIATE")
        async with Place(place.path, place.clock, busy_seconds=0.2) as other:
            (depth,) = await other.broker.depth()
            assert depth.ready == 1


async def test_a_lock_that_is_held_too_long_is_told(tmp_path: Path) -> None:
    async with Place(tmp_path / "q.db", busy_seconds=0.2) as place:
        with contextlib.closing(sqlite3.connect(place.path, isolation_level=None)) as stranger:
            stranger.execute("BEGIN IMMEDIATE")
            with pytest.raises(BrokerUnavailable, match="locked by another process; nothing was written") as caught:
                await place.send("a")
            assert not caught.value.outcome_unknown
            stranger.execute("ROLLBACK")
        assert await place.state.records.get("a") is None
        assert [sent.duplicate for sent in await place.send("a")] == [False]


@pytest.mark.real_time
async def test_a_lock_that_is_held_briefly_is_waited_for(real_place: Place) -> None:
    with contextlib.closing(sqlite3.connect(real_place.path, isolation_level=None)) as stranger:
        stranger.execute("BEGIN IMMEDIATE")
        sending = [asyncio.ensure_future(real_place.send(f"m{n}")) for n in range(3)]
        await asyncio.sleep(0.3)
        assert not any(one.done() for one in sending)
        stranger.execute("ROLLBACK")
        assert [sent.id for (sent,) in await asyncio.gather(*sending)] == ["m0", "m1", "m2"]


@pytest.mark.real_time
async def test_a_store_can_be_closed_while_somebody_else_holds_the_lock(tmp_path: Path) -> None:
    place = Place(tmp_path / "q.db", busy_seconds=600.0)
    await place.broker.open()
    with contextlib.closing(sqlite3.connect(place.path, isolation_level=None)) as stranger:
        stranger.execute("BEGIN IMMEDIATE")
        sending = asyncio.ensure_future(place.send("a"))
        await asyncio.sleep(0.05)
        async with asyncio.timeout(60):
            await place.broker.close()
        with pytest.raises(BrokerUnavailable, match="nothing was written"):
            await sending


async def test_a_closed_store_says_so(place: Place) -> None:
    other = Place(place.path)
    with pytest.raises(BrokerUnavailable, match="is closed"):
        await other.send("a")
    await other.broker.open()
    await other.broker.close()
    with pytest.raises(BrokerUnavailable, match="is closed"):
        await other.send("a")
    with pytest.raises(BrokerUnavailable, match="is closed"):
        await other.broker.depth()


async def test_a_full_disk_is_told_and_passes(place: Place) -> None:
    await place.send("a")
    db = place.store._writer._db
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    (most,) = db.execute(f"PRAGMA max_page_count = {pages + 3}").fetchone()
    large = "x" * 20_000
    answers = await Gate(place).together(place.lease(), place.send("b", headers={"large": large}), place.send("c"))
    assert [type(answer) for answer in answers] == [BrokerUnavailable] * 3
    assert "no disk space left" in str(answers[1])
    assert not any(answer.outcome_unknown for answer in answers)
    db.execute(f"PRAGMA max_page_count = {most + 1000}")
    assert (await place.record("a")).state is MessageState.READY
    assert [lease.id for lease in await place.lease()] == ["a"]
    assert [sent.duplicate for sent in await place.send("b", "c")] == [False, False]


FULL_DISK = """
import asyncio, resource, signal, sys
from tenure.adapters.sqlite import connect
from tenure.errors import BrokerUnavailable
from tenure.message import Message, Outgoing
import msgspec
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
async def main():
    broker, _ = connect(sys.argv[1])
    await broker.open()
    body = msgspec.Raw(msgspec.json.encode("x" * 3000))
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    stored = 0
    try:
        while True:
            batch = [Outgoing(Message(id=f"{stored + n}", queue="q", task="t", body=body)) for n in range(10)]
            await broker.send(batch)
            stored += 10
    except BrokerUnavailable as error:
        assert "nothing was written" in str(error), error
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    (depth,) = await broker.depth(["q"])
    assert depth.ready == stored, (depth.ready, stored)
    sent = await broker.send(batch)
    assert not any(one.duplicate for one in sent)
    await broker.close()
    print("whole", stored, flush=True)
asyncio.run(main())
"""


def test_a_disk_that_fills_up_under_a_commit_loses_nothing(tmp_path: Path) -> None:
    with ended(start(FULL_DISK, tmp_path / "q.db")) as process:
        word, stored = line_of(process).split()
    assert word == "whole"
    assert int(stored) > 0


async def test_a_failed_flush_leaves_it_open_what_happened(place: Place) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
    told = faults.translate(error, "q.db", at_commit=True)
    assert isinstance(told, BrokerUnavailable)
    assert told.outcome_unknown
    earlier = faults.translate(error, "q.db")
    assert isinstance(earlier, BrokerUnavailable)
    assert not earlier.outcome_unknown


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_BUSY_SNAPSHOT, BrokerUnavailable),
        (sqlite3.SQLITE_NOMEM, BrokerUnavailable),
        (sqlite3.SQLITE_IOERR_WRITE, BrokerUnavailable),
        (sqlite3.SQLITE_READONLY_DBMOVED, StoreUnwritable),
        (sqlite3.SQLITE_CORRUPT_INDEX, StoreDamaged),
        (sqlite3.SQLITE_TOOBIG, BrokerError),
        (None, BrokerError),
    ],
)
def test_every_error_has_its_sentence(code: int | None, kind: type[BrokerError]) -> None:
    error = sqlite3.OperationalError("the reason")
    if code is not None:
        error.sqlite_errorcode = code
    told = faults.translate(error, "q.db")
    assert type(told) is kind
    assert "q.db" in str(told)
    assert "nothing was written" in str(told)


async def test_a_cancelled_call_that_has_begun_runs_to_its_end(place: Place) -> None:
    begun, proceed = threading.Event(), threading.Event()

    def act(tx: Any) -> None:
        begun.set()
        proceed.wait(5)
        tx.db.execute("INSERT INTO meta (name, value) VALUES ('remark', 'written')")

    call = asyncio.ensure_future(place.store.write(act))
    await asyncio.sleep(0)
    await asyncio.get_running_loop().run_in_executor(None, begun.wait, 5)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    proceed.set()
    await place.send("a")
    assert place.sql("SELECT value FROM meta WHERE name = 'remark'") == [("written",)]


async def test_a_cancelled_call_that_has_not_begun_is_left_out(place: Place) -> None:
    await place.send("a")
    gate = threading.Event()
    holding = asyncio.ensure_future(place.store.write(lambda tx: gate.wait(5)))
    await asyncio.sleep(0)
    leasing = asyncio.ensure_future(place.lease())
    await asyncio.sleep(0)
    leasing.cancel()
    await asyncio.sleep(0)
    gate.set()
    await holding
    assert [lease.id for lease in await place.lease()] == ["a"]


def test_any_loop_may_call(tmp_path: Path) -> None:
    """Broker and state are their own twins: two threads with a loop each use them at the same time."""
    place = Place(tmp_path / "q.db")
    assert place.broker.twin() is place.broker
    assert place.state.twin() is place.state
    done: list[Outcome] = []

    async def work(name: str) -> None:
        await place.broker.open()
        await place.send(*(f"{name}{n}" for n in range(50)))
        while leases := await place.lease(7, owner=name):
            done.extend(one.outcome for one in await place.broker.ack([Ack(lease) for lease in leases]))
        await place.broker.close()

    threads = [threading.Thread(target=asyncio.run, args=(work(name),)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [Outcome.DELETED] * 100


async def test_a_loop_that_is_gone_does_not_hurt_the_writer(place: Place) -> None:
    gate = threading.Event()

    async def leave_early() -> None:
        asyncio.ensure_future(place.store.write(lambda tx: gate.wait(5)))  # noqa: RUF006 - it is left behind
        await asyncio.sleep(0)

    await asyncio.get_running_loop().run_in_executor(None, lambda: asyncio.run(leave_early()))
    gate.set()
    assert [sent.id for sent in await place.send("a")] == ["a"]


FORKED = """
import asyncio, os, sys
from tenure.adapters.sqlite import connect
from tenure.errors import BrokerError
async def child(broker):
    try:
        await broker.depth()
    except BrokerError as error:
        assert "forked" in str(error), error
    else:
        os._exit(1)
    await broker.close()  # the parent's: nothing happens
    await broker.open()
    await broker.wait(["mail"], 0.01)
    assert await broker.depth() == []
    await broker.close()
    os._exit(7)
async def main():
    broker, _ = connect(sys.argv[1])
    await broker.open()
    await broker.wait(["mail"], 0.01)
    return broker
loop = asyncio.new_event_loop()
broker = loop.run_until_complete(main())
pid = os.fork()
if pid == 0:
    asyncio.new_event_loop().run_until_complete(child(broker))
_, status = os.waitpid(pid, 0)
pipes = [name for name in os.listdir(sys.argv[1] + "-workers") if name.endswith(".wake")]
print(os.waitstatus_to_exitcode(status), len(pipes), loop.run_until_complete(broker.depth()), flush=True)
loop.run_until_complete(broker.close())
"""


def test_a_forked_child_is_told_to_open_its_own(tmp_path: Path) -> None:
    with ended(start(FORKED, tmp_path / "q.db")) as process:
        assert line_of(process) == "7 1 []"


async def test_events_are_kept_by_the_next_commit_that_waits_for_the_disk(tmp_path: Path) -> None:
    """A flush of the disk for the events of each message would cost as much as the message itself."""
    async with Place(tmp_path / "q.db", synchronous="full") as place:
        await place.send("a")
        statements = begins(place)
        appending = asyncio.ensure_future(place.state.journal.append([Event(EventKind.COMPLETED, 1.0)]))
        (lease,) = await place.lease()
        assert not appending.done()  # a lease does not wait for the disk, nor for them
        await place.broker.ack([Ack(lease)])
        await appending
        assert waits_for_disk(statements) == [False, True]
        assert await place.state.journal.last() == 1


async def test_events_are_kept_in_a_moment_though_nothing_else_is_written(place: Place) -> None:
    began = place.clock.monotonic()
    await place.state.journal.append([Event(EventKind.COMPLETED, 1.0)])
    assert place.clock.monotonic() - began <= 0.05
    assert await place.state.journal.last() == 1


async def test_events_that_wait_are_kept_when_the_store_is_closed(tmp_path: Path) -> None:
    async with Place(tmp_path / "q.db") as place:
        appending = asyncio.ensure_future(place.state.journal.append([Event(EventKind.COMPLETED, 1.0)]))
        await asyncio.sleep(0)
    await appending
    async with Place(tmp_path / "q.db") as place:
        assert await place.state.journal.last() == 1
