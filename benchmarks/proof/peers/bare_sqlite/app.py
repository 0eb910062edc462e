"""The best bare loop on SQLite: batches of 100, FULL, one commit for the last delete and the next claim."""

import sqlite3
import sys
import time

import work

_BODY = b'{"tenure":1,"id":"019b76e9ea40fd8e0cebc9fdd1e87b86","queue":"default-tasks","task":"noop","body":{"n":1}}'
_CLAIM = (
    "UPDATE queue SET leased = 1 WHERE id IN (SELECT id FROM queue WHERE leased = 0 ORDER BY id LIMIT 100) "
    "RETURNING id, body"
)


def _connect() -> sqlite3.Connection:
    connection = sqlite3.connect(f"{work.FOLDER}/bare.db", isolation_level=None, timeout=60)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS queue"
        " (id INTEGER PRIMARY KEY, leased INTEGER NOT NULL DEFAULT 0, body BLOB NOT NULL)"
    )
    connection.execute("CREATE INDEX IF NOT EXISTS ready ON queue (id) WHERE leased = 0")
    return connection


def _fill(count: int) -> None:
    connection = _connect()
    for first in range(0, count, 1000):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO queue (body) VALUES (?)", [(_BODY,)] * min(1000, count - first))
        connection.execute("COMMIT")


def _loop() -> None:
    connection = _connect()
    done: list[int] = []
    while True:
        connection.execute("BEGIN IMMEDIATE")
        if done:
            connection.execute(f"DELETE FROM queue WHERE id IN ({','.join('?' * len(done))})", done)  # noqa: S608
        rows = connection.execute(_CLAIM).fetchall()
        connection.execute("COMMIT")
        for _ in rows:
            work.noop()
        done = [row[0] for row in rows]
        if not rows:
            time.sleep(0.01)


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        _loop()
    else:
        work.answer(_fill, lambda _: None, lambda: None)
