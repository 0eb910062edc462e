"""FastStream on Redis streams: its broker, subscribers and producer."""

import asyncio
import json
import os

import work
from faststream import AckPolicy, FastStream
from faststream.redis import RedisBroker, StreamSub
from redis import Redis

broker = RedisBroker(work.URL, logger=None)
app = FastStream(broker, logger=None)
_CONSUMER = f"worker-{os.getpid()}"
_GROUP = {"group": "workers", "consumer": _CONSUMER, "polling_interval": 100}

#: Where messages go that do nothing.
_FILLED = "work" if work.IS_SAFE else "noop"

if work.IS_SAFE:

    @broker.subscriber(
        stream=StreamSub("work", max_records=work.SLOTS, **_GROUP),
        ack_policy=AckPolicy.NACK_ON_ERROR,
        max_workers=work.SLOTS,
    )
    @broker.subscriber(
        stream=StreamSub("work", min_idle_time=int(work.LEASE * 1000), **_GROUP), ack_policy=AckPolicy.NACK_ON_ERROR
    )
    async def run(message: dict) -> None:
        """Take its time, or do nothing."""
        if "n" in message:
            work.noop()
            return
        await work.work_async(message["id"], message["kind"], message["seconds"])

else:

    @broker.subscriber(stream=StreamSub("noop", batch=True, max_records=work.SLOTS, **_GROUP))
    async def noop(messages: list[dict]) -> None:
        """Do nothing, for each message of a batch."""
        for _ in messages:
            work.noop()


def _fill(count: int) -> None:
    with Redis(port=work.PORT) as redis:
        redis.xgroup_create(_FILLED, "workers", id="0", mkstream=True)
    asyncio.run(_publish(count))


async def _publish(count: int) -> None:
    async with broker:
        for first in range(0, count, 50):
            await asyncio.gather(*(broker.publish({"n": 1}, stream=_FILLED) for _ in range(min(50, count - first))))


def _send(messages: list[tuple[str, str, float]]) -> None:
    with Redis(port=work.PORT) as redis:
        if not redis.exists("work"):
            redis.xgroup_create("work", "workers", id="0", mkstream=True)
    asyncio.run(_publish_each(messages))


async def _publish_each(messages: list[tuple[str, str, float]]) -> None:
    async with broker:
        for id, kind, seconds in messages:
            await broker.publish({"id": id, "kind": kind, "seconds": seconds}, stream="work")


def _malform() -> None:
    with Redis(port=work.PORT) as redis:
        for entry in (b"{not json", b"\xff\x00", json.dumps({"data": 1, "headers": 2}).encode()):
            redis.xadd("work", {b"__data__": entry})


if __name__ == "__main__":
    work.answer(_fill, _send, _malform)
