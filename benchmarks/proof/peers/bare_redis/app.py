"""The best bare loop on Redis that could be written: nothing that promises anything can be faster.

XREADGROUP 100, decode, a task for each, XACK and XDEL for all in one pipeline, with redis-py and hiredis. No lease, no
retry, no owner, no record: what a killed loop held stays pending for ever.
"""

import asyncio
import os
import sys
from contextlib import suppress

import msgspec
import work
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import ResponseError

STREAM, GROUP = "bare", "workers"
_decode = msgspec.json.Decoder().decode


async def _handle(message: dict) -> None:
    if "id" in message:
        await work.work_async(message["id"], message["kind"], message["seconds"])
    else:
        work.noop()


async def _loop() -> None:
    name = f"worker-{os.getpid()}"
    async with AsyncRedis(port=work.PORT) as client:
        while True:
            reply = await client.xreadgroup(GROUP, name, {STREAM: ">"}, count=work.SLOTS, block=1000)
            if not reply:
                continue
            entries = reply[0][1]
            tasks = [asyncio.create_task(_handle(_decode(fields[b"e"]))) for _, fields in entries]
            for task in tasks:  # cheaper than `gather`, which puts a callback on each
                await task
            ids = [id for id, _ in entries]
            pipeline = client.pipeline(transaction=False)
            pipeline.xack(STREAM, GROUP, *ids)
            pipeline.xdel(STREAM, *ids)
            await pipeline.execute()


def _add(entries: list[bytes]) -> None:
    with Redis(port=work.PORT) as client:
        with suppress(ResponseError):  # it is there
            client.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
        for first in range(0, len(entries), 1000):
            pipeline = client.pipeline(transaction=False)
            for entry in entries[first : first + 1000]:
                pipeline.xadd(STREAM, {"e": entry})
            pipeline.execute()


def _fill(count: int) -> None:
    # As long as an envelope of Tenure's.
    padding = "019b76e9ea40fd8e0cebc9fdd1e87b86" * 4
    _add([msgspec.json.encode({"n": 1, "padding": padding})] * count)


def _send(messages: list[tuple[str, str, float]]) -> None:
    _add([msgspec.json.encode({"id": id, "kind": kind, "seconds": seconds}) for id, kind, seconds in messages])


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        asyncio.run(_loop())
    else:
        work.answer(_fill, _send, lambda: _add([b"{not json", b"\xff\x00"]))
