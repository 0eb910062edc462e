"""Settling: ack, nack, give back, dead letter, made into the arguments of one script for each queue.

An ack takes its result, its key and its hand-offs along. Hand-offs to queues that the script cannot reach (another
slot of a cluster) are left in the acked message's slot and sent right after; after a crash the sweep sends them.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from tenure import envelope
from tenure.adapters.redis import together
from tenure.adapters.redis.naming import scope_text
from tenure.adapters.redis.outbox import HandOffOutbox
from tenure.adapters.redis.script import ACK, SETTLE
from tenure.adapters.redis.sending import entry_of
from tenure.adapters.redis.store import RedisStore, micros
from tenure.adapters.redis.topology import ScriptCall
from tenure.message import Outgoing
from tenure.record import Ending
from tenure.rules.rejections import of_size
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome

T = TypeVar("T", Ack, Nack, GiveBack, DeadLetter)

_encode = msgspec.json.Encoder().encode


async def ack(store: RedisStore, outbox: HandOffOutbox, batch: Sequence[Ack], body_limit: int) -> list[Outcome]:
    """Delete messages whose work is done."""
    outcomes: list[Outcome] = [Outcome.UNKNOWN] * len(batch)
    handoffs = {handoff.message.queue for entry in batch if entry.handoffs for handoff in entry.handoffs}
    if handoffs:
        await store.make_known(handoffs)
        await store.make_announcing(handoff.message for entry in batch for handoff in entry.handoffs)
    calls, orders, sizes, plain = (
        list[ScriptCall](),
        list[list[int]](),
        list[int](),
        list[tuple[together.CommandPart, list[int]]](),
    )
    for queue, places in _by_queue(batch).items():
        queues, arguments, order = _ack_arguments(store, queue, batch, places, body_limit)
        if handoffs and any(batch[place].handoffs for place in places):
            calls.append(store.call(ACK, queues, [1, len(arguments), *arguments]))
            orders.append(order)
            sizes.append(1)
        else:
            plain.append((together.CommandPart(queue, arguments), order))
    for some in together.groups(store, plain, lambda one: len(one[1])):
        calls.append(together.call(store, ACK, (len(some),), [part for part, _ in some]))
        orders += [order for _, order in some]
        sizes.append(len(some))
    deleted = Outcome.DELETED
    for order, answer in zip(orders, await together.run(store, calls, sizes), strict=True):
        if isinstance(answer, int):
            for place in order:
                outcomes[place] = deleted
            continue
        for place, told in zip(order, answer, strict=True):
            outcomes[place] = _STALE[told] or deleted
    if handoffs and store.link.is_cluster:
        await store.hint(handoffs)
        await outbox.empty([entry for entry in batch if entry.handoffs])
    return outcomes


def _ack_arguments(
    store: RedisStore, queue: str, batch: Sequence[Ack], places: list[int], body_limit: int
) -> tuple[list[str], list[Any], list[int]]:
    """The queues that the script needs, its arguments, and the order of its answers."""
    loans: dict[tuple[int, str], list[int]] = {}
    for place in places:
        lease = batch[place].lease
        loans.setdefault((lease.fence, lease.owner), []).append(place)
    queues, order = [queue], list[int]()
    arguments: list[Any] = []
    claims: list[Any] = []
    given: list[Any] = []
    for (fence, owner), members in loans.items():
        arguments += (fence, owner, len(members))
        for number, place in enumerate(members, len(order) + 1):
            entry = batch[place]
            arguments += (entry.lease.id, entry.result)
            if entry.handoffs:
                given += _handoff_arguments(store, entry.handoffs, queues, number, body_limit)
            if entry.is_duplicate:
                given += (number, -1, "")
            if entry.claim is not None:
                claims += (number, scope_text(entry.claim.scope), entry.claim.fence)
        order += members
    return queues, [f"{len(loans)}/{len(claims) // 3}", *claims, *arguments, *given], order


def _handoff_arguments(
    store: RedisStore, handoffs: Sequence[Outgoing], queues: list[str], number: int, body_limit: int
) -> list[Any]:
    wall = store.clock.wall()
    arguments: list[Any] = []
    if store.link.is_cluster:
        far = [handoff for handoff in handoffs if handoff.message.queue != queues[0]]
        if far:
            arguments += (number, 0, _encode(far))
        handoffs = [handoff for handoff in handoffs if handoff.message.queue == queues[0]]
    by_queue: dict[str, list[Any]] = {}
    for handoff in handoffs:
        raw = envelope.encode(handoff.message)
        refusal = of_size(handoff.message, len(raw), body_limit)
        by_queue.setdefault(handoff.message.queue, []).append(entry_of(handoff, raw, wall, refusal))
    for queue, entries in by_queue.items():
        if queue not in queues:
            queues.append(queue)
        arguments += (number, queues.index(queue) + 1, len(entries), *[value for entry in entries for value in entry])
    return arguments


async def nack(store: RedisStore, batch: Sequence[Nack]) -> list[Outcome]:
    """Return messages whose attempt failed. One attempt is used."""

    def failed(entry: Nack) -> tuple[Any, ...]:
        ending = Ending(store.clock.wall(), "failed", entry.lease.owner, entry.reason)
        return (max(0, micros(entry.delay_seconds)), 1, _encode(entry.reason), _encode(ending))

    return await _settle(store, batch, "back", failed, Outcome.RETURNED)


async def give_back(store: RedisStore, batch: Sequence[GiveBack]) -> list[Outcome]:
    """Return messages that were not run. No attempt is used."""

    def unused(entry: GiveBack) -> tuple[Any, ...]:
        delay = max(0, micros(entry.delay_seconds))
        if entry.reason is None:
            return (delay, 0, "", "")
        ending = Ending(store.clock.wall(), "given_back", entry.lease.owner, entry.reason)
        return (delay, 0, _encode(entry.reason), _encode(ending))

    return await _settle(store, batch, "back", unused, Outcome.RETURNED)


async def dead_letter(store: RedisStore, batch: Sequence[DeadLetter]) -> list[Outcome]:
    """Put aside, raw bytes and all."""

    def dead(entry: DeadLetter) -> tuple[Any, ...]:
        ending = Ending(store.clock.wall(), "dead", entry.lease.owner, entry.reason)
        return (0, int(entry.counted), _encode(entry.reason), _encode(ending))

    return await _settle(store, batch, "dead", dead, Outcome.DEAD)


async def _settle(
    store: RedisStore, batch: Sequence[T], how: str, rest: Callable[[T], tuple[Any, ...]], outcome: Outcome
) -> list[Outcome]:
    outcomes: list[Outcome] = [Outcome.UNKNOWN] * len(batch)
    groups = _by_queue(batch)
    parts = [
        together.CommandPart(queue, [value for place in places for value in _arguments(how, batch[place], rest)])
        for queue, places in groups.items()
    ]
    runs = list(together.groups(store, parts, lambda part: len(groups[part.queue])))
    calls = [together.call(store, SETTLE, (), some) for some in runs]
    told = await together.run(store, calls, [len(some) for some in runs])
    for places, answers in zip(groups.values(), told, strict=True):
        for place, answer in zip(places, answers, strict=True):
            outcomes[place] = _STALE[answer] or outcome
    if how == "back":
        await store.hint(groups)
    return outcomes


def _arguments(how: str, entry: T, rest: Callable[[T], tuple[Any, ...]]) -> tuple[Any, ...]:
    lease = entry.lease
    return (how, lease.id, lease.fence, lease.owner, *rest(entry))


def _by_queue(batch: Sequence[T]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for place, entry in enumerate(batch):
        groups.setdefault(entry.lease.queue, []).append(place)
    return groups


#: What a script answers for each entry.
_STALE = {1: None, 2: Outcome.TAKEN_OVER, 3: Outcome.ALREADY_GONE}
