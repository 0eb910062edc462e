"""Paging: puts a page together, state by state, queue by queue, within the bounds of the query.

Sans-IO, so that every store pages alike. A store asks `next_part` where to read, reads rows there in its own order,
hands them to `take`, and does so until `next_part` answers None:

    pager = Pager(
        query, lambda state: sorted(queues), clock=clock, ended_filters=traits.ended_filters, visible=traits.browsable
    )
    while (part := pager.next_part()) is not None:
        rows, is_end = read(part.state, part.queue, after=part.after, limit=part.limit)
        pager.take(rows, is_end=is_end)
    return pager.page()

A store that keeps a state in one order over all queues answers `("",)` for it: then one part covers all of them,
and rows of queues that were not asked for are passed over here. A store that can tell by a few columns that a row does
not match (`browsing.may_match`) leaves it out and counts it as passed over. A cursor is good for the same states,
queues and direction only.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple
from zlib import crc32

import msgspec

from tenure.clock import Clock
from tenure.errors import BadArgument
from tenure.message import MessageState
from tenure.query import Browsed, Page, Query
from tenure.rules import browsing, cursor
from tenure.rules.queue_pattern import matches

#: Rows that are read in one step where few are wanted: a filter may pass most of them over. This many are read however
#: little time there is.
_ROWS_AT_ONCE = 1_000


class Part(NamedTuple):
    """The next part to read. `after` is the store's own mark of the row before; empty: from the start."""

    state: MessageState
    #: Empty: all queues.
    queue: str
    after: str
    #: Read no more rows than this.
    limit: int
    #: Hand over no more rows than this: one more than the page has room for, to know whether there is another.
    wanted: int


class PagedRow(NamedTuple):
    """One row that was read: the message, and the mark to go on behind it."""

    message: Browsed
    mark: str
    #: Its envelope, for the filters, where `message` carries none because bodies were not asked for.
    raw: bytes | None = None
    #: Rows just before it that were read as well and do not match.
    passed: int = 0


class _Place(msgspec.Struct, array_like=True, omit_defaults=True):
    """The contents of a cursor: its query, the number of the state in it, the queue, and the mark within it."""

    query: int
    state: int
    queue: str
    mark: str = ""


