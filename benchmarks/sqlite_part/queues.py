"""The theme `queues`: a worker on a thousand queues costs what it costs on one. Called by `claims.py`."""

import asyncio
import time
from statistics import median
from typing import Any

import msgspec
from rich.console import Console

from benchmarks import driving
from benchmarks.sqlite_part.measure import address
from benchmarks.sqlite_part.queues_worker import names
from benchmarks.table import Table
from tenure import Tenure
from tenure.message import Message, Outgoing, new_id

QUEUES = 1_000
ROUNDS = 5


def measure(table: Table, console: Console, *, quick: bool) -> None:
    """Fill the table."""
    with console.status("1,000 queues at 50 messages a second…"):
        pace = _pace(QUEUES, 8.0 if quick else 20.0)
    table.add("worker on 1,000 queues at 50/s, % of a core", pace["cpu_share"] * 100, "≤", 15.0)
    table.add("the same, submit to handler, p99 ms", pace["p99_ms"], "≤", 50.0)
    for each, bar in ((40, 0.8), (1, 0.4)):
        count = QUEUES * each
        with console.status(f"drain of {each} a queue against one queue…"):
            rounds = [(_drain(1, count), _drain(QUEUES, count)) for _ in range(2 if quick else ROUNDS)]
        ratios = [one["seconds"] / many["seconds"] for one, many in rounds]
        table.add(f"drain of 1,000 queues with {each} a queue / of one queue", ratios, "≥", bar)
        table.add("  the same, by CPU", [one["cpu"] / many["cpu"] for one, many in rounds])
        table.figures[f"drain_{each}_a_queue_per_second"] = median(count / many["seconds"] for _, many in rounds)
    with console.status("depth and names of 1,000 queues…"):
        looked = _look(QUEUES)
    table.add("depth of 1,000 queues, ms", looked["depth_ms"], "≤", 50.0)
    table.add("names of 1,000 queues, ms", looked["queues_ms"], "≤", 50.0)


def _pace(queues: int, seconds: float) -> dict[str, float]:
    with address() as url:
        answer = _run(url, "pace", queues, seconds)
    found = sorted(answer["latencies"])
    return {"cpu_share": answer["cpu_share"], "p99_ms": found[int(len(found) * 0.99)] * 1e3}


def _drain(queues: int, count: int) -> dict[str, float]:
    """Seconds and CPU of a worker that empties `count` messages in `queues` queues."""
    with address() as url:
        asyncio.run(_load(url, queues, count))
        return _run(url, "drain", queues, count)


def _look(queues: int) -> dict[str, float]:
    """How long the depth of all queues takes, and their names."""

    async def main(url: str) -> dict[str, float]:
        await _load(url, queues, 10 * queues)
        async with Tenure(url) as app:
            times: dict[str, list[float]] = {"depth_ms": [], "queues_ms": []}
            for _ in range(ROUNDS):
                for name, look in (("depth_ms", app.broker.depth), ("queues_ms", app.broker.queues)):
                    start = time.perf_counter()
                    await look()
                    times[name].append((time.perf_counter() - start) * 1e3)
        return {name: median(found) for name, found in times.items()}

    with address() as url:
        return asyncio.run(main(url))


async def _load(url: str, queues: int, count: int) -> None:
    """Messages for each queue in turn, in batches of 1,000."""
    every, body = names(queues), msgspec.Raw(b'{"n":1}')
    async with Tenure(url) as app:
        for start in range(0, count, 1_000):
            wall = time.time()
            await app.broker.send(
                [
                    Outgoing(Message(id=new_id(wall), queue=every[n % queues], task="noop", body=body, sent_at=wall))
                    for n in range(start, start + 1_000)
                ]
            )


def _run(url: str, *args: object) -> dict[str, Any]:
    return driving.last_line(driving.run("benchmarks.sqlite_part.queues_worker", *args, env=driving.environment(url)))
