"""Lending: ready messages become leased, in one atomic step.

On the usual path a queue takes three statements, whatever the number of messages: one that looks, one that
reads all rows at once as columns, one that stamps them. The envelope is never decoded here: a damaged message
is lent like any other, and the worker puts it aside.

Run by `writer.py` for `broker.py`. What follows: `settling.py`, or `returning.py` if the holder dies.
"""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from tenure.adapters.sqlite import edited
from tenure.adapters.sqlite.fairness import Turns
from tenure.adapters.sqlite.job import UNSURE
from tenure.adapters.sqlite.many import listed
from tenure.adapters.sqlite.receipt import receipt_for
from tenure.adapters.sqlite.states import DELAYED, LEASED, READY
from tenure.adapters.sqlite.timeline import micros
from tenure.adapters.sqlite.transaction import Transaction, View
from tenure.lease import Lease, LeaseRequest
from tenure.message import Counters
from tenure.owner import retired

#: Due delayed messages that one call makes ready in one queue. The rest follow with the next call.
_PROMOTED_AT_ONCE = 1000
#: Envelopes up to this size are read together, larger ones singly.
_SMALL_ENVELOPE = 65_536
#: Stands in no valid JSON. Where a damaged envelope contains it, all are read singly.
_SEPARATOR = b"\x1e"

_IN_QUEUE = f"FROM message INDEXED BY message_ready WHERE state = {READY} AND queue = ?1"
_LOOK = f"""
SELECT (SELECT priority {_IN_QUEUE} ORDER BY priority DESC LIMIT 1),
       (SELECT priority {_IN_QUEUE} ORDER BY priority LIMIT 1),
       EXISTS (SELECT 1 FROM message INDEXED BY message_delayed
               WHERE state = {DELAYED} AND queue = ?1 AND moment <= ?2),
       EXISTS (SELECT 1 FROM owner WHERE id = ?3 AND state = 'banned')
"""
_PROMOTE = f"""
UPDATE message SET state = {READY} WHERE seq IN (
    SELECT seq FROM message INDEXED BY message_delayed
    WHERE state = {DELAYED} AND queue = ? AND moment <= ? ORDER BY moment LIMIT {_PROMOTED_AT_ONCE})
"""
# Only what is needed: each column of an inner SELECT is copied. ?3: the largest envelope that is read here.
_COLUMNS = """
seq, id, CASE WHEN length(envelope) <= ?3 THEN envelope ELSE '' END AS raw,
deliveries + attempts + crashes + lost AS counted, lease_seconds
"""
_FIRST = f"SELECT {_COLUMNS} {_IN_QUEUE} ORDER BY priority DESC, seq LIMIT ?2"
_CHOSEN = f"SELECT {_COLUMNS} FROM message WHERE seq IN (SELECT value FROM json_each(?1))"
# The last column tells whether the messages are all alike: never lent before, and without a lease of their own.
_READ = """
SELECT json_group_array(seq), json_group_array(id), CAST(group_concat(raw, x'1e') AS BLOB),
       max(counted) = 0 AND min(counted) = 0 AND count(lease_seconds) = 0
FROM (%s)
"""
_READ_MORE = """
SELECT seq, task, lease_seconds, deliveries, attempts, crashes, lost FROM message
WHERE seq IN (SELECT value FROM json_each(?))
"""
_STAMP = f"""
UPDATE message SET state = {LEASED}, fence = ?, moment = ?, deliveries = {edited.sql_count("deliveries")} + 1
WHERE seq IN (SELECT value FROM json_each(?))
"""

_strings = msgspec.json.Decoder(list[str])
_numbers = msgspec.json.Decoder(list[int])

_FIRST_DELIVERY = Counters(deliveries=1)


class Bounds(NamedTuple):
    """Shortest and longest lease, and the most bytes of envelopes in one call."""

    shortest: float
    longest: float
    byte_limit: int

    def clamp(self, seconds: float) -> float:
        """`seconds`, or the nearest that can be had."""
        return min(max(seconds, self.shortest), self.longest)


class Columns(NamedTuple):
    """Messages as columns: row numbers, ids, envelopes; and whether all of them are as usual."""

    seqs: list[int]
    ids: list[str]
    raws: list[bytes]
    alike: bool


class Lot(NamedTuple):
    """What one queue gives: row numbers, ids and envelopes, in the order of lending."""

    queue: str
    seqs: list[int]
    ids: list[str]
    raws: list[bytes]
    #: Seconds and counters by row number. Empty: the usual seconds, and lent for the first time.
    special: dict[int, tuple[float, Counters]]
    #: There was more, but no room for its bytes.
    is_cut: bool


class Lent(NamedTuple):
    """What one call lent: a loan for each number of seconds."""

    lots: list[Lot]
    fences: dict[float, int]


def nothing_to_lend(view: View, request: LeaseRequest) -> Lent:
    """Answer an idle worker without the write lock, if it is sure that there is nothing for it."""
    for queue in request.queues:
        top, _, is_due, is_banned = view.db.execute(_LOOK, (queue, view.now, request.owner)).fetchone()
        if top is not None or is_due or is_banned:
            return UNSURE  # type: ignore[no-any-return]
    return Lent([], {})


def lend(tx: Transaction, request: LeaseRequest, turns: Turns, bounds: Bounds) -> Lent:
    """Choose, read and stamp up to `want` messages. The request's own seconds are within the bounds."""
    lots: list[Lot] = []
    left, room = request.want, bounds.byte_limit
    for queue in turns.rotated(request.queues):
        if left > 0 and (lot := _take(tx, request, queue, left, room, turns, bounds)):
            lots.append(lot)
            left -= len(lot.seqs)
            if lot.is_cut:
                break
            if len(request.queues) > 1:
                room = max(1, room - sum(map(len, lot.raws)))
    by_seconds: dict[float, list[int]] = {}
    for lot in lots:
        _sort_by_seconds(lot, request.seconds, by_seconds)
    return Lent(lots, {seconds: _stamp(tx, request, seconds, rows) for seconds, rows in by_seconds.items()})


