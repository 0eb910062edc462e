"""Forking: a child works with locks of its own or refuses, and the parent goes on as if nothing had been."""

import _sqlite3
import contextlib
import ctypes
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.adapters.sqlite import presence
from tenure.adapters.sqlite.forking import Gate, Plug

from .place import Place, ended, line_of, say, start

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="not applicable: no fork on this platform")

#: What every process below has: an app, a sender, and a way to fork that tells how the child ended.
PRELUDE = """
import os, signal, sqlite3, sys, threading, time
os.register_at_fork(after_in_child=lambda: signal.alarm(30))  # a child that hangs is told apart from one that fails
from tenure import Tenure
from tenure.adapters.sqlite import forking
from tenure.errors import BrokerError

app = Tenure(f"sqlite:///{sys.argv[1]}?synchronous=normal&busy_seconds=20")

@app.task
async def note(number: int) -> None: ...

def forked(work, fork=os.fork):
    pid = fork()
    if pid == 0:
        try:
            work()
        except BrokerError as error:
            print("refused:", error, flush=True)
            sys.exit(3)  # as a program ends, and not by os._exit: that must do no harm either
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", flush=True)
            os._exit(4)
        os._exit(0)
    return pid

def end_of(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


def run(script: str, path: Path) -> "contextlib.AbstractContextManager[subprocess.Popen[str]]":
    return ended(start(PRELUDE + script, path))


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process, as far as SQLite knows: this one has not opened the store."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        yield
        db.execute("ROLLBACK")


def stored(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        (count,) = db.execute("SELECT count(*) FROM message").fetchone()
    return int(count)


def fork() -> None:
    """A child of this very process, which ends at once."""
    with warnings.catch_warnings():
        # That other threads' locks may stay held in the child: which is what this is all about.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def run_nothing(**options: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        subprocess.run([sys.executable, "-c", ""], check=True, **options)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "q.db"


@pytest.mark.real_time
async def test_the_parent_goes_on_with_a_new_connection(real_place: Place) -> None:
    await real_place.send("a")
    await real_place.broker.depth()
    before = real_place.store._writer._db, real_place.store._reader._db
    fork()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        before[0].execute("SELECT 1")
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        before[1].execute("SELECT 1")
    await real_place.send("b")
    assert [depth.ready for depth in await real_place.broker.depth()] == [2]
    assert real_place.sql("SELECT count(*) FROM message") == [(2,)]


@pytest.mark.real_time
async def test_a_subprocess_costs_no_connection(real_place: Place) -> None:
    await real_place.send("a")
    before = real_place.store._writer._db
    run_nothing()
    await real_place.send("b")
    assert real_place.store._writer._db is before


@pytest.mark.real_time
async def test_a_subprocess_with_code_between_fork_and_exec_disturbs_nothing(real_place: Place) -> None:
    await real_place.send("a")
    run_nothing(preexec_fn=lambda: None)
    await real_place.send("b")
    assert real_place.sql("SELECT count(*) FROM message") == [(2,)]


@pytest.mark.real_time
async def test_the_parent_is_still_woken_after_a_fork(real_place: Place) -> None:
    broker = real_place.broker
    await broker.wait(["mail"], 0.01)
    fork()
    (pipe,) = real_place.path.with_name("q.db-workers").glob("*.wake")
    heard: list[bytes] = []
    real_place.store._wake.messages._rouse = lambda loop, marks: heard.append(marks)
    pipe.write_bytes(b"!")
    await broker.wait(["mail"], 0.01)
    assert heard == [b"!"]


AFTER_THE_PARENT = """
note.submit_sync(1)
closed = os.pipe()
opened = os.pipe()
def child():
    note.submit_sync(2)
    os.write(opened[1], b"!")
    os.read(closed[0], 1)
    for number in range(100):
        note.submit_sync(number)
pid = forked(child)
os.read(opened[0], 1)
app.close_sync()
os.write(closed[1], b"!")
print(end_of(pid), flush=True)
"""


def test_what_a_child_sends_after_its_parent_closed_is_stored(path: Path) -> None:
    with run(AFTER_THE_PARENT, path) as process:
        assert line_of(process) == "0"
        process.wait()
    assert stored(path) == 102


AMONG_THREADS = """
sent, stop = [0] * 4, threading.Event()
def send(place):
    while not stop.is_set():
        note.submit_sync(place)
        sent[place] += 1
note.submit_sync(0)
threads = [threading.Thread(target=send, args=(place,)) for place in range(4)]
[thread.start() for thread in threads]
pids = []
for number in range(20):
    before = sum(sent)
    pids.append(forked(lambda: [note.submit_sync(1), note.submit_sync(2)]))
    while sum(sent) == before:  # between two forks the others have their turn
        time.sleep(0.001)
