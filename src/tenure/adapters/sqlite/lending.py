"""Lending: ready messages become leased, in one atomic step.

Two statements a queue on the usual path: one that looks, one that reads all chosen rows as columns (one row
comes back, whatever the number, see `many.py`), and then one update for all of them. The envelope is never
decoded here: a damaged message is lent like any other, and the worker puts it aside.

Run by `writer.py` for `broker.py`. What follows: `settling.py`, or `returning.py` if the holder dies.
"""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from tenure.adapters.sqlite.fairness import Turns
from tenure.adapters.sqlite.job import UNSURE
from tenure.adapters.sqlite.timeline import micros
from tenure.adapters.sqlite.transaction import Transaction, View
from tenure.errors import OwnerRetired
from tenure.lease import Lease, LeaseRequest
from tenure.message import Counters

#: Due delayed messages that one call makes ready in one queue. The rest follow with the next call.
_PROMOTED_AT_ONCE = 1000
#: Envelopes up to this size are read together, larger ones singly.
_SMALL_ENVELOPE = 65_536
#: Stands in no valid JSON. Where a damaged envelope contains it, all are read singly.
_SEPARATOR = b"\x1e"

_READY = "FROM message INDEXED BY message_ready WHERE state = 'ready' AND queue = ?1"
_LOOK = f"""
SELECT (SELECT priority {_READY} ORDER BY priority DESC LIMIT 1),
       (SELECT priority {_READY} ORDER BY priority LIMIT 1),
       EXISTS (SELECT 1 FROM message INDEXED BY message_delayed
               WHERE state = 'delayed' AND queue = ?1 AND moment <= ?2)
"""
_PROMOTE = f"""
UPDATE message SET state = 'ready', moment = NULL WHERE seq IN (
    SELECT seq FROM message INDEXED BY message_delayed
    WHERE state = 'delayed' AND queue = ? AND moment <= ? ORDER BY moment LIMIT {_PROMOTED_AT_ONCE})
"""
_TOP = f"SELECT * {_READY} ORDER BY priority DESC, seq LIMIT ?2"
_CHOSEN = "SELECT * FROM message WHERE seq IN (SELECT value FROM json_each(?1))"
_READ = f"""
SELECT json_group_array(seq), json_group_array(id), json_group_array(task), json_group_array(lease_seconds),
       json_group_array(deliveries), json_group_array(attempts), json_group_array(crashes), json_group_array(lost),
       CAST(group_concat(CASE WHEN length(envelope) <= {_SMALL_ENVELOPE} THEN CAST(envelope AS TEXT) ELSE '' END,
                         x'1e') AS BLOB)
FROM ({{}})
"""
_STAMP = """
UPDATE message SET state = 'leased', owner = ?, fence = ?, request = ?, granted = ?, moment = ?,
                   deliveries = deliveries + 1
WHERE seq IN (SELECT value FROM json_each(?))
"""

_strings = msgspec.json.Decoder(list[str])
_numbers = msgspec.json.Decoder(list[int])
_seconds = msgspec.json.Decoder(list[float | None])


class Bounds(NamedTuple):
    """Shortest and longest lease."""

    shortest: float
    longest: float


class Row(NamedTuple):
    """A message as it was lent."""

    seq: int
    id: str
    queue: str
    task: str
    lease_seconds: float | None
    deliveries: int
    attempts: int
    crashes: int
    lost: int
    envelope: bytes


class Lent(NamedTuple):
    """What one call lent."""

    fence: int
    rows: list[tuple[Row, float]]


def nothing_to_lend(view: View, request: LeaseRequest) -> Lent:
    """Answer an idle worker without the write lock, if it is sure that there is nothing for it."""
    if _is_banned(view.db, request.owner):
        return UNSURE  # type: ignore[no-any-return]
    for queue in request.queues:
        top, _, due = view.db.execute(_LOOK, (queue, view.now)).fetchone()
        if top is not None or due:
            return UNSURE  # type: ignore[no-any-return]
    return Lent(0, [])


