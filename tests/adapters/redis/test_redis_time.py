"""The time of a queue is its server's, and goes on from where it was when the server's clock is set back."""

from typing import Any

import pytest
from redis import Redis
from tests.adapters.redis.acting import message, opened, request, until
from tests.servers.shared import shared

from tenure.broker import SweepRequest
from tenure.message import Outgoing, new_id

pytestmark = pytest.mark.real_time

_HOUR = 3600.0


async def test_a_server_clock_that_is_set_back_holds_nothing_up_and_takes_no_time_back() -> None:
    server = shared("valkey9")
    async with opened(f"{server.url}?prefix=w{new_id(0.0)}") as (broker, _):
        raw: Any = Redis(port=server.port)
        before = message()
        await broker.send([Outgoing(before, _HOUR / 2)])
        # As if all that was done until now had been done by a clock that was an hour ahead.
        meta = f"{broker._store.names.queue(before.queue)}meta"
        raw.hset(meta, "t", int(raw.hget(meta, "t")) + int(_HOUR * 1e6))
        (lease,) = await broker.lease(request())
        assert lease.id == before.id, "by the queue's time, which does not go back, it is due"
        after = message()
        await broker.send([Outgoing(after, 0.2)])
        (lease,) = await until(lambda: broker.lease(request()))
        assert lease.id == after.id


async def test_after_the_clock_was_set_back_a_delayed_message_falls_due_though_nothing_else_happens_there() -> None:
    server = shared("valkey9")
    async with opened(f"{server.url}?prefix=w{new_id(0.0)}") as (broker, _):
        raw: Any = Redis(port=server.port)
        alone = message()
        await broker.send([Outgoing(alone, _HOUR + 0.5)])
        meta = f"{broker._store.names.queue(alone.queue)}meta"
        raw.hset(meta, "t", int(raw.hget(meta, "t")) + int(_HOUR * 1e6))
        assert await broker.lease(request()) == []
        await broker.sweep(SweepRequest())
        (lease,) = await until(lambda: broker.lease(request()))
        assert lease.id == alone.id


async def test_a_sweep_writes_no_time_in_a_queue_in_which_nothing_is_leased() -> None:
    server = shared("valkey9")
    async with opened(f"{server.url}?prefix=w{new_id(0.0)}") as (broker, _):
        raw: Any = Redis(port=server.port)
        waiting = message()
        await broker.send([Outgoing(waiting)])
        meta = f"{broker._store.names.queue(waiting.queue)}meta"
        # As if the message had been sent an hour ago.
        raw.hincrby(meta, "t", -int(_HOUR * 1e6))
        before = raw.hget(meta, "t")
        await broker.sweep(SweepRequest())
        assert raw.hget(meta, "t") == before, (
            "most queues are such; a sweep of a thousand must not write a thousand times"
        )
        assert len(await broker.lease(request())) == 1
        await broker.sweep(SweepRequest())
        assert raw.hget(meta, "t") != before