ends = [end_of(pid) for pid in pids]
stop.set()
[thread.join() for thread in threads]
print(set(ends), sum(sent) + 1 + 2 * len(pids), flush=True)
"""


def test_forks_amid_sending_threads_lose_and_block_nothing(path: Path) -> None:
    with run(AMONG_THREADS, path) as process:
        ends, _, count = line_of(process).rpartition(" ")
        process.wait()
    assert ends == "{0}"
    assert stored(path) == int(count)


WHILE_LOCKED = """
note.submit_sync(0)
print("open", flush=True)
sys.stdin.readline()
sender = threading.Thread(target=note.submit_sync, args=(1,))
sender.start()
while not app.broker._store.busy():
    time.sleep(0.001)
pid = forked(lambda: note.submit_sync(2))
print("forked", flush=True)
sender.join()
print(end_of(pid), flush=True)
"""


def test_a_fork_does_not_wait_for_a_lock_of_others_and_what_waits_for_it_is_stored(path: Path) -> None:
    with run(WHILE_LOCKED, path) as process:
        assert line_of(process) == "open"
        with locked(path):
            say(process, "lock")
            assert line_of(process) == "forked"
        assert line_of(process) == "0"
        process.wait()
    assert stored(path) == 3


WHILE_OPENING = """
tries, connect = [], sqlite3.connect
sqlite3.connect = lambda *a, **k: tries.append(1) or connect(*a, **k)
sender = threading.Thread(target=note.submit_sync, args=(1,))
sender.start()
while not tries:
    time.sleep(0.001)
pid = forked(lambda: note.submit_sync(2))
print("forked", flush=True)
sender.join()
print(end_of(pid), flush=True)
"""


def test_a_fork_while_the_store_is_being_opened_leaves_both_a_working_one(path: Path) -> None:
    with contextlib.ExitStack() as stack:
        lock = stack.enter_context(contextlib.ExitStack())
        lock.enter_context(locked(path))
        process = stack.enter_context(run(WHILE_OPENING, path))
        assert line_of(process) == "forked"
        lock.close()
        assert line_of(process) == "0"
        process.wait()
    assert stored(path) == 2


WHILE_INSIDE = """
forking._PATIENCE_SECONDS = 0.1
note.submit_sync(0)
store, within, go = app.broker._store, threading.Event(), threading.Event()
def dawdle(transaction):
    # In the midst of a statement, so that SQLite's own lock of this connection is held.
    transaction.db.create_function("dawdle", 0, lambda: within.set() or go.wait(20))
    transaction.db.execute("UPDATE message SET priority = dawdle()")
store.later(dawdle)
within.wait(20)
print(end_of(forked(lambda: note.submit_sync(1))), flush=True)
go.set()
note.submit_sync(2)
print("the parent goes on", flush=True)
"""


def test_a_child_refuses_where_somebody_did_not_come_out_in_time(path: Path) -> None:
    with run(WHILE_INSIDE, path) as process:
        refusal = line_of(process)
        assert "SQLite was in use when this process was forked" in refusal
        assert "nothing was written" in refusal
        # It ended by itself, without closing what its parent was in the midst of.
        assert line_of(process) == "3"
        assert line_of(process) == "the parent goes on"
        process.wait()
    assert stored(path) == 2
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM message WHERE priority = 1").fetchone() == (1,)


UNHEARD = """
import ctypes
note.submit_sync(0)
def child():
    try:
        app.broker._store._open()  # no thread: Python does not know that the others are gone
    except BrokerError as error:
        print("refused:", error, flush=True)
        os._exit(3)  # Python itself cannot end such a child: it waits for threads that are not there
print(end_of(forked(child, fork=ctypes.PyDLL(None).fork)), flush=True)
note.submit_sync(1)
"""


def test_a_child_refuses_after_a_fork_that_python_was_not_told_of(path: Path) -> None:
    with run(UNHEARD, path) as process:
        assert "SQLite was in use when this process was forked" in line_of(process)
        assert line_of(process) == "3"
        process.wait()
    assert stored(path) == 2


STRANGER = """
note.submit_sync(0)
stranger = sqlite3.connect(sys.argv[1])
stranger.execute("SELECT * FROM message").fetchall()
print(end_of(forked(lambda: note.submit_sync(1))), flush=True)
stranger.close()
print(end_of(forked(lambda: note.submit_sync(1))), flush=True)
"""


def test_a_child_refuses_if_its_parent_had_the_file_open_by_other_means(path: Path) -> None:
    with run(STRANGER, path) as process:
        assert "SQLite was in use when this process was forked" in line_of(process)
        assert [line_of(process), line_of(process)] == ["3", "0"]
        process.wait()
    assert stored(path) == 2


WITHIN = """
forking._PATIENCE_SECONDS = 0.1
note.submit_sync(0)
print(end_of(forked(lambda: note.submit_sync(1))), flush=True)
note.submit_sync(2)
"""

#: Registered first, so it runs last: somebody enters SQLite when Tenure has left it. 11 is the lock of its file layer.
ENTER_SQLITE = """
import _sqlite3, ctypes, os
sqlite = ctypes.CDLL(_sqlite3.__file__)
sqlite.sqlite3_mutex_alloc.restype = ctypes.c_void_p
lock = ctypes.c_void_p(sqlite.sqlite3_mutex_alloc(11))
os.register_at_fork(
    before=lambda: sqlite.sqlite3_mutex_enter(lock), after_in_parent=lambda: sqlite.sqlite3_mutex_leave(lock)
)
"""


def has_sqlite_locks() -> bool:
    """Whether this Python's SQLite can be reached from outside."""
    return hasattr(ctypes.CDLL(_sqlite3.__file__), "sqlite3_mutex_alloc")


