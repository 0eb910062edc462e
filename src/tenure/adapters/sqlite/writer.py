"""The writer: the one thread of this process that changes the file.

It takes whatever calls have gathered and commits them together (group commit), so that many small calls share
one flush to the disk; and calls that are worth nothing after a power cut do not wait for the disk at all. Each
call stands or falls alone, except where the file itself is in trouble: then none of them happened, and all get the
error.

Gets jobs from `store.py`; the acts themselves are in `sending.py`, `lending.py` and their neighbours. After a
commit it wakes those who wait for messages (`wake.py`).
"""

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable
from queue import SimpleQueue

from tenure.adapters.sqlite import faults
from tenure.adapters.sqlite.checkpoint import Checkpointer
from tenure.adapters.sqlite.forking import GATE, Plug
from tenure.adapters.sqlite.job import UNSURE, WriteJob, deliver
from tenure.adapters.sqlite.opened_file import OpenedFile
from tenure.adapters.sqlite.options import SqliteOptions
from tenure.adapters.sqlite.stall import Stalls
from tenure.adapters.sqlite.timeline import StoreClock
from tenure.adapters.sqlite.transaction import ReadView, WriteTransaction
from tenure.adapters.sqlite.wake import Wakes
from tenure.errors import BrokerUnavailable, StoreReplaced

logger = logging.getLogger("tenure.sqlite")

#: Most jobs in one transaction: bounds how long other processes wait for the lock.
_TOGETHER = 64
#: Most jobs that gather while another process holds the lock.
_TOGETHER_WHEN_LOCKED = 1024
#: Between two tries to take a lock that another process holds: this share of what was waited already, within
#: bounds. So a lock that is passed around quickly is caught quickly, and a lock that stays costs nothing.
_STEP_SHARE = 0.02
_SHORTEST_STEP_SECONDS = 0.0005
_LONGEST_STEP_SECONDS = 0.02