def lend(tx: Transaction, request: LeaseRequest, want: int, turns: Turns, bounds: Bounds) -> Lent:
    """Choose, read and stamp up to `want` messages."""
    if _is_banned(tx.db, request.owner):
        msg = (
            f"the worker {request.owner} was declared dead and its messages were returned; nothing was lent. "
            "It must join again under a new nonce"
        )
        raise OwnerRetired(msg)
    rows: list[Row] = []
    for queue in turns.rotated(request.queues):
        if len(rows) >= want:
            break
        rows += _take(tx, queue, want - len(rows), turns)
    if not rows:
        return Lent(0, [])
    return Lent(fence := tx.next_fence(), _stamp(tx, request, rows, fence, bounds))


def as_leases(lent: Lent, owner: str, asked: float) -> list[Lease]:
    """The leases for the caller. Runs in the caller's loop, after the lock was released.

    `asked` is the caller's monotonic time before the request, so its deadline is never the later one.
    """
    return [
        Lease(
            row.id,
            row.queue,
            row.envelope,
            owner,
            lent.fence,
            row.seq,
            seconds,
            asked + seconds,
            Counters(row.deliveries + 1, row.attempts, row.crashes, row.lost),
        )
        for row, seconds in lent.rows
    ]


def _is_banned(db: sqlite3.Connection, owner: str) -> bool:
    return db.execute("SELECT 1 FROM owner WHERE id = ? AND state = 'banned'", (owner,)).fetchone() is not None


def _take(tx: Transaction, queue: str, want: int, turns: Turns) -> list[Row]:
    top, bottom, due = tx.db.execute(_LOOK, (queue, tx.now)).fetchone()
    if due:
        tx.db.execute(_PROMOTE, (queue, tx.now))
        top, bottom, _ = tx.db.execute(_LOOK, (queue, tx.now)).fetchone()
    if top is None:
        return []
    if top == bottom or not turns.falls_within(queue, want):
        rows = _read(tx.db, queue, _TOP, (queue, want))
    else:
        chosen = turns.choose(tx.db, queue, want, top, bottom)
        rows = _read(tx.db, queue, _CHOSEN, (_listed(chosen),))
        place = {seq: n for n, seq in enumerate(chosen)}
        rows.sort(key=lambda row: place[row.seq])
    turns.count(queue, len(rows))
    return rows


def _stamp(
    tx: Transaction, request: LeaseRequest, rows: Sequence[Row], fence: int, bounds: Bounds
) -> list[tuple[Row, float]]:
    """Write owner, fence and deadline: one statement for all rows that get the same number of seconds."""
    granted = [(row, _seconds_for(row, request, bounds)) for row in rows]
    for seconds in {seconds for _, seconds in granted}:
        same = _listed([row.seq for row, own in granted if own == seconds])
        deadline = tx.now + micros(seconds)
        tx.db.execute(_STAMP, (request.owner, fence, request.request_id, seconds, deadline, same))
    return granted


def _seconds_for(row: Row, request: LeaseRequest, bounds: Bounds) -> float:
    seconds = row.lease_seconds
    if seconds is None:
        seconds = request.seconds_by_task.get(row.task, request.seconds)
    return min(max(seconds, bounds.shortest), bounds.longest)


def _read(db: sqlite3.Connection, queue: str, source: str, arguments: tuple[object, ...]) -> list[Row]:
    """All rows of `source` at once, as columns."""
    columns = db.execute(_READ.format(source), arguments).fetchone()
    seqs = _numbers.decode(columns[0])
    if not seqs:
        return []
    envelopes = columns[8].split(_SEPARATOR)
    if len(envelopes) != len(seqs):
        envelopes = [b""] * len(seqs)
    return [
        Row(seq, id, queue, task, lease, *counters, raw or _envelope(db, seq))
        for seq, id, task, lease, raw, *counters in zip(
            seqs,
            _strings.decode(columns[1]),
            _strings.decode(columns[2]),
            _seconds.decode(columns[3]),
            envelopes,
            *map(_numbers.decode, columns[4:8]),
            strict=True,
        )
    ]


def _envelope(db: sqlite3.Connection, seq: int) -> bytes:
    raw: bytes | str | None = db.execute("SELECT envelope FROM message WHERE seq = ?", (seq,)).fetchone()[0]
    return raw.encode() if isinstance(raw, str) else raw or b""


def _listed(seqs: Sequence[int]) -> str:
    return "[" + ",".join(map(str, seqs)) + "]"
