"""The yardstick: the least that sqlite3 can do for a queue with the same durability, in batches of 100.

One table, one partial index, no owner, no fence, no record, no result, no process but this one: insert, claim by
`UPDATE … RETURNING`, delete. The last batch is deleted and the next one is claimed in one commit, so a hundred messages
cost one. Nothing that promises anything can be faster.
"""

import sqlite3
import time
from pathlib import Path

BATCH = 100
_BODY = b'{"tenure":1,"id":"019b76e9ea40fd8e0cebc9fdd1e87b86","queue":"default-tasks","task":"noop","body":{"n":1}}'


def connect(path: Path, *, synchronous: str = "FULL") -> sqlite3.Connection:
    """A queue in one table."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={synchronous}")
    connection.execute(
        "CREATE TABLE queue (id INTEGER PRIMARY KEY, leased INTEGER NOT NULL DEFAULT 0, body BLOB NOT NULL)"
    )
    connection.execute("CREATE INDEX ready ON queue (id) WHERE leased = 0")
    return connection


def send(connection: sqlite3.Connection, count: int) -> float:
    """Seconds to insert `count` messages."""
    rows = [(_BODY,)] * BATCH
    start = time.perf_counter()
    for _ in range(count // BATCH):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO queue (body) VALUES (?)", rows)
        connection.execute("COMMIT")
    return time.perf_counter() - start


def drain(connection: sqlite3.Connection) -> float:
    """Seconds to claim and delete everything there is."""
    claim = (
        "UPDATE queue SET leased = 1 WHERE id IN (SELECT id FROM queue WHERE leased = 0 ORDER BY id LIMIT 100) "
        "RETURNING id, body"
    )
    start = time.perf_counter()
    done: list[int] = []
    while True:
        connection.execute("BEGIN IMMEDIATE")
        if done:
            connection.execute(f"DELETE FROM queue WHERE id IN ({','.join('?' * len(done))})", done)  # noqa: S608
        rows = connection.execute(claim).fetchall()
        connection.execute("COMMIT")
        if not rows:
            return time.perf_counter() - start
        done = [row[0] for row in rows]
