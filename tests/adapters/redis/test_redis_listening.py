"""The line on which a worker is told that something may be leased: it hears what it believes to hear."""

import asyncio

import pytest
from tests.adapters.redis.acting import at_last, message, opened, until
from tests.servers.shared import shared

from tenure.errors import BrokerUnavailable
from tenure.message import Outgoing, new_id

pytestmark = pytest.mark.real_time


async def test_who_waits_again_while_a_channel_is_being_left_hears_it() -> None:
    """A busy worker leaves the channel, and in the same moment it has nothing left to do."""
    queue = f"q{new_id(0.0)}"
    async with opened(shared("valkey9").url) as (broker, _):
        listener, channel = broker._store.listener, broker._store.names.wake(queue)
        await listener.subscribe([channel])
        for _ in range(3):
            listener._hear([b"message", channel.encode(), b""])
        await listener.subscribe([channel])
        waiter = listener.enter([channel])
        await broker.send([Outgoing(message(queue=queue))])
        async with asyncio.timeout(20.0):
            assert await waiter


async def test_a_line_that_ends_right_after_it_was_told_to_listen_is_not_believed_to() -> None:
    queue = f"q{new_id(0.0)}"
    async with opened(shared("valkey9").url) as (broker, _):
        listener, channel = broker._store.listener, broker._store.names.wake(queue)
        await listener.start()
        asking = asyncio.create_task(listener.subscribe([channel]))
        await asyncio.sleep(0)  # it is said, and not answered yet
        listener._hear([b"subscribe", channel.encode(), 1])
        await listener._lose(None)
        with pytest.raises(BrokerUnavailable):
            await asking
        await at_last(lambda: listener.subscribe([channel]))
        waiter = listener.enter([channel])
        await at_last(lambda: broker.send([Outgoing(message(queue=queue))]))
        async with asyncio.timeout(20.0):
            assert await waiter


async def test_a_channel_for_which_nobody_waits_is_left() -> None:
    queue = f"q{new_id(0.0)}"
    async with opened(shared("valkey9").url) as (broker, _):
        store = broker._store
        channel = store.names.wake(queue)
        await store.listener.subscribe([channel])
        for _ in range(3):
            store.listener._hear([b"message", channel.encode(), b""])

        async def nobody_listens() -> bool:
            _, count = await store.command("PUBSUB", "NUMSUB", channel)
            return bool(count == 0)

        assert await until(nobody_listens)
