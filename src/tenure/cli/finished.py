"""What is finished, as `tenure messages --state completed` shows it: the newest first.

A broker keeps little of a finished message, so the rest comes from its record. One queue is paged by the broker's own
order; of several queues the newest of each are read and merged.
"""

from collections.abc import Sequence

import msgspec

from tenure.app import Tenure
from tenure.broker import Query
from tenure.cli.seen import Seen
from tenure.message import MessageState
from tenure.query import Browsed

FINISHED = (MessageState.COMPLETED, MessageState.CANCELLED)


async def newest(app: Tenure, queues: Sequence[str], query: Query) -> list[Seen]:
    """At most `query.limit` finished messages of these queues, the last to finish first."""
    found: list[Browsed] = []
    for queue in queues:
        page = await app.broker.browse(msgspec.structs.replace(query, queues=(queue,), backwards=True))
        found += page.messages
    found.sort(key=lambda one: -(one.finished_at or 0.0))
    return await with_records(app, found[: query.limit])


async def with_records(app: Tenure, found: Sequence[Browsed]) -> list[Seen]:
    """Each with its record; one that was forgotten meanwhile is left out."""
    seen = []
    for browsed in found:
        record = await app.state.records.get(browsed.id, browsed.queue)
        if record is not None:
            seen.append(Seen(browsed, None, record=record))
    return seen
