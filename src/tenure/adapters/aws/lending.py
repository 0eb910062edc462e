"""Lending: copies are received, and each is met with what the state says of its message.

    free                  it is lent: owner, fence, deadline and claim in one compare-and-set
    done, by the ledger   it is lent too: whoever claims is told so, sends what was handed on, and deletes it
    held by somebody      the copy is hidden until that lease could have ended; a second copy of it is deleted
    not due yet           the copy is hidden until then: a hop, which counts nothing
    finished              the copy is deleted
    held, but overdue     as a sweep would, and then it is free

Before: `sending.py`, or a return. After: `holding.py`, and `settling.py`, or `returning.py` if the holder does not come
back.
"""

import asyncio
import contextlib
import math
from collections.abc import Coroutine
from typing import Any, TypeVar, cast

import msgspec

from tenure import envelope
from tenure.adapters.aws import faults, lots, returning, wire
from tenure.adapters.aws.copy import Copy, Receipt, Spot
from tenure.adapters.aws.desk import ENTRY, Change, attribute_rows, body_rows, entry_place
from tenure.adapters.aws.entry import RUNNING, UNSENT, Claim, Entry
from tenure.adapters.aws.queues import BATCH, MAX_HIDE
from tenure.adapters.aws.receipt import receipt_of
from tenure.adapters.aws.store import Store
from tenure.adapters.aws.traits import MAX_LEASE, MIN_LEASE, SLACK
from tenure.claim import digest
from tenure.errors import BodyUndecodable, BrokerUnavailable
from tenure.lease import Lease, LeaseRequest
from tenure.message import Message, MessageState

T = TypeVar("T")

#: What is due within this is due.
_EARLY = 1e-3
#: Over so many messages of a queue, one comes from a lower priority while higher ones wait.
_FAIRNESS = 10
#: If none of the copies that came could be lent, others may lie behind them; so often.
_ROUNDS = 5


class Seen(msgspec.Struct, frozen=True):
    """A copy, and what it says."""

    copy: Copy
    id: str
    #: Its envelope, whatever form it lies there in.
    raw: bytes
    #: None: it cannot be read.
    message: Message | None

    @classmethod
    def of(cls, copy: Copy) -> "Seen":
        """Read a copy. The id of a stranger's is made of SQS's own."""
        raw = wire.unpack(copy.body, copy.head)
        try:
            message = envelope.decode(raw)
        except BodyUndecodable:
            return cls(copy, copy.id or f"sqs-{copy.sqs_id}", raw, None)
        return cls(copy, copy.id or message.id, raw, message)


class Met(msgspec.Struct, frozen=True):
    """What came of one copy."""

    lease: Lease | None = None
    is_sealed: bool = False
    #: Hide the copy for so many seconds.
    hide: float | None = None
    #: Delete the copy.
    drop: bool = False
    #: It is held, but overdue.
    lapsed: bool = False
    #: It died in a sweep, which had no body to keep: its place on the shelf.
    bury: int = 0


async def lease(store: Store, request: LeaseRequest) -> list[Lease]:
    """Lend up to `want`."""
    want = min(request.want, BATCH)
    visibility = math.ceil(clamped(store, request.seconds) + SLACK)
    store.stash.want, store.stash.visibility = want, visibility
    copies: list[Copy] = []
    leases: list[Lease] = []
    try:
        for _ in range(_ROUNDS):
            copies = await _receive(store, request, want, visibility)
            leases = await _lend_all(store, request, copies) if copies else []
            if leases or not copies:
                break
        # Last: whoever bans first writes the ban and then looks what is held, so one of the two sees the other.
        if await store.roster.banned([request.owner]):
            await returning.return_all(store, request.owner, leases)
            raise faults.retired(request.owner)
    except BrokerUnavailable as error:
        if error.outcome_unknown or not copies:
            raise
        # The call that failed did nothing, but those before it may have lent something: `held` tells.
        raise BrokerUnavailable(f"{error}; some may have been lent before", outcome_unknown=True) from error
    return leases


