"""One worker process that drains messages of one kind: what a key, a delay, a hand-off or a thread adds.

    python -m benchmarks.kinds_worker plain | key | delay | handoff | def COUNT

Prints the CPU seconds from the first lease on, also those of a Redis server. A message that is handed on is one more
message.
"""

import asyncio
import json
import os
import sys

from redis.asyncio import Redis

from benchmarks.worker_main import own_cpu
from tenure import Context, Tenure
from tenure.runtime import event_loop
from tenure.runtime.garbage import collect_rarely
from tenure.tasks.call import Call

KINDS = ("plain", "key", "delay", "handoff", "def")
_DELAY_SECONDS = 0.5

URL = os.environ.get("TENURE_BENCH_URL", "memory://bench")
app = Tenure(URL)


@app.task
async def noop(n: int) -> None:
    """Do nothing."""


@app.task
async def hand_on(ctx: Context, n: int) -> None:
    """Hand on to another task."""
    ctx.submit(noop.bind(n))


@app.task
def blocking(n: int) -> None:
    """Do nothing, in a thread."""


def call(kind: str, number: int) -> Call[None]:
    """One message."""
    match kind:
        case "key":
            return noop.bind(number).having(key=f"k{number}")
        case "delay":
            return noop.bind(number).having(delay=_DELAY_SECONDS)
        case "handoff":
            return hand_on.bind(number)
        case "def":
            return blocking.bind(number)
        case _:
            return noop.bind(number)


async def _redis_cpu() -> float:
    """Seconds of CPU that the server has used; 0 where there is none."""
    if not URL.startswith("redis:"):
        return 0.0
    async with Redis.from_url(URL) as client:
        info = await client.info("cpu")
        return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


async def main(kind: str, count: int) -> None:
    """Fill, drain, tell."""
    async with app:
        for start in range(0, count, 1000):
            await app.submit_many([call(kind, number) for number in range(start, min(start + 1000, count))])
        await asyncio.sleep(2 * _DELAY_SECONDS)
        worker = app.worker(concurrency=100)
        await worker.start()
        cpu, redis_cpu, wanted = own_cpu(), await _redis_cpu(), count * (2 if kind == "handoff" else 1)
        while worker.counts.get("completed", 0) < wanted:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.005)
        print(json.dumps({"cpu": own_cpu() - cpu, "redis_cpu": await _redis_cpu() - redis_cpu}), flush=True)
        worker.ask_to_stop()
        await worker.stop()


if __name__ == "__main__":
    collect_rarely()
    event_loop.run(main(sys.argv[1], int(sys.argv[2])), app.settings.loop)
