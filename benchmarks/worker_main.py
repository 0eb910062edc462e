"""One worker process under measurement: `python -m benchmarks.worker_main drain N | latency SECONDS | idle SECONDS`.

Prints one line of JSON. CPU and time are taken from the first lease on, without start-up.
"""

import asyncio
import json
import resource
import sys
import time
from typing import Any

from benchmarks.tasks import app, latencies


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _rss_mb() -> float:
    if sys.platform != "linux":  # the highest so far, in bytes on macOS; there is no cheap way to the current value
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123 - read often, no need for more
        return int(statm.read().split()[1]) * resource.getpagesize() / 1e6


async def _drain(count: int) -> dict[str, Any]:
    worker = app.worker(concurrency=100)
    await app.open()
    cpu, start = _cpu(), time.perf_counter()
    await worker.start()
    rss_early = None
    while (done := worker.counts.get("completed", 0)) < count:
        await asyncio.sleep(0.02)
        if rss_early is None and done >= count / 2:
            rss_early = _rss_mb()
    seconds, cpu = time.perf_counter() - start, _cpu() - cpu
    rss = _rss_mb()
    worker.ask_to_stop()
    await worker.stop()
    return {"seconds": seconds, "cpu": cpu, "rss_mb": rss, "rss_early_mb": rss_early, "counts": dict(worker.counts)}


async def _wait(seconds: float) -> dict[str, Any]:
    async with app.worker(concurrency=10):
        print("ready", flush=True)
        await asyncio.sleep(1.0)
        cpu, start = _cpu(), time.perf_counter()
        await asyncio.sleep(seconds)
        used = (_cpu() - cpu) / (time.perf_counter() - start)
    return {"cpu_share": used, "latencies": latencies}


async def _main(what: str, amount: str) -> None:
    async with app:
        answer = await (_drain(int(amount)) if what == "drain" else _wait(float(amount)))
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:3]))
