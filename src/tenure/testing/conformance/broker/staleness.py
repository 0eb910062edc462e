"""The ways in which a lease goes stale, each with the outcome that a settle must then answer.

Not a suite: used by the suites that ask what a stale holder can still do (nothing).
"""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from tenure.lease import Lease
from tenure.message import MessageState
from tenure.settlement import DeadLetter, GiveBack, Nack, Outcome
from tenure.testing.harness import BROKEN, Harness


class Stale(msgspec.Struct, frozen=True):
    """A lease that may no longer change anything."""

    how: str
    lease: Lease
    outcome: Outcome


async def all_kinds(harness: Harness) -> list[Stale]:
    """One stale lease of each kind, each of another message in another queue."""
    harness.need("receipts_fence")
    return [Stale(how, *await make(harness, f"stale-{number}")) for number, (how, make) in enumerate(_KINDS.items())]


async def unchanged(harness: Harness, stale: Stale, act: Callable[[Lease], Awaitable[Any]]) -> Any:
    """Do `act` with the stale lease, and check that nothing at all came of it; what it answered."""
    before = await harness.record(stale.lease.id)
    answer = await act(stale.lease)
    after = await harness.record(stale.lease.id)
    assert after == before, f"a stale holder ({stale.how}) changed the message"
    return answer


async def _swept(harness: Harness, queue: str) -> tuple[Lease, Outcome]:
    lease = await harness.leased(harness.stranger(), queue=queue)
    assert (await harness.lapse()).returned == (lease.id,)
    return lease, Outcome.ALREADY_GONE


async def _swept_and_lent_to_another(harness: Harness, queue: str) -> tuple[Lease, Outcome]:
    lease, _ = await _swept(harness, queue)
    await _lend_on(harness, lease, harness.stranger())
    return lease, Outcome.TAKEN_OVER


async def _swept_and_lent_to_itself(harness: Harness, queue: str) -> tuple[Lease, Outcome]:
    lease, _ = await _swept(harness, queue)
    await _lend_on(harness, lease, lease.owner)
    return lease, Outcome.TAKEN_OVER


async def _swept_and_completed(harness: Harness, queue: str) -> tuple[Lease, Outcome]:
    lease, _ = await _swept(harness, queue)
    other = await _lend_on(harness, lease, harness.stranger())
    await harness.complete(other, b'"done by the other"')
    return lease, Outcome.ALREADY_GONE


async def _swept_and_cancelled(harness: Harness, queue: str) -> tuple[Lease, Outcome]:
    lease, _ = await _swept(harness, queue)
    assert await harness.broker.delete([lease.id]) == [lease.id]
    return lease, Outcome.ALREADY_GONE


async def _retired(harness: Harness, queue: str) -> tuple[Lease, Outcome]:
    owner = await harness.owner()
    lease = await harness.leased(owner, queue=queue)
    await harness.broker.retire(owner.id, crashed=True)
    return lease, Outcome.ALREADY_GONE


async def _retired_and_lent_to_another(harness: Harness, queue: str) -> tuple[Lease, Outcome]:
    lease, _ = await _retired(harness, queue)
    await _lend_on(harness, lease, harness.stranger())
    return lease, Outcome.TAKEN_OVER


async def _acked(harness: Harness, queue: str) -> tuple[Lease, Outcome]:
    lease = await harness.leased(harness.stranger(), queue=queue)
    await harness.complete(lease, b'"first"')
    return lease, Outcome.ALREADY_GONE


async def _nacked(harness: Harness, queue: str) -> tuple[Lease, Outcome]:
    lease = await harness.leased(harness.stranger(), queue=queue)
    await harness.broker.nack([Nack(lease, 3600.0, BROKEN)])
    return lease, Outcome.ALREADY_GONE


async def _given_back(harness: Harness, queue: str) -> tuple[Lease, Outcome]:
    lease = await harness.leased(harness.stranger(), queue=queue)
    await harness.broker.give_back([GiveBack(lease)])
    return lease, Outcome.ALREADY_GONE


async def _dead(harness: Harness, queue: str) -> tuple[Lease, Outcome]:
    lease = await harness.leased(harness.stranger(), queue=queue)
    await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    return lease, Outcome.ALREADY_GONE


async def _cancelled(harness: Harness, queue: str) -> tuple[Lease, Outcome]:
    lease = await harness.leased(harness.stranger(), queue=queue)
    assert await harness.broker.cancel([lease.id]) == [MessageState.LEASED]
    return lease, Outcome.ALREADY_GONE


async def _redriven_and_lent_to_itself(harness: Harness, queue: str) -> tuple[Lease, Outcome]:
    lease, _ = await _dead(harness, queue)
    assert await harness.broker.redrive([lease.id]) == [lease.id]
    await _lend_on(harness, lease, lease.owner)
    return lease, Outcome.TAKEN_OVER


async def _of_another_owner(harness: Harness, queue: str) -> tuple[Lease, Outcome]:
    lease = await harness.leased(harness.stranger(), queue=queue)
    return msgspec.structs.replace(lease, owner=harness.stranger()), Outcome.TAKEN_OVER


async def _of_an_older_fence(harness: Harness, queue: str) -> tuple[Lease, Outcome]:
    lease = await harness.leased(harness.stranger(), queue=queue)
    return msgspec.structs.replace(lease, fence=lease.fence - 1), Outcome.TAKEN_OVER


async def _lend_on(harness: Harness, lease: Lease, owner: str) -> Lease:
    """Lend the message again, for so long that no other kind's waiting ends it."""
    other = await harness.lease_one(owner, queues=(lease.queue,), seconds=harness.lease_seconds * 100)
    assert other.id == lease.id
    return other


_KINDS: dict[str, Callable[[Harness, str], Awaitable[tuple[Lease, Outcome]]]] = {
    "swept": _swept,
    "swept, lent to another": _swept_and_lent_to_another,
    "swept, lent to itself with a new fence": _swept_and_lent_to_itself,
    "swept, completed by another": _swept_and_completed,
    "swept, cancelled": _swept_and_cancelled,
    "retired": _retired,
    "retired, lent to another": _retired_and_lent_to_another,
    "acked": _acked,
    "nacked": _nacked,
    "given back": _given_back,
    "dead": _dead,
    "cancelled": _cancelled,
    "dead, redriven, lent to itself": _redriven_and_lent_to_itself,
    "another owner's": _of_another_owner,
    "an older fence": _of_an_older_fence,
}
