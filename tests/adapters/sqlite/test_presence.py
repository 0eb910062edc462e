"""Presence: the kernel keeps a worker's lock exactly as long as the worker lives."""

import asyncio
import fcntl
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from tenure.adapters.sqlite.presence import Presence
from tenure.errors import OwnerRetired, StoreUnwritable
from tenure.message import MessageState
from tenure.owner import Owner
from tenure.probe import SYSTEM_PROBE
from tenure.rules.presence import Judgement, judge
from tenure.settlement import Ack, Outcome

from .place import Place, ended, line_of, say, start

HOLDER = """
import asyncio, sys
from tenure.adapters.sqlite import connect
from tenure.clock import SYSTEM_CLOCK
from tenure.lease import LeaseRequest
from tenure.owner import Owner
async def main():
    broker, state = connect(sys.argv[1])
    await broker.open()
    await state.open()
    owner = Owner("other", "1", boot_id=SYSTEM_CLOCK.boot_id())
    await state.roster.join(owner)
    leases = await broker.lease(LeaseRequest(owner.id, "r", ("mail",), 10, 30.0))
    print(len(leases), flush=True)
    await asyncio.to_thread(sys.stdin.readline)
asyncio.run(main())
"""


@pytest.mark.real_time
async def test_a_killed_worker_is_dead_at_once_and_a_stopped_one_is_not(real_place: Place) -> None:
    await real_place.send("a", "b")
    roster = real_place.state.roster
    with ended(start(HOLDER, real_place.path)) as process:
        assert line_of(process) == "2"
        assert [owner.id for owner in (await _judged(real_place)).owners] == ["other/1"]
        os.kill(process.pid, signal.SIGSTOP)
        await asyncio.sleep(0.05)
        assert (await _judged(real_place)).dead == []
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        (dead,) = (await _judged(real_place)).dead
    assert (dead.owner.id, dead.left) == ("other/1", False)
    assert dead.proof == "its process has ended (its lock is free)"
    swept = await real_place.broker.retire(dead.owner.id, crashed=True)
    assert set(swept.returned) == {"a", "b"}
    assert await roster.members() == []
    assert list(real_place.path.with_name("q.db-workers").glob("*.lock")) == []
    assert (await real_place.record("a")).counters.crashes == 1


async def _judged(place: Place) -> Judgement:
    return judge(await place.state.roster.members(), SYSTEM_PROBE)


async def _locks(place: Place) -> list[bool | None]:
    return [member.lock for member in await place.state.roster.members()]


async def test_another_boot_of_the_machine_alone_proves_nothing(place: Place) -> None:
    """Its lock does: after a restart it is free."""
    await place.state.roster.join(Owner("w", "1", boot_id="an-earlier-boot"))
    assert (await _judged(place)).dead == []
    place.store.presence.close()
    assert [dead.owner.id for dead in (await _judged(place)).dead] == ["w/1"]