@pytest.mark.skipif(not has_sqlite_locks(), reason="not applicable: SQLite is hidden within this Python")
def test_a_child_refuses_rather_than_hang_where_others_were_within_sqlite(path: Path) -> None:
    with ended(start(ENTER_SQLITE + PRELUDE + WITHIN, path)) as process:
        assert "SQLite was in use when this process was forked" in line_of(process)
        assert line_of(process) == "3"
        process.wait()
    assert stored(path) == 2


IN_THE_PORTAL = """
note.submit_sync(0)
with app._portal._lock:  # as another thread that submits may hold it
    pid = forked(lambda: note.submit_sync(1))
print(end_of(pid), flush=True)
"""


def test_a_fork_while_others_submit_leaves_the_child_a_way_to_submit(path: Path) -> None:
    with run(IN_THE_PORTAL, path) as process:
        assert line_of(process) == "0"
        process.wait()
    assert stored(path) == 2


TWICE = """
note.submit_sync(0)
def child():
    note.submit_sync(1)
    assert end_of(forked(lambda: note.submit_sync(2))) == 0
    note.submit_sync(3)
print(end_of(forked(child)), flush=True)
"""


def test_a_child_of_a_child_works_too(path: Path) -> None:
    with run(TWICE, path) as process:
        assert line_of(process) == "0"
        process.wait()
    assert stored(path) == 4


HEARD_BY_NOBODY = """
import asyncio
async def listen():
    async with app:
        await app.broker.wait(["mail"], 0.01)
        pid = os.fork()
        if pid == 0:
            print(os.getpid(), flush=True)
            time.sleep(60)
            os._exit(0)
        time.sleep(60)
asyncio.run(listen())
"""


@pytest.mark.real_time
async def test_a_child_does_not_keep_the_pipe_of_a_dead_parent_alive(real_place: Place) -> None:
    workers = real_place.path.with_name("q.db-workers")
    with run(HEARD_BY_NOBODY, real_place.path) as process:
        child = int(line_of(process))
        try:
            assert len(list(workers.glob("*.wake"))) == 1
            process.kill()
            process.wait()
            await real_place.send("a")
            # Whoever writes to a pipe that nobody reads removes it; it does so after its answer.
            await real_place.send("b")
            assert list(workers.glob("*.wake")) == []
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_child_that_was_not_announced_drops_the_locks_of_its_parent(tmp_path: Path) -> None:
    """Some servers tell Python of a fork only when it has been."""
    mine = presence.Presence(tmp_path)
    mine.take("w/1")
    presence._close_in_child()
    assert mine.look("w/1") is False
    mine.take("w/1")
    mine.close()


def test_an_abandoned_connection_is_never_closed_behind_our_back() -> None:
    plug = Plug(lambda: sqlite3.connect(":memory:"))
    plug.open(1.0)
    db = plug.db
    before = sys.getrefcount(db)
    plug.abandon()
    # One reference that nobody holds, so that not even the end of the process lets go of the last one.
    assert sys.getrefcount(db) == before + 1
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(db))
    plug.close()


def test_one_fork_after_another_does_not_keep_others_out() -> None:
    gate = Gate()
    came_in = threading.Event()

    def come_in() -> None:
        with gate:
            came_in.set()

    gate.before()
    thread = threading.Thread(target=come_in)
    thread.start()
    while not gate._kept_out:
        pass
    gate.after_in_parent()
    gate.before()
    assert came_in.is_set()
    gate.after_in_parent()
    thread.join()


def test_a_fork_whose_beginning_was_interrupted_does_not_close_the_gate() -> None:
    gate = Gate()
    gate.after_in_parent()
    assert gate._forks == 0, "nobody could come in any more"
    with gate:
        assert gate._inside == 1


def test_a_fork_within_a_fork_opens_the_gate_only_at_the_end_of_both() -> None:
    gate = Gate()
    gate.before()
    gate.before()
    gate.after_in_parent()
    assert gate._forks == 1
    gate.after_in_parent()
    with gate:
        assert gate._inside == 1
