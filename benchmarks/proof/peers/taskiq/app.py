"""taskiq on Redis: its broker, tasks and producer."""

import asyncio

import work
from redis import Redis
from taskiq.kicker import AsyncKicker
from taskiq_redis import ListQueueBroker, RedisStreamBroker

broker = (
    RedisStreamBroker(work.URL, consumer_id="0", idle_timeout=int(work.LEASE * 1000), xread_block=200)
    if work.IS_SAFE
    else ListQueueBroker(work.URL)
)


@broker.task(task_name="noop")
async def noop() -> None:
    """Do nothing."""
    work.noop()


@broker.task(task_name="work")
async def run(id: str, kind: str, seconds: float) -> None:
    """Take its time."""
    await work.work_async(id, kind, seconds)


async def _fill(count: int) -> None:
    await broker.startup()
    for first in range(0, count, 50):
        await asyncio.gather(*(noop.kiq() for _ in range(min(50, count - first))))
    await broker.shutdown()


async def _send(messages: list[tuple[str, str, float]]) -> None:
    await broker.startup()
    for message in messages:
        await AsyncKicker("work", broker, {}).with_task_id(message[0]).kiq(*message)
    await broker.shutdown()


def _malform() -> None:
    with Redis(port=work.PORT) as redis:
        for entry in (b"{not json", b"\xff\x00"):
            redis.xadd("taskiq", {b"data": entry})
        redis.xadd("taskiq", {b"other": b"field"})


if __name__ == "__main__":
    work.answer(lambda count: asyncio.run(_fill(count)), lambda messages: asyncio.run(_send(messages)), _malform)
