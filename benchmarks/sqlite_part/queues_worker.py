"""One worker process on many queues, under measurement.

    python -m benchmarks.sqlite_part.queues_worker drain QUEUES COUNT | pace QUEUES SECONDS

`drain` empties a backlog of COUNT messages that lies in QUEUES queues. `pace` serves QUEUES queues at 50 messages a
second, which another process sends. Prints one line of JSON.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from typing import Any

import msgspec

from benchmarks import driving
from benchmarks.tasks import app, latencies
from benchmarks.worker_main import own_cpu
from tenure import Tenure
from tenure.message import Message, Outgoing, new_id


def names(count: int) -> list[str]:
    """The queues."""
    return [f"client-{number:04d}-tasks" for number in range(count)]


async def _drain(queues: int, count: int) -> dict[str, Any]:
    worker = app.worker(concurrency=100, queues=names(queues))
    await worker.start()
    cpu, start = own_cpu(), time.perf_counter()
    while worker.counts.get("completed", 0) < count:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.002)
    answer = {"seconds": time.perf_counter() - start, "cpu": own_cpu() - cpu}
    await worker.stop()
    return answer


async def _pace(queues: int, seconds: float) -> dict[str, Any]:
    worker = app.worker(concurrency=10, queues=names(queues))
    await worker.start()
    command = [sys.executable, "-m", __spec__.name, "send", str(queues), str(seconds)]
    sender = subprocess.Popen(command, env=os.environ)  # noqa: ASYNC220 - it only starts it
    await asyncio.sleep(2.0)
    cpu, start = own_cpu(), time.perf_counter()
    await asyncio.sleep(seconds - 3.0)
    used = (own_cpu() - cpu) / (time.perf_counter() - start)
    await asyncio.to_thread(sender.wait)
    await worker.stop()
    return {"cpu_share": used, "latencies": latencies}


async def _send(queues: int, seconds: float) -> dict[str, Any]:
    """50 messages a second, each to another queue."""
    every = names(queues)
    async with Tenure(os.environ["TENURE_BENCH_URL"]) as sending:
        start = time.monotonic()
        for number in range(int(seconds * driving.PACE)):
            await asyncio.sleep(max(0.0, start + number / driving.PACE - time.monotonic()))
            body, wall = msgspec.Raw(msgspec.json.encode({"sent": time.monotonic()})), time.time()
            queue = every[number * 7 % queues]
            await sending.send([Outgoing(Message(id=new_id(wall), queue=queue, task="stamp", body=body, sent_at=wall))])
    return {}


async def _main(what: str, queues: str, amount: str) -> None:
    if what == "send":
        await _send(int(queues), float(amount))
        return
    async with app:
        answer = await (_drain(int(queues), int(amount)) if what == "drain" else _pace(int(queues), float(amount)))
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
