"""Lending: ready messages become leased, in one atomic step.

From one queue that takes three statements, whatever the number of messages: one that looks, one that reads all rows at
once as columns, one that stamps them. From many queues it takes a few more: only queues that have something are asked
(`serving.py`), several of them in one statement.

Run by `writer.py` for `broker.py`. What follows: `settling.py`, or `returning.py` if the holder dies.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from tenure.adapters.sqlite import edited, lease_claims, limiting, serving
from tenure.adapters.sqlite.fairness import QueueTurns
from tenure.adapters.sqlite.job import UNSURE
from tenure.adapters.sqlite.placeholders import listed
from tenure.adapters.sqlite.ready_rows import (
    IN_QUEUE,
    Columns,
    RowBounds,
    fill,
    is_scattered,
    read_chosen,
    read_first,
    read_many,
    read_more,
    read_shares,
)
from tenure.adapters.sqlite.receipt import receipt_for
from tenure.adapters.sqlite.serving import Candidate, served_by
from tenure.adapters.sqlite.states import DELAYED, LEASED, READY
from tenure.adapters.sqlite.timeline import micros
from tenure.adapters.sqlite.transaction import ReadView, WriteTransaction
from tenure.lease import Lease, LeaseRequest
from tenure.message import Counters
from tenure.owner import retired

#: Due delayed messages that one call makes ready. The rest follow with the next call.
_PROMOTED_AT_ONCE = 1000
#: From this many queues at once messages are shared out that lie among each other's. More would not lie closer
#: together.
_SIDE_BY_SIDE = 16

_IS_BANNED = "EXISTS (SELECT 1 FROM owner WHERE id = ?2 AND state = 'banned')"
_LOOK = f"""
SELECT (SELECT priority {IN_QUEUE} ORDER BY priority DESC LIMIT 1),
       (SELECT priority {IN_QUEUE} ORDER BY priority LIMIT 1),
       EXISTS (SELECT 1 FROM message INDEXED BY message_delayed
               WHERE state = {DELAYED} AND queue = ?1 AND moment <= ?3),
       {_IS_BANNED}
"""
_PROMOTE = f"""
UPDATE message SET state = {READY} WHERE seq IN (
    SELECT seq FROM message INDEXED BY message_delayed
    WHERE state = {DELAYED} AND queue = ? AND moment <= ? ORDER BY moment LIMIT {_PROMOTED_AT_ONCE})
"""
_LOOK_AT_ALL = f"""
SELECT EXISTS (SELECT 1 FROM message INDEXED BY message_due WHERE state = {DELAYED} AND moment <= ?1), {_IS_BANNED}
"""
_PROMOTE_ANY = f"""
UPDATE message SET state = {READY} WHERE seq IN (
    SELECT seq FROM message INDEXED BY message_due
    WHERE state = {DELAYED} AND moment <= ? ORDER BY moment LIMIT {_PROMOTED_AT_ONCE})
"""
_STAMP = f"""
UPDATE message SET state = {LEASED}, fence = ?, moment = ?, deliveries = {edited.sql_count("deliveries")} + 1
WHERE seq IN (SELECT value FROM json_each(?))
"""

_FIRST_DELIVERY = Counters(deliveries=1)


class QueueRows(NamedTuple):
    """Messages of one queue: row numbers, ids and envelopes, in the order of lending."""

    queue: str
    seqs: list[int]
    ids: list[str]
    raws: list[bytes]
    #: Seconds and counters by row number. Empty: the usual seconds, and lent for the first time.
    special: dict[int, tuple[float, Counters]]
    #: Whether any of them has a key.
    has_keys: bool


class LeasedRows(NamedTuple):
    """The leases of one call: a loan for each number of seconds, and the ids whose keys were claimed with it."""

    lots: list[QueueRows]
    fences: dict[float, int]
    claimed: frozenset[str] = frozenset()


def nothing_to_lend(view: ReadView, request: LeaseRequest) -> LeasedRows:
    """Answer an idle worker without the write lock, if it is sure that there is nothing for it."""
    is_due, is_banned = view.db.execute(_LOOK_AT_ALL, (view.now, request.owner)).fetchone()
    if is_due or is_banned or serving.has_ready(view.db, served_by(request.queues, request.excluded)):
        return UNSURE  # type: ignore[no-any-return]
    return LeasedRows([], {})


def lend(tx: WriteTransaction, request: LeaseRequest, turns: QueueTurns, bounds: RowBounds) -> LeasedRows:
    """Choose, read and stamp up to `want` messages. The request's own seconds are within the bounds."""
    basket = _Basket(tx, request, turns, bounds)
    served = served_by(request.queues, request.excluded)
    limited = limiting.limited(request) if request.limits else []
    if limited:
        _lend_limited(basket, served.without(limited), limited)
    else:
        _lend_served(basket, served)
    by_seconds: dict[float, list[int]] = {}
    for lot in basket.lots:
        _sort_by_seconds(lot, request.seconds, by_seconds)
    fences = {seconds: _stamp(tx, request, seconds, rows) for seconds, rows in by_seconds.items()}
    return LeasedRows(basket.lots, fences, _claim(tx, request, basket.lots, fences))


