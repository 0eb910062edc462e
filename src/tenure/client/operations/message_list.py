"""A page of messages: as many as were asked for, from pages of the broker that are bounded each.

One page of a broker reads this many rows and no more (`Query.look_at`), so a rare match needs several. They are read
one after the other until enough was found, the end was reached, or so many rows were read that the caller should decide
whether to go on, from the cursor. What has ended comes newest first: one queue is paged by the broker's own order; of
several queues the newest of each are read and merged.
"""

from collections.abc import Callable, Sequence

import msgspec

from tenure.broker import Query
from tenure.client.operations.access import Access
from tenure.client.operations.listed_message import ListedMessage, listed, listed_ended
from tenure.client.operations.naming import known_queues
from tenure.message import MessageState
from tenure.query import Browsed
from tenure.rules.queue_pattern import has_pattern, served_of

#: They have another order than the others, and a broker keeps little of them.
ENDED = (MessageState.COMPLETED, MessageState.CANCELLED)
#: This many rows are read before the caller must decide.
MOST_ROWS = 200_000
#: This many rows are read to find out whether there is another message; beyond these, there may be.
_LOOK_AHEAD = 1_000
#: Of more queues than this the newest finished ones are not merged: that would be a read for each.
_MOST_MERGED = 100


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, and how far was looked."""

    messages: list[ListedMessage]
    #: There are more, or there may be.
    is_more: bool
    #: Where to go on. None: at the end, or several queues were merged.
    cursor: str | None = None
    #: Rows that were read. None: not counted.
    looked_at: int | None = None
    looked_until: float | None = None


async def listing(
    access: Access,
    query: Query,
    *,
    keep: Callable[[Browsed], bool] | None = None,
    most_rows: int | None = None,
    most_seconds: float | None = None,
) -> Listing:
    """List at most `query.limit` messages; those that have ended newest first.

    `keep`: only these, in the order of pages. `most_rows`: read this many rows at most; None: `MOST_ROWS`.
    `most_seconds`: for about so long, so that a busy machine answers in time with less.
    """
    most = MOST_ROWS if most_rows is None else most_rows
    timed = msgspec.structs.replace(query, seconds=most_seconds)
    if query.states[0] not in ENDED:
        return await _paged(access, timed, most, keep)
    newest_first = msgspec.structs.replace(timed, backwards=True)
    queues = await _queues(access, query)
    if query.cursor or len(queues) == 1 or len(queues) > _MOST_MERGED:
        return await _paged(access, newest_first, most)
    one_more = msgspec.structs.replace(newest_first, limit=query.limit + 1)
    found = await _newest(access, queues, one_more)
    return Listing(messages=found[: query.limit], is_more=len(found) > query.limit)


async def _queues(access: Access, query: Query) -> list[str]:
    if query.queues is not None and not has_pattern(query.queues):
        return list(query.queues)
    known = sorted(await known_queues(access))
    return known if query.queues is None else served_of(known, query.queues)


async def _paged(access: Access, query: Query, most: int, keep: Callable[[Browsed], bool] | None = None) -> Listing:
    found: list[Browsed] = []
    looked_at, until, has_more, is_late = 0, None, False, False
    end = None if query.seconds is None else access.clock.monotonic() + query.seconds
    cursor: str | None = query.cursor
    while cursor is not None and len(found) < query.limit and looked_at < most and not is_late:
        left, rows = query.limit - len(found), min(query.look_at, most - looked_at)
        seconds = None if end is None else max(0.0, end - access.clock.monotonic())
        asked = msgspec.structs.replace(query, cursor=cursor, limit=left, look_at=rows, seconds=seconds)
        page = await access.broker.browse(asked)
        found += page.messages if keep is None else filter(keep, page.messages)
        looked_at, cursor, has_more = looked_at + page.looked_at, page.cursor, page.has_more and keep is None
        until = page.looked_until if page.looked_until is not None else until
        is_late = end is not None and access.clock.monotonic() >= end
    messages = await _read(access, found, has_ended=query.states[0] in ENDED)
    if (
        cursor is not None
        and not (has_more or is_late)
        and looked_at < most
        and not await _is_more(access, msgspec.structs.replace(query, cursor=cursor))
    ):
        cursor = None
    return Listing(
        messages=messages, is_more=cursor is not None, cursor=cursor, looked_at=looked_at, looked_until=until
    )


async def _is_more(access: Access, query: Query) -> bool:
    """Whether one more is there, or may be: this part of the messages has none, and there are further parts.

    Asked only where the last page could not tell.
    """
    rows = min(query.look_at, _LOOK_AHEAD)
    page = await access.broker.browse(msgspec.structs.replace(query, limit=1, bodies=False, look_at=rows))
    return bool(page.messages) or page.cursor is not None


async def _newest(access: Access, queues: Sequence[str], query: Query) -> list[ListedMessage]:
    """Return the newest `query.limit` messages of these queues that have ended, the last to end first."""
    found: list[Browsed] = []
    for queue in queues:
        page = await access.broker.browse(msgspec.structs.replace(query, queues=(queue,), backwards=True))
        found += page.messages
    found.sort(key=lambda one: -(one.finished_at or 0.0))
    return await _read(access, found[: query.limit], has_ended=True)


async def _read(access: Access, found: Sequence[Browsed], *, has_ended: bool) -> list[ListedMessage]:
    """Each as far as it can be read. What has ended needs its record; one that was forgotten meanwhile is left out."""
    wall = access.clock.wall()
    if not has_ended:
        return [listed(one, wall) for one in found]
    records = [(one, await access.state.records.get(one.id, one.queue)) for one in found]
    return [listed_ended(one, record, wall) for one, record in records if record is not None]
