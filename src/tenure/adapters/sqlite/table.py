"""A table in a file: rows of text that are changed only by compare-and-set.

For brokers that keep no state themselves, where one machine is enough (`sqs://…?state=local`, and likewise `azure://`);
messages in SQLite do not use it. Time is the host's monotonic clock, from where the wall clock was at the
first opening since the boot.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tenure.adapters.sqlite.faults import translate
from tenure.clock import Clock, SystemClock
from tenure.table import KEEP, Row, RowKey, Scanned, Write, split_mark, text_versions

T = TypeVar("T")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS tenure_row (
  part TEXT NOT NULL, sort TEXT NOT NULL, text TEXT NOT NULL, forget REAL, PRIMARY KEY (part, sort)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tenure_row_forget ON tenure_row (forget) WHERE forget IS NOT NULL;
"""
_PATIENCE = 30.0


class LocalTable:
    """Rows in a file of this machine."""

    def __init__(self, path: str, clock: Clock) -> None:
        """Take the file's path and the clock. `open` opens the file."""
        self._path = path
        self._clock = clock
        self._offset = 0.0
        self._thread: ThreadPoolExecutor | None = None
        self._db: sqlite3.Connection | None = None

    async def open(self) -> None:
        self._thread = ThreadPoolExecutor(1, "tenure-table")
        await self._do(self._open)

    async def close(self) -> None:
        if self._thread is not None:
            await self._do(self._close)
            self._thread.shutdown()
            self._thread = None

    def now(self) -> float:
        return self._clock.monotonic() + self._offset

    def wall(self) -> float:
        return self._clock.wall()

    async def get(self, places: Sequence[RowKey]) -> list[Row | None]:
        def read(db: sqlite3.Connection) -> list[Row | None]:
            found: list[Row | None] = []
            for place in places:
                row = db.execute("SELECT text FROM tenure_row WHERE part = ? AND sort = ?", tuple(place)).fetchone()
                found.append(None if row is None else Row(place, row[0]))
            return found

        return await self._do(lambda: read(self._opened()))

    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        return text_versions(batch, await self.commit([[one] for one in batch]))

    async def commit(self, groups: Sequence[Sequence[Write]]) -> list[bool]:
        """Carry out each group as a whole, or not at all."""

        def write() -> list[bool]:
            db = self._opened()
            db.execute("BEGIN IMMEDIATE")
            try:
                answers = [_write_all(db, group) for group in groups]
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")
            return answers

        return await self._do(write)

    async def page(self, part: str, *, after: str = "", limit: int = 100, backwards: bool = False) -> list[Row]:
        beyond, order = ("<", "DESC") if backwards and after else (">", "DESC" if backwards else "ASC")
        query = f"SELECT sort, text FROM tenure_row WHERE part = ? AND sort {beyond} ? ORDER BY sort {order} LIMIT ?"

        def read() -> list[Row]:
            rows = self._opened().execute(query, (part, after, limit)).fetchall()
            return [Row(RowKey(part, sort), text) for sort, text in rows]

        return await self._do(read)

    async def scan(self, beginning: str, sort: str, *, after: str = "", limit: int = 1000) -> Scanned:
        start = split_mark(after) if after else RowKey(beginning, "")
        query = (
            "SELECT part, sort, CASE WHEN sort = ? THEN text END FROM tenure_row "
            "WHERE (part, sort) > (?, ?) AND part < ? ORDER BY part, sort LIMIT ?"
        )

        def read() -> Scanned:
            found = self._opened().execute(query, (sort, *start, f"{beginning}\U0010ffff", limit)).fetchall()
            rows = [(Row(RowKey(part, at), text), f"{part}\n{at}") for part, at, text in found if text is not None]
            return Scanned(rows, len(found), "\n".join(found[-1][:2]) if len(found) == limit else "")

        return await self._do(read)

    async def _do(self, act: Callable[[], T]) -> T:
        if self._thread is None:
            msg = "not open"
            raise RuntimeError(msg)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, act)
        except sqlite3.Error as error:
            raise translate(error, self._path) from error

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            msg = "not open"
            raise RuntimeError(msg)
        return self._db

    def _open(self) -> None:
        db = self._db = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.executescript(_SCHEMA)
        db.execute("DELETE FROM tenure_row WHERE forget < ?", (self._clock.wall(),))
        if isinstance(self._clock, SystemClock):
            began = repr(self._clock.wall() - self._clock.monotonic())
            boot = ("time", self._clock.boot_id())
            db.execute("INSERT OR IGNORE INTO tenure_row VALUES (?, ?, ?, NULL)", (*boot, began))
            row = db.execute("SELECT text FROM tenure_row WHERE part = ? AND sort = ?", boot).fetchone()
            self._offset = float(row[0])

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


def _write_all(db: sqlite3.Connection, group: Sequence[Write]) -> bool:
    if len(group) == 1:
        return _write(db, group[0])
    db.execute("SAVEPOINT one_group")
    is_done = all(_write(db, one) for one in group)
    if not is_done:
        db.execute("ROLLBACK TO one_group")
    db.execute("RELEASE one_group")
    return is_done


def _write(db: sqlite3.Connection, one: Write) -> bool:
    part, sort = one.place
    if one.text is None:
        if one.expected is None:
            db.execute("DELETE FROM tenure_row WHERE part = ? AND sort = ?", (part, sort))
            return True
        changed = db.execute(
            "DELETE FROM tenure_row WHERE part = ? AND sort = ? AND text = ?", (part, sort, one.expected)
        )
        return changed.rowcount == 1
    if one.expected is None:
        forget = None if one.forget_at == KEEP else one.forget_at
        made = db.execute("INSERT OR IGNORE INTO tenure_row VALUES (?, ?, ?, ?)", (part, sort, one.text, forget))
        return made.rowcount == 1
    kept = one.forget_at == KEEP
    changed = db.execute(
        "UPDATE tenure_row SET text = ?, forget = CASE WHEN ? THEN forget ELSE ? END "
        "WHERE part = ? AND sort = ? AND text = ?",
        (one.text, kept, None if kept else one.forget_at, part, sort, one.expected),
    )
    return changed.rowcount == 1
