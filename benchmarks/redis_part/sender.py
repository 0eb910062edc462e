"""One sending process under measurement.

    python -m benchmarks.redis_part.sender bulk COUNT | single PORT COUNT

`bulk` is `submit_many` of a thousand calls at a time, from arguments to handles; then `send` of as many messages that
are made already. `single` is one send after the other, in turns with bare XADDs one after the other: the same process,
kind of connection and seconds.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from statistics import median
from typing import Any

from redis.asyncio import Redis

from benchmarks.redis_part.bare import body, own_cpu
from benchmarks.tasks import app, noop
from tenure.message import Message, Outgoing, new_id

#: Sends in one turn.
TURN = 50


async def _bulk(count: int) -> dict[str, float]:
    cpu, start = own_cpu(), time.perf_counter()
    for _ in range(0, count, 1000):
        await app.submit_many([noop.bind(1) for _ in range(1000)])
    submitted = {"seconds": time.perf_counter() - start, "cpu": own_cpu() - cpu}
    # The same without the front door: messages that are made already.
    batches = [[_outgoing() for _ in range(1000)] for _ in range(0, count, 1000)]
    cpu, start = own_cpu(), time.perf_counter()
    for batch in batches:
        await app.broker.send(batch)
    return submitted | {"raw_seconds": time.perf_counter() - start, "raw_cpu": own_cpu() - cpu}


async def _single(port: int, count: int) -> dict[str, Any]:
    times: dict[str, list[float]] = {"xadd": [], "submit": [], "send": []}
    async with Redis(port=port) as client:

        async def xadd() -> None:
            await client.xadd("one", {"e": body()})

        async def submit() -> None:
            await noop.submit(1)

        async def send() -> None:
            await app.broker.send([_outgoing()])

        for _ in range(count // TURN):
            for name, act in (("xadd", xadd), ("submit", submit), ("send", send)):
                times[name].append(await _turn(act))
    return {f"{name}_us": median(turns) / TURN * 1e6 for name, turns in times.items()}


async def _turn(act: Callable[[], Awaitable[None]]) -> float:
    start = time.perf_counter()
    for _ in range(TURN):
        await act()
    return time.perf_counter() - start


def _outgoing() -> Outgoing:
    wall = time.time()
    return Outgoing(
        Message(id=new_id(wall), queue=app.queue, task="noop", body=noop.bind(1).body, client="default", sent_at=wall)
    )


async def _main(what: str, *rest: str) -> None:
    async with app:
        await noop.submit(1)
        print(json.dumps(await (_bulk(int(rest[0])) if what == "bulk" else _single(int(rest[0]), int(rest[1])))))


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