class Writer:
    """A thread with the write connection."""

    def __init__(
        self,
        plug: Plug,
        options: SqliteOptions,
        timeline: StoreClock,
        wake: Wakes,
        file: OpenedFile,
    ) -> None:
        """The connections of `plug` must be in autocommit mode and give up at once when the file is locked."""
        self._plug = plug
        self._path = options.path
        self._file = file
        self.checkpointer = Checkpointer(file, timeline)
        self._busy_seconds = options.busy_seconds
        #: How a commit of what must not get lost waits for the disk.
        self._full = options.synchronous
        #: The connection whose way to wait was set last, and that way.
        self._told: tuple[sqlite3.Connection | None, str] = (None, "")
        self._timeline = timeline
        self._wake = wake
        self._stalls = Stalls()
        self._queue: SimpleQueue[WriteJob | None] = SimpleQueue()
        self._lock = threading.Lock()
        #: Jobs that wait for the next one that has to reach the disk.
        self._patient: list[WriteJob] = []
        self._outstanding = 0
        self._closing = threading.Event()
        #: The last job was taken from the queue.
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="tenure-sqlite-writer", daemon=True)
        self._thread.start()

    def put(self, job: WriteJob) -> None:
        """Have a job done, after those put before it."""
        with self._lock:
            if self._closing.is_set():
                raise faults.closed(self._path)
            if self._patient and not job.is_light:
                self._queue_patient()
            self._outstanding += 1
            self._queue.put(job)

    def put_with_next(self, job: WriteJob) -> None:
        """Have a job done in the commit of the next one that has to reach the disk, or from `put_patient` on."""
        with self._lock:
            if self._closing.is_set():
                raise faults.closed(self._path)
            self._patient.append(job)

    def put_patient(self) -> None:
        """Have the jobs done that wait for another one."""
        with self._lock:
            self._queue_patient()

    def _queue_patient(self) -> None:
        self._outstanding += len(self._patient)
        for job in self._patient:
            self._queue.put(job)
        self._patient.clear()

    def look_after_wal(self) -> None:
        """Have the `-wal` copied, if it has grown too large by what other processes wrote."""
        if self.checkpointer.is_due():
            with contextlib.suppress(BrokerUnavailable):  # closed in the meantime
                self.put(WriteJob(lambda _: None, peek=lambda _: None))

    def busy(self) -> bool:
        """Whether a job is queued or running, or its answer is not yet handed over."""
        return self._outstanding > 0

    def close(self) -> None:
        """Finish what is queued, then end the thread and the connection. Blocks."""
        with self._lock:
            self._queue_patient()
            self._closing.set()
            self._queue.put(None)
        self._thread.join()
        self._plug.close()

    @property
    def _db(self) -> sqlite3.Connection:
        return self._plug.db

    def _run(self) -> None:
        while not self._ended:
            first = self._queue.get()
            if first is None:
                return
            jobs = [first, *self._gather(_TOGETHER - 1)]
            self._serve(jobs)
            with self._lock:
                self._outstanding -= len(jobs)

    def _gather(self, limit: int) -> list[WriteJob]:
        """Take all other waiting jobs."""
        jobs: list[WriteJob] = []
        # Only this thread takes jobs, so what is there stays there.
        while len(jobs) < limit and not self._ended and not self._queue.empty():
            job = self._queue.get_nowait()
            if job is None:
                self._ended = True
            else:
                jobs.append(job)
        return jobs

    def _serve(self, jobs: list[WriteJob]) -> None:
        """Answer every job of this round, by value or by error."""
        with GATE:
            stirred = self._carry_out(jobs)
        # Wake the waiters of this process first: one that begins to wait after its own call has returned must not be
        # woken by that very call.
        self._tell(self._wake.rouse, stirred)
        deliver(jobs)
        self._tell(self._wake.tell_others, stirred)
        if self.checkpointer.is_due():
            with GATE:
                self._checkpoint()

    def _checkpoint(self) -> None:
        try:
            self.checkpointer.run(self._db)
        except StoreReplaced as error:
            logger.debug("could not copy the -wal to the database: %s", error)  # the next call gets the error
        except Exception:
            logger.exception("could not copy the -wal to the database; trying again")

    def _carry_out(self, jobs: list[WriteJob]) -> set[str]:
        """Give every job its value or its error. Returns whom to wake."""
        try:
            self._file.check_sometimes()
            wanted = [job for job in jobs if not job.is_unwanted]
            unsure = self._peek(wanted)
            if unsure and (locked := self._begin(unsure, jobs)):
                return self._commit_together(locked)
        except BaseException as error:  # noqa: BLE001 - the waiting caller gets it; the thread must live
            with contextlib.suppress(sqlite3.Error):
                self._undo()
            told = self._in_our_words(error)
            for job in jobs:
                job.error = job.error or told
        return set()

    def _tell(self, wake: Callable[[set[str]], None], stirred: set[str]) -> None:
        """Wake those who wait. What goes wrong here must not end the thread: they look again by themselves."""
        if not stirred:
            return
        try:
            wake(stirred)
        except Exception:
            logger.exception("those who wait for messages could not be woken; they look again within a second")

    def _peek(self, jobs: list[WriteJob]) -> list[WriteJob]:
        """Answer what needs no write lock. Those that remain do.

        Only when all of them might be answered: with the lock taken anyway, a look beforehand is waste.
        """
        if any(job.peek is None for job in jobs):
            return jobs
        try:
            view = ReadView(self._db, self._timeline.now(), self._timeline.clock.wall())
            for job in jobs:
                job.value = job.peek(view) if job.peek is not None else UNSURE
        except sqlite3.OperationalError as error:
            if not faults.is_busy(error):
                raise
            # Another process died and the file is being put in order: wait for that as for any lock.
            return jobs
        return [job for job in jobs if job.value is UNSURE]

    def _begin(self, jobs: list[WriteJob], everybody: list[WriteJob]) -> list[WriteJob]:
        """Take the write lock. Jobs that waited too long for it fail, unexecuted; the others are returned.

        Those that come in the meantime wait with the rest, and are added to `everybody`.
        """
        while jobs:
            tried = self._timeline.now()
            try:
                self._set_synchronous(jobs)
                self._db.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if not faults.is_busy(error):
                    raise
            else:
                # The lock may be ours for long already: a handler that keeps the GIL lets this thread not go on.
                self._stalls.begin(tried)
                return jobs
            self._stalls.begin(tried)
            step = min(max(jobs[0].waited * _STEP_SHARE, _SHORTEST_STEP_SECONDS), _LONGEST_STEP_SECONDS)
            # Waits for `step`, or not at all once the store is being closed. A fork need not wait for others' locks.
            with GATE.aside():
                closing = self._closing.wait(step)
            for job in jobs:
                job.waited += step
                if closing or job.waited >= self._busy_seconds:
                    job.error = faults.locked(self._path)
            more = self._gather(_TOGETHER_WHEN_LOCKED - len(everybody))
            everybody += more
            jobs = [job for job in jobs if job.error is None] + more
        return jobs

    def _set_synchronous(self, jobs: list[WriteJob]) -> None:
        """Leases and beats need not wait for the disk: after a power cut their holders are gone as well.

        The next commit that does wait takes them to the disk too, in their order.
        """
        wanted = "normal" if all(job.is_light for job in jobs) else self._full
        db = self._db
        if self._told != (db, wanted):
            db.execute(f"PRAGMA synchronous = {wanted}")
            self._told = (db, wanted)

    def _commit_together(self, jobs: list[WriteJob]) -> set[str]:
        """Run the jobs and commit. Returns whom to wake."""
        now = self._timeline.now()
        transaction = WriteTransaction(self._db, now, self._timeline.clock.wall(), self._stalls.until(now))
        try:
            if len(jobs) == 1:
                done = self._run_single(jobs[0], transaction)
            else:
                done = sum(self._run_beside_others(job, transaction) for job in jobs) > 0
        except sqlite3.Error as error:
            self._fail(jobs, error)
            return set()
        if not done:
            self._undo()
            self._stalls.end(self._timeline.now())
            return set()
        must_last = not all(job.is_light for job in jobs)
        if must_last:
            self._file.check_before_commit()
        try:
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._fail(jobs, error, at_commit=True)
            return set()
        self._stalls.end(self._timeline.now())
        self.checkpointer.note_commit()
        if must_last:
            # After the commit and before the answers: what is answered is in the file that the path names.
            self._file.check_commit()
        return transaction.stirred

    def _run_single(self, job: WriteJob, transaction: WriteTransaction) -> bool:
        """Alone, a job needs no savepoint: if it fails, the transaction is undone."""
        try:
            job.value = job.act(transaction)
        except Exception as error:
            if faults.spoils_transaction(error):
                raise
            job.error = self._in_our_words(error)
            return False
        return True

    def _run_beside_others(self, job: WriteJob, transaction: WriteTransaction) -> bool:
        """Among others, what a failed job did is undone alone."""
        self._db.execute("SAVEPOINT job")
        stirred = set(transaction.stirred)
        try:
            job.value = job.act(transaction)
        except Exception as error:
            if faults.spoils_transaction(error):
                raise
            self._db.execute("ROLLBACK TO job")
            transaction.stirred = stirred
            job.error = self._in_our_words(error)
        self._db.execute("RELEASE job")
        return job.error is None

    def _in_our_words(self, error: BaseException) -> BaseException:
        return faults.translate(error, self._path) if isinstance(error, sqlite3.Error) else error

    def _fail(self, jobs: list[WriteJob], error: sqlite3.Error, *, at_commit: bool = False) -> None:
        """The transaction failed: raise that for all jobs in it, also for those that went well."""
        self._undo()
        self._stalls.begin(self._timeline.now())
        for job in jobs:
            if job.error is None:
                job.error = faults.translate(error, self._path, at_commit=at_commit)

    def _undo(self) -> None:
        # On some errors SQLite has rolled back by itself.
        if self._plug.is_in_transaction:
            self._db.execute("ROLLBACK")
