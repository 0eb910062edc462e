"""Looking: browse and depth. Nothing here changes anything.

The queue's own count mixes what is ready with what is leased, delayed and shown too often; so what the lives say is
taken off it. That is an estimate, and said to be one.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from tenure.adapters.azure import wire
from tenure.adapters.azure.entry import BRIEF, Kept, Letter, read_letter, read_life
from tenure.adapters.azure.naming import POISON, queue_name
from tenure.adapters.azure.store import Store
from tenure.adapters.azure.where import EQ, IS_NOT, NE
from tenure.broker import Browsed, Depth
from tenure.envelope import decode
from tenure.errors import BodyUndecodable, StoreMissing
from tenure.message import NO_COUNTERS, MessageState


async def browse(store: Store, queue: str, state: MessageState, *, limit: int, after: int) -> list[Browsed]:
    """A page of the messages of one queue in one state, in the order of arrival, after the place `after`."""
    lives, letters = await _everything(store, queue)
    found: list[tuple[int, Kept | None, Letter | None]] = []
    for id, letter in letters.items():
        if id not in lives and state is MessageState.READY and not letter.is_ended:
            found.append((letter.place, None, letter))
    for id, kept in lives.items():
        if kept.life.state is state:
            known = letters.get(id)
            found.append((kept.life.place if known is None else known.place, kept, known))
    page = sorted((one for one in found if one[0] > after), key=lambda one: one[0])[:limit]
    return [_browsed(store, queue, place, kept, letter) for place, kept, letter in page]


async def _everything(store: Store, queue: str) -> tuple[dict[str, Kept], dict[str, Letter]]:
    lives: dict[str, Kept] = {}
    letters: dict[str, Letter] = {}
    for part in store.parts:
        for row in await store.rows.scan(part, "m:", EQ("Queue", queue)):
            kept = read_life(row)
            lives[kept.life.id] = kept
        for row in await store.rows.scan(part, "s:", EQ("Queue", queue) & IS_NOT("IsEnded")):
            letter = read_letter(row)
            letters[letter.id] = letter
    return lives, letters


def _browsed(store: Store, queue: str, place: int, kept: Kept | None, letter: Letter | None) -> Browsed:
    now = store.timeline.now()
    sent = b"" if letter is None else letter.envelope
    if kept is None:
        id = "" if letter is None else letter.id
        return Browsed(id=id, queue=queue, state=MessageState.READY, envelope=sent, counters=NO_COUNTERS, cursor=place)
    life = kept.life
    return Browsed(
        id=life.id,
        queue=queue,
        state=life.state,
        envelope=sent if kept.envelope is None else kept.envelope,
        counters=life.counters,
        cursor=place,
        owner=life.owner,
        fence=life.fence if life.owner else None,
        deadline_in=None if life.deadline is None else life.deadline - now,
        due_in=life.due - now if life.state is MessageState.DELAYED and life.due is not None else None,
        reason=life.reason,
        finished_at=life.finished_at,
    )


async def depth(store: Store, queues: Sequence[str] | None) -> list[Depth]:
    """How much lies in each of `queues`; None: in every queue where something does."""
    lives = await store.lives(NE("State", "cancelled"), only=BRIEF)
    if queues is None:
        every = sorted({kept.life.queue for kept in lives} | set(await _listed(store)))
        depths = await asyncio.gather(*(_depth(store, queue, lives) for queue in every))
        return [one for one in depths if one.ready or one.delayed or one.leased or one.dead]
    return list(await asyncio.gather(*(_depth(store, queue, lives) for queue in queues)))


async def _listed(store: Store) -> list[str]:
    """Every queue of ours, by Tenure's name."""
    prefix = f"{store.options.prefix}-" if store.options.prefix else ""

    async def act() -> list[str]:
        pages = store.clients.queue_service.list_queues(name_starts_with=prefix or None)
        return [str(queue.name) async for queue in pages]

    names = await store.call("listing the queues", act)
    return [name.removeprefix(prefix) for name in names if not name.endswith(POISON)]


async def _depth(store: Store, queue: str, lives: Sequence[Kept]) -> Depth:
    of = [kept.life for kept in lives if kept.life.queue == queue]
    leased = sum(life.state is MessageState.LEASED for life in of)
    now = store.timeline.now()
    # One that is due and still said to wait may have been taken by somebody who does not know Tenure.
    delayed = sum(life.state is MessageState.DELAYED and (life.due or now) > now for life in of)
    dead = sum(life.state is MessageState.DEAD for life in of)
    queue_name(store.options.prefix, queue)
    try:
        told, first = await asyncio.gather(
            store.call("counting", lambda: store.queue(queue).get_queue_properties()),
            store.call("looking", lambda: store.queue(queue).peek_messages(max_messages=1)),
        )
    except StoreMissing:
        return Depth(queue=queue, ready=0, delayed=0, leased=0, dead=dead, oldest_age_seconds=None, estimated=True)
    ready = max(0, int(told.approximate_message_count) - leased - delayed)
    return Depth(
        queue=queue, ready=ready, delayed=delayed, leased=leased, dead=dead,
        oldest_age_seconds=_age(store, first) if ready else None, estimated=True,
    )  # fmt: skip


def _age(store: Store, shown: Sequence[Any]) -> float | None:
    """How long the first message that the queue shows has been waiting."""
    if not shown:
        return None
    try:
        sent_at = decode(wire.read(shown[0].content).raw or b"").sent_at
    except BodyUndecodable:
        sent_at = shown[0].inserted_on.timestamp()
    return max(0.0, store.clock.wall() - sent_at)
