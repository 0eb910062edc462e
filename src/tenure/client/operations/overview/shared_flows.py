"""Flows that are shared by everybody who looks at one store: read by one at a time, and as seldom as they change.

Tallies are stored every few seconds, so what was worked out from them is good for as long. Of a thousand queues that
is most of the work of an overview.
"""

import asyncio
from collections.abc import Callable, Hashable

from tenure.client.operations.overview.flows import HISTORY_SECONDS, Flows, flows_of, window_seconds
from tenure.client.tallies import Tallies
from tenure.door import Door

#: So many different selections of queues are kept.
_MOST_KEPT = 32


class SharedFlows:
    """The flows of one store."""

    def __init__(self, door: Door) -> None:
        """Nothing is read yet."""
        self._door = door
        self._tallies: Tallies | None = None
        self._turn = asyncio.Lock()
        #: By selection: when they were worked out, monotonic, and the flows; the oldest first.
        self._kept: dict[Hashable, tuple[float, Flows]] = {}

    async def read(self, selection: Hashable, sees: Callable[[str], bool]) -> Flows:
        """Of the queues that `sees` is true of; `selection` names them."""
        async with self._turn:
            if self._tallies is None:
                self._tallies = Tallies(self._door.broker, self._door.state)
            known, now = self._kept.get(selection), self._door.clock.monotonic()
            if known is not None and now - known[0] < self._tallies.store_seconds:
                return known[1]
            window = window_seconds(self._tallies.store_seconds)
            flows = flows_of(await self._tallies.read(max(HISTORY_SECONDS, window)), sees)
            self._kept.pop(selection, None)
            self._kept[selection] = (now, flows)
            while len(self._kept) > _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            return flows
