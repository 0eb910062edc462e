"""Browsing: one page of messages, by `rules/paging.py`. Changes nothing.

The server gives rows as they lie there, a bounded number in each script (`lua/browse.lua`), and the filters are applied
here. A script that comes to the end of a queue goes on with the next one, so that a thousand queues with one message
each are a few scripts; in a cluster each queue has its own.

Completed and cancelled messages are listed batch by batch, as they ended. Those that an older version finished are not
listed; they are found by their id.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from tenure.adapters.redis import strange
from tenure.adapters.redis.finding import Found, read_details, read_finished, read_record
from tenure.adapters.redis.script import BROWSE, HOLDS
from tenure.adapters.redis.store import Store
from tenure.broker import BrokerTraits
from tenure.errors import BadArgument, StoreForeign
from tenure.message import Counters, MessageState
from tenure.query import Browsed, Page, Query
from tenure.rules import browsing
from tenure.rules.paging import Pager, Part, Row
from tenure.rules.queue_pattern import has_pattern, is_pattern, served_of

#: Rows that one script reads.
_MOST_ROWS = 500
#: Queues that one script is asked about.
_TOGETHER = 100
#: Queues that one script may go on with.
_AHEAD = 50

#: A row of a message of which there is nothing more to tell.
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
    """What one script read of one queue."""

    is_end: bool
    mark: str
    rows: list[Row]


async def browse(store: Store, query: Query, traits: BrokerTraits) -> Page:
    """One page."""
    browsing.check(query, traits.ended_filters)
    reader = _Reader(store, query)
    queues = {state: await reader.queues_in(state) for state in dict.fromkeys(query.states)}
    pager = Pager(query, queues.__getitem__, ended_filters=traits.ended_filters, visible=traits.browsable)
    while (part := pager.next_part()) is not None:
        piece = await reader.read(part, queues[part.state])
        pager.take(piece.rows, is_end=piece.is_end)
    return pager.page()


class _Reader:
    """Reads the parts of one page, and what lies behind them where that came along."""

    def __init__(self, store: Store, query: Query) -> None:
        self._store = store
        self._query = query
        self._with_raw = query.bodies or browsing.needs_envelope(query)
        self._asked: list[str] | None = None
        #: The first rows of queues that come later.
        self._ahead: dict[tuple[MessageState, str], _Piece] = {}

    async def queues_in(self, state: MessageState) -> list[str]:
        """The queues to read for a state: those that were asked for, and have something."""
        queues = await self._queues()
        if len(queues) <= 1:
            return queues
        together = 1 if self._store.link.is_cluster else _TOGETHER
        groups = [queues[start : start + together] for start in range(0, len(queues), together)]
        answers = await self._holds(groups, state)
        mixed = [group for group, said in zip(groups, answers, strict=True) if isinstance(said, StoreForeign)]
        seen = [(group, said) for group, said in zip(groups, answers, strict=True) if group not in mixed]
        singles = [[queue] for group in mixed for queue in group]
        seen += zip(singles, await self._holds(singles, state), strict=True)
        held: set[str] = set()
        for group, said in seen:
            if isinstance(said, StoreForeign):
                # Where a queue was named, its garbage is told; where many are asked, it must not hide the others.
                if self._query.queues is not None and group[0] in self._query.queues:
                    raise said
                strange.sound(group[0], said)
            else:
                held.update(queue for queue, has in zip(group, said, strict=True) if has)
        return [queue for queue in queues if queue in held]

    async def _holds(self, groups: list[list[str]], state: MessageState) -> list[Any]:
        store = self._store
        return await store.run_each([store.call(HOLDS, group, (state.value,)) for group in groups], writes=False)

    async def _queues(self) -> list[str]:
        if self._asked is None:
            named = self._query.queues
            if named is None:
                self._asked = await self._store.queues()
            else:
                known = await self._store.queues() if has_pattern(named) else []
                self._asked = sorted({*served_of(known, named), *(one for one in named if not is_pattern(one))})
        return self._asked

    async def read(self, part: Part, queues: Sequence[str]) -> _Piece:
        """Rows of this part: one at least, or the end."""
        known = None if part.after else self._ahead.pop((part.state, part.queue), None)
        if known is not None and len(known.rows) <= part.limit and (known.rows or known.is_end):
            return known
        if part.after and not _MARKS[part.state].fullmatch(part.after):
            msg = "this cursor was not made by this store; nothing was read. Start again without a cursor"
            raise BadArgument(msg)
        mark = part.after
        while True:
            piece = await self._read(part, mark, queues)
            if piece.rows or piece.is_end:
                return piece
            mark = piece.mark  # what lay there is none of ours

    async def _read(self, part: Part, mark: str, queues: Sequence[str]) -> _Piece:
        store, query = self._store, self._query
        own = [part.queue]
        if not store.link.is_cluster:
            own += [queue for queue in queues if queue > part.queue][:_AHEAD]
        limit = min(part.limit, _MOST_ROWS)
        words = (part.state.value, int(query.backwards), limit, int(self._with_raw), mark)
        answers: list[Any]
        try:
            answers = await store.run(BROWSE, own, *words, writes=False)
        except StoreForeign:
            if len(own) == 1:
                raise
            answers = await store.run(BROWSE, own[:1], *words, writes=False)
        pieces = [_read_piece(queue, part.state, said) for queue, said in zip(own, answers, strict=False)]
        self._ahead.update({(part.state, queue): piece for queue, piece in zip(own[1:], pieces[1:], strict=False)})
        return pieces[0]


def _read_piece(queue: str, state: MessageState, said: Any) -> _Piece:
    is_end, mark, raws = said
    rows = [row for raw in raws if (row := _read_row(queue, state, raw)) is not None]
    return _Piece(bool(is_end), strange.text_of(mark), rows)


def _read_row(queue: str, state: MessageState, row: list[Any]) -> Row | None:
    more: list[Any] = []
    if len(row) == _SHORT:
        mark, raw_id, record, raw = row
        left, fence, owner = b"", b"", b""
    else:
        mark, raw_id, record, left, fence, owner, raw, more = row
    id = strange.text_of(raw_id)
    if state in browsing.FINISHED:
        one = read_finished(id, queue, record)
        if one is None:
            return None
    else:
        _, sent_at, task = read_record(record) or (0, 0.0, "")
        one = Found(
            id=id, queue=queue, state=state, task=task or None, sent_at=sent_at or None,
            left=int(left) / 1e6 if left else None, owner=strange.text_of(owner) or None,
            fence=strange.count(fence, "leases") if fence else None, counters=Counters(deliveries=1 if fence else 0),
        )  # fmt: skip
    if more:
        read_details(one, dict(zip((b"d", b"a", b"c", b"l", b"r", b"f"), more, strict=True)))
    message = Browsed(
        id=id, queue=queue, state=state, envelope=raw, counters=one.counters, task=one.task or None, owner=one.owner,
        fence=one.fence, deadline_in=one.left if state is MessageState.LEASED else None,
        due_in=one.left if state is MessageState.DELAYED else None, reason=one.reason, sent_at=one.sent_at or None,
        finished_at=one.finished_at,
    )  # fmt: skip
    return Row(message, strange.text_of(mark), raw)
