"""Depth: how much lies in each queue. Nothing here changes anything. One by one they are shown by `browsing.py`.

The queue's own count mixes what is ready with what is leased, delayed and shown too often; so what the lives say is
taken off it. That is an estimate, and said to be one.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

from tenure.adapters.azure import wire
from tenure.adapters.azure.entry import BRIEF, Kept, Life
from tenure.adapters.azure.naming import POISON, queue_name
from tenure.adapters.azure.store import Store
from tenure.adapters.azure.where import NE
from tenure.broker import Depth
from tenure.envelope import decode
from tenure.errors import BadSetting, BodyUndecodable, StoreMissing
from tenure.message import MessageState


async def depth(store: Store, queues: Sequence[str] | None) -> list[Depth]:
    """How much lies in each of `queues`; None: in every queue where something does."""
    lives = await store.lives(NE("State", "cancelled"), only=BRIEF)
    if queues is None:
        every = sorted({kept.life.queue for kept in lives} | set(await _listed(store)))
        depths = await _depths(store, every, lives)
        return [one for one in depths if one.ready or one.delayed or one.leased or one.dead]
    return await _depths(store, queues, lives)


async def waiting(store: Store, queue: str) -> int | None:
    """About how many wait: all that the queue has, and so also what runs."""
    try:
        told = await store.call("counting", lambda: store.queue(queue).get_queue_properties())
    except StoreMissing:
        return 0
    return int(told.approximate_message_count)


async def _depths(store: Store, queues: Sequence[str], lives: Sequence[Kept]) -> list[Depth]:
    """One pass over the lives; one request for each queue, and one more if something is ready in it."""
    of: defaultdict[str, list[Life]] = defaultdict(list)
    for kept in lives:
        of[kept.life.queue].append(kept.life)
    told = await store.each([partial(_depth, store, queue, of[queue]) for queue in queues])
    for one in told:
        if isinstance(one, BaseException):
            raise one
    return [one for one in told if isinstance(one, Depth)]


async def _listed(store: Store) -> list[str]:
    """Every queue of ours, by Tenure's name."""
    prefix = f"{store.options.prefix}-" if store.options.prefix else ""

    async def act() -> list[str]:
        pages = store.clients.queue_service.list_queues(name_starts_with=prefix or None)
        return [str(queue.name) async for queue in pages]

    names = await store.call("listing the queues", act)
    return [name.removeprefix(prefix) for name in names if not name.endswith(POISON)]


async def _depth(store: Store, queue: str, of: Sequence[Life]) -> Depth:
    leased = sum(life.state is MessageState.LEASED for life in of)
    now = store.timeline.now()
    # One that is due and still said to wait may have been taken by somebody who does not know Tenure.
    delayed = sum(life.state is MessageState.DELAYED and (life.due or now) > now for life in of)
    dead = sum(life.state is MessageState.DEAD for life in of)
    try:
        queue_name(store.options.prefix, queue)
    except BadSetting:
        if not dead:
            raise
        # No queue can have that name: it was handed on, and put aside.
        return Depth(queue=queue, ready=0, delayed=0, leased=0, dead=dead, oldest_age_seconds=None, estimated=True)
    try:
        told = await store.call("counting", lambda: store.queue(queue).get_queue_properties())
        ready = max(0, int(told.approximate_message_count) - leased - delayed)
        first = await store.call("looking", lambda: store.queue(queue).peek_messages(max_messages=1)) if ready else []
    except StoreMissing:
        return Depth(queue=queue, ready=0, delayed=0, leased=0, dead=dead, oldest_age_seconds=None, estimated=True)
    return Depth(
        queue=queue, ready=ready, delayed=delayed, leased=leased, dead=dead,
        oldest_age_seconds=_age(store, first), estimated=True,
    )  # fmt: skip


def _age(store: Store, shown: Sequence[Any]) -> float | None:
    """How long the first message that the queue shows has been waiting."""
    if not shown:
        return None
    try:
        sent_at = decode(wire.read(shown[0].content).raw or b"").sent_at
    except BodyUndecodable:
        sent_at = shown[0].inserted_on.timestamp()
    return max(0.0, store.wall() - sent_at)