def as_leases(lent: LeasedRows, request: LeaseRequest, asked: float) -> list[Lease]:
    """The leases for the caller. Runs in the caller's loop, when the lock is free again.

    `asked` is the caller's clock from before the request, so its deadline is never the later one.
    """
    leases: list[Lease] = []
    owner, claimed = request.owner, lent.claimed
    for lot in lent.lots:
        queue, rows = lot.queue, zip(lot.seqs, lot.ids, lot.raws, strict=True)
        if lot.special:
            for seq, id, raw in rows:
                seconds, counters = lot.special[seq]
                fence, deadline = lent.fences[seconds], asked + seconds
                is_claimed = id in claimed
                leases.append(
                    Lease(id, queue, raw, owner, fence, receipt_for(seq, id), seconds, deadline, counters,
                          is_claimed=is_claimed)
                )  # fmt: skip
        elif lot.has_keys:
            seconds, counters = request.seconds, _FIRST_DELIVERY
            fence, deadline = lent.fences[seconds], asked + seconds
            leases += [
                Lease(id, queue, raw, owner, fence, receipt_for(seq, id), seconds, deadline, counters,
                      is_claimed=id in claimed)
                for seq, id, raw in rows
            ]  # fmt: skip
        else:
            seconds, counters = request.seconds, _FIRST_DELIVERY
            fence, deadline = lent.fences[seconds], asked + seconds
            leases += [
                Lease(id, queue, raw, owner, fence, receipt_for(seq, id), seconds, deadline, counters)
                for seq, id, raw in rows
            ]
    return leases


