"""Likewise async, acknowledged all at once."""

from redis.asyncio import Redis

from payments import refund

STREAMS = {"refunds": ">"}


class Refunds:
    def __init__(self, url: str):
        self.redis = Redis.from_url(url)

    async def run(self, name: str):
        while True:
            answer = await self.redis.xreadgroup(  # expect: TQ209
                groupname="refunds", consumername=name, streams=STREAMS, count=20, block=2000
            )
            done = []
            for _, entries in answer:
                for entry_id, fields in entries:
                    await refund(fields)
                    done.append(entry_id)
            if done:
                await self.redis.xack("refunds", "refunds", *done)
