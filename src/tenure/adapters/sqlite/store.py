"""The store: one open file, shared by the broker and the state that stand on it.

Any thread's event loop may call it. Writes go to the writer's thread, looks to the reader's; the store opens
and closes both, counts who uses it, and lets people wait for messages. It opens with the first `open` and
closes with the last `close`.

Used by `broker.py` and `state.py`. The acts that it carries out are plain functions in their neighbours.
"""

import asyncio
import contextlib
import logging
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from tenure.adapters.sqlite import checkpoint, faults, limiting, read_only, schema, serving
from tenure.adapters.sqlite.forking import GATE, Plug
from tenure.adapters.sqlite.job import WriteJob
from tenure.adapters.sqlite.opened_file import OpenedFile
from tenure.adapters.sqlite.options import SqliteOptions
from tenure.adapters.sqlite.presence import Presence
from tenure.adapters.sqlite.reader import Reader
from tenure.adapters.sqlite.timeline import StoreClock, seconds
from tenure.adapters.sqlite.transaction import ReadView, WriteTransaction
from tenure.adapters.sqlite.wake import JOURNAL, Wake, Wakes
from tenure.adapters.sqlite.writer import Writer
from tenure.clock import Clock
from tenure.errors import BrokerUnavailable
from tenure.limit import Limit

T = TypeVar("T")

logger = logging.getLogger("tenure.sqlite")

#: Everybody who waits looks again at least this often, should a wake-up get lost.
_LOOK_AGAIN_SECONDS = 1.0
#: What can wait for the next commit waits so long at most.
_PATIENCE_SECONDS = 0.05
#: How often to look where no waiter can be woken.
_POLL_SECONDS = 0.01


