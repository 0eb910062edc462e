"""A queue like Azure's: a received message is hidden for a time, and is back after it unless it was deleted.

In a SQLite file, so that it runs here without an account. Its clock can be moved on: where all that is left is hidden,
a rehearsal need not sit out the 600 s.
"""

import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS message (
    id TEXT PRIMARY KEY, queue TEXT, content TEXT, visible_at REAL, pop_receipt TEXT, dequeue_count INTEGER DEFAULT 0
);
CREATE TABLE IF NOT EXISTS clock (ahead REAL);
INSERT INTO clock SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM clock);
"""


@dataclass(frozen=True)
class QueueMessage:
    """What `receive_messages` returns."""

    id: str
    content: str
    pop_receipt: str
    dequeue_count: int


class StorageQueue:
    """One queue of a file."""

    def __init__(self, path: Path, name: str) -> None:
        """The file is made when it is first used."""
        self._path = path
        self._name = name

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=60)) as db:
            db.executescript(_SCHEMA)
            db.execute("BEGIN IMMEDIATE")
            with db:
                yield db

    def send_message(self, content: str) -> None:
        """Put a message in; it is visible at once."""
        with self._transaction() as db:
            db.execute("INSERT INTO message VALUES (?, ?, ?, 0, '', 0)", (str(uuid.uuid4()), self._name, content))

    def receive_messages(self, max_messages: int, visibility_timeout: float) -> list[QueueMessage]:
        """Take some of those that are visible, and hide them."""
        with self._transaction() as db:
            now = _now(db)
            rows = db.execute(
                "SELECT id, content, dequeue_count FROM message WHERE queue = ? AND visible_at <= ? LIMIT ?",
                (self._name, now, max_messages),
            )
            found = [QueueMessage(id, content, str(uuid.uuid4()), count + 1) for id, content, count in rows]
            for one in found:
                db.execute(
                    "UPDATE message SET visible_at = ?, pop_receipt = ?, dequeue_count = ? WHERE id = ?",
                    (now + visibility_timeout, one.pop_receipt, one.dequeue_count, one.id),
                )
        return found

    def delete_message(self, id: str, pop_receipt: str) -> None:
        """Delete it, if nobody else has received it since."""
        with self._transaction() as db:
            if not db.execute("DELETE FROM message WHERE id = ? AND pop_receipt = ?", (id, pop_receipt)).rowcount:
                raise LookupError(f"no message {id} with this pop receipt")

    def hidden_for(self) -> float | None:
        """Seconds until the next message of any queue is visible. 0: one is. None: there is none at all."""
        with self._transaction() as db:
            (next_at,) = db.execute("SELECT min(visible_at) FROM message").fetchone()
            return None if next_at is None else max(0.0, next_at - _now(db))

    def move_clock(self, seconds: float) -> None:
        """Let time pass for every queue of the file."""
        with self._transaction() as db:
            db.execute("UPDATE clock SET ahead = ahead + ?", (seconds,))


def _now(db: sqlite3.Connection) -> float:
    (ahead,) = db.execute("SELECT ahead FROM clock").fetchone()
    return time.time() + float(ahead)
