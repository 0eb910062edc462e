"""A group of consumers: waits, works, acknowledges."""

import logging

import redis.asyncio as redis

from mailing import deliver

logger = logging.getLogger(__name__)


async def consume():
    client = redis.from_url("redis://localhost")
    while True:
        for stream, entries in await client.xreadgroup("mails", "w1", {"mails": ">"}, count=10, block=5000):
            for entry_id, fields in entries:
                try:
                    await deliver(fields)
                except Exception:
                    logger.exception("stays pending")
                    continue
                await client.xack(stream, "mails", entry_id)


async def take_over(client: redis.Redis):
    _cursor, entries, _gone = await client.xautoclaim("mails", "mails", "w1", min_idle_time=600_000, count=100)
    for entry_id, fields in entries:
        await deliver(fields)
        await client.xack("mails", "mails", entry_id)


async def fire_and_forget(client: redis.Redis, show):
    while True:
        for _stream, entries in await client.xreadgroup("mails", "w2", {"mails": ">"}, noack=True, block=5000):
            for _entry_id, fields in entries:
                await show(fields)


def positional(client, group, stream):
    while True:
        for _stream, entries in client.xreadgroup(group, "w3", {stream: ">"}, 10, 5000):
            for entry_id, fields in entries:
                deliver(fields)
                client.xack(stream, group, entry_id)
