"""Holding: a touch moves the deadline, and `held` tells what an owner holds.

A touch matches owner and fence, so it can never take a message back from a new owner.
Run by `writer.py` (touch) and `reader.py` (held).
"""

from collections.abc import Sequence

from tenure.adapters.sqlite import edited
from tenure.adapters.sqlite.receipt import STAND, find, receipt_for, rows_of
from tenure.adapters.sqlite.states import GRACED, LEASED
from tenure.adapters.sqlite.timeline import micros, seconds
from tenure.adapters.sqlite.transaction import Transaction, View
from tenure.lease import Lease
from tenure.message import Counters

_TOUCH = f"UPDATE message SET moment = max(coalesce(moment, 0), ?), extras = extras & ~{GRACED} WHERE {STAND}"
_HELD = f"""
SELECT message.id, queue, envelope, fence, seq, seconds, moment, deliveries, attempts, crashes, lost
FROM message INDEXED BY message_leased JOIN loan USING (fence)
WHERE state = {LEASED} AND owner = ?1 AND (?2 IS NULL OR request = ?2) ORDER BY seq
"""


def touch(tx: Transaction, leases: Sequence[Lease]) -> list[bool]:
    """Set each deadline to now + its seconds, unless it is later already. False: it is not held any more."""
    alike: dict[tuple[int, str, float], list[Lease]] = {}
    for lease in leases:
        alike.setdefault((lease.fence, lease.owner, lease.seconds), []).append(lease)
    moved = 0
    for (fence, owner, window), group in alike.items():
        values = (tx.now + micros(window), rows_of(group), fence, fence, owner)
        moved += tx.db.execute(_TOUCH, values).rowcount
    if moved == len(leases):
        return [True] * len(leases)
    # One was there twice, or is not held any more. Those that stand have been moved.
    return [held is not None for held in find(tx, leases)]


def held(view: View, owner: str, request_id: str | None, monotonic: float) -> list[Lease]:
    """The leases of `owner` as they stand in the file. `monotonic` is the caller's clock before the call."""
    return [
        Lease(
            id=id,
            queue=queue,
            envelope=edited.raw(envelope) or b"",
            owner=owner,
            fence=fence,
            receipt=receipt_for(seq, id),
            seconds=window,
            deadline=monotonic + _left(view, moment, window),
            counters=Counters(*edited.counters(counters)),
        )
        for id, queue, envelope, fence, seq, window, moment, *counters in view.db.execute(
            _HELD, (owner, request_id)
        ).fetchall()
    ]


def _left(view: View, moment: object, window: float) -> float:
    """Seconds until a lease ends; of one that has no moment, its whole length."""
    when = edited.moment(moment)
    return window if when is None else seconds(when - view.now)
