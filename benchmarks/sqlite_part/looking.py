"""The theme `looking`: pages, leases and timelines of a large store stay short. Called by `claims.py`.

The store is filled row by row behind the adapter's back, because a million messages in every state would take minutes
to make by its verbs; leases and events are made by its verbs.
"""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec
from rich.console import Console

from benchmarks.sqlite_part.measure import place
from benchmarks.table import Table
from tenure import envelope
from tenure.adapters.sqlite import SqliteBroker, SqliteState, connect
from tenure.broker import MOST_LEASES
from tenure.event import Event, EventKind
from tenure.lease import LeaseRequest
from tenure.message import Message, MessageState, new_id
from tenure.query import Query

LARGE = 1_000_000
SMALL = 100_000
ROUNDS = 5
_QUEUE = "big-tasks"
#: States as the file has them (`adapters/sqlite/states.py`), of each ten rows.
_STATES = (3, 3, 3, 0, 0, 0, 0, 2, 4, 5)
_INSERT = """
INSERT INTO message (id, queue, task, priority, state, moment, sent_at, finished_at, envelope, fence)
VALUES (?, ?, 'noop', ?, ?, ?, ?, ?, ?, 2147483648)
"""


def measure(table: Table, console: Console, *, quick: bool) -> None:
    """Fill the table."""
    count = SMALL if quick else LARGE
    with console.status(f"{count:,} messages to look at…"), place() as path:
        asyncio.run(_measure(table, path, count))


async def _measure(table: Table, path: Path, count: int) -> None:
    broker, state = connect(str(path), synchronous="normal")
    await broker.open()
    await state.open()
    ids = [new_id(time.time()) for _ in range(count)]
    _fill(path, ids)
    await _lend(broker)
    of = f"of {count:,}"
    for name, query in _queries().items():
        await _add(table, f"page {name} {of}", partial(broker.browse, query), 150.0)
    await _add(table, f"leases() of {MOST_LEASES:,} {of}", broker.leases, 50.0)
    await _tell(state, ids)
    for name, id in (("an old", ids[7]), ("a new", ids[-7])):
        await _add(table, f"timeline of {name} message {of}", partial(state.journal.about, id), 50.0)
    await state.close()
    await broker.close()


def _queries() -> dict[str, Query]:
    found = {}
    for state in MessageState:
        for backwards in (False, True):
            way = "backwards" if backwards else "forwards"
            found[f"{state.value}, {way},"] = Query(states=(state,), backwards=backwards)
    return found | {"where nothing matches": Query(states=(MessageState.READY,), task="other")}


def _fill(path: Path, ids: list[str]) -> None:
    wall = time.time()
    raw = envelope.encode(Message(id=ids[0], queue=_QUEUE, task="noop", body=msgspec.Raw(b'{"n":1}'), sent_at=wall))

    def rows() -> Iterator[tuple[object, ...]]:
        for number, id in enumerate(ids):
            state = _STATES[number % 10]
            is_finished = state in (3, 5)
            queue = _QUEUE if number % 2 else f"client-{number // 10 % 1000:04d}-tasks"
            moment = int(wall * 1e6) + (10**12 if state == 2 else 0) + number
            finished = wall if state in (3, 4, 5) else None
            body = None if is_finished else raw
            yield id, queue, number % 3, state, moment, wall + number * 1e-3, finished, body

    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")
        db.execute("BEGIN")
        db.executemany(_INSERT, rows())
        db.execute("COMMIT")


async def _lend(broker: SqliteBroker) -> None:
    for number in range(MOST_LEASES // 1_000):
        leases = await broker.lease(LeaseRequest("bench/1", str(number), (_QUEUE,), 1_000, 600.0, has_presence=True))
        await broker.touch([msgspec.structs.replace(lease, predicted_seconds=3.0) for lease in leases])


async def _tell(state: SqliteState, ids: list[str]) -> None:
    """One event of each message, in batches of 100 as a busy worker appends them."""
    wall = time.time()
    for start in range(0, len(ids), 100):
        events = [
            Event(EventKind.COMPLETED, wall, _QUEUE, "noop", id, "bench/1", 1, 0.01) for id in ids[start : start + 100]
        ]
        await state.journal.append(events)


async def _add(table: Table, name: str, look: Callable[[], Awaitable[object]], limit: float) -> None:
    """The bar is for the time until the answer; the CPU tells how much of it is the machine's other work."""
    times, cpus = [], []
    for _ in range(ROUNDS):
        start, cpu = time.perf_counter(), time.process_time()
        await look()
        times.append((time.perf_counter() - start) * 1e3)
        cpus.append((time.process_time() - cpu) * 1e3)
    table.add(f"{name}, ms", times, "≤", limit)
    table.add("  the same, CPU, ms", cpus)
