"""Holding: a touch moves the deadline, and `held` tells what an owner holds.

A touch matches owner and fence, so it can never take a message back from a new owner. It matches for as long
as nobody took the lease away, also after its deadline. Run by `writer.py` (touch) and `reader.py` (held).
"""

from collections.abc import Sequence
from functools import cache

from tenure.adapters.sqlite.many import pieces, placeholders
from tenure.adapters.sqlite.timeline import micros, seconds
from tenure.adapters.sqlite.transaction import Transaction, View
from tenure.lease import Lease
from tenure.message import Counters

_HELD = """
SELECT id, queue, envelope, fence, seq, granted, moment, deliveries, attempts, crashes, lost
FROM message INDEXED BY message_leased
WHERE state = 'leased' AND owner = ?1 AND (?2 IS NULL OR request = ?2) ORDER BY seq
"""

#: A lease stands if all of this is so: for one lease, and for the first columns of an `entry`.
MATCH = "seq = ? AND id = ? AND fence = ? AND owner = ? AND state = 'leased'"
MATCH_ENTRY = (
    "seq = entry.column1 AND id = entry.column2 AND fence = entry.column3 AND owner = entry.column4"
    " AND state = 'leased'"
)


def match(lease: Lease) -> tuple[object, ...]:
    """The values for `MATCH`."""
    return (lease.receipt, lease.id, lease.fence, lease.owner)


def touch(tx: Transaction, leases: Sequence[Lease]) -> list[bool]:
    """Set each deadline to now + its seconds, unless it is later already. False: it is not held any more."""
    answers: list[bool] = []
    for piece in pieces(leases):
        values = [
            value
            for lease in piece
            for value in (*match(lease), tx.now + micros(lease.seconds))
        ]
        if tx.db.execute(_touch(len(piece)), values).rowcount == len(piece):
            answers += [True] * len(piece)
        else:
            answers += [is_held(tx, lease) for lease in piece]
    return answers


def is_held(view: View, lease: Lease) -> bool:
    """Whether the lease is still the one on the message."""
    found = view.db.execute(
        f"SELECT 1 FROM message WHERE {MATCH}",
        match(lease),
    ).fetchone()
    return found is not None


def held(view: View, owner: str, request_id: str | None, monotonic: float) -> list[Lease]:
    """The leases of `owner` as they stand in the file. `monotonic` is the caller's clock before the call."""
    return [
        Lease(
            id=id,
            queue=queue,
            envelope=envelope or b"",
            owner=owner,
            fence=fence,
            receipt=seq,
            seconds=granted,
            deadline=monotonic + (granted if moment is None else seconds(moment - view.now)),
            counters=Counters(*counters),
        )
        for id, queue, envelope, fence, seq, granted, moment, *counters in view.db.execute(
            _HELD, (owner, request_id)
        ).fetchall()
    ]


@cache
def _touch(count: int) -> str:
    return (
        "UPDATE message SET moment = max(coalesce(moment, 0), entry.column5)"
        f" FROM (VALUES {placeholders(5, count)}) AS entry WHERE {MATCH_ENTRY}"
    )
