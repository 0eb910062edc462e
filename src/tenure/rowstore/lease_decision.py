"""What becomes of a copy that was received, by what the row of its message says.

    free                  it is lent: owner, fence, deadline and claim in one compare-and-set
    done, by the ledger   it is lent too: whoever claims is told so, sends what was handed on, and deletes it
    held by somebody      the copy is hidden until that lease could have ended; a second copy of it is deleted
    not due yet           the copy is hidden until then: a hop, which counts nothing
    finished              the copy is deleted
    held, but overdue     as a sweep would, and then it is free

Decided here and written to the entry; what the queue is told comes after. Before: `receiving.py`. After: `lending.py`.
"""

import msgspec

from tenure.delivery_queue import ReceivedCopy
from tenure.lease import Lease, LeaseRequest
from tenure.message import Message, MessageState
from tenure.rowstore import returning, wire
from tenure.rowstore.entry import RUNNING, UNSENT, Claim, Entry
from tenure.rowstore.row_changes import ENTRY, Change, entry_place
from tenure.rowstore.seen_copy import SeenCopy, lease_of
from tenure.rowstore.sending import sent_row
from tenure.rowstore.store import Store
from tenure.rowstore.traits import SLACK
from tenure.table import Write

#: What is due within this is due.
_EARLY = 1e-3
#: For less than this a hop writes nothing.
_LONG_SECONDS = 60.0


class Decision(msgspec.Struct, frozen=True):
    """What came of one copy."""

    lease: Lease | None = None
    is_sealed: bool = False
    #: Hide the copy for so many seconds.
    hide: float | None = None
    #: Delete the copy.
    drop: bool = False
    #: It is held, but overdue.
    lapsed: bool = False
    #: It died in a sweep, which had no body to keep: its place in the index of dead letters.
    bury: int = 0


async def decide_all(
    store: Store, request: LeaseRequest, seen: list[SeenCopy], beside: list[Write] | None = None
) -> list[Decision]:
    """Decide for each copy, by its entry. What is overdue is returned first, as a sweep would.

    `beside` goes out with what is written first (`RowChanges.change`).
    """
    decided = await _decide_all(store, request, seen, beside)
    lapsed = [number for number, one in enumerate(decided) if one.lapsed]
    if lapsed:
        again = [seen[number] for number in lapsed]
        await returning.return_met(store, [one.id for one in again])
        for number, one in zip(lapsed, await _decide_all(store, request, again, beside), strict=True):
            # Still overdue: everybody is given a window after an outage.
            decided[number] = Decision(hide=SLACK) if one.lapsed else one
    return decided


async def _decide_all(
    store: Store, request: LeaseRequest, seen: list[SeenCopy], beside: list[Write] | None
) -> list[Decision]:
    before = store.clock.monotonic()

    def decide(number: int, entry: Entry | None) -> Change[Decision]:
        return _decide(store, request, seen[number], entry, before)

    sent = [sent_row(store, one.copy, one.message) for one in seen]
    guesses = {row.place: row for row in sent if row is not None}
    places = [entry_place(one.id) for one in seen]
    return await store.rows.change(ENTRY, places, decide, guesses=guesses, beside=beside)


def _decide(  # noqa: C901, PLR0911 - a table of them
    store: Store, request: LeaseRequest, seen: SeenCopy, entry: Entry | None, before: float
) -> Change[Decision]:
    now = store.rows.now()
    copy, message = seen.copy, seen.message
    if entry is None or entry.state == UNSENT:
        entry = _unknown(store, copy, message, entry)
    carried = 0 if message is None else message.generation
    if message is not None and carried < entry.carried:
        return Change(Decision(drop=True))  # a copy from before its redrive
    if entry.is_sealed and entry.state not in (MessageState.DEAD, MessageState.CANCELLED):
        if entry.state == MessageState.LEASED and entry.deadline >= store.rows.earliest():
            return Change(Decision(hide=entry.deadline - now + SLACK))  # its holder is about to delete it
        return Change(Decision(lease_of(seen, entry, request.owner, before), is_sealed=True))
    if entry.state == MessageState.DEAD and not entry.pages:
        return Change(Decision(bury=entry.shelf))
    if entry.is_finished:
        return Change(Decision(drop=True))
    if entry.state == MessageState.LEASED:
        if (entry.owner, entry.request, entry.receipt) == (request.owner, request.request_id, copy.receipt):
            # By this very call: its write got no answer, and arrived after it was looked for.
            return Change(Decision(lease_of(seen, entry, request.owner, before)))
        if entry.deadline < store.rows.earliest():
            return Change(Decision(lapsed=True))
        if entry.copy not in ("", copy.copy_id):
            return Change(Decision(drop=True))
        return Change(Decision(hide=entry.deadline - now + SLACK))
    if entry.state == MessageState.DELAYED and entry.due > now + _EARLY:
        return _hop(store, seen, entry, entry.due - now)
    _lend(store, request, seen, entry, now)
    return Change(Decision(lease_of(seen, entry, request.owner, before)), entry)


def _hop(store: Store, seen: SeenCopy, entry: Entry, left: float) -> Change[Decision]:
    """Hide the copy until its message is due. A receipt that will be good for long is kept for a promotion."""
    decision = Decision(hide=min(left, store.queue.traits.max_hidden_seconds - SLACK))
    if left < _LONG_SECONDS:
        return Change(decision)
    entry.receipt, entry.body, entry.head = seen.copy.receipt, "", ""
    return Change(decision, entry)


def _lend(store: Store, request: LeaseRequest, seen: SeenCopy, entry: Entry, now: float) -> None:
    copy = seen.copy
    seconds = entry.lease_seconds
    if seconds is None:
        seconds = request.seconds_by_task.get(entry.task, request.seconds)
    entry.state, entry.owner, entry.request = MessageState.LEASED, request.owner, request.request_id
    entry.lacks_presence = not request.has_presence
    entry.seconds = store.clamped(seconds)
    entry.deadline, entry.hold_until = store.rows.latest() + entry.seconds, now + store.hold_seconds
    entry.receipt, entry.copy, entry.due = copy.receipt, copy.copy_id, 0.0
    entry.body = entry.head = ""
    entry.forget_beats()
    entry.level, entry.wire = copy.physical.level, wire.PLAIN if copy.head else ""
    entry.group = (copy.group or "") if seen.message is None else ""
    entry.fence = store.rows.next_fence(entry.highest)
    entry.deliveries += 1
    if entry.is_redriving:  # and here it is
        entry.reason = entry.finished_at = None
    if entry.key is None:
        entry.claim = Claim("", state=RUNNING, owner=request.owner, until=entry.deadline, fence=entry.fence)


def _unknown(store: Store, copy: ReceivedCopy, message: Message | None, known: Entry | None) -> Entry:
    """An entry for a message of which the state knows nothing: a stranger's, or one that was forgotten."""
    entry = (
        Entry(queue=copy.physical.queue, state=MessageState.READY, sent_at=copy.sent_at or store.clock.wall())
        if known is None
        else known
    )
    entry.state = MessageState.READY
    if message is not None:
        entry.describe(message)
    return entry