async def _lend_all(store: Store, request: LeaseRequest, copies: list[Copy]) -> list[Lease]:
    """Meet copies with the state; what is lent of them."""
    copies, behind = _heads_of_groups(copies)
    seen = [Seen.of(copy) for copy in copies]
    noted = lots.note(store, request, [one.id for one in seen], _shortest(store, request, seen))
    store.lent.offer(request.request_id, {one.id: one for one in seen})
    met = await _both(_meet(store, request, seen), noted)
    leases = [one.lease for one in met if one.lease is not None]
    store.lent.add(leases, request.request_id, frozenset(one.lease.id for one in met if one.lease and one.is_sealed))
    store.lent.withdraw(request.request_id)
    for one_seen, one in zip(seen, met, strict=True):
        if one.lease is not None and one_seen.message is None and one_seen.copy.attributes:
            store.lent.note(one.lease.id, one_seen.copy.attributes)
    await _finish(store, seen, met, behind)
    return leases


async def _both(act: Coroutine[Any, Any, T], beside: Coroutine[Any, Any, None]) -> T:
    """What `act` answers, when both have ended: whoever is told of an error must not meet the other one at work."""
    answer, other = await asyncio.gather(act, beside, return_exceptions=True)
    for one in (answer, other):
        if isinstance(one, BaseException):
            raise one
    return cast("T", answer)


def _shortest(store: Store, request: LeaseRequest, seen: list[Seen]) -> float:
    """No lease that may come of these is shorter."""
    own = [one.message.overrides.lease_seconds for one in seen if one.message is not None]
    asked = [request.seconds, *request.seconds_by_task.values(), *(seconds for seconds in own if seconds is not None)]
    return clamped(store, min(asked))


async def _receive(store: Store, request: LeaseRequest, want: int, visibility: int) -> list[Copy]:
    copies: list[Copy] = []
    store.rotation += 1
    start = store.rotation % len(request.queues) if request.queues else 0
    queues = request.queues[start:] + request.queues[:start]
    is_alone = len(queues) == 1 and len(store.queues.spots(queues[0])) == 1
    for spot in (spot for queue in queues for spot in _in_turn(store, queue)):
        copies += store.stash.take(spot)
        if len(copies) < want and not store.stash.is_polled(spot):
            wait = store.stash.glance_seconds if is_alone and not copies else 0.0
            try:
                copies += await store.queues.receive(spot, want - len(copies), visibility, wait)
            except BrokerUnavailable:
                if not copies:
                    raise
                return copies  # what came before is not to wait for the end of this trouble
        if len(copies) >= want:
            surplus = [Receipt(copy.spot, copy.receipt) for copy in copies[want:]]
            with contextlib.suppress(BrokerUnavailable):  # they come back by themselves
                await store.queues.hide(surplus)
            return copies[:want]
    return copies


def _in_turn(store: Store, queue: str) -> list[Spot]:
    """The physical queues, the highest first; every so often a lower one is, so that it does not starve."""
    spots = store.queues.spots(queue)
    if len(spots) == 1:
        return spots
    turn = store.turns[queue] = store.turns.get(queue, 0) + 1
    if turn % _FAIRNESS:
        return spots
    lower = spots[1:]
    at = turn // _FAIRNESS % len(lower)
    return [*lower[at:], *lower[:at], spots[0]]


def _heads_of_groups(copies: list[Copy]) -> tuple[list[Copy], list[Copy]]:
    """Of each FIFO group the first, which must end before the next may begin; and those behind."""
    heads, behind, seen = list[Copy](), list[Copy](), set[tuple[Spot, str]]()
    for copy in copies:
        group = (copy.spot, copy.group or "")
        (behind if copy.group and group in seen else heads).append(copy)
        seen.add(group)
    return heads, behind


