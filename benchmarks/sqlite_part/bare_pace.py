"""The yardstick of latency: messages through the bare table one at a time, from one process to another at 50 a second.

    python -m benchmarks.sqlite_part.bare_pace PATH SECONDS

is the receiver: it looks every millisecond, as nothing wakes it, and prints how long each message was on its way. Claim
and delete each wait for the disk, as does the insert.
"""

import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import driving
from benchmarks.sqlite_part import bare

_CLAIM = (
    "UPDATE queue SET leased = 1 WHERE id IN (SELECT id FROM queue WHERE leased = 0 ORDER BY id LIMIT 100) "
    "RETURNING id, body"
)
_LOOK_SECONDS = 0.001
_PATIENCE = 30.0
#: Between the body, which no row is without, and the moment of sending.
_MARK = b"@"


def insert(connection: sqlite3.Connection, body: bytes) -> float:
    """Seconds of one message in a commit of its own."""
    start = time.perf_counter()
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO queue (body) VALUES (?)", (body,))
    connection.execute("COMMIT")
    return time.perf_counter() - start


def latency(path: Path, seconds: float) -> dict[str, float]:
    """Insert to claim, in milliseconds."""
    connection = bare.connect(path)
    connection.execute(f"PRAGMA busy_timeout = {_PATIENCE * 1000:.0f}")
    command = [sys.executable, "-m", "benchmarks.sqlite_part.bare_pace", str(path), str(seconds + 2)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as receiver:
        start = time.monotonic() + 1.0
        for number in range(int(seconds * driving.PACE)):
            time.sleep(max(0.0, start + number / driving.PACE - time.monotonic()))
            insert(connection, _MARK + repr(time.monotonic()).encode())
        answer = driving.last_line(receiver.communicate()[0])
    connection.close()
    return driving.quantiles(answer["latencies"])


def receive(path: str, seconds: float) -> list[float]:
    """How long each message was on its way, of those that come in `seconds`."""
    connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
    connection.execute("PRAGMA synchronous=FULL")
    latencies: list[float] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if connection.execute("SELECT 1 FROM queue WHERE leased = 0 LIMIT 1").fetchone() is None:
            time.sleep(_LOOK_SECONDS)
            continue
        connection.execute("BEGIN IMMEDIATE")
        rows = connection.execute(_CLAIM).fetchall()
        connection.execute("COMMIT")
        now = time.monotonic()
        latencies += [now - float(body.rpartition(_MARK)[2]) for _, body in rows]
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("DELETE FROM queue WHERE id = ?", [(row[0],) for row in rows])
        connection.execute("COMMIT")
    connection.close()
    return latencies


if __name__ == "__main__":
    print(json.dumps({"latencies": receive(sys.argv[1], float(sys.argv[2]))}), flush=True)