class Pager:
    """One page under construction."""

    def __init__(
        self,
        query: Query,
        queues_of: Callable[[MessageState], Sequence[str]],
        *,
        clock: Clock,
        ended_filters: frozenset[str],
        visible: frozenset[MessageState],
    ) -> None:
        """`queues_of`: the queues to read for a state, sorted by name. `visible`: states that can be shown at all.

        `clock`: for `Query.seconds`. Raises `BadArgument` for a query that cannot be answered here.
        """
        browsing.check(query, ended_filters)
        hidden = [state.value for state in query.states if state not in visible]
        if hidden:
            msg = (
                f"{' and '.join(hidden)} messages cannot be listed on this broker, or only by a scan (scan=True); "
                "nothing was read"
            )
            raise BadArgument(msg)
        self._query = query
        self._queues_of = queues_of
        self._found: list[Browsed] = []
        self._looked_at = 0
        self._looked_until: float | None = None
        self._has_more = False
        self._clock = clock
        self._end = None if query.seconds is None else clock.monotonic() + query.seconds
        self._number = _number_of(query)
        self._place = cursor.read(query.cursor, _Place) if query.cursor else self._at(0, "")
        if self._place.query != self._number or not 0 <= self._place.state < len(query.states):
            msg = "this cursor belongs to another query; nothing was read. Start again without a cursor"
            raise BadArgument(msg)
        self._queues: Sequence[str] | None = None
        self._part: Part | None = None

    def next_part(self) -> Part | None:
        """Return the next part to read. None: the page is done."""
        query = self._query
        self._part = None
        while self._place.state < len(query.states):
            room, rows = query.limit - len(self._found), query.look_at - self._looked_at
            if room <= 0 or rows <= 0 or self._is_late():
                return None
            state = query.states[self._place.state]
            if self._queues is None:
                self._queues = self._queues_of(state)
            # A queue may have come or gone since the cursor was made.
            behind = bisect_left(self._queues, self._place.queue)
            if behind == len(self._queues):
                self._leave_state()
                continue
            queue = self._queues[behind]
            mark = self._place.mark if queue == self._place.queue else ""
            is_filtered = browsing.has_early_filter(query) or browsing.needs_envelope(query) or queue == ""
            at_once = _ROWS_AT_ONCE if is_filtered else room + 1
            self._part = Part(state, queue, mark, min(at_once, rows), room + 1)
            return self._part
        return None

    def pass_over(self, queues: Sequence[str]) -> None:
        """Read only these queues of the state, sorted by name: the others have nothing. Called instead of `take`."""
        self._queues = queues

    def take(
        self, rows: Sequence[PagedRow], *, is_end: bool, passed: int = 0, mark: str = "", moment: float | None = None
    ) -> None:
        """The rows of the part, in order. `is_end`: behind them this queue has no more in this state.

        `passed`: this many rows were read as well and left out, behind these or anywhere; `mark`: to go on behind the
        last of them, whose time was `moment`.
        """
        part = self._part
        if part is None:
            msg = "take without next_part"
            raise RuntimeError(msg)
        taken = self._take_rows(part, rows)
        if taken < len(rows):  # the page is full, and the next one begins with the rest
            self._has_more = any(self._is_match(part, row) for row in rows[taken:])
            return
        self._looked_at += passed
        if moment is not None:
            self._looked_until = moment
        if is_end:
            self._leave_queue(part.queue)
        elif mark:
            self._place = self._at(self._place.state, part.queue, mark)
        elif not rows:
            msg = f"no rows and no end in {part}"
            raise RuntimeError(msg)

    def page(self) -> Page:
        """Return the finished page."""
        is_over = self._place.state >= len(self._query.states)
        return Page(
            messages=tuple(self._found),
            cursor=None if is_over else cursor.write(self._place),
            looked_at=self._looked_at,
            looked_until=self._looked_until,
            has_more=self._has_more,
        )

    def _is_late(self) -> bool:
        if self._end is None or self._looked_at < min(_ROWS_AT_ONCE, self._query.look_at):
            return False
        return self._clock.monotonic() >= self._end

    def _take_rows(self, part: Part, rows: Sequence[PagedRow]) -> int:
        """How many were taken until the page was full."""
        query, found = self._query, self._found
        last: PagedRow | None = None
        taken = 0
        for row in rows:
            if len(found) == query.limit:
                break
            last, taken = row, taken + 1
            self._looked_at += 1 + row.passed
            if self._is_match(part, row):
                found.append(row.message if query.bodies else _without_body(row.message))
        if last is not None:
            self._place = self._at(self._place.state, part.queue, last.mark)
            self._looked_until = browsing.moment_of(last.message)
        return taken

    def _is_match(self, part: Part, row: PagedRow) -> bool:
        query = self._query
        is_asked_for = part.queue or query.queues is None or matches(row.message.queue, query.queues)
        return bool(is_asked_for) and browsing.matches(query, row.message, row.raw)

    def _at(self, state: int, queue: str, mark: str = "") -> _Place:
        return _Place(self._number, state, queue, mark)

    def _leave_queue(self, queue: str) -> None:
        queues = self._queues or ()
        behind = bisect_right(queues, queue)
        if behind < len(queues):
            self._place = self._at(self._place.state, queues[behind])
        else:
            self._leave_state()

    def _leave_state(self) -> None:
        self._place, self._queues = self._at(self._place.state + 1, ""), None


def _number_of(query: Query) -> int:
    """Differs for queries that read other rows or in another order. Filters and bounds may change between pages."""
    return crc32(msgspec.json.encode((query.states, query.queues, query.backwards)))


def _without_body(message: Browsed) -> Browsed:
    return msgspec.structs.replace(message, envelope=b"") if message.envelope else message
