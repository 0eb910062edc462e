"""Flows that are shared by everybody who looks at one store: read by one at a time, and as seldom as they change.

Tallies are stored every few seconds, so what was worked out from them is good for as long. Of a thousand queues that
is most of the work of an overview.
"""

import asyncio
from collections.abc import Callable, Hashable

from tenure.client.operations.overview.flows import HISTORY_SECONDS, Flows, flows_of, window_seconds
from tenure.client.tallies import Tallies, View
from tenure.door import Door

#: So many different selections of queues are kept.
_MOST_KEPT = 32
#: So many different lengths of time are kept: an hour, six, a day, and another one.
_MOST_LENGTHS = 4


class SharedFlows:
    """The flows of one store."""

    def __init__(self, door: Door) -> None:
        """Nothing is read yet."""
        self._door = door
        self._tallies: Tallies | None = None
        self._turn = asyncio.Lock()
        #: By selection: when they were worked out, monotonic, and the flows; the oldest first.
        self._kept: dict[Hashable, tuple[float, Flows]] = {}
        #: By length: the reader of it, when it read, and what.
        self._views: dict[float, tuple[Tallies, float, View]] = {}

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

    async def view(self, seconds: float) -> View:
        """The figures of the last `seconds`, for plots."""
        async with self._turn:
            known, now = self._views.pop(seconds, None), self._door.clock.monotonic()
            if known is None or now - known[1] >= known[0].store_seconds:
                # A reader keeps what it has read, so each length has its own: one for all would read it anew each time.
                reader = Tallies(self._door.broker, self._door.state) if known is None else known[0]
                known = reader, now, await reader.read(seconds)
            self._views[seconds] = known
            while len(self._views) > _MOST_LENGTHS:
                del self._views[next(iter(self._views))]
            return known[2]
