"""streaQ: its worker, tasks and producer."""

import asyncio

import work
from streaq import Worker

worker = Worker(
    redis_url=work.URL,
    concurrency=work.SLOTS,
    idle_timeout=work.LEASE if work.IS_SAFE else 60,
)


@worker.task(ttl=0, silent=True)
async def noop() -> None:
    """Do nothing."""
    work.noop()


@worker.task(silent=True, max_tries=5)
async def run(id: str, kind: str, seconds: float) -> None:
    """Take its time."""
    await work.work_async(id, kind, seconds)


async def _fill(count: int) -> None:
    async with worker:
        for first in range(0, count, 1000):
            await worker.enqueue_many([noop.enqueue() for _ in range(min(1000, count - first))])


async def _send(messages: list[tuple[str, str, float]]) -> None:
    async with worker:
        tasks = [run.enqueue(*message) for message in messages]
        for task, message in zip(tasks, messages, strict=True):
            task.id = message[0]
        await worker.enqueue_many(tasks)


async def _malform() -> None:
    async with worker:
        for number, entry in enumerate(("{not pickle", "\x00")):
            await worker.redis.set(f"{worker.task_key}bad-{number}", entry)
            await worker.redis.xadd(f"{worker.stream_key}normal", {"task_id": f"bad-{number}"})
        await worker.redis.xadd(f"{worker.stream_key}normal", {"other": "field"})


if __name__ == "__main__":
    work.answer(
        lambda count: asyncio.run(_fill(count)),
        lambda messages: asyncio.run(_send(messages)),
        lambda: asyncio.run(_malform()),
    )
