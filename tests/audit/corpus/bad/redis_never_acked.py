"""Reads a group's entries and leaves them all pending."""

from redis.asyncio import Redis


async def consume(client: Redis):
    while True:
        for _stream, entries in await client.xreadgroup("jobs", "w1", {"jobs": ">"}, block=5000):  # expect: TQ201
            for _entry_id, fields in entries:
                await run(fields)


async def run(fields):
    print(fields)