async def _meet(store: Store, request: LeaseRequest, seen: list[Seen]) -> list[Met]:
    met = await _decide_all(store, request, seen)
    lapsed = [number for number, one in enumerate(met) if one.lapsed]
    if lapsed:
        again = [seen[number] for number in lapsed]
        await returning.return_met(store, [one.id for one in again])
        for number, one in zip(lapsed, await _decide_all(store, request, again), strict=True):
            # Still overdue: everybody is given a window after an outage.
            met[number] = Met(hide=SLACK) if one.lapsed else one
    return met


async def _decide_all(store: Store, request: LeaseRequest, seen: list[Seen]) -> list[Met]:
    before = store.clock.monotonic()

    def decide(number: int, entry: Entry | None) -> Change[Met]:
        return _decide(store, request, seen[number], entry, before)

    return await store.desk.change(ENTRY, [entry_place(one.id) for one in seen], decide)


def _decide(  # noqa: C901, PLR0911 - a table of them
    store: Store, request: LeaseRequest, seen: Seen, entry: Entry | None, before: float
) -> Change[Met]:
    now = store.desk.now()
    copy, message = seen.copy, seen.message
    if entry is None or entry.state == UNSENT:
        entry = _unknown(store, copy, message, entry)
    carried = 0 if message is None else message.generation
    if message is not None and carried < entry.carried:
        return Change(Met(drop=True))  # a copy from before its redrive
    if entry.is_sealed and entry.state not in (MessageState.DEAD, MessageState.CANCELLED):
        if entry.state == MessageState.LEASED and entry.deadline >= now:
            return Change(Met(hide=entry.deadline - now + SLACK))  # its holder is about to delete it
        return Change(Met(lease_of(seen, entry, request.owner, before), is_sealed=True))
    if entry.state == MessageState.DEAD and not entry.pages:
        return Change(Met(bury=entry.shelf))
    if entry.is_finished:
        return Change(Met(drop=True))
    if entry.state == MessageState.LEASED:
        if (entry.owner, entry.request, entry.receipt) == (request.owner, request.request_id, copy.receipt):
            # By this very call: its write got no answer, and arrived after it was looked for.
            return Change(Met(lease_of(seen, entry, request.owner, before)))
        if entry.deadline < now:
            return Change(Met(lapsed=True))
        if entry.copy not in ("", copy.sqs_id):
            return Change(Met(drop=True))
        return Change(Met(hide=entry.deadline - now + SLACK))
    if entry.state == MessageState.DELAYED and entry.due > now + _EARLY:
        return Change(Met(hide=min(entry.due - now, MAX_HIDE - SLACK)))
    _lend(store, request, seen, entry, now)
    return Change(Met(lease_of(seen, entry, request.owner, before)), entry)


def _lend(store: Store, request: LeaseRequest, seen: Seen, entry: Entry, now: float) -> None:
    copy = seen.copy
    seconds = entry.lease_seconds
    if seconds is None:
        seconds = request.seconds_by_task.get(entry.task, request.seconds)
    entry.state, entry.owner, entry.request = MessageState.LEASED, request.owner, request.request_id
    entry.seconds = clamped(store, seconds)
    entry.deadline, entry.hold_until = now + entry.seconds, now + store.options.hold_seconds
    entry.receipt, entry.copy, entry.due = copy.receipt, copy.sqs_id, 0.0
    entry.level, entry.wire = copy.spot.level, wire.PLAIN if copy.head else ""
    entry.group = (copy.group or "") if seen.message is None else ""
    entry.fence = store.desk.next_fence(entry.highest)
    entry.deliveries += 1
    if entry.is_redriving:  # and here it is
        entry.reason = entry.finished_at = None
    if entry.key is None:
        entry.claim = Claim("", state=RUNNING, owner=request.owner, until=entry.deadline, fence=entry.fence)