@pytest.mark.parametrize("whole", [False, True], ids=["the file", "the whole folder"])
async def test_a_lock_file_that_was_removed_proves_nothing_and_is_made_again(
    place: Place, whole: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A cleaner of temporary files ran; the worker lives, and so does its lease."""
    owner = Owner("w", "1")
    await place.send("a")
    await place.state.roster.join(owner)
    (lease,) = await place.lease(owner=owner.id)
    folder = place.path.with_name("q.db-workers")
    for file in folder.iterdir():
        file.unlink()
    if whole:
        folder.rmdir()
    assert await _locks(place) == [None]
    assert (await _judged(place)).dead == []
    async with Place(place.path, place.clock) as other:
        await place.state.roster.beat(owner)
        assert await _locks(other) == [True]
        assert "was removed while its worker lives" in caplog.text
        place.store.presence.close()  # and now it dies
        assert await _locks(other) == [False]
    (settled,) = await place.broker.ack([Ack(lease)])
    assert settled.outcome is Outcome.DELETED


def test_a_lock_file_that_is_another_one_is_replaced(tmp_path: Path) -> None:
    """Restored from a copy, say: it looks free, and nobody could tell that its worker lives."""
    mine, theirs = Presence(tmp_path), Presence(tmp_path)
    mine.take("w/1")
    (file,) = tmp_path.glob("*.lock")
    file.unlink()
    file.touch()
    mine.keep("w/1")
    assert theirs.look("w/1") is True
    mine.keep("w/1")
    assert len(list(tmp_path.iterdir())) == 1
    mine.close()
    assert theirs.look("w/1") is False


def test_a_lock_file_removed_and_made_again_under_a_look_is_not_called_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look has opened the old file; it is removed, its owner makes another one, and lets go of the old."""
    mine, theirs = Presence(tmp_path), Presence(tmp_path)
    mine.take("w/1")
    (file,) = tmp_path.glob("*.lock")
    flock = fcntl.flock

    def late(descriptor: int, operation: int) -> None:
        if operation & fcntl.LOCK_SH:
            file.unlink()
            mine.keep("w/1")
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    assert theirs.look("w/1") is None
    monkeypatch.undo()
    assert theirs.look("w/1") is True
    mine.close()


def test_a_lock_file_that_is_made_again_is_never_seen_unlocked(tmp_path: Path) -> None:
    seen: list[bool | None] = []
    stop = threading.Event()

    def watch() -> None:
        presence = Presence(tmp_path)
        while not stop.is_set():
            seen.append(presence.look("w/1"))

    mine = Presence(tmp_path)
    mine.take("w/1")
    thread = threading.Thread(target=watch)
    thread.start()
    for _ in range(200):
        for file in tmp_path.glob("*.lock"):
            file.unlink()
        mine.keep("w/1")
    stop.set()
    thread.join()
    mine.close()
    assert False not in seen


async def test_a_store_that_closes_without_goodbye_leaves_a_dead_owner(place: Place) -> None:
    async with Place(place.path, place.clock) as other:
        await other.state.roster.join(Owner("w", "1"))
        assert (await _judged(place)).dead == []
    assert [dead.owner.id for dead in (await _judged(place)).dead] == ["w/1"]


async def test_a_banned_owner_cannot_join(place: Place) -> None:
    await place.broker.retire("w/1", crashed=False)
    with pytest.raises(OwnerRetired, match="new nonce"):
        await place.state.roster.join(Owner("w", "1"))
    assert place.store.presence.look("w/1") is None


async def test_a_returned_message_is_ready_at_once(place: Place) -> None:
    await place.send("a")
    owner = Owner("w", "1")
    await place.state.roster.join(owner)
    await place.lease(owner=owner.id)
    await place.state.roster.leave(owner)
    assert [dead.left for dead in (await _judged(place)).dead] == [True]
    await place.broker.retire(owner.id, crashed=False)
    assert (await place.record("a")).state is MessageState.READY


def test_testing_a_lock_neither_takes_nor_drops_it(tmp_path: Path) -> None:
    mine, theirs = Presence(tmp_path), Presence(tmp_path)
    mine.take("w/1")
    assert [mine.look("w/1"), theirs.look("w/1"), mine.look("w/1")] == [True] * 3
    mine.close()
    assert theirs.look("w/1") is False
    mine.drop("w/1")
    assert theirs.look("w/1") is None


def test_two_who_test_a_dead_lock_at_once_do_not_take_each_other_for_its_owner(tmp_path: Path) -> None:
    dead = Presence(tmp_path)
    dead.take("w/1")
    dead.close()
    (file,) = tmp_path.glob("*.lock")
    tester = os.open(file, os.O_RDONLY)
    fcntl.flock(tester, fcntl.LOCK_SH | fcntl.LOCK_NB)
    assert Presence(tmp_path).look("w/1") is False
    os.close(tester)


def test_many_testers_never_see_a_dead_owner_alive(tmp_path: Path) -> None:
    owner = Presence(tmp_path)
    owner.take("w/1")
    owner.close()
    seen: list[bool | None] = []

    def test_often() -> None:
        presence = Presence(tmp_path)
        seen.extend(presence.look("w/1") for _ in range(300))

    threads = [threading.Thread(target=test_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [False] * 1200


def test_a_lock_file_is_never_seen_unlocked(tmp_path: Path) -> None:
    """It appears under its name only when it is locked: a joining worker cannot be taken for a dead one."""
    wrong: list[str] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            for file in tmp_path.glob("*.lock"):
                try:
                    descriptor = os.open(file, os.O_RDONLY)
                except FileNotFoundError:
                    continue
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    pass
                else:
                    wrong.append(file.name)
                os.close(descriptor)

    thread = threading.Thread(target=watch)
    thread.start()
    presence = Presence(tmp_path)
    for number in range(200):
        presence.take(f"w/{number}")
    stop.set()
    thread.join()
    presence.close()
    assert wrong == []


def test_names_of_any_kind_are_kept_apart(tmp_path: Path) -> None:
    presence = Presence(tmp_path)
    names = ["a/1", "a%2F1", "../a", "ä/ö", "x" * 400, "x" * 401]
    for name in names:
        presence.take(name)
    assert all(presence.look(name) for name in names)
    assert len(list(tmp_path.glob("*.lock"))) == len(names)
    presence.drop(names[0])
    assert [presence.look(name) for name in names] == [None, True, True, True, True, True]
    presence.close()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    presence = Presence(tmp_path / "file" / "workers")
    with pytest.raises(StoreUnwritable, match="cannot be created"):
        presence.take("w/1")
    assert not presence._held


CHILDREN = """
import os, subprocess, sys, time
from pathlib import Path
from tenure.adapters.sqlite.presence import Presence
presence = Presence(Path(sys.argv[1]))
presence.take("w/1")
ready, told = os.pipe()
child = os.fork()
if child == 0:
    os.write(told, b"!")  # what runs in a forked child has run
    time.sleep(60)
    os._exit(0)
os.read(ready, 1)
started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], close_fds=False)
print(child, started.pid, flush=True)
sys.stdin.readline()
os._exit(0)
"""


def test_children_do_not_keep_a_dead_parent_alive(tmp_path: Path) -> None:
    presence = Presence(tmp_path)
    children: list[int] = []
    with ended(start(CHILDREN, tmp_path)) as process:
        children = [int(pid) for pid in line_of(process).split()]
        assert presence.look("w/1")
        say(process, "end")
        process.wait()
        try:
            assert all(Path(f"/proc/{pid}").exists() for pid in children) or sys.platform != "linux"
            assert presence.look("w/1") is False
        finally:
            for pid in children:
                os.kill(pid, signal.SIGKILL)