class SqliteStore:
    """One file, opened once for each process."""

    def __init__(self, options: SqliteOptions, clock: Clock) -> None:
        """Take the options and the clock. `open` opens the file."""
        self.options = options
        self.clock = clock
        self.timeline = StoreClock(clock)
        self._folder = Path(f"{options.path}-workers")
        self.presence = Presence(self._folder)
        self._wake = Wakes(self._folder)
        self._file = OpenedFile(options.path, clock)
        self._writer: Writer | None = None
        self._reader: Reader | None = None
        self._looker: Reader | None = None
        #: This user may read the file and not write it: there is no writer.
        self._is_read_only = False
        self._users = 0
        self._pid = 0
        self._opening = threading.Lock()
        self._watched: weakref.WeakSet[asyncio.AbstractEventLoop] = weakref.WeakSet()
        GATE.heirs.add(self)

    async def open(self) -> None:
        """Open the file for one more user."""
        await asyncio.get_running_loop().run_in_executor(None, self._open)

    async def close(self) -> None:
        """Remove one user of the file. The last one closes it."""
        if self._pid == os.getpid():
            await asyncio.get_running_loop().run_in_executor(None, self._close)

    def busy(self) -> bool:
        """Whether any call is queued or running, or its answer is not yet handed over."""
        return any(part is not None and part.busy() for part in (self._writer, self._reader, self._looker))

    async def write(
        self,
        act: Callable[[WriteTransaction], T],
        peek: Callable[[ReadView], T] | None = None,
        *,
        is_light: bool = False,
    ) -> T:
        """Run `act` in a write transaction; when this returns, it is committed.

        `peek` may answer beforehand, without the write lock, or say `UNSURE`. `is_light` commits without
        waiting for the disk: for writes that are worth nothing after a power cut, because the caller is gone too.
        Cancelling the call stops an act that has not begun, and no other.
        """
        writer = self._writer
        if writer is None or self._pid != os.getpid():
            raise self._unusable()
        future: asyncio.Future[T] = self._future()
        writer.put(WriteJob(act, future, peek, is_light=is_light))
        return await future

    async def write_with_next(self, act: Callable[[WriteTransaction], T]) -> T:
        """The same as `write`, in the commit of the next write that has to reach the disk; it waits for it a moment.

        For what no message waits for: a flush of the disk costs more than all else in a commit.
        """
        writer = self._writer
        if writer is None or self._pid != os.getpid():
            raise self._unusable()
        future: asyncio.Future[T] = self._future()
        writer.put_with_next(WriteJob(act, future))
        future.get_loop().call_later(_PATIENCE_SECONDS, writer.put_patient)
        return await future

    async def read(self, act: Callable[[ReadView], T]) -> T:
        """Run `act` on a snapshot that holds every write which has returned. It must look at few rows."""
        return await self._read(self._reader, act)

    async def look(self, act: Callable[[ReadView], T]) -> T:
        """The same, for an act that may look at many rows: those who `wait` or `read` do not wait for it."""
        return await self._read(self._looker, act)

    async def _read(self, reader: Reader | None, act: Callable[[ReadView], T]) -> T:
        if reader is None or self._pid != os.getpid():
            raise self._unusable()
        future: asyncio.Future[T] = self._future()
        reader.put(WriteJob(act, future))
        return await future

    def later(self, act: Callable[[WriteTransaction], None]) -> None:
        """Run `act` when the writer comes to it, without waiting for it, nor for the disk: it will come again."""
        writer = self._writer
        if writer is not None:
            # Closed in the meantime: it is not worth keeping the file open for.
            with contextlib.suppress(BrokerUnavailable):
                writer.put(WriteJob(act, is_light=True))

    def note_sweep(self, interval_seconds: float) -> None:
        """Note that this process sweeps, and will again after `interval_seconds`: it looks after the `-wal` first."""
        if self._writer is not None:
            self._writer.checkpointer.note_sweep(interval_seconds)

    async def wait(
        self, queues: tuple[str, ...], limit: float, excluded: tuple[str, ...], limits: Mapping[str, Limit]
    ) -> None:
        """Return when something may have become leasable in `queues`, or after `limit` seconds."""
        served = serving.served_by(queues, excluded)
        await self._wait(self._wake.messages, queues, limit, lambda view: limiting.leasable_in(view, served, limits))

    async def wait_for_events(self, limit: float, has_more: Callable[[ReadView], bool]) -> None:
        """Return when `has_more` holds after an append to the journal, or after `limit` seconds."""
        await self._wait(self._wake.events, (JOURNAL,), limit, lambda view: 0 if has_more(view) else None)

    async def _wait(
        self, wake: Wake, names: tuple[str, ...], limit: float, due: Callable[[ReadView], int | None]
    ) -> None:
        """`due`: microseconds until there is something; None: unknown."""
        deadline = self.clock.monotonic() + limit
        pause = _LOOK_AGAIN_SECONDS if wake.listen() else _POLL_SECONDS
        while True:
            # First enter, then look: what is committed after the look wakes us.
            waiter = wake.enter(names)
            try:
                due_in = await self.read(due)
                left = deadline - self.clock.monotonic()
                if due_in is not None:
                    left = min(left, seconds(due_in))
                if left <= 0:
                    return
                await asyncio.wait((waiter,), timeout=min(left, pause))
                if waiter.done() or left <= pause:
                    return
            finally:
                wake.leave(waiter)

    def _future(self) -> "asyncio.Future[T]":
        loop = asyncio.get_running_loop()
        if loop not in self._watched:
            self._watched.add(loop)
            # A loop in virtual time must not let time pass while a thread is at work for it.
            watch = getattr(loop, "watch", None)
            if watch is not None:
                watch(self.busy)
        return loop.create_future()

    def _unusable(self) -> Exception:
        path = self.options.path
        if self._is_read_only and self._reader is not None:
            return faults.read_only(path)
        return faults.closed(path) if self._pid in (0, os.getpid()) else faults.forked(path)

    def inherit(self) -> None:
        """Forget the parent's connections in a forked child; they must be opened again. Called by the gate."""
        # The holder of the lock is not in this process.
        self._opening = threading.Lock()
        self._writer = self._reader = self._looker = None
        self._users = 0
        self._wake.abandon()

    def _open(self) -> None:
        GATE.settle()
        with self._opening:
            if self._users == 0 or self._pid != os.getpid():
                self._start()
            self._users += 1

    def _start(self) -> None:
        schema.check_library()
        path = self.options.path
        self._make_folder()
        GATE.check(path)
        self._is_read_only = False
        self._file = file = OpenedFile(path, self.clock)
        if Path(path).exists() and read_only.may_read(path) and not read_only.may_write(path):
            self._start_read_only()  # without a try: that would leave a `-wal` and a `-shm` behind
            return
        write = Plug(self._connect_writer, may_close=file.may_close_writer)
        read = Plug(self._connect_reader, may_close=file.may_close_reader)
        look = Plug(self._connect_reader, may_close=file.may_close_reader)  # connects when it is first used
        try:
            write.open(self.options.busy_seconds)
            read.open(self.options.busy_seconds)
        except BaseException as error:
            read.close()
            write.close()
            if not isinstance(error, sqlite3.Error):
                raise
            if faults.primary_code(error) in faults.UNWRITABLE and Path(path).exists():
                if not read_only.may_read(path):
                    raise faults.unreadable(path, "permission denied") from error
                if not read_only.may_write(Path(path).parent):
                    self._start_read_only()
                    return
            raise faults.translate(error, path) from error
        # New ones, as those of a parent process are not ours to close.
        self.presence = Presence(self._folder)
        self._wake = Wakes(self._folder)
        self._writer = Writer(write, self.options, self.timeline, self._wake, file)
        self._reader = Reader(read, path, self.timeline, file, self._writer.look_after_wal)
        self._looker = Reader(look, path, self.timeline, file, self._writer.look_after_wal)
        self._users = 0
        self._pid = os.getpid()

    def _make_folder(self) -> None:
        """See that there is a folder for the file, and that the path is not a folder itself."""
        path = Path(self.options.path)
        try:
            if path.is_dir():
                raise faults.directory(str(path))
            if self.options.must_exist and not path.exists():
                raise faults.missing(str(path))
        except PermissionError as error:
            raise faults.unreadable(str(path), str(error)) from error
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise faults.unwritable(str(path), str(error)) from error

    def _start_read_only(self) -> None:
        """Open a file that this user may read and not write."""
        path, seconds = self.options.path, self.options.busy_seconds
        try:
            read_only.prepare(path, seconds, self.timeline)
        except sqlite3.Error as error:
            raise faults.translate(error, path) from error
        logger.warning("this user may read the database %s but not write it; it is opened for reading only", path)
        self.presence = Presence(self._folder)
        self._wake = Wakes(self._folder)
        self._reader = read_only.ReadOnlyReader(path, seconds, self.timeline, self._file)
        self._looker = read_only.ReadOnlyReader(path, seconds, self.timeline, self._file)
        self._is_read_only = True
        self._users = 0
        self._pid = os.getpid()

    def _close(self) -> None:
        with self._opening:
            if self._users != 1:
                self._users = max(0, self._users - 1)
                return
            # The readers first, so that the writer's connection is the last one and tidies the file up.
            for part in (self._looker, self._reader, self._writer):
                if part is not None:
                    part.close()
            self._writer = self._reader = self._looker = None
            self._wake.close()
            self.presence.close()
            self._users = 0

    def _connect(self, patience: float) -> sqlite3.Connection:
        return sqlite3.connect(
            self.options.path,
            timeout=patience,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )

    def _connect_writer(self) -> sqlite3.Connection:
        self._file.prepare()
        # The writer itself decides how long to wait for a lock.
        db = self._connect(0.0)
        try:
            # Before anything else, as everything else changes the file.
            schema.check_owner(db, self.options.path)
            _switch_to_wal(db, self.options.path)
            db.execute(f"PRAGMA synchronous = {self.options.synchronous}")
            db.execute("PRAGMA temp_store = MEMORY")
            db.execute("PRAGMA cache_size = -8000")
            db.execute("PRAGMA wal_autocheckpoint = 0")
            # When it is begun again it is cut to this, so that its size tells how much of it is not copied yet.
            db.execute(f"PRAGMA journal_size_limit = {checkpoint.SWEEPER_BYTES}")
            schema.migrate(db, self.options.path)
            self.timeline.settle(db)
            self._file.note()
        except BaseException:
            db.close()
            raise
        return db

    def _connect_reader(self) -> sqlite3.Connection:
        self._file.prepare()
        db = self._connect(self.options.busy_seconds)
        db.execute("PRAGMA query_only = ON")
        db.execute("PRAGMA temp_store = MEMORY")
        return db


def _switch_to_wal(db: sqlite3.Connection, path: str) -> None:
    """Readers and the writer do not wait for each other, and a commit is one flush."""
    if db.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
        raise faults.unwritable(path, "its file system cannot share memory between processes, which SQLite needs")
