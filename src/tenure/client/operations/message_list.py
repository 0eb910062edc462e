"""The messages that `tenure messages` lists: as many as were asked for, from pages that are bounded each.

One page of a broker reads so many rows and no more (`Query.look_at`), so a rare match needs several. They are read one
after the other until enough was found, the end was reached, or so many rows were read that the person should decide
whether to go on: then the cursor says where.
"""

import msgspec

from tenure.app import Tenure
from tenure.broker import Query
from tenure.cli.finished import FINISHED, newest, with_records
from tenure.cli.naming import known_queues
from tenure.cli.seen import Seen, read
from tenure.query import Browsed
from tenure.rules.queue_pattern import has_pattern, served_of

#: So many rows are read before somebody is asked.
MOST_ROWS = 200_000
#: Of more queues than this the newest finished ones are not merged: that would be a read for each.
_MOST_MERGED = 100


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, and how far was looked."""

    seen: list[Seen]
    #: There are more, or there may be.
    is_more: bool
    #: Where to go on. None: at the end, or several queues were merged.
    cursor: str | None = None
    #: Rows that were read. None: not counted.
    looked_at: int | None = None
    looked_until: float | None = None


async def listing(app: Tenure, query: Query) -> Listing:
    """At most `query.limit` messages; the finished ones newest first."""
    if query.states[0] not in FINISHED:
        return await _paged(app, query)
    newest_first = msgspec.structs.replace(query, backwards=True)
    queues = await _queues(app, query)
    if query.cursor or len(queues) == 1 or len(queues) > _MOST_MERGED:
        return await _paged(app, newest_first)
    one_more = msgspec.structs.replace(newest_first, limit=query.limit + 1)
    seen = await newest(app, queues, one_more)
    return Listing(seen=seen[: query.limit], is_more=len(seen) > query.limit)


async def _queues(app: Tenure, query: Query) -> list[str]:
    if query.queues is not None and not has_pattern(query.queues):
        return list(query.queues)
    known = sorted(await known_queues(app))
    return known if query.queues is None else served_of(known, query.queues)


async def _paged(app: Tenure, query: Query) -> Listing:
    found: list[Browsed] = []
    looked_at, until = 0, None
    cursor: str | None = query.cursor
    while cursor is not None and len(found) < query.limit and looked_at < MOST_ROWS:
        left = query.limit - len(found)
        page = await app.broker.browse(msgspec.structs.replace(query, cursor=cursor, limit=left))
        found += page.messages
        looked_at, cursor = looked_at + page.looked_at, page.cursor
        until = page.looked_until if page.looked_until is not None else until
    seen = await with_records(app, found) if query.states[0] in FINISHED else [*map(read, found)]
    if cursor is not None and not await _is_more(app, msgspec.structs.replace(query, cursor=cursor)):
        cursor = None
    return Listing(seen=seen, is_more=cursor is not None, cursor=cursor, looked_at=looked_at, looked_until=until)


async def _is_more(app: Tenure, query: Query) -> bool:
    """Whether one more is there, or may be: this part of the messages has none, and there are further parts."""
    page = await app.broker.browse(msgspec.structs.replace(query, limit=1, bodies=False))
    return bool(page.messages) or page.cursor is not None
