"""A Redis list as a queue."""

import json

import redis
import redis.asyncio

from jobs import run

lists = redis.Redis()


def sync():
    while True:
        item = lists.blpop("jobs", timeout=5)  # expect: TQ207
        if item is None:
            continue
        _, raw = item
        run(json.loads(raw))


async def loop(client: redis.asyncio.Redis):
    while True:
        _, raw = await client.brpop("jobs")  # expect: TQ207
        try:
            await run(raw)
        except Exception:
            await client.lpush("jobs", raw)
