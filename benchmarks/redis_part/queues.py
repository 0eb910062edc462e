"""Many queues on Redis: what one worker on a thousand of them costs, and how fast it empties them.

    python -m benchmarks.redis_part.queues [wait QUEUES SECONDS | drain QUEUES COUNT]

As a process: a worker on so many queues, as `benchmarks.worker_main` is one on the app's own.
"""

import asyncio
import json
import sys
import time
from typing import Any

import msgspec

from benchmarks import driving
from benchmarks.redis_part.server import Local
from tenure import Tenure
from tenure.message import Message, Outgoing, new_id

#: Messages in one send.
_AT_ONCE = 1000


def names(count: int) -> list[str]:
    """So many queues."""
    return [f"client{number:04d}-tasks" for number in range(count)]


def drain(server: Local, queues: int, each: int) -> dict[str, float]:
    """One worker empties `queues` with `each` messages; rate, and microseconds of CPU a message."""
    server.empty()
    count = queues * each
    asyncio.run(_fill(server.url, names(queues), each))
    before = server.cpu()
    answer = _run(server.url, "drain", queues, count)
    redis = server.cpu() - before
    return {
        "rate": count / answer["seconds"], "cpu_us": answer["cpu"] / count * 1e6, "redis_us": redis / count * 1e6,
    }  # fmt: skip


def pace(server: Local, queues: int, seconds: float) -> dict[str, float]:
    """50 messages a second, spread over the queues: what the server takes, and submit to handler start."""
    server.empty()
    asyncio.run(_fill(server.url, names(queues), 1))  # so that there are such queues
    _run(server.url, "drain", queues, queues)
    with driving.waiting(server.url, "benchmarks.redis_part.queues", "wait", queues, seconds + 2) as process:
        redis = asyncio.run(_at_pace(server, names(queues), seconds))
        answer = driving.last_line(process.communicate()[0])
    late = sorted(answer["latencies"])
    return {
        "redis": redis, "worker": answer["cpu_share"], "count": len(late),
        "p50_ms": late[len(late) // 2] * 1e3, "p99_ms": late[int(len(late) * 0.99)] * 1e3,
    }  # fmt: skip


def find(server: Local, queues: int, ids: int) -> dict[str, float]:
    """Milliseconds to get one message of so many queues: without a hint, and with it."""
    server.empty()

    async def ask() -> dict[str, float]:
        sent = await _fill(server.url, names(queues), 1)
        chosen = sent[:: max(1, len(sent) // ids)][:ids]
        async with Tenure(server.url) as app:
            records = app.state.records
            start = time.perf_counter()
            for id, _ in chosen:
                assert await records.get(id)  # noqa: S101 - a benchmark that measures nothing must fail
            middle = time.perf_counter()
            for id, queue in chosen:
                assert await records.get(id, queue)  # noqa: S101
            end = time.perf_counter()
        return {"without_ms": (middle - start) / len(chosen) * 1e3, "with_ms": (end - middle) / len(chosen) * 1e3}

    return asyncio.run(ask())


def _run(url: str, *args: object) -> dict[str, Any]:
    return driving.last_line(driving.run("benchmarks.redis_part.queues", *args, env=driving.environment(url)))


async def _fill(url: str, queues: list[str], each: int) -> list[tuple[str, str]]:
    """Put messages in; their ids and queues."""
    sent = []
    async with Tenure(url) as app:
        batch: list[Outgoing] = []
        wall = time.time()
        for _ in range(each):
            for queue in queues:
                message = Message(id=new_id(wall), queue=queue, task="noop", body=msgspec.Raw(b'{"n":1}'), sent_at=wall)
                batch.append(Outgoing(message))
                sent.append((message.id, queue))
                if len(batch) == _AT_ONCE:
                    await app.send(batch)
                    batch = []
        if batch:
            await app.send(batch)
    return sent


async def _at_pace(server: Local, queues: list[str], seconds: float) -> float:
    async with Tenure(server.url) as app:
        await asyncio.sleep(1.0)
        before, start = server.cpu(), time.monotonic()
        for number in range(int(seconds * driving.PACE)):
            await asyncio.sleep(max(0.0, start + number / driving.PACE - time.monotonic()))
            body = msgspec.Raw(msgspec.json.encode({"sent": time.monotonic()}))
            wall = time.time()
            queue = queues[number * 7919 % len(queues)]
            await app.send([Outgoing(Message(id=new_id(wall), queue=queue, task="stamp", body=body, sent_at=wall))])
        return (server.cpu() - before) / (time.monotonic() - start)


async def _main(what: str, queues: str, amount: str) -> None:
    from benchmarks import worker_main  # noqa: PLC0415 - it makes the app, at the place that this process is told
    from benchmarks.tasks import app  # noqa: PLC0415

    served = names(int(queues))
    async with app:
        if what == "drain":
            answer = await worker_main.drain(app.worker(concurrency=100, queues=served), int(amount))
        else:
            answer = await worker_main.wait(app.worker(concurrency=10, queues=served), float(amount))
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