def lease_of(seen: Seen, entry: Entry, owner: str, before: float) -> Lease:
    """The lease as its holder gets it; `before` is when it was asked for (monotonic)."""
    seconds = entry.seconds or MIN_LEASE
    message, raw, copy = seen.message, seen.raw, seen.copy
    beside: dict[str, Any] = {}
    if message is None:
        texts = {name: one.value for name, one in copy.attributes.items()}
        beside = {"attributes": texts, "sent_at": copy.sent_at, "generation": entry.generation}
    if message is not None and message.generation < entry.generation:  # it was redriven where it lay
        raw = envelope.encode(msgspec.structs.replace(message, generation=entry.generation))
    return Lease(
        id=seen.id, queue=copy.spot.queue, envelope=raw, owner=owner, fence=entry.fence,
        receipt=receipt_of(entry.level, copy.receipt), seconds=seconds, deadline=before + seconds,
        counters=entry.counters, **beside,
    )  # fmt: skip


def _unknown(store: Store, copy: Copy, message: Message | None, known: Entry | None) -> Entry:
    """An entry for a message of which the state knows nothing: a stranger's, or one that was forgotten."""
    entry = (
        Entry(queue=copy.spot.queue, state=MessageState.READY, sent_at=copy.sent_at or store.clock.wall())
        if known is None
        else known
    )
    entry.state = MessageState.READY
    if message is not None:
        describe(entry, message)
    return entry


def describe(entry: Entry, message: Message) -> None:
    """What is needed of a message without its body at hand."""
    entry.task, entry.sent_at = message.task, message.sent_at
    entry.generation = entry.carried = message.generation
    entry.key = None if message.key is None else f"key:{message.key}"
    entry.digest = "" if message.key is None else digest(message)
    entry.lease_seconds, entry.max_attempts = message.overrides.lease_seconds, message.overrides.max_attempts


async def _finish(store: Store, seen: list[Seen], met: list[Met], behind: list[Copy]) -> None:
    """Tell the queue what was decided."""
    drops, hides = [], [Receipt(copy.spot, copy.receipt) for copy in behind]
    for one_seen, one in zip(seen, met, strict=True):
        copy = one_seen.copy
        is_over = await _bury(store, one_seen, one.bury) if one.bury else one.drop
        if is_over:
            drops.append(Receipt(copy.spot, copy.receipt))
        elif one.bury:
            hides.append(Receipt(copy.spot, copy.receipt))
        elif one.hide is not None:
            hides.append(Receipt(copy.spot, copy.receipt, one.hide))
        elif one.lease is not None and one.lease.deadline + SLACK / 2 > copy.hidden_until:
            hides.append(Receipt(copy.spot, copy.receipt, one.lease.seconds + SLACK))
    await asyncio.gather(store.queues.delete(drops), store.queues.hide(hides))


async def _bury(store: Store, seen: Seen, place: int) -> bool:
    """Keep the body of one that died in a sweep. False: it was redriven meanwhile, and this copy is all there is."""
    pages = await store.desk.keep_body(seen.id, seen.raw.decode(), body_rows(place))
    beside = "" if seen.message is not None else wire.dumped(seen.copy.attributes)
    attribute_pages = await store.desk.keep_body(seen.id, beside, attribute_rows(place)) if beside else 0

    def decide(entry: Entry | None) -> Change[bool]:
        if entry is None or entry.shelf != place or entry.pages:
            return Change(entry is not None and entry.is_finished and bool(entry.pages))
        if entry.state != MessageState.DEAD:
            return Change(entry.is_finished)
        entry.pages, entry.attribute_pages = pages, attribute_pages
        return Change(answer=True, to=entry)

    return await store.desk.change_one(ENTRY, entry_place(seen.id), decide)


def clamped(store: Store, seconds: float) -> float:
    """As long as a lease may be."""
    return min(max(seconds, MIN_LEASE), MAX_LEASE, store.options.hold_seconds)
