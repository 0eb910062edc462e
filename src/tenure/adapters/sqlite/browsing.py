"""Browsing: one page of messages, read a few rows at a time.

Each state is read along what is there already: ready by arrival, merged from the priorities of `message_ready`; delayed
by due time; leased by deadline; dead by arrival; completed and cancelled by arrival along the primary key, over all
queues, because no index holds them: an ack pays nothing. There, rows of other states are passed over and counted.

A snapshot is kept for one step of at most `_ROWS_IN_A_STEP` rows, so that a long page never keeps the `-wal` from being
copied. Run by `reader.py` for `broker.py`; which part is read next is decided by `rules/paging.py`.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from tenure.adapters.sqlite import edited
from tenure.adapters.sqlite.queue_list import names_with
from tenure.adapters.sqlite.states import CANCELLED, CODES, COMPLETED, DEAD, DELAYED, LEASED, READY, STATES
from tenure.adapters.sqlite.timeline import seconds
from tenure.adapters.sqlite.transaction import View
from tenure.broker import EVERY_STATE
from tenure.message import MAX_PRIORITY, Counters, MessageState
from tenure.query import Browsed, Query
from tenure.rules import browsing, cursor
from tenure.rules.paging import Pager, Part, Row
from tenure.rules.queue_pattern import has_pattern, served_of
from tenure.verdict import Reason

#: Rows that are read before the snapshot is given up.
_ROWS_IN_A_STEP = 2_000

_COLUMNS = (
    "seq, id, queue, task, {envelope}, deliveries, attempts, crashes, lost,"
    " (SELECT owner FROM loan WHERE loan.fence = message.fence), fence, moment, reason, sent_at, finished_at, state"
)
#: By due time or by deadline.
_BY_MOMENT = {DELAYED: "message_delayed", LEASED: "message_leased"}
#: In one order over all queues.
_OVER_ALL_QUEUES = frozenset({LEASED, COMPLETED, CANCELLED})
#: A number that no row has reached, and a moment before all others.
_LAST_ROW, _FIRST_MOMENT = 1 << 62, -(1 << 62)

_reason = msgspec.json.Decoder(Reason)
_mark = msgspec.json.Decoder(tuple[int | float | str, int])
_encode = msgspec.json.Encoder().encode


class Browse:
    """One page under way."""

    def __init__(self, query: Query, ended_filters: frozenset[str]) -> None:
        """Raises `BadArgument` for a query that cannot be answered."""
        self._query = query
        self._view: View | None = None
        self._has_envelope = query.bodies or browsing.needs_envelope(query)
        self.pager = Pager(query, self._queues_of, ended_filters=ended_filters, visible=EVERY_STATE)

    def step(self, view: View) -> bool:
        """Read on. False: the page is done."""
        self._view, read = view, 0
        while read < _ROWS_IN_A_STEP:
            part = self.pager.next_part()
            if part is None:
                return False
            read += self._read(view, part) + 1
        return True

    def _queues_of(self, state: MessageState) -> Sequence[str]:
        code, asked = CODES[state], self._query.queues
        if code in _OVER_ALL_QUEUES:
            return ("",)
        if asked is not None and not has_pattern(asked):
            return sorted(set(asked))
        if self._view is None:
            msg = "queues are asked for while a part is read"
            raise RuntimeError(msg)
        names = names_with(self._view.db, code)
        return names if asked is None else served_of(names, asked)

    def _read(self, view: View, part: Part) -> int:
        """Hand the rows of one part to the pager. How many were read."""
        code = CODES[part.state]
        if code in (COMPLETED, CANCELLED):
            return self._read_along_arrival(view, part, code)
        rows = self._read_moments(view, part, code) if code in _BY_MOMENT else self._read_arrivals(view, part, code)
        by_moment = code in _BY_MOMENT
        marked = [self._row(view, row, _moment_mark(row) if by_moment else str(row[0])) for row in rows]
        self.pager.take(marked, is_end=len(rows) < part.limit)
        return len(rows)

    def _read_arrivals(self, view: View, part: Part, code: int) -> list[tuple[Any, ...]]:
        """Ready or dead messages of one queue."""
        query = self._query
        after = _number(part.after, backwards=query.backwards)
        statement = _ready if code == READY else _dead
        values = {"queue": part.queue, "after": after, "limit": part.limit}
        return view.db.execute(statement(self._has_envelope, query.backwards), values).fetchall()

    def _read_moments(self, view: View, part: Part, code: int) -> list[tuple[Any, ...]]:
        query = self._query
        moment, seq = _moment(part.after)
        values = {"queue": part.queue, "moment": moment, "seq": seq, "limit": part.limit}
        statement = _moments(code, self._has_envelope, query.backwards, is_first=not part.after)
        return view.db.execute(statement, values).fetchall()

    def _read_along_arrival(self, view: View, part: Part, code: int) -> int:
        """The next rows of any state; those of `code` go to the pager, the others are counted."""
        after = _number(part.after, backwards=self._query.backwards)
        statement = _along(code, self._has_envelope, self._query.backwards)
        rows = view.db.execute(statement, {"after": after, "limit": part.limit, "state": code}).fetchall()
        found = [self._row(view, row, str(row[0])) for row in rows if row[-1] == code]
        passed = len(rows) - len(found)
        self.pager.take(found, is_end=len(rows) < part.limit, passed=passed, mark=str(rows[-1][0]) if rows else "")
        return len(rows)

    def _row(self, view: View, row: tuple[Any, ...], mark: str) -> Row:
        message = _browsed(view, row)
        if self._query.bodies:
            return Row(message, mark)
        return Row(msgspec.structs.replace(message, envelope=b""), mark, message.envelope)


def _browsed(view: View, row: tuple[Any, ...]) -> Browsed:
    _, id, queue, task, envelope, *counters, owner, fence, moment, reason, sent_at, finished_at, code = row
    when = edited.moment(moment)
    until = None if when is None else seconds(when - view.now)
    is_leased = code == LEASED
    return Browsed(
        id=id,
        queue=queue,
        state=STATES[code],
        envelope=edited.raw(envelope) or b"",
        counters=Counters(*edited.counters(counters)),
        task=edited.text(task),
        owner=edited.text(owner) if is_leased else None,
        fence=edited.moment(fence) if is_leased else None,
        deadline_in=until if is_leased else None,
        due_in=until if code == DELAYED else None,
        reason=edited.read(_reason, reason),
        sent_at=edited.number(sent_at),
        finished_at=edited.number(finished_at),
    )


def _number(mark: str, *, backwards: bool) -> int:
    if not mark:
        return _LAST_ROW if backwards else 0
    if not mark.isascii() or not mark.isdecimal() or int(mark) > _LAST_ROW:
        raise cursor.refused(mark)
    return int(mark)


def _moment(mark: str) -> tuple[int | float | str, int]:
    if not mark:
        return 0, 0
    try:
        moment, seq = _mark.decode(mark)
    except msgspec.MsgspecError as error:
        raise cursor.refused(mark) from error
    if abs(seq) > _LAST_ROW or (isinstance(moment, int) and abs(moment) > _LAST_ROW):
        raise cursor.refused(mark)
    return moment, seq


def _moment_mark(row: tuple[Any, ...]) -> str:
    """Moment and number. One without a moment was edited by hand, and comes before all others."""
    moment = row[-5]
    known = moment if isinstance(moment, int | float | str) else _FIRST_MOMENT
    return _encode((known, row[0])).decode()


def _columns(*, has_envelope: bool, state: int | None = None) -> str:
    """With `state`: the envelope of rows of other states is not read."""
    if not has_envelope:
        return _COLUMNS.format(envelope="NULL")
    return _COLUMNS.format(envelope="envelope" if state is None else f"iif(state = {state}, envelope, NULL)")


@cache
def _ready(has_envelope: bool, backwards: bool) -> str:  # noqa: FBT001 - a key of the cache
    """The index is by priority first: its numbers are merged, and only the rows of the page are read."""
    sign, order = ("<", "DESC") if backwards else (">", "ASC")
    parts = " UNION ALL ".join(
        f"SELECT seq FROM (SELECT seq FROM message INDEXED BY message_ready WHERE state = {READY} AND queue = :queue"
        f" AND priority = {priority} AND seq {sign} :after ORDER BY seq {order} LIMIT :limit)"
        for priority in range(MAX_PRIORITY + 1)
    )
    return (
        f"SELECT {_columns(has_envelope=has_envelope)} FROM message"
        f" WHERE seq IN (SELECT seq FROM ({parts}) ORDER BY seq {order} LIMIT :limit) ORDER BY seq {order}"
    )


@cache
def _dead(has_envelope: bool, backwards: bool) -> str:  # noqa: FBT001
    sign, order = ("<", "DESC") if backwards else (">", "ASC")
    return (
        f"SELECT {_columns(has_envelope=has_envelope)} FROM message INDEXED BY message_dead"
        f" WHERE state = {DEAD} AND queue = :queue AND seq {sign} :after ORDER BY seq {order} LIMIT :limit"
    )


@cache
def _moments(code: int, has_envelope: bool, backwards: bool, *, is_first: bool) -> str:  # noqa: FBT001
    sign, order = ("<", "DESC") if backwards else (">", "ASC")
    behind = "" if is_first else f"AND moment {sign}= :moment AND (moment, seq) {sign} (:moment, :seq)"
    among = "" if code in _OVER_ALL_QUEUES else "AND queue = :queue"
    return (
        f"SELECT {_columns(has_envelope=has_envelope)} FROM message INDEXED BY {_BY_MOMENT[code]}"
        f" WHERE state = {code} {among} {behind} ORDER BY moment {order}, seq {order} LIMIT :limit"
    )


@cache
def _along(code: int, has_envelope: bool, backwards: bool) -> str:  # noqa: FBT001
    sign, order = ("<", "DESC") if backwards else (">", "ASC")
    return (
        f"SELECT {_columns(has_envelope=has_envelope, state=code)} FROM message NOT INDEXED"
        f" WHERE seq {sign} :after ORDER BY seq {order} LIMIT :limit"
    )
