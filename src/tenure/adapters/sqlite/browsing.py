"""Browsing: one page of messages, read a few rows at a time.

Each state is read along what is there already: ready by arrival, merged from the priorities of `message_ready`; delayed
by due time; leased by deadline; dead by arrival; completed and cancelled by arrival along the primary key, over all
queues, because no index holds them: an ack pays nothing. There, rows of other states are passed over and counted.

Where a row can be judged by a few columns, those are read first, and the rest only of rows that may match and for which
the page has room: a search among many rows neither copies envelopes nor makes objects that are thrown away.

A snapshot is kept for one step of at most `_ROWS_IN_A_STEP` rows, so that a long page never keeps the `-wal` from being
copied. Run by `reader.py` for `broker.py`; which part is read next is decided by `rules/paging.py`.
"""

import sqlite3
from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from tenure.adapters.sqlite import edited
from tenure.adapters.sqlite.placeholders import listed
from tenure.adapters.sqlite.queue_list import names_with
from tenure.adapters.sqlite.states import CANCELLED, CODES, COMPLETED, DEAD, DELAYED, LEASED, READY, STATES
from tenure.adapters.sqlite.timeline import seconds
from tenure.adapters.sqlite.transaction import ReadView
from tenure.broker import EVERY_STATE
from tenure.clock import Clock
from tenure.message import MAX_PRIORITY, Counters, MessageState
from tenure.query import Browsed, Query
from tenure.rules import browsing, cursor
from tenure.rules.paging import PagedRow, Pager, Part
from tenure.rules.queue_pattern import has_pattern, matches, served_of
from tenure.verdict import Reason

#: Rows that are read before the snapshot is given up.
_ROWS_IN_A_STEP = 2_000

#: Of the first look, by which it is decided whether a row is read.
_KEY = "seq, queue, task, sent_at, finished_at, moment, state"
#: Of a row.
_COLUMNS = (
    "seq, id, queue, task, {envelope}, deliveries, attempts, crashes, lost,"
    " (SELECT owner FROM loan WHERE loan.fence = message.fence), fence, moment, reason, sent_at, finished_at, state"
)
#: By due time or by deadline.
_BY_MOMENT = {DELAYED: "message_delayed", LEASED: "message_leased"}
#: In one order over all queues.
_OVER_ALL_QUEUES = frozenset({LEASED, COMPLETED, CANCELLED})
#: Found among the rows of all states.
_ALONG_ARRIVAL = frozenset({COMPLETED, CANCELLED})
#: Their time is their end.
_ENDED = frozenset({DEAD, COMPLETED, CANCELLED})
#: A number that no row has reached, and a moment before all others.
_LAST_ROW, _FIRST_MOMENT = 1 << 62, -(1 << 62)

_reason = msgspec.json.Decoder(Reason)
_mark = msgspec.json.Decoder(tuple[int | float | str, int])
_encode = msgspec.json.Encoder().encode


class Browse:
    """The reading of one page."""

    def __init__(self, query: Query, clock: Clock, ended_filters: frozenset[str]) -> None:
        """Raises `BadArgument` for a query that cannot be answered."""
        self._query = query
        self._view: ReadView | None = None
        self._has_envelope = query.bodies or browsing.needs_envelope(query)
        self.pager = Pager(query, self._queues_of, clock=clock, ended_filters=ended_filters, visible=EVERY_STATE)

    def step(self, view: ReadView) -> bool:
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

    def _read(self, view: ReadView, part: Part) -> int:
        """Hand the rows of one part to the pager. How many were read."""
        code = CODES[part.state]
        if self._is_judged_first(code):
            return self._read_keys_first(view, part, code)
        rows = self._execute(view, part, code, _columns(has_envelope=self._has_envelope)).fetchall()
        marked = [self._row(view, row, _mark_of(code, row[0], row[-5])) for row in rows]
        self.pager.take(marked, is_end=len(rows) < part.limit)
        return len(rows)

    def _is_judged_first(self, code: int) -> bool:
        query = self._query
        is_mixed = code in _ALONG_ARRIVAL or (code in _OVER_ALL_QUEUES and query.queues is not None)
        return is_mixed or browsing.has_early_filter(query)

    def _read_keys_first(self, view: ReadView, part: Part, code: int) -> int:
        """Read the keys of some rows, and then the rows that may match, as far as the page has room for them."""
        keys = self._execute(view, part, code, _KEY).fetchall()
        places = [place for place, key in enumerate(keys) if self._may_match(key, code)]
        is_cut = not browsing.needs_envelope(self._query) and len(places) > part.wanted
        if is_cut:
            places = places[: part.wanted]
        rows = _rows_by_number(view, [keys[place][0] for place in places], has_envelope=self._has_envelope)
        found, behind = list[PagedRow](), 0
        for place in places:
            seq, *_, moment, _state = keys[place]
            row = self._row(view, rows[seq], _mark_of(code, seq, moment))
            found.append(row._replace(passed=place - behind))
            behind = place + 1
        if is_cut:
            self.pager.take(found, is_end=False)
        else:
            last = keys[-1] if keys else None
            self.pager.take(
                found,
                is_end=len(keys) < part.limit,
                passed=len(keys) - behind,
                mark="" if last is None else _mark_of(code, last[0], last[-2]),
                moment=None if last is None else _time_of(last),
            )
        return len(keys)

    def _may_match(self, key: tuple[Any, ...], code: int) -> bool:
        query = self._query
        if key[-1] != code or not browsing.may_match(query, key[2], _time_of(key)):
            return False
        return code not in _OVER_ALL_QUEUES or query.queues is None or matches(key[1], query.queues)

    def _execute(self, view: ReadView, part: Part, code: int, columns: str) -> sqlite3.Cursor:
        """Rows of this part, in its order."""
        backwards = self._query.backwards
        if code in _BY_MOMENT:
            moment, seq = _moment(part.after)
            values = {"queue": part.queue, "moment": moment, "seq": seq, "limit": part.limit}
            return view.db.execute(_moments(columns, code, backwards, is_first=not part.after), values)
        after = _number(part.after, backwards=backwards)
        statement = _ready if code == READY else _dead if code == DEAD else _along
        return view.db.execute(
            statement(columns, backwards), {"queue": part.queue, "after": after, "limit": part.limit}
        )

    def _row(self, view: ReadView, row: tuple[Any, ...], mark: str) -> PagedRow:
        message = _browsed(view, row)
        if self._query.bodies:
            return PagedRow(message, mark)
        return PagedRow(msgspec.structs.replace(message, envelope=b""), mark, message.envelope)


