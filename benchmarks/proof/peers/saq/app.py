"""SAQ: its worker's settings, functions and producer."""

import asyncio

import work
from redis import Redis
from saq import Queue

queue = Queue.from_url(work.URL)


async def noop(_ctx: dict) -> None:
    """Do nothing."""
    work.noop()


async def run(_ctx: dict, *, id: str, kind: str, seconds: float) -> None:
    """Take its time."""
    await work.work_async(id, kind, seconds)


settings = {
    "queue": queue,
    "functions": [noop, run],
    "concurrency": work.SLOTS,
    "timers": {"sweep": 1} if work.IS_SAFE else {},
}


async def _fill(count: int) -> None:
    await queue.connect()
    for first in range(0, count, 50):
        await asyncio.gather(*(queue.enqueue("noop", ttl=-1, timeout=0) for _ in range(min(50, count - first))))
    await queue.disconnect()


async def _send(messages: list[tuple[str, str, float]]) -> None:
    await queue.connect()
    for id, kind, seconds in messages:
        options = {"key": id, "timeout": int(work.LEASE), "retries": 5}
        await queue.enqueue("run", id=id, kind=kind, seconds=seconds, **options)
    await queue.disconnect()


def _malform() -> None:
    with Redis(port=work.PORT) as redis:
        for number, entry in enumerate((b"{not json", b"\xff\x00", b'{"function": 1}')):
            redis.set(f"saq:job:default:bad-{number}", entry)
            redis.lpush("saq:default:queued", f"saq:job:default:bad-{number}")


if __name__ == "__main__":
    work.answer(lambda count: asyncio.run(_fill(count)), lambda messages: asyncio.run(_send(messages)), _malform)
