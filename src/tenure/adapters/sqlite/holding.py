"""Holding: a touch moves the deadline and counts a beat; leases are found by their owner or by their name.

A touch matches owner and fence, so it can never take a message back from a new owner. What the holder says of its work
(size, predicted seconds, another length of the lease) is kept in `beat`, and only written where it differs.
Run by `writer.py` (touch) and `reader.py` (held, find_lease).
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from tenure.adapters.sqlite import edited
from tenure.adapters.sqlite.placeholders import listed, pieces, placeholders
from tenure.adapters.sqlite.receipt import STAND, find, receipt_for, row_of, rows_of
from tenure.adapters.sqlite.states import BEAT, GRACED, LEASED
from tenure.adapters.sqlite.timeline import micros, seconds
from tenure.adapters.sqlite.transaction import ReadView, WriteTransaction
from tenure.lease import Lease
from tenure.message import Counters

_TOUCH = f"""
UPDATE message SET moment = max(coalesce(moment, 0), ?), extras = (extras & ~{GRACED}) + {BEAT} WHERE {STAND}
"""
_WINDOWS = "SELECT fence, seconds FROM loan WHERE fence IN (SELECT value FROM json_each(?))"
_LEASE = """
message.id, queue, envelope, loan.owner, message.fence, message.seq,
coalesce((SELECT seconds FROM beat WHERE beat.seq = message.seq AND beat.fence = message.fence), loan.seconds),
EXISTS (SELECT 1 FROM claim WHERE claim.id = message.id AND claim.state = 'running' AND claim.fence = message.fence
    AND claim.owner = loan.owner),
moment, deliveries, attempts, crashes, lost
"""
_HELD = f"""
SELECT {_LEASE} FROM message INDEXED BY message_leased JOIN loan USING (fence)
WHERE state = {LEASED} AND owner = ?1 AND (?2 IS NULL OR request = ?2) ORDER BY seq
"""
_FIND = f"""
SELECT {_LEASE} FROM message JOIN loan USING (fence)
WHERE message.id = ? AND state = {LEASED} AND owner = ? AND message.fence = ?
"""


def touch(tx: WriteTransaction, leases: Sequence[Lease]) -> list[bool]:
    """Set each deadline to now + its seconds, unless it is later already. False: it is not held any more."""
    alike: dict[tuple[int, str, float], list[Lease]] = {}
    for lease in leases:
        alike.setdefault((lease.fence, lease.owner, lease.seconds), []).append(lease)
    moved = 0
    for (fence, owner, window), group in alike.items():
        values = (tx.now + micros(window), rows_of(group), fence, fence, owner)
        moved += tx.db.execute(_TOUCH, values).rowcount
    _keep_what_was_said(tx, leases)
    if moved == len(leases):
        return [True] * len(leases)
    # One was there twice, or is not held any more. Those that stand have been moved.
    return [held is not None for held in find(tx, leases)]


def _keep_what_was_said(tx: WriteTransaction, leases: Sequence[Lease]) -> None:
    """For those that stand: what the loan does not say."""
    fences = listed(list({lease.fence for lease in leases}))
    usual = dict(tx.db.execute(_WINDOWS, (fences,)).fetchall())
    said = [
        (int(row_of(lease)), lease.fence, lease.seconds, lease.size, lease.predicted_seconds)
        for lease in leases
        if lease.size is not None or lease.predicted_seconds is not None or lease.seconds != usual.get(lease.fence)
    ]
    for piece in pieces(said):
        tx.db.execute(_say(len(piece)), [value for row in piece for value in row])


@cache
def _say(count: int) -> str:
    """The same again is not written."""
    return (
        "INSERT INTO beat (seq, fence, seconds, size, predicted_seconds)"
        f" SELECT column1, column2, column3, column4, column5 FROM (VALUES {placeholders(5, count)})"
        f" CROSS JOIN message ON seq = column1 AND fence = column2 AND state = {LEASED} WHERE true"
        " ON CONFLICT (seq) DO UPDATE SET fence = excluded.fence, seconds = excluded.seconds, size = excluded.size,"
        " predicted_seconds = excluded.predicted_seconds"
        " WHERE excluded.fence <> fence OR excluded.seconds IS NOT seconds"
        " OR excluded.size IS NOT size OR excluded.predicted_seconds IS NOT predicted_seconds"
    )


def held(view: ReadView, owner: str, request_id: str | None, monotonic: float) -> list[Lease]:
    """The leases of `owner` as they stand in the file. `monotonic` is the caller's clock before the call."""
    rows = view.db.execute(_HELD, (owner, request_id)).fetchall()
    return [_lease(view, row, monotonic) for row in rows]


def find_lease(view: ReadView, id: str, owner: str, fence: int, monotonic: float) -> Lease | None:
    """The lease of `owner` on one message under `fence`. None: it has ended."""
    row = view.db.execute(_FIND, (id, owner, fence)).fetchone()
    return None if row is None else _lease(view, row, monotonic)


def _lease(view: ReadView, row: tuple[Any, ...], monotonic: float) -> Lease:
    id, queue, envelope, owner, fence, seq, window, is_claimed, moment, *counters = row
    return Lease(
        id=id,
        queue=queue,
        envelope=edited.raw(envelope) or b"",
        owner=owner,
        fence=fence,
        receipt=receipt_for(seq, id),
        seconds=window,
        deadline=monotonic + _left(view, moment, window),
        counters=Counters(*edited.counters(counters)),
        is_claimed=bool(is_claimed),
    )


def _left(view: ReadView, moment: object, window: float) -> float:
    """Seconds until a lease ends; of one that has no moment, its whole length."""
    when = edited.moment(moment)
    return window if when is None else seconds(when - view.now)