def _rows_by_number(view: ReadView, numbers: list[int], *, has_envelope: bool) -> dict[int, tuple[Any, ...]]:
    if not numbers:
        return {}
    statement = (
        f"SELECT {_columns(has_envelope=has_envelope)} FROM message WHERE seq IN (SELECT value FROM json_each(?))"
    )
    return {row[0]: row for row in view.db.execute(statement, (listed(numbers),)).fetchall()}


def _time_of(key: tuple[Any, ...]) -> float | None:
    """Compute a row's moment in SQL, as `browsing.moment_of` does."""
    return edited.number(key[4] if key[-1] in _ENDED else key[3])


def _browsed(view: ReadView, row: tuple[Any, ...]) -> Browsed:
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


def _mark_of(code: int, seq: int, moment: object) -> str:
    """Return a row's position in the order of its state: its number, or moment and number.

    One without a moment was edited by hand, and comes before all others.
    """
    if code not in _BY_MOMENT:
        return str(seq)
    known = moment if isinstance(moment, int | float | str) else _FIRST_MOMENT
    return _encode((known, seq)).decode()


def _columns(*, has_envelope: bool) -> str:
    return _COLUMNS.format(envelope="envelope" if has_envelope else "NULL")


@cache
def _ready(columns: str, backwards: bool) -> str:  # noqa: FBT001 - a key of the cache
    """The index is by priority first: its numbers are merged, and only the rows of the page are read."""
    sign, order = ("<", "DESC") if backwards else (">", "ASC")
    parts = " UNION ALL ".join(
        f"SELECT seq FROM (SELECT seq FROM message INDEXED BY message_ready WHERE state = {READY} AND queue = :queue"
        f" AND priority = {priority} AND seq {sign} :after ORDER BY seq {order} LIMIT :limit)"
        for priority in range(MAX_PRIORITY + 1)
    )
    return (
        f"SELECT {columns} FROM message"
        f" WHERE seq IN (SELECT seq FROM ({parts}) ORDER BY seq {order} LIMIT :limit) ORDER BY seq {order}"
    )


@cache
def _dead(columns: str, backwards: bool) -> str:  # noqa: FBT001
    sign, order = ("<", "DESC") if backwards else (">", "ASC")
    return (
        f"SELECT {columns} FROM message INDEXED BY message_dead"
        f" WHERE state = {DEAD} AND queue = :queue AND seq {sign} :after ORDER BY seq {order} LIMIT :limit"
    )


@cache
def _moments(columns: str, code: int, backwards: bool, *, is_first: bool) -> str:  # noqa: FBT001
    sign, order = ("<", "DESC") if backwards else (">", "ASC")
    behind = "" if is_first else f"AND moment {sign}= :moment AND (moment, seq) {sign} (:moment, :seq)"
    among = "" if code in _OVER_ALL_QUEUES else "AND queue = :queue"
    return (
        f"SELECT {columns} FROM message INDEXED BY {_BY_MOMENT[code]}"
        f" WHERE state = {code} {among} {behind} ORDER BY moment {order}, seq {order} LIMIT :limit"
    )


@cache
def _along(columns: str, backwards: bool) -> str:  # noqa: FBT001
    sign, order = ("<", "DESC") if backwards else (">", "ASC")
    return f"SELECT {columns} FROM message NOT INDEXED WHERE seq {sign} :after ORDER BY seq {order} LIMIT :limit"
