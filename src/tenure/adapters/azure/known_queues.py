"""The list of queues that something was sent to, or leased from.

    common  q:<queue>   a queue: its name, and when it was last seen in use; or since when it is forgotten

A process puts a queue on the list before it first sends to it, and again after 15 minutes: one request each. Workers on
patterns read the list every 20 seconds, one query for each 1000 queues; so they serve a queue that another process made
within 20 seconds, and one that this process made at once.

A queue that was forgotten (`forgetting.py`) stays on the list for half an hour, unseen: a process that has put it there
a moment ago may send to it without looking. Workers on patterns ask it meanwhile, and put it back if something comes.
"""

from collections.abc import Iterable, Sequence

from tenure.adapters.azure.naming import row_id
from tenure.adapters.azure.rows import Change, Row, Rows
from tenure.adapters.azure.shared import Shared
from tenure.adapters.azure.table_rows import TableRows
from tenure.clock import Clock
from tenure.rules.queue_pattern import has_pattern, served_of

#: What belongs to no message.
_COMMON = "common"
#: A process says so often that a queue is in use.
AGAIN_SECONDS = 900.0
#: Workers on patterns read the list so often.
REFRESH_SECONDS = 20.0


class KnownQueues:
    """The list, as one store reads and writes it."""

    def __init__(self, rows: Rows | TableRows, shared: Shared, clock: Clock) -> None:
        """Stand on the rows of a store."""
        self._rows = rows
        self._shared = shared
        self._clock = clock

    async def register(self, queues: Iterable[str]) -> None:
        """Put queues on the list, unless this process did so a moment ago."""
        now, known = self._clock.monotonic(), self._shared.registered
        new = [queue for queue in queues if queue not in known or now - known[queue] >= AGAIN_SECONDS]
        if not new:
            return
        at = self._shared.timeline.now()
        await self._rows.commit([[Change("upsert", listed_row(queue, {"At": at}))] for queue in new])
        known.update(dict.fromkeys(new, now))
        self._shared.queues |= set(new)

    async def listed(self) -> list[str]:
        """Names, sorted, without those that are forgotten."""
        return sorted(row.fields["Queue"] for row in await self.rows() if "Forgotten" not in row.fields)

    async def rows(self) -> list[Row]:
        """The whole list."""
        return await self._rows.scan(_COMMON, "q:")

    async def served(self, asked: Sequence[str], excluded: Sequence[str]) -> Sequence[str]:
        """The queues that names and patterns stand for now."""
        if not has_pattern(asked):
            return asked if not excluded else [queue for queue in asked if queue not in excluded]
        shared, now = self._shared, self._clock.monotonic()
        if now >= shared.queues_until:
            shared.queues_until = now + REFRESH_SECONDS
            try:
                rows = await self.rows()
            except BaseException:
                shared.queues_until = now
                raise
            shared.queues = {str(row.fields["Queue"]) for row in rows}
            for row in rows:
                if "Forgotten" in row.fields:
                    shared.registered.pop(str(row.fields["Queue"]), None)  # if something comes, it is put back
        # A name is served whether or not it is on the list.
        return served_of(sorted(shared.queues | {one for one in asked if "*" not in one}), asked, excluded)


def listed_row(queue: str, fields: dict[str, object], etag: str = "") -> Row:
    """The row of a queue, to be written."""
    return Row(_COMMON, f"q:{row_id(queue)}", {"Queue": queue, **fields}, etag)
