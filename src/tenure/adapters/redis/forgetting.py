"""Forgetting: removes an empty queue from the list of queues.

What was completed there is still recognised (`lua/emptied.lua`), and a message that is sent to it creates it again: on
one server in the step that stores it. In a cluster the list is on another server, so the queue is read once more
afterwards, and a sender writes the list after sending, too. Sweeps do this with queues that were empty for an hour.
"""

from tenure.adapters.redis.script import FORGET
from tenure.adapters.redis.store import RedisStore


async def forget(store: RedisStore, queue: str) -> bool:
    """Take it off, unless something is in it."""
    (is_off,) = await store.run(FORGET, [queue])
    if is_off:
        store.not_known(queue)
        if store.link.is_cluster:
            await forget_in_cluster(store, queue)
    return bool(is_off)


async def forget_in_cluster(store: RedisStore, queue: str) -> None:
    """Take a queue off the list after its own server forgot it; put it back if a message was sent meanwhile."""
    names = store.names
    prefix = names.queue(queue)
    await store.commands_at(names.common, [("SREM", key, queue) for key in (names.queues, names.announcing)])
    await store.list_again({queue: -1}, asked=True)
    if await store.command_at(prefix, "HGET", f"{prefix}meta", "p") is not None:
        await store.hint([queue])
