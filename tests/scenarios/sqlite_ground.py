"""The ground of SQLite: one file, and a write lock that one process at a time may hold."""

import sqlite3
from contextlib import closing
from pathlib import Path

from .process import Process


class SQLiteGround:
    """One file."""

    def __init__(self, folder: Path) -> None:
        """The file lies in `folder`, unless a test puts it elsewhere before the first worker starts."""
        self.database = folder / "jobs.db"

    def url(self, options: str) -> str:
        """Where the file is."""
        return f"sqlite:///{self.database}{'?' if options else ''}{options}"

    def url_of_processes(self, options: str) -> str:
        """There is nothing in the way to a file."""
        return self.url(options)

    def freeze(self, process: Process) -> None:
        """Freeze a process at a moment when it does not hold the write lock."""
        while True:
            process.freeze()
            with closing(sqlite3.connect(self.database, timeout=0.2, isolation_level=None)) as db:
                try:
                    db.execute("BEGIN IMMEDIATE")
                except sqlite3.OperationalError:
                    process.resume()
                else:
                    return

    def last_sweep(self) -> object:
        """When it was, by the database's own time."""
        with closing(sqlite3.connect(self.database)) as db:
            return db.execute("SELECT value FROM meta WHERE name = 'swept'").fetchone()

    def damage(self, queue: str, id: str, raw: bytes) -> None:
        """Write over the envelope."""
        with closing(sqlite3.connect(self.database)) as db:
            db.execute("UPDATE message SET envelope = ? WHERE id = ?", (raw, id))
            db.commit()

    def close(self) -> None:
        """The file goes with the test's folder."""
