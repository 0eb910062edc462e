"""The journal: events in one order, stored by the page; and samples of how long runs took, a row each.

A page is whatever one call appended, as one row: keeping a hundred events is one insert. An event's place is
counted back from the last place of its page. The newest page is emptied rather than removed when it grows
old, so that places go on rising.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from tenure.adapters.sqlite.store import Store
from tenure.adapters.sqlite.transaction import Transaction, View
from tenure.event import Event, StoredEvent
from tenure.sample import Sample, StoredSample
from tenure.state import KEPT_SAMPLES

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[Event]).decode
_decode_sample = msgspec.json.Decoder(Sample).decode

_FORGET_SAMPLES = """
DELETE FROM sample WHERE queue = ?1 AND task = ?2 AND seq <= (
    SELECT seq FROM sample WHERE queue = ?1 AND task = ?2 ORDER BY seq DESC LIMIT 1 OFFSET ?3)
"""

#: What one step of `prune` looks at, and about how much it removes: a few milliseconds of the write lock.
_PAGES = 100
_BYTES = 1 << 20
_SAMPLES = 1000

_OLD_SAMPLES = "DELETE FROM sample WHERE seq IN (SELECT seq FROM sample ORDER BY seq LIMIT ?) AND at < ?"


class Pruned(NamedTuple):
    """What one step of `prune` did."""

    gone: int
    is_more: bool


class SqliteJournal:
    """Events in the store."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store

    async def append(self, events: Sequence[Event]) -> None:
        """Keep events, in this order."""
        if not events:
            return
        raw = _encode(events)
        times = [event.at for event in events]
        await self._store.write(lambda tx: _append(tx, len(times), max(times), min(times), raw))

    async def read(self, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """The next events after place `after`, oldest first."""
        return await self._store.look(lambda view: _read(view, after, limit))

    async def about(self, message_id: str, *, since: float = 0.0, limit: int = 100) -> list[StoredEvent]:
        """Events of one message, oldest first."""
        return await self._store.look(lambda view: _about(view, message_id, since, limit))

    async def last(self) -> int:
        """The place of the newest event; 0 if there is none."""
        return await self._store.read(_last)

    async def prune(self, older_than_seconds: float) -> int:
        """Forget old events, and samples as old; how many events. In steps: others write in between.

        The oldest come first, and the first page with a young event ends it.
        """
        gone = 0
        while True:
            # What comes back after a power cut is forgotten by the next call.
            step = await self._store.write(lambda tx: _prune(tx, tx.wall - older_than_seconds), is_light=True)
            gone += step.gone
            if not step.is_more:
                return gone

    async def sample(self, batch: Sequence[Sample]) -> None:
        """Keep the newest ones of each queue and task. After a power cut the last ones may be gone."""
        if batch:
            rows = [(one.queue, one.task, one.at, _encode(one)) for one in batch]
            await self._store.write(lambda tx: _sample(tx, rows), is_light=True)

    async def samples(self, queue: str, task: str, *, after: int = 0, limit: int = KEPT_SAMPLES) -> list[StoredSample]:
        """The next samples of a task after place `after`, oldest first."""
        return await self._store.read(lambda view: _samples(view, queue, task, after, limit))


def _last(view: View) -> int:
    last: int = view.db.execute("SELECT coalesce(max(last_seq), 0) FROM journal").fetchone()[0]
    return last


def _append(tx: Transaction, count: int, newest: float, oldest: float, raw: bytes) -> None:
    tx.db.execute(
        "INSERT INTO journal (last_seq, count, newest_at, oldest_at, events) VALUES (?, ?, ?, ?, ?)",
        (_last(tx) + count, count, newest, oldest, raw),
    )


def _read(view: View, after: int, limit: int) -> list[StoredEvent]:
    events: list[StoredEvent] = []
    pages = view.db.execute(
        "SELECT last_seq, count, events FROM journal WHERE last_seq > ? ORDER BY last_seq", (after,)
    )
    # Not fetchall: only as many pages as are needed are read.
    for last, count, raw in pages:
        events += [
            StoredEvent(place, event) for place, event in enumerate(_decode(raw), last - count + 1) if place > after
        ]
        if len(events) >= limit:
            break
    pages.close()
    return events[:limit]


def _about(view: View, message_id: str, since: float, limit: int) -> list[StoredEvent]:
    """Only pages in whose bytes the id stands are decoded."""
    # Without the quotes around it: those stand everywhere, and would slow the search down.
    written = _encode(message_id)[1:-1]
    pages = view.db.execute(
        "SELECT last_seq, count, events FROM journal WHERE newest_at >= ? AND instr(events, ?) ORDER BY last_seq",
        (since, written),
    )
    found: list[StoredEvent] = []
    for last, count, raw in pages:
        found += [
            StoredEvent(place, event)
            for place, event in enumerate(_decode(raw), last - count + 1)
            if _is_about(event, message_id)
        ]
        if len(found) >= limit:
            break
    pages.close()
    return found[:limit]


def _is_about(event: Event, message_id: str) -> bool:
    return event.message_id == message_id or message_id in event.data.get("ids", ())


def _sample(tx: Transaction, rows: Sequence[tuple[str, str, float, bytes]]) -> None:
    tx.db.executemany("INSERT INTO sample (queue, task, at, sample) VALUES (?, ?, ?, ?)", rows)
    for queue, task in {(queue, task) for queue, task, _, _ in rows}:
        tx.db.execute(_FORGET_SAMPLES, (queue, task, KEPT_SAMPLES))


def _samples(view: View, queue: str, task: str, after: int, limit: int) -> list[StoredSample]:
    rows = view.db.execute(
        "SELECT seq, sample FROM sample WHERE queue = ? AND task = ? AND seq > ? ORDER BY seq LIMIT ?",
        (queue, task, after, limit),
    )
    return [StoredSample(seq, _decode_sample(raw)) for seq, raw in rows.fetchall()]


def _prune(tx: Transaction, horizon: float) -> Pruned:
    """One step, from the oldest on."""
    samples = tx.db.execute(_OLD_SAMPLES, (_SAMPLES, horizon)).rowcount
    newest = _last(tx)
    pages = tx.db.execute(
        "SELECT last_seq, count, newest_at, oldest_at, length(events) FROM journal ORDER BY last_seq LIMIT ?", (_PAGES,)
    ).fetchall()
    gone = upto = size = 0
    is_more = len(pages) == _PAGES
    for last, count, newest_at, oldest_at, length in pages:
        if last == newest or (count and newest_at >= horizon):
            gone += _prune_page(tx, last, horizon) if count and oldest_at < horizon else 0
            is_more = False
            break
        gone, upto, size = gone + count, last, size + length
        if size >= _BYTES:
            is_more = True
            break
    if upto:
        tx.db.execute("DELETE FROM journal WHERE last_seq <= ?", (upto,))
    return Pruned(gone, is_more or samples == _SAMPLES)


def _prune_page(tx: Transaction, last: int, horizon: float) -> int:
    """Forget a page up to its first event that is young enough; how many that were. The page itself stays."""
    (raw,) = tx.db.execute("SELECT events FROM journal WHERE last_seq = ?", (last,)).fetchone()
    events = _decode(raw)
    young = next((place for place, event in enumerate(events) if event.at >= horizon), len(events))
    rest = events[young:]
    times = [event.at for event in rest] or [horizon]
    tx.db.execute(
        "UPDATE journal SET count = ?, newest_at = ?, oldest_at = ?, events = ? WHERE last_seq = ?",
        (len(rest), max(times), min(times), _encode(rest), last),
    )
    return young
