"""The journal: events in one order, stored by the page; and samples of how long runs took, a row each.

A page is whatever one call appended, as one row: keeping a hundred events is one insert. An event's place is
counted back from the last place of its page. The newest page is emptied rather than removed when it grows
old, so that places go on rising. The events of one message are found by marks (`journal_ids.py`). What processes count
is kept beside it (`tally_table.py`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from tenure.adapters.sqlite import journal_ids, tally_table
from tenure.adapters.sqlite.store import SqliteStore
from tenure.adapters.sqlite.transaction import ReadView, WriteTransaction
from tenure.adapters.sqlite.wake import JOURNAL
from tenure.broker import Erased
from tenure.event import Event, StoredEvent
from tenure.rules.erasing import erased, must_be_erased
from tenure.sample import Sample, StoredSample
from tenure.state import KEPT_SAMPLES
from tenure.tally import Tally

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[Event]).decode
_decode_sample = msgspec.json.Decoder(Sample).decode

_FORGET_SAMPLES = """
DELETE FROM sample WHERE queue = ?1 AND task = ?2 AND seq <= (
    SELECT seq FROM sample WHERE queue = ?1 AND task = ?2 ORDER BY seq DESC LIMIT 1 OFFSET ?3)
"""

_APPEND = """
INSERT INTO journal (last_seq, count, newest_at, oldest_at, events)
VALUES ((SELECT coalesce(max(last_seq), 0) FROM journal) + ?1, ?1, ?2, ?3, ?4)
"""
_PAGES_ABOUT = """
SELECT last_seq, count, events FROM journal
WHERE last_seq BETWEEN ? AND ? AND newest_at >= ? AND instr(events, ?) ORDER BY last_seq
"""

#: How many rows one step of `prune` reads, and about how many it removes: a few milliseconds of the write lock.
_PAGES = 100
_BYTES = 1 << 20
_SAMPLES = 1000

_OLD_SAMPLES = "DELETE FROM sample WHERE seq IN (SELECT seq FROM sample ORDER BY seq LIMIT ?) AND at < ?"


class PrunedEvents(NamedTuple):
    """The result of one step of `prune`."""

    gone: int
    is_more: bool


class SqliteJournal:
    """The journal in SQLite."""

    def __init__(self, store: SqliteStore) -> None:
        """Take the store."""
        self._store = store

    async def append(self, events: Sequence[Event]) -> None:
        """Keep events, in this order."""
        if not events:
            return
        raw = _encode(events)
        times = [event.at for event in events]
        marks = journal_ids.marks_of(events)
        await self._store.write_with_next(lambda tx: _append(tx, len(times), max(times), min(times), raw, marks))

    async def read(self, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """The next events after place `after`, oldest first."""
        return await self._store.look(lambda view: _read(view, after, limit))

    async def about(self, message_id: str, *, since: float = 0.0, limit: int = 100) -> list[StoredEvent]:
        """Events of one message, oldest first."""
        return await self._store.look(lambda view: _about(view, message_id, since, limit))

    async def last(self) -> int:
        """The place of the newest event; 0 if there is none."""
        return await self._store.read(_last)

    async def first(self) -> int:
        """The place of the oldest event that is kept; 0 if there is none."""
        return await self._store.read(_first)

    async def wait(self, after: int, seconds: float) -> None:
        """Return when there is an event behind place `after`, or after `seconds`."""
        await self._store.wait_for_events(seconds, lambda view: _last(view) > after)

    async def tally(self, batch: Sequence[Tally]) -> None:
        """Keep rows. After a power cut the last ones may be gone."""
        if batch:
            await self._store.write(lambda tx: tally_table.keep(tx, batch), is_light=True)

    async def tallies(self, step: int, since: float, until: float) -> list[Tally]:
        """Return the rows of one step."""
        return await self._store.look(lambda view: tally_table.read(view, step, since, until))

    async def prune(self, older_than_seconds: float) -> int:
        """Forget old events, samples and tallies; how many events. In steps: others write in between.

        The oldest come first, and the first page with a young event ends it.
        """
        gone = 0
        while True:
            # What comes back after a power cut is forgotten by the next call.
            step = await self._store.write(lambda tx: _prune(tx, older_than_seconds), is_light=True)
            gone += step.gone
            if not step.is_more:
                return gone

    async def erase(self, queue: str, after: str = "") -> Erased:
        """Blank the events of a queue, some pages in a step."""
        return await self._store.write(lambda tx: _erase(tx, queue, int(after or 0)))

    async def sample(self, batch: Sequence[Sample]) -> None:
        """Keep the newest ones of each queue and task. After a power cut the last ones may be gone."""
        if batch:
            rows = [(one.queue, one.task, one.at, _encode(one)) for one in batch]
            await self._store.write(lambda tx: _sample(tx, rows), is_light=True)

    async def samples(self, queue: str, task: str, *, after: int = 0, limit: int = KEPT_SAMPLES) -> list[StoredSample]:
        """The next samples of a task after place `after`, oldest first."""
        return await self._store.read(lambda view: _samples(view, queue, task, after, limit))


def _last(view: ReadView) -> int:
    last: int = view.db.execute("SELECT coalesce(max(last_seq), 0) FROM journal").fetchone()[0]
    return last


def _first(view: ReadView) -> int:
    row = view.db.execute(
        "SELECT last_seq - count + 1 FROM journal WHERE count > 0 ORDER BY last_seq LIMIT 1"
    ).fetchone()
    return 0 if row is None else row[0]


def _append(tx: WriteTransaction, count: int, newest: float, oldest: float, raw: bytes, marks: bytes) -> None:
    last = tx.db.execute(_APPEND, (count, newest, oldest, raw)).lastrowid or 0
    journal_ids.mark(tx, last - count + 1, last, marks)
    tx.stirred.add(JOURNAL)


def _read(view: ReadView, after: int, limit: int) -> list[StoredEvent]:
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


def _about(view: ReadView, message_id: str, since: float, limit: int) -> list[StoredEvent]:
    """Find the events about an id. Only pages whose bytes contain the id are decoded."""
    # Without the quotes around it: those stand everywhere, and would slow the search down.
    written = _encode(message_id)[1:-1]
    found: list[StoredEvent] = []
    for first, end in journal_ids.spans_about(view, message_id, _last(view)):
        pages = view.db.execute(_PAGES_ABOUT, (first, end, since, written))
        for last, count, raw in pages:
            found += [
                StoredEvent(place, event)
                for place, event in enumerate(_decode(raw), last - count + 1)
                if _is_about(event, message_id)
            ]
            if len(found) >= limit:
                break
        pages.close()
        if len(found) >= limit:
            break
    return found[:limit]


def _is_about(event: Event, message_id: str) -> bool:
    return event.message_id == message_id or message_id in event.data.get("ids", ())


def _sample(tx: WriteTransaction, rows: Sequence[tuple[str, str, float, bytes]]) -> None:
    tx.db.executemany("INSERT INTO sample (queue, task, at, sample) VALUES (?, ?, ?, ?)", rows)
    for queue, task in {(queue, task) for queue, task, _, _ in rows}:
        tx.db.execute(_FORGET_SAMPLES, (queue, task, KEPT_SAMPLES))


def _samples(view: ReadView, queue: str, task: str, after: int, limit: int) -> list[StoredSample]:
    rows = view.db.execute(
        "SELECT seq, sample FROM sample WHERE queue = ? AND task = ? AND seq > ? ORDER BY seq LIMIT ?",
        (queue, task, after, limit),
    )
    return [StoredSample(seq, _decode_sample(raw)) for seq, raw in rows.fetchall()]


def _prune(tx: WriteTransaction, older_than_seconds: float) -> PrunedEvents:
    """Prune one piece, from the oldest on."""
    horizon = tx.wall - older_than_seconds
    has_more_tallies = tally_table.prune(tx, older_than_seconds)
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
        journal_ids.forget(tx, upto)
    return PrunedEvents(gone, is_more or has_more_tallies or samples == _SAMPLES)


def _prune_page(tx: WriteTransaction, last: int, horizon: float) -> int:
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


def _erase(tx: WriteTransaction, queue: str, after: int) -> Erased:
    """Blank the events of a queue in the next pages. Only pages whose bytes contain its name are decoded."""
    written = _encode(queue)[1:-1]
    pages = tx.db.execute(
        "SELECT last_seq, iif(instr(events, ?), events, NULL) FROM journal WHERE last_seq > ?"
        " ORDER BY last_seq LIMIT ?",
        (written, after, _PAGES),
    ).fetchall()
    blanked = 0
    for last, raw in pages:
        events = [] if raw is None else _decode(raw)
        count = sum(must_be_erased(event, queue) for event in events)
        if count:
            blanked += count
            left = [erased(event) if must_be_erased(event, queue) else event for event in events]
            tx.db.execute("UPDATE journal SET events = ? WHERE last_seq = ?", (_encode(left), last))
    return Erased(blanked, str(pages[-1][0]) if len(pages) == _PAGES else None)
