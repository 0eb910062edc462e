"""arq: its worker's settings, functions and producer."""

import asyncio

import work
from arq import create_pool
from arq.connections import RedisSettings
from redis import Redis

_SETTINGS = RedisSettings(port=work.PORT, conn_retries=60)


async def noop(_ctx: dict) -> None:
    """Do nothing."""
    work.noop()


async def run(_ctx: dict, id: str, kind: str, seconds: float) -> None:
    """Take its time."""
    await work.work_async(id, kind, seconds)


class WorkerSettings:
    """What `arq` reads."""

    functions = (noop, run)
    redis_settings = _SETTINGS
    max_jobs = work.SLOTS
    keep_result = 3600 if work.IS_SAFE else 0  # an id is known again while its result is kept
    poll_delay = 0.1 if work.IS_SAFE else 0.001
    log_results = False
    # Its claim on a job outlives a killed worker by the timeout and ten seconds.
    job_timeout = work.LEASE if work.IS_SAFE else 300


async def _fill(count: int) -> None:
    redis = await create_pool(_SETTINGS)
    for first in range(0, count, 50):
        await asyncio.gather(*(redis.enqueue_job("noop") for _ in range(min(50, count - first))))


async def _send(messages: list[tuple[str, str, float]]) -> None:
    redis = await create_pool(_SETTINGS)
    for message in messages:
        await redis.enqueue_job("run", *message, _job_id=message[0])


def _malform() -> None:
    with Redis(port=work.PORT) as redis:
        for number, entry in enumerate((b"{not pickle", b"\xff\x00")):
            redis.set(f"arq:job:bad-{number}", entry)
            redis.zadd("arq:queue", {f"bad-{number}": 1})
        redis.zadd("arq:queue", {b"\xfe": 1})


if __name__ == "__main__":
    work.answer(lambda count: asyncio.run(_fill(count)), lambda messages: asyncio.run(_send(messages)), _malform)
