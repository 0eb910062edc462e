"""The time of a queue is its server's, and goes on from where it was when the server's clock is set back."""

from typing import Any

import pytest
from redis import Redis
from tests.adapters.redis.acting import message, opened, request, until
from tests.servers.shared import shared

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
