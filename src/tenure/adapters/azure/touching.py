"""Touching: the queue is asked to go on hiding, then the message's life gets its new deadline.

The service gives a new receipt with every touch, and the old one is dead from then on. Whose reply was lost holds a
receipt of which nobody knows; that lease is *uncertain*, not lost: the life still says whose it is. When its message is
shown again, whoever receives it hides it for its holder, and notes the receipt, with which the holder goes on.
"""

import logging
from collections.abc import Sequence
from functools import partial

import msgspec

from tenure.adapters.azure import posting
from tenure.adapters.azure.entry import Kept
from tenure.adapters.azure.holding import TRIES, holding, is_held_under
from tenure.adapters.azure.posting import Stale
from tenure.adapters.azure.store import Store
from tenure.adapters.azure.traits import clamped_lease
from tenure.envelope import log_fields
from tenure.errors import BrokerUnavailable, StoreMissing
from tenure.lease import Lease, LeaseState

logger = logging.getLogger("tenure.azure")


async def touch(store: Store, leases: Sequence[Lease]) -> list[Lease]:
    """Set each deadline to now + seconds. It never adds up, never shortens, never takes a message back."""
    async with store.shared.alone(lease.id for lease in leases):
        return await _touch(store, leases)


async def _touch(store: Store, leases: Sequence[Lease]) -> list[Lease]:
    before = store.clock.monotonic()
    found = await holding(store, leases)
    receipts = ["" if kept is None else kept.life.receipt for kept in found]
    told = await store.each([partial(_renew, store, kept, lease) for kept, lease in zip(found, leases, strict=True)])
    answers: list[Lease] = list(leases)
    states: dict[int, LeaseState] = {}
    failures: list[BaseException] = []
    for number, told_of in enumerate(told):
        if isinstance(told_of, BaseException):
            failures.append(told_of)
        # Whose the message is, its life says, whatever the queue does: it is held on to, and shown too soon perhaps.
        states[number] = LeaseState.UNCERTAIN if isinstance(told_of, BaseException) else told_of
    open_ = [number for number, kept in enumerate(found) if kept is not None]
    for _ in range(TRIES):
        if not open_:
            break
        new = [_extended(store, kept, leases[number]) for number in open_ if (kept := found[number]) is not None]
        saved = await store.save(new)
        refused = [number for number, ok in zip(open_, saved, strict=True) if not ok]
        for number, kept in zip(refused, await holding(store, [leases[n] for n in refused]), strict=True):
            renewed = found[number]
            if kept is None:
                states[number] = LeaseState.LOST
                await _undo(store, renewed)
            elif renewed is not None and renewed.life.receipt != receipts[number]:  # the queue gave it to us just now
                kept.life.receipt, kept.life.message_id = renewed.life.receipt, renewed.life.message_id
            else:
                receipts[number] = kept.life.receipt
            found[number] = kept
        open_ = [number for number in refused if found[number] is not None]
    _tell(failures, len(leases))
    for number, lease in enumerate(leases):
        until = before + clamped_lease(lease.seconds)
        is_lost = states[number] is LeaseState.LOST
        deadline = lease.deadline if is_lost else max(lease.deadline, until)
        answers[number] = msgspec.structs.replace(lease, state=states[number], deadline=deadline)
    return answers


def _tell(failures: Sequence[BaseException], asked: int) -> None:
    """If the queue takes no touch at all it is away, and that must be told; so must what does not pass by itself."""
    for failure in failures:
        if len(failures) == asked or not isinstance(failure, BrokerUnavailable):
            raise failure


async def _renew(store: Store, kept: Kept | None, lease: Lease) -> LeaseState:
    """Ask the queue to go on hiding; the receipt that it gives is in `kept` from then on."""
    if kept is None:
        return LeaseState.LOST
    life = kept.life
    seconds = clamped_lease(lease.seconds)
    if life.deadline is not None and life.deadline >= store.timeline.latest() + seconds:
        return LeaseState.HELD  # hidden for longer than that
    try:
        life.receipt = await posting.hide(store, life.queue, life.message_id, life.receipt, seconds)
    except BrokerUnavailable as error:
        if not error.outcome_unknown:
            raise
        return LeaseState.UNCERTAIN
    except Stale:
        return await _renew_anew(store, kept, lease, seconds)
    except StoreMissing as error:
        about = log_fields(life.id, lease.envelope)
        logger.warning("%s is held, but somebody removed its queue: %s", life.id, error, extra=about)
        return LeaseState.UNCERTAIN
    return LeaseState.HELD


async def _renew_anew(store: Store, kept: Kept, lease: Lease, seconds: float) -> LeaseState:
    """Our receipt is old. Perhaps somebody who was shown the message has hidden it for us, and noted the new one."""
    life, known = kept.life, await store.find(kept.life.id)
    if known is None or not is_held_under(known.life, lease):
        return LeaseState.HELD  # the life decides, in a moment
    if known.life.receipt == life.receipt:
        return LeaseState.UNCERTAIN
    # All of it, not only the receipt: somebody else may have given the lease more time, which must not be taken back.
    kept.life, kept.etag, kept.envelope, kept.checkpoint = known.life, known.etag, known.envelope, known.checkpoint
    life = known.life
    longest = max(seconds, 0.0 if life.deadline is None else life.deadline - store.timeline.latest())
    try:
        life.receipt = await posting.hide(store, life.queue, life.message_id, life.receipt, longest)
    except Stale:
        return LeaseState.UNCERTAIN
    return LeaseState.HELD


def _extended(store: Store, kept: Kept, lease: Lease) -> Kept:
    life = kept.life
    until = store.timeline.latest() + clamped_lease(lease.seconds)
    deadline = until if life.deadline is None else max(life.deadline, until)
    touched = msgspec.structs.replace(
        life,
        deadline=deadline,
        is_graced=False,
        last_beat=store.timeline.now(),
        beats=life.beats + 1,
        size=life.size if lease.size is None else lease.size,
        predicted_seconds=life.predicted_seconds if lease.predicted_seconds is None else lease.predicted_seconds,
    )
    return Kept(touched, kept.etag, kept.envelope, kept.checkpoint)


async def _undo(store: Store, kept: Kept | None) -> None:
    """The message is not ours any more, but we have hidden it: whoever waits for it need not wait."""
    if kept is None:
        return
    life = kept.life
    try:
        await posting.hide(store, life.queue, life.message_id, life.receipt, 0.0)
    except (Stale, BrokerUnavailable):
        return  # then it is shown when the time that we asked for is over
