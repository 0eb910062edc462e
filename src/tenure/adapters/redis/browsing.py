"""Browsing: one page of messages, by `rules/paging.py`. Changes nothing.

The server returns stored rows, a bounded number in each script (`lua/browse.lua`), and the filters are applied here.
A script that comes to the end of a queue goes on with the next one, so that a thousand queues with one message each
are a few scripts; in a cluster each queue has its own.

Completed and cancelled messages are listed batch by batch, as they ended. Those that an older version finished are not
listed; they are found by their id.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

from tenure.adapters.redis import foreign_keys
from tenure.adapters.redis.lookup import LocatedMessage, read_details, read_finished, read_record
from tenure.adapters.redis.script import BROWSE, HOLDS
from tenure.adapters.redis.store import RedisStore
from tenure.broker import BrokerTraits
from tenure.errors import BadArgument, StoreForeign
from tenure.message import Counters, MessageState
from tenure.query import Browsed, Page, Query
from tenure.rules import browsing
from tenure.rules.paging import PagedRow, Pager, Part
from tenure.rules.queue_pattern import has_pattern, is_pattern, served_of

#: Rows that one script reads.
_MOST_ROWS = 500
#: Queues that one script is asked about.
_TOGETHER = 100
#: Queues that one script may go on with.
_AHEAD = 50

#: A row of a message with nothing more to add.
_SHORT = 4

_NUMBER = r"(?:-?inf|-?[0-9.]+(?:e[+-]?[0-9]+)?)"
#: The mark of a row, in each state.
_MARKS = {
    MessageState.READY: re.compile(_NUMBER),
    MessageState.DELAYED: re.compile(rf"{_NUMBER}\|.*", re.DOTALL),
    MessageState.LEASED: re.compile(rf"{_NUMBER}\|.*", re.DOTALL),
    MessageState.DEAD: re.compile(rf"{_NUMBER}\|.*", re.DOTALL),
    MessageState.COMPLETED: re.compile(r"[0-9]{1,15}:[0-9]{1,15}:[0-9]{1,15}"),
    MessageState.CANCELLED: re.compile(r"[0-9]{1,15}:[0-9]{1,15}:[0-9]{1,15}"),
}


class _Piece(NamedTuple):
    """The rows that one script read of one queue."""

    is_end: bool
    mark: str
    rows: list[PagedRow]
    #: Rows behind the last one of these that do not match, and the time of the last of them.
    passed: int = 0
    moment: float | None = None

    @property
    def size(self) -> int:
        """The number of rows that were read."""
        return len(self.rows) + sum(row.passed for row in self.rows) + self.passed


async def browse(store: RedisStore, query: Query, traits: BrokerTraits) -> Page:
    """Return one page."""
    browsing.check(query, traits.ended_filters)
    reader = _PageReader(store, query)
    asked = await reader.queues()
    pager = Pager(
        query, lambda _state: asked, clock=store.clock, ended_filters=traits.ended_filters, visible=traits.browsable
    )
    while (part := pager.next_part()) is not None:
        if len(asked) > 1 and not reader.knows(part):
            pager.pass_over(await reader.look_ahead(part, asked))
            continue
        piece = await reader.read(part)
        pager.take(
            piece.rows,
            is_end=piece.is_end,
            passed=piece.passed,
            mark="" if piece.is_end else piece.mark,
            moment=piece.moment,
        )
    return pager.page()


class _PageReader:
    """Reads the parts of one page, and what lies behind them where that came along."""

    def __init__(self, store: RedisStore, query: Query) -> None:
        self._store = store
        self._query = query
        self._with_raw = query.bodies or browsing.needs_envelope(query)
        #: The queues with something in this state, and the last one of which that is known.
        self._state: MessageState | None = None
        self._filled: list[str] = []
        self._known_to = ""
        #: The first rows of queues that come later.
        self._ahead: dict[tuple[MessageState, str], _Piece] = {}

    async def queues(self) -> list[str]:
        """The queues that were asked for."""
        named = self._query.queues
        if named is None:
            return await self._store.queues()
        known = await self._store.queues() if has_pattern(named) else []
        return sorted({*served_of(known, named), *(one for one in named if not is_pattern(one))})

    def knows(self, part: Part) -> bool:
        """Whether the queue of this part was looked at."""
        return part.state is self._state and part.queue <= self._known_to

    async def look_ahead(self, part: Part, asked: Sequence[str]) -> list[str]:
        """The queues to read from this part on: those that hold something, and those of which that is not known yet.

        A page rarely comes further than some queues, so only those are looked at; where they are empty, all the rest.
        """
        behind = asked[bisect_left(asked, part.queue) :]
        is_first = part.state is not self._state
        some = behind[:_TOGETHER] if is_first else behind
        self._filled = await self._filled_of(some, part.state)
        if is_first and not self._filled:
            some, self._filled = behind, await self._filled_of(behind[_TOGETHER:], part.state)
        self._state, self._known_to = part.state, some[-1]
        return [*self._filled, *behind[len(some) :]]

    async def _filled_of(self, queues: Sequence[str], state: MessageState) -> list[str]:
        """Return the queues with something in a state, in one exchange."""
        together = 1 if self._store.link.is_cluster else _TOGETHER
        groups = [queues[start : start + together] for start in range(0, len(queues), together)]
        answers = list(zip(groups, await self._holds(groups, state), strict=True))
        mixed = [group for group, said in answers if isinstance(said, StoreForeign) and len(group) > 1]
        singles = [[queue] for group in mixed for queue in group]
        answers = [one for one in answers if one[0] not in mixed]
        answers += zip(singles, await self._holds(singles, state), strict=True)
        filled: list[str] = []
        for group, said in answers:
            if isinstance(said, StoreForeign):
                self._leave_out(group[0], said)
            else:
                filled += [queue for queue, has in zip(group, said, strict=True) if has]
        return sorted(filled)

    async def _holds(self, groups: Sequence[Sequence[str]], state: MessageState) -> list[Any]:
        store = self._store
        return await store.run_each([store.call(HOLDS, group, (state.value,)) for group in groups], writes=False)

    def _leave_out(self, queue: str, said: StoreForeign) -> None:
        """Raise the error if the query names the queue; otherwise log it and skip the queue."""
        if self._query.queues is not None and queue in self._query.queues:
            raise said
        foreign_keys.sound(queue, said)

    async def read(self, part: Part) -> _Piece:
        """Rows of this part: one at least, or the end."""
        known = None if part.after else self._ahead.pop((part.state, part.queue), None)
        if known is not None and known.size <= part.limit and (known.size or known.is_end):
            return known
        if part.after and not _MARKS[part.state].fullmatch(part.after):
            msg = "this cursor was not made by this store; nothing was read. Start again without a cursor"
            raise BadArgument(msg)
        mark = part.after
        while True:
            piece = await self._read(part, mark)
            if piece.size or piece.is_end:
                return piece
            mark = piece.mark  # a foreign value

    async def _read(self, part: Part, mark: str) -> _Piece:
        store, query = self._store, self._query
        own = [part.queue]
        if not store.link.is_cluster:
            behind = bisect_right(self._filled, part.queue)
            own += self._filled[behind : behind + _AHEAD]
        limit = min(part.limit, _MOST_ROWS)
        words = (part.state.value, int(query.backwards), limit, int(self._with_raw), query.task or "", mark)
        answers: list[Any]
        try:
            answers = await store.run(BROWSE, own, *words, writes=False)
        except StoreForeign:
            (said,) = await store.run_each([store.call(BROWSE, own[:1], words)], writes=False)
            if isinstance(said, StoreForeign):
                self._leave_out(part.queue, said)
                return _Piece(is_end=True, mark="", rows=[])
            answers = said
        pieces = [_read_piece(query, queue, part.state, said) for queue, said in zip(own, answers, strict=False)]
        self._ahead.update({(part.state, queue): piece for queue, piece in zip(own[1:], pieces[1:], strict=False)})
        return pieces[0]


def _read_piece(query: Query, queue: str, state: MessageState, said: Any) -> _Piece:
    is_end, mark, raws, last = said
    rows: list[PagedRow] = []
    passed, moment = 0, None
    is_judged_first = state not in browsing.ENDED and browsing.has_early_filter(query)
    for raw in raws:
        if isinstance(raw, int):  # of other tasks
            passed += raw
            continue
        if is_judged_first:
            _, sent_at, task = read_record(raw[2]) or (0, 0.0, "")
            if not browsing.may_match(query, task or None, sent_at or None):
                passed, moment = passed + 1, sent_at or None
                continue
        row = _read_row(queue, state, raw)
        if row is not None:
            rows.append(row._replace(passed=passed) if passed else row)
            passed, moment = 0, None
    if last:
        _, sent_at, _ = read_record(last) or (0, 0.0, "")
        moment = sent_at or None
    return _Piece(bool(is_end), foreign_keys.text_of(mark), rows, passed, moment)


def _read_row(queue: str, state: MessageState, row: list[Any]) -> PagedRow | None:
    more: list[Any] = []
    if len(row) == _SHORT:
        mark, raw_id, record, raw = row
        left, fence, owner = b"", b"", b""
    else:
        mark, raw_id, record, left, fence, owner, raw, more = row
    id = foreign_keys.text_of(raw_id)
    if state in browsing.FINISHED:
        one = read_finished(id, queue, record)
        if one is None:
            return None
    else:
        _, sent_at, task = read_record(record) or (0, 0.0, "")
        one = LocatedMessage(
            id=id,
            queue=queue,
            state=state,
            task=task or None,
            sent_at=sent_at or None,
            left=int(left) / 1e6 if left else None,
            owner=foreign_keys.text_of(owner) or None,
            fence=foreign_keys.count(fence, "leases") if fence else None,
            counters=Counters(deliveries=1 if fence else 0),
        )
    if more:
        read_details(one, dict(zip((b"d", b"a", b"c", b"l", b"r", b"f"), more, strict=True)))
    message = Browsed(
        id=id, queue=queue, state=state, envelope=raw, counters=one.counters, task=one.task or None, owner=one.owner,
        fence=one.fence, deadline_in=one.left if state is MessageState.LEASED else None,
        due_in=one.left if state is MessageState.DELAYED else None, reason=one.reason, sent_at=one.sent_at or None,
        finished_at=one.finished_at,
    )  # fmt: skip
    return PagedRow(message, foreign_keys.text_of(mark), raw)
