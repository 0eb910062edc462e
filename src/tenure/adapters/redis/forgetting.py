"""Forgetting: a queue in which nothing is left is taken off the list of queues.

What was completed there is still recognised (`lua/emptied.lua`), and a message that is sent to it makes it anew: on one
server in the step that stores it. In a cluster the list lies elsewhere, so it is looked at once more afterwards, and
whoever sends notes it after sending, too. Sweeps do this with queues that were empty for an hour.
"""

from tenure.adapters.redis.script import FORGET
from tenure.adapters.redis.store import Store


async def forget(store: Store, queue: str) -> bool:
    """Take it off, unless something is in it."""
    (is_off,) = await store.run(FORGET, [queue])
    if is_off:
        store.not_known(queue)
        if store.link.is_cluster:
            await forget_in_cluster(store, queue)
    return bool(is_off)


async def forget_in_cluster(store: Store, queue: str) -> None:
    """Its own server has forgotten it; now the list. If somebody has sent meanwhile, it is put back."""
    names = store.names
    prefix = names.queue(queue)
    await store.command("SREM", names.queues, queue)
    await store.list_again({queue: -1}, asked=True)
    if await store.command_at(prefix, "HGET", f"{prefix}meta", "p") is not None:
        await store.hint([queue])
