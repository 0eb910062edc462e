"""The database of the demo's effects, which knows nothing of Tenure.

The table has no unique constraint on purpose: an effect that was done twice is two rows, and shows.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from tenure.tasks.context import Context, SyncContext

_TABLES = """
CREATE TABLE IF NOT EXISTS effects (message_id TEXT NOT NULL, task TEXT NOT NULL, pid INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS skipped (message_id TEXT NOT NULL);
"""
_DOUBLED = "SELECT coalesce(sum(times - 1), 0) FROM (SELECT count(*) AS times FROM effects GROUP BY message_id)"


class DemoEffects:
    """Effects written by handlers, read by the reckoning. Usable from any thread and process."""

    def __init__(self, path: Path) -> None:
        """Keep them in the file `path`."""
        self._path = path

    def create(self) -> None:
        """Make the tables; before another process looks."""
        with closing(self._connect()) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_TABLES)

    def write(self, ctx: Context | SyncContext) -> bool:
        """Do the effect of this message, once: the row of `ctx.once` and the effect are one transaction."""
        with closing(self._connect()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            first = ctx.once(connection)
            if first:
                values = (ctx.message.id, ctx.message.task, os.getpid())
                connection.execute("INSERT INTO effects VALUES (?, ?, ?)", values)
            else:
                connection.execute("INSERT INTO skipped VALUES (?)", (ctx.message.id,))
            # Without it, whatever went wrong above, closing the connection undoes both.
            connection.execute("COMMIT")
        return first

    def doubled(self) -> int:
        """How many effects were done that had been done before. The promise: 0."""
        return self._number(_DOUBLED)

    def done(self) -> set[str]:
        """The messages whose effect was done."""
        with closing(self._connect()) as connection:
            return {id for (id,) in connection.execute("SELECT message_id FROM effects")}

    def skipped(self) -> int:
        """Count the runs whose effect was done by an earlier run that did not get to its end."""
        return self._number("SELECT count(*) FROM skipped")

    def _number(self, query: str) -> int:
        with closing(self._connect()) as connection:
            return int(connection.execute(query).fetchone()[0])

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=10, isolation_level=None)
        # Safe against the end of a process, which is what the demo is about; not against a power cut.
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection
