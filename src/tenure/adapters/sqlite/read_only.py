"""A database that this user may read but not write: it can be looked at, and nothing is changed or created.

SQLite needs a `-wal` and a `-shm` beside the database, also to read it. Where neither is there, no process has the
database open, and it is opened as `immutable`: nothing is created beside it. Where they are there, it is read together
with the processes that use it.

Each look has a connection of its own, so that it sees what others have written meanwhile. An immutable database that
was written during the look is looked at again. Used by `store.py`.
"""

import os
import sqlite3
from pathlib import Path
from urllib.parse import quote

from tenure.adapters.sqlite import faults, schema
from tenure.adapters.sqlite.forking import GATE, Plug
from tenure.adapters.sqlite.job import WriteJob
from tenure.adapters.sqlite.opened_file import OpenedFile
from tenure.adapters.sqlite.reader import Reader
from tenure.adapters.sqlite.timeline import StoreClock

#: How often a look begins again because the file was written meanwhile.
_TRIES = 5


#: Ask for the user in whose name the process acts, where that can be asked.
_EFFECTIVE = os.access in os.supports_effective_ids


def may_read(path: str) -> bool:
    """Whether this user may read the file."""
    return os.access(path, os.R_OK, effective_ids=_EFFECTIVE)


def may_write(path: str | Path) -> bool:
    """Whether this user may write the file or folder."""
    return os.access(path, os.W_OK, effective_ids=_EFFECTIVE)


def prepare(path: str, seconds: float, timeline: StoreClock) -> None:
    """Check that the file is a database that this Tenure can read, and take its time line.

    Raises `StoreUnwritable` for the file of an older Tenure: it must be upgraded first, which changes it.
    """
    with GATE:
        db = _connect(path, seconds)
        try:
            if schema.check_owner(db, path) < len(schema.MIGRATIONS):
                raise faults.not_upgraded(path)
            timeline.follow(db)
        finally:
            db.close()


class ReadOnlyReader(Reader):
    """A reader that connects again for each look."""

    def __init__(self, path: str, seconds: float, timeline: StoreClock, file: OpenedFile) -> None:
        """Wait up to `seconds` for locks of others."""
        super().__init__(Plug(lambda: _connect(path, seconds)), path, timeline, file, lambda: None)

    def _serve(self, job: WriteJob) -> None:
        for _ in range(_TRIES):
            before = _version(self._path)
            job.error = None
            super()._serve(job)
            self._plug.pull()
            if _version(self._path) == before or _has_companions(self._path, before):
                return
        job.error = faults.restless(self._path)


#: The modification time and the size of the database, of its `-wal` and of its `-shm`; None: it is not there.
_Version = tuple[tuple[int, int] | None, ...]


def _version(path: str) -> _Version:
    return tuple(_stamp(f"{path}{suffix}") for suffix in ("", "-wal", "-shm"))


def _has_companions(path: str, version: _Version) -> bool:
    """Whether the `-wal` and the `-shm` were there before the read and are still there.

    Then SQLite itself separates readers and writers.
    """
    return any(version[1:]) and any(_version(path)[1:])


def _stamp(name: str) -> tuple[int, int] | None:
    try:
        status = os.stat(name)  # noqa: PTH116 - one stat for each part of the version
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _connect(path: str, seconds: float) -> sqlite3.Connection:
    mode = "mode=ro" if any(_version(path)[1:]) else "immutable=1"
    db = sqlite3.connect(
        f"file:{quote(path)}?{mode}", uri=True, timeout=seconds, isolation_level=None, check_same_thread=False
    )
    db.execute("PRAGMA query_only = ON")
    db.execute("PRAGMA temp_store = MEMORY")
    return db