def as_leases(lent: Lent, request: LeaseRequest, asked: float) -> list[Lease]:
    """The leases for the caller. Runs in the caller's loop, when the lock is free again.

    `asked` is the caller's clock from before the request, so its deadline is never the later one.
    """
    leases: list[Lease] = []
    owner = request.owner
    for lot in lent.lots:
        queue = lot.queue
        seconds, counters = request.seconds, _FIRST_DELIVERY
        for seq, id, raw in zip(lot.seqs, lot.ids, lot.raws, strict=True):
            if lot.special:
                seconds, counters = lot.special[seq]
            fence = lent.fences[seconds]
            leases.append(Lease(id, queue, raw, owner, fence, receipt_for(seq, id), seconds, asked + seconds, counters))
    return leases


def _take(
    tx: Transaction, request: LeaseRequest, queue: str, want: int, room: int, turns: Turns, bounds: Bounds
) -> Lot | None:
    """The next messages of one queue, up to `want` and `room` bytes, not stamped yet. None: there are none."""
    look = (queue, tx.now, request.owner)
    top, bottom, is_due, is_banned = tx.db.execute(_LOOK, look).fetchone()
    if is_banned:
        raise retired(request.owner)
    if is_due:
        tx.db.execute(_PROMOTE, (queue, tx.now))
        top, bottom, _, _ = tx.db.execute(_LOOK, look).fetchone()
    if top is None:
        return None
    # What is read together is within the room, whatever comes.
    small = min(_SMALL_ENVELOPE, room // want)
    if top == bottom or not turns.falls_within(queue, want):
        found = _read(tx.db, _FIRST, (queue, want, small))
    else:
        chosen = turns.choose(tx.db, queue, want, top, bottom)
        found = _in_order(chosen, _read(tx.db, _CHOSEN, (listed(chosen), None, small)))
    count = len(found.seqs)
    if b"" in found.raws:
        # The first message of a call is lent whatever its size.
        found = _fill(tx.db, found, room, must_lend=room == bounds.byte_limit)
    if not found.seqs:
        return None
    turns.count(queue, len(found.seqs))
    is_usual = found.alike and not request.seconds_by_task
    special = {} if is_usual else _read_more(tx.db, request, found.seqs, bounds)
    return Lot(queue, found.seqs, found.ids, found.raws, special, len(found.seqs) < count)


def _read(db: sqlite3.Connection, source: str, arguments: tuple[object, ...]) -> Columns:
    """All rows of `source` at once; an envelope that is too large to be read here is empty."""
    seq_list, ids, envelopes, alike = db.execute(_READ % source, arguments).fetchone()
    seqs = _numbers.decode(seq_list)
    raws = envelopes.split(_SEPARATOR)
    if len(raws) != len(seqs):
        raws = [b""] * len(seqs)
    return Columns(seqs, _strings.decode(ids), raws, bool(alike))


def _fill(db: sqlite3.Connection, found: Columns, room: int, *, must_lend: bool) -> Columns:
    """Read the envelopes that are missing, singly, for as long as there is room for them."""
    raws: list[bytes] = []
    for seq, known in zip(found.seqs, found.raws, strict=True):
        raw = known or _envelope(db, seq)
        room -= len(raw)
        if room < 0 and (raws or not must_lend):
            break
        raws.append(raw)
    return Columns(found.seqs[: len(raws)], found.ids[: len(raws)], raws, found.alike)


def _in_order(chosen: list[int], found: Columns) -> Columns:
    """The same, in the order in which they were chosen."""
    place = {seq: n for n, seq in enumerate(found.seqs)}
    order = [place[seq] for seq in chosen]
    return Columns(chosen, [found.ids[n] for n in order], [found.raws[n] for n in order], found.alike)


def _read_more(
    db: sqlite3.Connection, request: LeaseRequest, seqs: list[int], bounds: Bounds
) -> dict[int, tuple[float, Counters]]:
    """Seconds and counters, where they differ from message to message."""
    special = {}
    found = db.execute(_READ_MORE, (listed(seqs),)).fetchall()
    for seq, task, own_seconds, deliveries, attempts, crashes, lost in found:
        own = edited.number(own_seconds)
        seconds = request.seconds_by_task.get(task, request.seconds) if own is None else own
        counted = edited.counters((deliveries, attempts, crashes, lost))
        special[seq] = (bounds.clamp(seconds), Counters(counted[0] + 1, *counted[1:]))
    return special


def _sort_by_seconds(lot: Lot, usual: float, by_seconds: dict[float, list[int]]) -> None:
    if not lot.special:
        by_seconds.setdefault(usual, []).extend(lot.seqs)
        return
    for seq, (seconds, _) in lot.special.items():
        by_seconds.setdefault(seconds, []).append(seq)


def _stamp(tx: Transaction, request: LeaseRequest, seconds: float, rows: Sequence[int]) -> int:
    """One loan for all messages that get the same number of seconds. Its fence."""
    fence = tx.next_fence(request.owner, request.request_id, seconds, has_presence=request.has_presence)
    tx.db.execute(_STAMP, (fence, tx.now + micros(seconds), listed(rows)))
    return fence


def _envelope(db: sqlite3.Connection, seq: int) -> bytes:
    raw: bytes | str | None = db.execute("SELECT envelope FROM message WHERE seq = ?", (seq,)).fetchone()[0]
    return raw.encode() if isinstance(raw, str) else raw or b""