class _Basket:
    """The messages that one call has gathered so far, not stamped yet, and its free room."""

    def __init__(self, tx: WriteTransaction, request: LeaseRequest, turns: QueueTurns, bounds: RowBounds) -> None:
        self.tx = tx
        self.request = request
        self.turns = turns
        self.lots: list[QueueRows] = []
        self._bounds = bounds
        self.left = request.want
        self._is_closed = False
        self._room = bounds.byte_limit

    def is_full(self) -> bool:
        return self.left <= 0

    def take_up_to(self, most: int, act: Callable[[], None]) -> int:
        """Let `act` lease no more than `most` messages; how many it has leased."""
        left = self.left
        self.left = min(left, most)
        before = sum(len(lot.seqs) for lot in self.lots)
        act()
        count = sum(len(lot.seqs) for lot in self.lots) - before
        self.left = 0 if self._is_closed else left - count
        return count

    def is_plain(self, candidate: Candidate) -> bool:
        """Whether its next messages are simply the first ones: no lower priority has its turn."""
        return candidate.top == candidate.bottom or not self.turns.falls_within(candidate.queue, self.left)

    def take(self, candidate: Candidate) -> None:
        """Lease from one queue."""
        queue, left = candidate.queue, self.left
        if self.is_plain(candidate):
            found = read_first(self.tx.db, queue, left, self._room)
        else:
            chosen = self.turns.choose(self.tx.db, queue, left, candidate.top, candidate.bottom)
            found = read_chosen(self.tx.db, chosen, left, self._room)
        count = len(found.seqs)
        found = fill(self.tx.db, found, self._room, must_lend=not self.lots)
        if found.seqs:
            special = self._special(found.seqs, alike=found.alike)
            lot = QueueRows(queue, found.seqs, found.ids, found.raws, special, found.has_keys)
            self._add([lot], len(found.seqs), found.raws)
        self._close_if(is_cut=len(found.seqs) < count)

    def take_all(self, queues: Sequence[str]) -> None:
        """Lease from several queues, one after the other, the first messages of each."""
        self._add_found(queues, *read_many(self.tx.db, queues, self.left, self._room))

    def take_shares(self, queues: Sequence[str]) -> None:
        """Lease the same number from each of several queues, and what is missing then from the first ones."""
        share = -(-self.left // len(queues))
        self._add_found(queues, *read_shares(self.tx.db, queues, self.left, self._room, share))
        if self.is_full():
            return
        taken = {seq for lot in self.lots for seq in lot.seqs}
        found, places = read_many(self.tx.db, queues, self.left + len(taken), self._room)
        new = [place for place, seq in enumerate(found.seqs) if seq not in taken][: self.left]
        rest = Columns(
            [found.seqs[n] for n in new], [found.ids[n] for n in new], [found.raws[n] for n in new], found.alike,
            found.has_keys,
        )  # fmt: skip
        self._add_found(queues, rest, [places[n] for n in new])

    def _add_found(self, queues: Sequence[str], found: Columns, places: Sequence[int]) -> None:
        """`places`: for each message the number of its queue; those of one queue are neighbours."""
        found = fill(self.tx.db, found, self._room, must_lend=not self.lots)
        special = self._special(found.seqs, alike=found.alike)
        start, count, lots = 0, len(found.seqs), list[QueueRows]()
        while start < count:
            place, end = places[start], start + 1
            while end < count and places[end] == place:
                end += 1
            seqs = found.seqs[start:end]
            own = {seq: special[seq] for seq in seqs} if special else special
            ids, raws = found.ids[start:end], found.raws[start:end]
            lots.append(QueueRows(queues[place], seqs, ids, raws, own, found.has_keys))
            start = end
        self._add(lots, count, found.raws)
        self._close_if(is_cut=count < len(places))

    def _add(self, lots: Sequence[QueueRows], count: int, raws: Sequence[bytes]) -> None:
        self.lots += lots
        for lot in lots:
            self.turns.count(lot.queue, len(lot.seqs))
        self.left -= count
        if self.left > 0:
            self._room = max(1, self._room - sum(map(len, raws)))

    def _close_if(self, *, is_cut: bool) -> None:
        """There was more, but no room for its bytes: nothing else is lent by this call."""
        if is_cut:
            self.left, self._is_closed = 0, True

    def _special(self, seqs: list[int], *, alike: bool) -> dict[int, tuple[float, Counters]]:
        if alike and not self.request.seconds_by_task:
            return {}
        return read_more(self.tx.db, self.request, seqs, self._bounds)


def _lend_served(basket: _Basket, served: serving.Served) -> None:
    """Lease from queues without limits."""
    if served.few is not None and len(served.few) == 1:
        _lend_one(basket, served.few[0])
    elif served.few != ():
        _lend_many(basket, served)


def _lend_limited(basket: _Basket, others: serving.Served, limited: Sequence[str]) -> None:
    """Lease from limited queues and others, beginning with another one at each call, so that none starves."""
    tx, request = basket.tx, basket.request
    _promote_any(basket)
    for part in basket.turns.rotated_parts(["", *(one.queue for one in serving.ask(tx.db, limited))]):
        if basket.is_full():
            return
        if not part:
            _lend_served(basket, others)
            continue
        limit = request.limits[part]
        most = limiting.allowed(tx, part, limit, basket.left).count
        if most:
            limiting.take(tx, part, limit, basket.take_up_to(most, partial(_lend_one, basket, part)))


def _lend_one(basket: _Basket, queue: str) -> None:
    """The usual case."""
    tx, owner = basket.tx, basket.request.owner
    top, bottom, is_due, is_banned = tx.db.execute(_LOOK, (queue, owner, tx.now)).fetchone()
    if is_banned:
        raise retired(owner)
    if is_due:
        tx.db.execute(_PROMOTE, (queue, tx.now))
        top, bottom, _, _ = tx.db.execute(_LOOK, (queue, owner, tx.now)).fetchone()
    if top is not None:
        basket.take(Candidate(queue, top, bottom))


def _lend_many(basket: _Basket, served: serving.Served) -> None:
    """Lease from the queues that have something, each in its turn."""
    tx, turns = basket.tx, basket.turns
    _promote_any(basket)
    if served.few is not None:
        found = iter([serving.ask(tx.db, turns.rotated(served.few))])
    else:
        found = serving.in_turn(tx.db, served, turns.last_served, turns.width)
    looked_for = 0
    for candidates in found:
        if len(candidates) > 1 and not basket.lots and is_scattered(tx.db, candidates[0].queue, basket.request.want):
            _lend_shares(basket, candidates, found)
            looked_for = _SIDE_BY_SIDE
        else:
            _lend_in_order(basket, candidates)
        if basket.is_full():
            break
    if basket.lots:
        # Fewer than were looked for would make the next call hop twice.
        turns.note_width(max(looked_for, len(basket.lots)))
        turns.last_served = basket.lots[-1].queue


def _promote_any(basket: _Basket) -> None:
    """Make ready what is due, if its owner may lease at all."""
    tx, owner = basket.tx, basket.request.owner
    is_due, is_banned = tx.db.execute(_LOOK_AT_ALL, (tx.now, owner)).fetchone()
    if is_banned:
        raise retired(owner)
    if is_due:
        # Of all queues, served or not: their own workers would do the same, and no lease has to skip them again.
        tx.db.execute(_PROMOTE_ANY, (tx.now,))


def _lend_shares(basket: _Basket, candidates: list[Candidate], more: Iterator[list[Candidate]]) -> None:
    """From several queues the same number each: messages that were sent together are close together in the file.

    A queue whose priorities have turns is lent from by itself.
    """
    want = min(basket.request.want, _SIDE_BY_SIDE)
    while len(candidates) < want and (found := next(more, None)) is not None:
        candidates += found
    candidates = candidates[:want]
    plain = [one.queue for one in candidates if one.top == one.bottom]
    for candidate in candidates:
        if candidate.top != candidate.bottom and not basket.is_full():
            basket.take(candidate)
    if plain and not basket.is_full():
        basket.take_shares(plain)


def _lend_in_order(basket: _Basket, candidates: Sequence[Candidate]) -> None:
    """Lend in order. Queues next to each other that need only their first messages are read together."""
    plain: list[str] = []
    for candidate in candidates:
        if basket.is_plain(candidate):
            plain.append(candidate.queue)
            continue
        if plain:
            basket.take_all(plain)
            plain = []
        if not basket.is_full():
            basket.take(candidate)
        if basket.is_full():
            return
    if plain:
        basket.take_all(plain)


def _sort_by_seconds(lot: QueueRows, usual: float, by_seconds: dict[float, list[int]]) -> None:
    if not lot.special:
        by_seconds.setdefault(usual, []).extend(lot.seqs)
        return
    for seq, (seconds, _) in lot.special.items():
        by_seconds.setdefault(seconds, []).append(seq)


def _stamp(tx: WriteTransaction, request: LeaseRequest, seconds: float, rows: Sequence[int]) -> int:
    """Store one loan for all messages with the same number of seconds. Returns its fence."""
    fence = tx.next_fence(request.owner, request.request_id, seconds, has_presence=request.has_presence)
    tx.db.execute(_STAMP, (fence, tx.now + micros(seconds), listed(rows)))
    return fence


def _claim(
    tx: WriteTransaction, request: LeaseRequest, lots: Sequence[QueueRows], fences: dict[float, int]
) -> frozenset[str]:
    """Claim the keys of what was stamped, each under the fence of its loan and for as long."""
    by_seconds: dict[float, list[str]] = {}
    for lot in lots:
        if lot.has_keys and not lot.special:
            by_seconds.setdefault(request.seconds, []).extend(lot.ids)
        elif lot.has_keys:
            for seq, id in zip(lot.seqs, lot.ids, strict=True):
                by_seconds.setdefault(lot.special[seq][0], []).append(id)
    claimed = frozenset[str]()
    for seconds, ids in by_seconds.items():
        claimed |= lease_claims.claim(tx, ids, request.owner, fences[seconds], tx.now + micros(seconds))
    return claimed
