"""Forking: when a process is forked, none of its connections is open, and none of its threads is within SQLite.

SQLite counts the locks of a process in that process's memory. A child that inherits an open connection inherits
the count, but not the locks: it would write without any, and lose what it has acknowledged. So all code that uses
SQLite passes a gate, and keeps its connection in a plug. Before a fork the gate closes: those inside come out, and
every plug is pulled. In the parent each plug connects again when it is next used, and what waited goes on; in the
child everything begins afresh.

Where that is not possible (a thread does not come out in time, a fork that Python does not know of, a connection or a
thread within SQLite that is not Tenure's), the child is *torn*: it refuses to open, rather than lose anything or
hang (`check`).

Used by `store.py`, `writer.py` and `reader.py`. The locks of workers and forks: `presence.py`.
"""

import contextlib
import os
import sqlite3
import stat
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from tenure.adapters.sqlite import faults

#: How long a fork waits for those who are within SQLite: a flush of a slow disk, a look through a large queue.
_PATIENCE_SECONDS = 5.0
#: Between two tries to connect while another process holds the file.
_STEP_SECONDS = 0.02


class Gate:
    """Lets threads into SQLite, except while this process is being forked."""

    def __init__(self) -> None:
        """Open, with no thread inside."""
        self.plugs: set[Plug] = set()
        #: What to call in a child, before anything else.
        self.heirs: weakref.WeakSet[Heir] = weakref.WeakSet()
        self._torn = False
        #: Whether SQLite is known to answer. Not after a fork: another thread may have been within it.
        self._answers = True
        #: Files that were open when this process was forked, although every plug was pulled.
        self._inherited: frozenset[tuple[int, int]] = frozenset()
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        # Both reentrant: a signal's handler may fork in the midst of a fork.
        self._turn = threading.RLock()
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._forks = 0
        self._inside = 0
        self._kept_out = 0

    def __enter__(self) -> None:
        """Use SQLite from here on."""
        with self._lock:
            if self._forks:
                self._kept_out += 1
                self._changed.wait_for(lambda: not self._forks)
                self._kept_out -= 1
                self._changed.notify_all()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        """Use it no longer."""
        with self._lock:
            self._inside -= 1
            if self._forks:
                self._changed.notify_all()

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Come out for a while: the plug may be pulled meanwhile."""
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()

    def settle(self) -> None:
        """Notice a fork that no hook reported."""
        if self._pid != os.getpid():
            self.after_in_child()

    def check(self, path: str) -> None:
        """Raise where this process cannot use `path`, because of how it was forked. Call before it is opened."""
        # In this order: even a look is too much where a connection was inherited.
        if self._torn or self._is_inherited(path):
            raise faults.torn(path)
        if not self._answers:
            self._torn = not _answers(path)
            self._answers = True
            self.check(path)

    def _is_inherited(self, path: str) -> bool:
        if not self._inherited:
            return False
        try:
            there = Path(path).stat()
        except OSError:
            return False
        return (there.st_dev, there.st_ino) in self._inherited

    def before(self) -> None:
        """Close, wait until no thread is inside, and pull every plug. Bounded: if that fails, the child is torn."""
        self._turn.acquire()
        with self._lock:
            # First those whom the fork before kept out: else one fork after another would keep them out for good.
            self._changed.wait_for(lambda: self._forks or not self._kept_out, _PATIENCE_SECONDS)
            self._forks += 1
            if self._changed.wait_for(lambda: not self._inside, _PATIENCE_SECONDS):
                for plug in list(self.plugs):
                    plug.pull()

    def after_in_parent(self) -> None:
        """Let everybody in again."""
        with self._lock:
            # Ctrl-C may have ended `before` at any point, and this is called even then.
            self._forks = max(0, self._forks - 1)
            self._changed.notify_all()
        with contextlib.suppress(RuntimeError):
            self._turn.release()

    def after_in_child(self) -> None:
        """Begin afresh: threads and locks of the parent are not ours."""
        if self._inside or self.plugs:
            self._torn = True
            # Closing them would tidy up under the parent, and perhaps wait for a thread that is not here.
            for plug in self.plugs:
                plug.abandon()
            self.plugs = set()
        self._answers = False
        self._begin()
        heirs = list(self.heirs)
        if heirs:
            self._inherited = _open_files()
        for heir in heirs:
            heir.inherit()


class Heir(Protocol):
    """Something that a child gets from its parent and must not use."""

    def inherit(self) -> None:
        """Let go of everything that is the parent's, and touch nothing that the parent still uses."""


class Plug:
    """A connection that is closed for the moment of a fork, and made again at its next use."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], may_close: Callable[[], bool] = lambda: True) -> None:
        """`connect` must not wait for locks of others. Where `may_close` says no, the connection is left open."""
        self._connect = connect
        self._may_close = may_close
        self._db: sqlite3.Connection | None = None
        self._pause = threading.Event()

    @property
    def db(self) -> sqlite3.Connection:
        """The connection. Only inside the gate, and not beyond it."""
        if self._db is None:
            self._db = self._connect()
            GATE.plugs.add(self)
        return self._db

    @property
    def is_in_transaction(self) -> bool:
        """Whether one was begun and not ended."""
        return self._db is not None and self._db.in_transaction

    def open(self, patience: float) -> None:
        """Connect. While another process holds the file, try again for `patience` seconds."""
        waited = 0.0
        while True:
            try:
                with GATE:
                    self.db  # noqa: B018 - it connects
                    return
            except sqlite3.OperationalError as error:
                if not faults.is_busy(error) or waited >= patience:
                    raise
            self._pause.wait(_STEP_SECONDS)
            waited += _STEP_SECONDS

    def close(self) -> None:
        """Disconnect."""
        with GATE:
            self.pull()

    def pull(self) -> None:
        """Disconnect, inside the gate or while it is closed."""
        if self._db is not None:
            if self._may_close():
                self._db.close()
            else:
                self.abandon()
            self._db = None
            GATE.plugs.discard(self)

    def abandon(self) -> None:
        """Keep the connection, unclosed, for as long as the process lives, its last moments included."""
        import ctypes  # noqa: PLC0415 - slow, and hardly ever needed

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._db))


def _answers(path: str) -> bool:
    """Whether SQLite can be used: a lock of its own that was held at a fork stays held in the child, for good."""
    thread = threading.Thread(target=_touch, args=(path,), name="tenure-sqlite-first", daemon=True)
    thread.start()
    thread.join(_PATIENCE_SECONDS)
    return not thread.is_alive()


def _touch(path: str) -> None:
    # Any error of the file comes again, and is raised, when it is opened.
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path, timeout=0.0)) as db:
        db.execute("PRAGMA schema_version").fetchone()


def _open_files() -> frozenset[tuple[int, int]]:
    """Device and number of every file that this process has open. Empty where that cannot be known."""
    found = set()
    try:
        descriptors = [int(name) for name in os.listdir("/dev/fd")]  # noqa: PTH208 - in every forked child
    except OSError:
        return frozenset()
    for descriptor in descriptors:
        with contextlib.suppress(OSError):  # the one with which the folder was read
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode):
                found.add((status.st_dev, status.st_ino))
    return frozenset(found)


#: One for the process, as SQLite's own count is.
GATE = Gate()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=GATE.before, after_in_parent=GATE.after_in_parent, after_in_child=GATE.after_in_child)
