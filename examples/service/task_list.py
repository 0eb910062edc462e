"""The front end's database: whose task is which, and how it ended. These functions block: call them in a thread.

A task is written here before it is submitted, with `is_sent` unset. If the front end dies in between, it is submitted
later, under the same id, which stores it once.
"""

import json
import sqlite3
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tenure.webhooks import Webhook

#: A task as pages see it.
Row = dict[str, Any]

_TABLES = """
CREATE TABLE IF NOT EXISTS task (
    task_id TEXT PRIMARY KEY, client TEXT NOT NULL, task_type TEXT NOT NULL, payload TEXT NOT NULL,
    submitted_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400), is_sent INT NOT NULL DEFAULT 0,
    status TEXT NOT NULL DEFAULT 'queued', generation INT NOT NULL DEFAULT 0, result TEXT, error TEXT, ended_at TEXT
);
CREATE INDEX IF NOT EXISTS task_of_client ON task (client, submitted_at);
CREATE TABLE IF NOT EXISTS webhook (id TEXT PRIMARY KEY);
"""
_SHOWN = "task_id, task_type, payload, submitted_at, status, result, error, ended_at"
_MOST_SHOWN = 50


class TaskList:
    """One file."""

    def __init__(self, path: Path) -> None:
        """Use this file; it is made if it is missing."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        with self._transaction() as db:
            db.executescript(_TABLES)

    def add(self, client: str, task_type: str, payload: Mapping[str, Any]) -> Row:
        """Write down a task that will be submitted."""
        id = str(uuid.uuid4())
        with self._transaction() as db:
            db.execute(
                "INSERT INTO task (task_id, client, task_type, payload) VALUES (?, ?, ?, ?)",
                (id, client, task_type, json.dumps(payload)),
            )
            return self._row(db, id)

    def mark_sent(self, task_id: str) -> None:
        """The queue has it."""
        with self._transaction() as db:
            db.execute("UPDATE task SET is_sent = 1 WHERE task_id = ?", (task_id,))

    def remove(self, task_id: str) -> None:
        """The queue refused it."""
        with self._transaction() as db:
            db.execute("DELETE FROM task WHERE task_id = ?", (task_id,))

    def unsent(self) -> list[tuple[str, Row]]:
        """What was written down and perhaps not submitted, with its client."""
        with self._transaction() as db:
            rows = db.execute("SELECT task_id, client FROM task WHERE NOT is_sent").fetchall()
            return [(client, self._row(db, id)) for id, client in rows]

    def of(self, client: str) -> list[Row]:
        """The newest tasks of a client, the newest first."""
        with self._transaction() as db:
            ids = db.execute(
                "SELECT task_id FROM task WHERE client = ? ORDER BY submitted_at DESC LIMIT ?", (client, _MOST_SHOWN)
            )
            return [self._row(db, id) for (id,) in ids.fetchall()]

    def has(self, client: str, task_id: str) -> bool:
        """Whether a task is this client's."""
        with self._transaction() as db:
            found = db.execute("SELECT 1 FROM task WHERE task_id = ? AND client = ?", (task_id, client))
            return found.fetchone() is not None

    def save_ending(self, hook: Webhook) -> tuple[str, Row] | None:
        """Save how a task ended, once: the webhook's id and the ending in one transaction. None: nothing changed."""
        body = hook.body
        with self._transaction() as db:
            if not db.execute("INSERT OR IGNORE INTO webhook VALUES (?)", (hook.id,)).rowcount:
                return None  # it came before, and the answer was lost
            changed = db.execute(
                "UPDATE task SET status = ?, result = ?, error = ?, generation = ?, ended_at = ? "
                "WHERE task_id = ? AND (ended_at IS NULL OR generation <= ?) RETURNING client",
                (
                    body["status"], json.dumps(body["result"]), body["error"], body["generation"], body["ended_at"],
                    body["task_id"], body["generation"],
                ),
            ).fetchone()  # fmt: skip
            return None if changed is None else (changed[0], self._row(db, body["task_id"]))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path)) as db, db:
            yield db

    @staticmethod
    def _row(db: sqlite3.Connection, task_id: str) -> Row:
        cursor = db.execute(f"SELECT {_SHOWN} FROM task WHERE task_id = ?", (task_id,))  # noqa: S608 - our own columns
        row: Row = dict(zip(_SHOWN.split(", "), cursor.fetchone(), strict=True))
        return row | {name: json.loads(row[name] or "null") for name in ("payload", "result")}
