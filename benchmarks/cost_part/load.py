"""One step of the stated load, as a process of its own: what it asked the cloud for, and its CPU.

    python -m benchmarks.cost_part.load singly | batched | keyed | retried | dead COUNT
                                        long COUNT SECONDS | idle SECONDS

`singly` sends one message at a time, `batched` a hundred; what is told of `batched`, `keyed`, `retried` and `dead` is
the worker that leases full batches and completes them (or retries each once, or gives each up). `long` holds messages
whose handlers outlive their beats. Prints one line of JSON. It imports only public names and `benchmarks`, so that it
runs on an earlier state of Tenure too (`compare.py`).
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from benchmarks import counting
from benchmarks.worker_main import own_cpu
from tenure import Reject, Retry, Tenure

TOGETHER, CONCURRENCY = 100, 100
#: The share of the messages that is over before counting begins, and after it ends: start and stop are no part of it.
_EDGE = 0.1

app = Tenure(os.environ["TENURE_BENCH_URL"])
_seen: set[int] = set()


@app.task
async def noop(n: int) -> None:
    """Do nothing."""


@app.task
async def once_more(n: int) -> None:
    """Fail the first time."""
    if n not in _seen:
        _seen.add(n)
        raise Retry(after=0.0)


@app.task
async def give_up(n: int) -> None:  # noqa: ARG001 - likewise
    """Become a dead letter."""
    raise Reject("not this one")


@app.task
async def nap(seconds: float) -> None:
    """Outlive the beats."""
    await asyncio.sleep(seconds)


class _Meter:
    """What is asked for, and CPU, from its making on."""

    def __init__(self) -> None:
        counting.forget()
        self._cpu = own_cpu()

    def read(self, count: float) -> dict[str, Any]:
        return {"count": count, "cpu": own_cpu() - self._cpu, "calls": counting.counted()}


async def _send(bind: Callable[[int], Any], count: int) -> dict[str, Any]:
    await app.submit_many([bind(-1)])  # queues and table are made, connections are open
    meter = _Meter()
    for start in range(0, count, TOGETHER):
        await app.submit_many([bind(number) for number in range(start, min(count, start + TOGETHER))])
    return meter.read(count)


async def _singly(count: int) -> dict[str, Any]:
    await noop.submit(-1)
    meter = _Meter()
    for number in range(count):
        await noop.submit(number)
    return {"send": meter.read(count)}


async def _passed(bind: Callable[[int], Any], counter: str, count: int) -> dict[str, Any]:
    sent = await _send(bind, count)
    worker = app.worker(concurrency=CONCURRENCY)
    await worker.start()
    first = await _until(worker, counter, count * _EDGE)
    meter = _Meter()
    last = await _until(worker, counter, count * (1 - _EDGE))
    answer = meter.read(last - first)
    await _until(worker, counter, count)
    worker.ask_to_stop()
    await worker.stop()
    return {"send": sent, "work": answer}


async def _until(worker: Any, counter: str, count: float) -> int:
    while (done := worker.counts.get(counter, 0)) < count:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.002)
    return int(done)


async def _long(count: int, seconds: float) -> dict[str, Any]:
    await app.submit_many([nap.bind(86_400.0) for _ in range(count)])
    worker = app.worker(concurrency=count, grace=0.0)
    await worker.start()
    while worker.in_flight < count:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.05)
    meter = _Meter()
    await asyncio.sleep(seconds)
    answer = meter.read(count)
    await worker.stop()
    return {"work": answer}


async def _idle(seconds: float) -> dict[str, Any]:
    async with app.worker():
        await asyncio.sleep(3.0)
        meter = _Meter()
        await asyncio.sleep(seconds)
        return {"work": meter.read(seconds)}


async def _main(step: str, *numbers: str) -> None:
    (counting.count_aws if os.environ["TENURE_BENCH_URL"].startswith("sqs") else counting.count_azure)()
    count = float(numbers[0])
    async with app:
        match step:
            case "singly":
                answer = await _singly(int(count))
            case "batched":
                answer = await _passed(noop.bind, "completed", int(count))
            case "keyed":
                answer = await _passed(lambda n: noop.bind(n).having(key=f"k{n}"), "completed", int(count))
            case "retried":
                answer = await _passed(once_more.bind, "completed", int(count))
            case "dead":
                answer = await _passed(give_up.bind, "dead", int(count))
            case "long":
                answer = await _long(int(count), float(numbers[1]))
            case "idle":
                answer = await _idle(count)
            case _:
                sys.exit(__doc__)
    print(json.dumps(answer))


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
