"""The reader: the thread that looks and changes nothing.

It has a connection of its own, so that looking never holds up the writer; and as it begins a new snapshot for
each job, it sees every write whose call has returned. A store has two: one for what takes no time, as waiting for
messages does, and one for what looks at many rows. Gets jobs from `store.py`.
"""

import sqlite3
import threading
from collections.abc import Callable
from queue import SimpleQueue

from tenure.adapters.sqlite import faults
from tenure.adapters.sqlite.forking import GATE, Plug
from tenure.adapters.sqlite.job import WriteJob, deliver
from tenure.adapters.sqlite.opened_file import OpenedFile
from tenure.adapters.sqlite.timeline import StoreClock
from tenure.adapters.sqlite.transaction import ReadView


class Reader:
    """A thread with a connection that cannot write. It begins with the first job."""

    def __init__(
        self, plug: Plug, path: str, timeline: StoreClock, file: OpenedFile, after: Callable[[], None]
    ) -> None:
        """The connections of `plug` must be in autocommit mode and have `query_only` set. `after` follows each job."""
        self._plug = plug
        self._path = path
        self._file = file
        self._after = after
        self._timeline = timeline
        self._queue: SimpleQueue[WriteJob | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._outstanding = 0
        self._closing = False
        self._thread: threading.Thread | None = None

    def put(self, job: WriteJob) -> None:
        """Have a job done, after those put before it."""
        with self._lock:
            if self._closing:
                raise faults.closed(self._path)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="tenure-sqlite-reader", daemon=True)
                self._thread.start()
            self._outstanding += 1
            self._queue.put(job)

    def busy(self) -> bool:
        """Whether a job is queued or running, or its answer is not yet handed over."""
        return self._outstanding > 0

    def close(self) -> None:
        """Finish what is queued, then end the thread and the connection. Blocks."""
        with self._lock:
            self._closing = True
            self._queue.put(None)
        if self._thread is not None:
            self._thread.join()
        self._plug.close()

    @property
    def _db(self) -> sqlite3.Connection:
        return self._plug.db

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            if not job.is_unwanted:
                with GATE:
                    self._serve(job)
            deliver((job,))
            self._after()
            with self._lock:
                self._outstanding -= 1

    def _serve(self, job: WriteJob) -> None:
        try:
            self._file.check_sometimes()
            db = self._db
            db.execute("BEGIN")
            try:
                job.value = job.act(ReadView(db, self._timeline.now(), self._timeline.clock.wall()))
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")
        except sqlite3.Error as error:
            job.error = faults.translate(error, self._path)
        except BaseException as error:  # noqa: BLE001 - handed to its caller; the thread must live
            job.error = error
