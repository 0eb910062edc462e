"""One process of Tenure's under measurement on a cloud, which is a stand-in on this machine.

    python -m benchmarks.cloud_worker send COUNT | drain COUNT CONCURRENCY | hold COUNT SECONDS |
                                       idle SECONDS | view SECONDS QUEUES

Prints one line of JSON: seconds, CPU seconds, and with `counted` as the last word how many requests of which kind. What
is taken down is what a worker does at load, without start and stop.
"""

import asyncio
import json
import os
import sys
import time
from typing import Any

from benchmarks import counting
from benchmarks.tasks import app, nap, noop
from benchmarks.worker_main import own_cpu

#: So many are sent at once: full batches of each kind.
TOGETHER = 100


async def _send(count: int) -> dict[str, Any]:
    await noop.submit(1)  # queues and table are made, connections are open
    counting.forget()
    cpu, start = own_cpu(), time.perf_counter()
    for start_at in range(0, count, TOGETHER):
        await app.submit_many([noop.bind(1) for _ in range(min(TOGETHER, count - start_at))])
    return {"seconds": time.perf_counter() - start, "cpu": own_cpu() - cpu, "count": count}


async def _drain(count: int, concurrency: int) -> dict[str, Any]:
    """From the time a twentieth is done, when start-up is over, until nineteen twentieths are."""
    worker = app.worker(concurrency=concurrency)
    await worker.start()
    first = await _until(worker, count / 20)
    counting.forget()
    cpu, start = own_cpu(), time.perf_counter()
    last = await _until(worker, count * 19 / 20)
    answer: dict[str, Any] = {"seconds": time.perf_counter() - start, "cpu": own_cpu() - cpu, "count": last - first}
    answer["calls"] = counting.counted()
    await _until(worker, count)
    worker.ask_to_stop()
    await worker.stop()
    return answer


async def _hold(count: int, seconds: float) -> dict[str, Any]:
    """What it takes to hold `count` messages whose handlers outlive their beats."""
    await app.submit_many([nap.bind(86_400.0) for _ in range(count)])
    worker = app.worker(concurrency=count, grace=0.0)
    await worker.start()
    while worker.in_flight < count:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.1)
    counting.forget()
    await asyncio.sleep(seconds)
    answer = {"count": worker.in_flight, "calls": counting.counted(), "counts": dict(worker.counts)}
    await worker.stop()
    return answer


async def _idle(seconds: float) -> dict[str, Any]:
    """What a worker asks for that has nothing to do."""
    async with app.worker():
        await asyncio.sleep(3.0)
        counting.forget()
        start = time.perf_counter()
        await asyncio.sleep(seconds)
        return {"seconds": time.perf_counter() - start, "calls": counting.counted()}


async def _view(seconds: float, queues: int) -> dict[str, Any]:
    """What a server asks for while somebody has the dashboard open, and nothing happens."""
    from tenure.server.events.viewers import Viewers  # noqa: PLC0415 - workers need no server
    from tenure.server.snapshots.snapshots import Snapshots  # noqa: PLC0415

    await asyncio.gather(*(noop.bind(1).submit(queue=f"view-{number}") for number in range(queues)))
    viewers, snapshots = Viewers(app), Snapshots(app)
    async with viewers.tail.following():
        with snapshots.watched(app.operate.access, lambda: None):
            await asyncio.sleep(3.0)
            counting.forget()
            start = time.perf_counter()
            await asyncio.sleep(seconds)
            return {"seconds": time.perf_counter() - start, "calls": counting.counted()}


async def _until(worker: Any, count: float) -> int:
    while (done := worker.counts.get("completed", 0)) < count:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.002)
    return int(done)


async def _main(what: str, *amounts: str) -> None:
    if "counted" in amounts:
        (counting.count_aws if os.environ["TENURE_BENCH_URL"].startswith("sqs") else counting.count_azure)()
    numbers = [amount for amount in amounts if amount != "counted"]
    async with app:
        match what:
            case "send":
                answer = await _send(int(numbers[0]))
                answer["calls"] = counting.counted()
            case "drain":
                answer = await _drain(int(numbers[0]), int(numbers[1]))
            case "hold":
                answer = await _hold(int(numbers[0]), float(numbers[1]))
            case "idle":
                answer = await _idle(float(numbers[0]))
            case "view":
                answer = await _view(float(numbers[0]), int(numbers[1]))
            case _:
                sys.exit(__doc__)
    print(json.dumps(answer))


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
