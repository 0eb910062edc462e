"""A quiet client beside a noisy one: 100,000 messages wait for one client, and another one sends 10 a second.

How long the second one's messages wait for their handlers, on SQLite and on Valkey, with short and with long tasks of
the first.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from benchmarks import driving
from benchmarks.clients_part.sending import message
from benchmarks.redis_part.server import local
from benchmarks.sqlite_part.measure import address
from benchmarks.table import Table
from tenure import Tenure

BACKLOG = 100_000
#: Messages a second of the quiet client.
PACE = 10.0
#: Seconds that a task of the noisy client takes.
SHORT, LONG = 0.01, 0.5
_MODULE = "benchmarks.clients_part.fair_worker"


def measure(table: Table, *, quick: bool) -> None:
    """Fill the table."""
    seconds = 10.0 if quick else 30.0
    for name, place in (("SQLite", address), ("Valkey", _valkey)):
        for takes in (SHORT, LONG):
            with place() as url:
                waits = asyncio.run(_waits(url, takes, seconds))
            what = f"{name}: wait beside 100,000 messages of {takes:g} s of another client, p99 ms"
            table.add(what, _p99(waits), "≤", 1_000.0)
            table.add("  the same, p50 ms", waits[len(waits) // 2] * 1e3)
        with place() as url:
            waits = asyncio.run(_waits(url, 0.0, seconds))
        table.add(f"  {name}: with no other client, p99 ms", _p99(waits))


def _p99(waits: list[float]) -> float:
    return waits[min(len(waits) - 1, int(len(waits) * 0.99))] * 1e3


@contextmanager
def _valkey() -> Iterator[str]:
    with local() as server:
        yield server.url


async def _waits(url: str, takes: float, seconds: float) -> list[float]:
    """How long each message of the quiet client waited, sorted."""
    async with Tenure(url) as sending:
        if takes:
            await _load(sending, takes)
        with driving.waiting(url, _MODULE, "wait", seconds) as process:
            start, count = time.monotonic(), int((seconds - 1.0) * PACE)
            for number in range(count):
                await asyncio.sleep(max(0.0, start + number / PACE - time.monotonic()))
                body = msgspec.Raw(msgspec.json.encode({"sent": time.monotonic()}))
                await sending.send([message("quiet", "stamp", body)])
            out = await asyncio.to_thread(process.communicate)
    found = sorted(driving.last_line(out[0])["latencies"])
    if len(found) < 0.9 * count:
        msg = f"of {count} messages of the quiet client only {len(found)} were run"
        raise RuntimeError(msg)
    return found


async def _load(sending: Tenure, takes: float) -> None:
    body = msgspec.Raw(msgspec.json.encode({"seconds": takes}))
    for _ in range(0, BACKLOG, 1_000):
        await sending.send([message("noisy", "nap", body) for _ in range(1_000)])
