"""Browsing: one page of messages, in the order of their state.

Nothing here changes anything. How a page is put together is `rules/paging.py`; this file only reads rows of one state
and queue behind a mark. A mark is the place of a row in its order: a time and the number of its arrival.
"""

import heapq

from tenure.adapters.memory.entry import MemoryEntry
from tenure.adapters.memory.store import MemoryDatabase
from tenure.broker import Browsed, Page, Query
from tenure.message import MessageState
from tenure.rules import cursor
from tenure.rules.paging import PagedRow, Pager, Part
from tenure.rules.queue_pattern import served_of

Place = tuple[float, int]


def browse(store: MemoryDatabase, query: Query, now: float) -> Page:
    """Return one page."""
    traits = store.traits

    def queues_of(state: MessageState) -> list[str]:
        known = [queue for queue, line in store.lines.items() if line.by_state[state]]
        return sorted(known if query.queues is None else served_of(known, query.queues))

    pager = Pager(query, queues_of, clock=store.clock, ended_filters=traits.ended_filters, visible=traits.browsable)
    while (part := pager.next_part()) is not None:
        rows = _read(store, part, now, is_backwards=query.backwards)
        pager.take(rows[: part.limit], is_end=len(rows) <= part.limit)
    return pager.page()


def _read(store: MemoryDatabase, part: Part, now: float, *, is_backwards: bool) -> list[PagedRow]:
    """The rows behind `part.after`, one more than were asked for if there is one."""
    sign = -1 if is_backwards else 1
    placed = ((_place(entry), entry) for entry in store.lines[part.queue].by_state[part.state].values())
    keyed = (((sign * time, sign * number), entry) for (time, number), entry in placed)
    if part.after:
        time, number = _read_mark(part.after)
        behind = sign * time, sign * number
        keyed = ((place, entry) for place, entry in keyed if place > behind)
    found = heapq.nsmallest(part.limit + 1, keyed, key=lambda one: one[0])
    return [PagedRow(browsed(entry, now), _mark(entry)) for _place_in_order, entry in found]


def _place(entry: MemoryEntry) -> Place:
    """Ready by arrival, delayed by due time, leased by deadline, ended by end."""
    if entry.state is MessageState.READY:
        return 0.0, entry.seq
    if entry.state is MessageState.DELAYED:
        return entry.due, entry.seq
    if entry.state is MessageState.LEASED:
        return entry.deadline or 0.0, entry.seq
    return entry.finished_at or 0.0, entry.seq


def _mark(entry: MemoryEntry) -> str:
    time, number = _place(entry)
    return f"{time!r} {number}"


def _read_mark(mark: str) -> Place:
    try:
        time, number = mark.split(" ")
        return float(time), int(number)
    except ValueError as error:
        raise cursor.refused(mark) from error


def browsed(entry: MemoryEntry, now: float) -> Browsed:
    """The message as those see it who look."""
    return Browsed(
        id=entry.id,
        queue=entry.queue,
        state=entry.state,
        envelope=entry.envelope,
        counters=entry.counters,
        task=entry.task,
        owner=entry.owner,
        fence=entry.fence,
        deadline_in=entry.deadline_in(now),
        due_in=entry.due_in(now),
        reason=entry.reason,
        sent_at=entry.sent_at,
        finished_at=entry.finished_at,
    )
