"""The yardsticks: the least that redis-py can do for a queue on streams. A process of its own, as a worker is.

    python -m benchmarks.redis_part.bare PORT COUNT

Pipelined XADDs, a thousand at a time. Then XREADGROUP 100, decode, a task for each, XACK and XDEL for all in one
pipeline. No lease, no fence, no owner, no dedup, no record, no result, no event: nothing that promises anything can be
faster. The envelopes are Tenure's own.
"""

import asyncio
import json
import resource
import sys
import time
from typing import Any

import msgspec
from redis.asyncio import Redis

from benchmarks.redis_part.server import used_cpu
from tenure import envelope
from tenure.message import Message, new_id

BATCH = 100
STREAM, GROUP = "bare", "workers"


def body() -> bytes:
    """An envelope as `submit` makes it."""
    wall = time.time()
    return envelope.encode(
        Message(
            id=new_id(wall),
            queue="default-tasks",
            task="noop",
            body=msgspec.Raw(b'{"n":1}'),
            client="default",
            sent_at=wall,
        )
    )


def own_cpu() -> float:
    """Of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def send(client: Redis, count: int) -> dict[str, float]:
    """Seconds to add `count` entries, pipelined."""
    bodies = [body() for _ in range(count)]
    cpu, start = own_cpu(), time.perf_counter()
    for first in range(0, count, 1000):
        pipeline = client.pipeline(transaction=False)
        for one in bodies[first : first + 1000]:
            pipeline.xadd(STREAM, {"e": one})
        await pipeline.execute()
    return {"seconds": time.perf_counter() - start, "cpu": own_cpu() - cpu}


async def _handle(_: object) -> None:
    """A handler that does nothing."""


async def drain(client: Redis, count: int) -> dict[str, float]:
    """Seconds to read, handle and remove `count` entries."""
    decode = msgspec.json.Decoder().decode
    redis_cpu, cpu, start = used_cpu(await client.info("cpu")), own_cpu(), time.perf_counter()
    done = 0
    while done < count:
        reply: Any = await client.xreadgroup(GROUP, "one", {STREAM: ">"}, count=BATCH)
        entries = reply[0][1]
        tasks = [asyncio.create_task(_handle(decode(fields[b"e"]))) for _, fields in entries]
        for task in tasks:  # cheaper than `gather`, which puts a callback on each
            await task
        ids = [id for id, _ in entries]
        pipeline = client.pipeline(transaction=False)
        pipeline.xack(STREAM, GROUP, *ids)
        pipeline.xdel(STREAM, *ids)
        await pipeline.execute()
        done += len(ids)
    seconds, cpu = time.perf_counter() - start, own_cpu() - cpu
    return {"seconds": seconds, "cpu": cpu, "redis_cpu": used_cpu(await client.info("cpu")) - redis_cpu}


async def _main(port: int, count: int) -> None:
    async with Redis(port=port) as client:
        await client.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
        print(json.dumps({"send": await send(client, count), "drain": await drain(client, count)}))


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), int(sys.argv[2])))
