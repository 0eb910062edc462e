"""What is finished, as `tenure messages --state completed` shows it: the newest first.

A broker keeps little of a finished message, so the rest comes from its record.
"""

from collections import deque
from collections.abc import Sequence

from tenure.app import Tenure
from tenure.broker import Browsed
from tenure.cli.seen import Seen, check_shown
from tenure.message import MessageState

FINISHED = (MessageState.COMPLETED, MessageState.CANCELLED)

_PAGE = 5_000
#: Of each queue, so many of the newest are looked at.
_LOOKED_AT = 10_000


async def newest(app: Tenure, queues: Sequence[str], state: MessageState, task: str | None, limit: int) -> list[Seen]:
    """At most `limit` finished messages of these queues, the last to finish first."""
    check_shown(app.broker, [state])
    found: list[tuple[float, Seen]] = []
    for queue in queues:
        in_queue = 0
        for browsed in reversed(await _last(app, queue, state)):
            record = await app.state.records.get(browsed.id)
            if record is None or (task is not None and record.task != task):
                continue
            found.append((record.finished_at or 0.0, Seen(browsed, None, record=record)))
            in_queue += 1
            if in_queue == limit:
                break
    return [seen for _, seen in sorted(found, key=lambda pair: -pair[0])[:limit]]


async def _last(app: Tenure, queue: str, state: MessageState) -> deque[Browsed]:
    """A broker pages from the oldest on; the last ones are kept."""
    last: deque[Browsed] = deque(maxlen=_LOOKED_AT)
    after = 0
    while page := await app.broker.browse(queue, state, limit=_PAGE, after=after):
        last.extend(page)
        after = page[-1].cursor
        if len(page) < _PAGE:
            break
    return last
