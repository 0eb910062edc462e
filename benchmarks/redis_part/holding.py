"""Holding and returning on Redis: heartbeats for very many, and a sweep of very many."""

import asyncio
import time
from typing import Any

from benchmarks import driving
from benchmarks.redis_part.server import Local
from tenure import Tenure
from tenure.broker import SweepRequest
from tenure.event import Event
from tenure.lease import LeaseRequest
from tenure.runtime.background.sweeper import Sweeper


def hold(server: Local, count: int, seconds: float) -> dict[str, float]:
    """Share of a core, of the worker and of the server, while `count` handlers only wait."""
    server.empty()
    driving.load(server.url, count, task="nap", argument=86_400.0)
    with driving.waiting_worker(server.url, "hold", count, seconds) as process:
        before, start = server.cpu(), time.perf_counter()
        if process.stdout is None or process.stdout.readline().strip() != "over":
            msg = "the worker ended"
            raise RuntimeError(msg)
        redis = (server.cpu() - before) / (time.perf_counter() - start)
        answer = driving.last_line(process.communicate()[0])
    return {"worker": answer["cpu_share"], "redis": redis, "held": answer["held"]}


def sweep(server: Local, count: int) -> dict[str, Any]:
    """Seconds in which a worker's sweeper returns `count` overdue leases, in batches of the usual size."""
    server.empty()
    driving.load(server.url, count)
    return asyncio.run(_sweep(server.url, count))


async def _sweep(url: str, count: int) -> dict[str, Any]:
    told: list[Event] = []
    async with Tenure(url) as app:
        sweeper = Sweeper(app.broker, app.state.roster, app.clock, told.extend, request=SweepRequest())
        await sweeper.sweep()  # the first one only notes the time
        for number in range(count // 1000):
            owner = f"gone-{number % 10}/1"  # nobody has heard of them: their messages come back as failed
            await app.broker.lease(LeaseRequest(owner, str(number), (app.queue,), 1000, 0.05))
        await asyncio.sleep(0.1)
        start = time.perf_counter()
        swept = await sweeper.sweep()
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "count": len(swept.returned)}
