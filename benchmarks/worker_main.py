"""One worker process under measurement.

    python -m benchmarks.worker_main drain COUNT [CONCURRENCY] | wait SECONDS | hold COUNT SECONDS

Prints one line of JSON. CPU and time are taken from the first lease on, without start-up.
"""

import asyncio
import json
import resource
import sys
import time
from typing import Any

from benchmarks.tasks import app, latencies
from tenure.runtime import event_loop
from tenure.runtime.garbage import collect_rarely
from tenure.runtime.worker import Worker

#: How often a drain is looked at, over its whole length.
LOOKS = 20


def own_cpu() -> float:
    """Seconds of CPU that this process has used."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _rss_mb() -> float:
    if sys.platform != "linux":  # the highest so far, in bytes on macOS; there is no cheap way to the current value
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123 - read often, no need for more
        return int(statm.read().split()[1]) * resource.getpagesize() / 1e6


async def drain(worker: Worker, count: int) -> dict[str, Any]:
    """Until `count` are completed; on the way, how many, when, CPU and memory."""
    await worker.start()
    cpu, start = own_cpu(), time.perf_counter()
    looks: list[tuple[int, float, float, float]] = []
    while (done := worker.counts.get("completed", 0)) < count:
        await asyncio.sleep(0.005)
        if done >= count * (len(looks) + 1) / LOOKS:
            looks.append((done, time.perf_counter() - start, own_cpu() - cpu, _rss_mb()))
    looks.append((done, time.perf_counter() - start, own_cpu() - cpu, _rss_mb()))
    worker.ask_to_stop()
    await worker.stop()
    _, seconds, cpu, rss = looks[-1]
    early = next(rss for done, _, _, rss in looks if done >= count / 2)
    return {"seconds": seconds, "cpu": cpu, "rss_mb": rss, "rss_early_mb": early, "looks": looks,
            "counts": dict(worker.counts)}  # fmt: skip


async def wait(worker: Worker, seconds: float) -> dict[str, Any]:
    """What it takes meanwhile."""
    async with worker:
        print("ready", flush=True)
        await asyncio.sleep(1.0)
        cpu, start = own_cpu(), time.perf_counter()
        await asyncio.sleep(seconds)
        used = (own_cpu() - cpu) / (time.perf_counter() - start)
    return {"cpu_share": used, "latencies": latencies}


async def _hold(count: int, seconds: float) -> dict[str, Any]:
    """The share of a core that it takes to hold `count` messages whose handlers only wait."""
    worker = app.worker(concurrency=count, grace=0.0)
    await worker.start()
    while worker.in_flight < count:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.1)
    print("ready", flush=True)
    cpu, start = own_cpu(), time.perf_counter()
    await asyncio.sleep(seconds)
    used = (own_cpu() - cpu) / (time.perf_counter() - start)
    held = worker.in_flight
    print("over", flush=True)
    await worker.stop()
    return {"cpu_share": used, "held": held}


async def _main(what: str, *amounts: str) -> None:
    async with app:
        match what:
            case "drain":
                concurrency = int(amounts[1]) if len(amounts) > 1 else 100
                answer = await drain(app.worker(concurrency=concurrency), int(amounts[0]))
            case "hold":
                answer = await _hold(int(amounts[0]), float(amounts[1]))
            case _:
                answer = await wait(app.worker(concurrency=10), float(amounts[0]))
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    collect_rarely()
    event_loop.run(_main(*sys.argv[1:]), app.settings.loop)  # both as `tenure worker` does
