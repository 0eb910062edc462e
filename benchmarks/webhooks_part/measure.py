"""The measurements of webhooks; whoever calls interleaves and repeats them.

What works or delivers is a process of its own; the receivers are in this one, which does nothing else.
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime

import msgspec

from benchmarks import driving
from benchmarks.webhooks_part.receiving import Arrivals, dead, healthy
from tenure import Tenure
from tenure.config import settings_from
from tenure.message import Message, Outgoing, new_id

_WORKER = "benchmarks.webhooks_part.worker"
_SETTINGS = {"TENURE_WEBHOOK_ALLOW": "127.0.0.1", "TENURE_SECRET_KEY": "k" * 32}
HEALTHY, DEAD = "local", "dead"
#: Deliveries a second, where latency is measured, and how many endings the dead endpoint has to begin with.
PACE, DEAD_ENDINGS = 50.0, 300
#: The dead endpoint's first requests are under way by then.
_SETTLE_SECONDS = 3.0


def drain(url: str, count: int, arm: str) -> dict[str, float]:
    """One worker empties a backlog: messages a second, until they are completed and until all is forgotten; and CPU."""
    return driving.last_line(driving.run(_WORKER, "drain", count, arm, env=driving.environment(url)))


def deliver(url: str, count: int) -> float:
    """Deliveries a second of one process that does nothing else, from the first to the last of `count`."""
    return asyncio.run(_deliver(url, count))


def p99_ms(url: str, seconds: float, *, beside_dead: bool) -> float:
    """From the end of a message to its arrival at a healthy receiver, in milliseconds."""
    return asyncio.run(_pace(url, seconds, beside_dead=beside_dead))


async def _deliver(url: str, count: int) -> float:
    async with healthy() as arrivals, _registered(url, {HEALTHY: arrivals.port}):
        await _run(url, "fill", count, HEALTHY)
        async with _process(url, "deliver"):
            await arrivals.until(count)
    times = [at for at, _, _ in arrivals.got]
    return (len(times) - 1) / (times[-1] - times[0])


async def _pace(url: str, seconds: float, *, beside_dead: bool) -> float:
    async with healthy() as arrivals, dead() as port, _registered(url, {HEALTHY: arrivals.port, DEAD: port}) as app:
        if beside_dead:
            await _run(url, "fill", DEAD_ENDINGS, DEAD)
        async with _process(url, "work"):
            await asyncio.sleep(_SETTLE_SECONDS)
            count = int(seconds * PACE)
            start = time.perf_counter()
            for number in range(count):
                await asyncio.sleep(max(0.0, start + number / PACE - time.perf_counter()))
                await _send(app, HEALTHY)
                if beside_dead and number % 5 == 0:
                    await _send(app, DEAD)
            await arrivals.until(count)
    return _p99(arrivals)


def _p99(arrivals: Arrivals) -> float:
    found = sorted(at - _ended_at(body) for _, at, body in arrivals.got)
    return found[int(len(found) * 0.99)] * 1e3


def _ended_at(body: bytes) -> float:
    return datetime.fromisoformat(msgspec.json.decode(body)["ended_at"]).timestamp()


async def _send(app: Tenure, endpoint: str) -> None:
    wall = time.time()
    message = Message(
        id=new_id(wall), queue=app.queue, task="noop", body=msgspec.Raw(b'{"n":1}'), sent_at=wall,
        announce=(f"webhook:{endpoint}",),
    )  # fmt: skip
    await app.send([Outgoing(message)])


@asynccontextmanager
async def _registered(url: str, ports: dict[str, int]) -> AsyncGenerator[Tenure]:
    async with Tenure(url, settings=settings_from(_SETTINGS)) as app:
        for name, port in ports.items():
            await app.operate.access.client.webhooks.endpoints.add(name, f"http://127.0.0.1:{port}/internal/notify")
        yield app


async def _run(url: str, *words: object) -> None:
    await asyncio.to_thread(driving.run, _WORKER, *words, env=driving.environment(url) | _SETTINGS)


@asynccontextmanager
async def _process(url: str, what: str) -> AsyncGenerator[None]:
    """One that has said that it is ready; ended with the block."""
    os.environ.update(_SETTINGS)
    with driving.waiting(url, _WORKER, what) as process:
        try:
            yield
        finally:
            process.kill()
