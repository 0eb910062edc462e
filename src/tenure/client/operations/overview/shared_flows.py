"""Flows that all viewers of one store share: read once for all, and only as often as they change.

Tallies are stored every few seconds, so the flows stay valid for as long. With a thousand queues they are most of the
work of an overview.
"""

import asyncio
from collections.abc import Callable, Hashable

from tenure.client.client import Client
from tenure.client.operations.overview.flows import HISTORY_SECONDS, Flows, flows_of, window_seconds
from tenure.client.tallies import TallyReader, TallyView

#: This many different selections of queues are kept.
_MOST_KEPT = 32
#: This many different lengths of time are kept: an hour, six, a day, and another one.
_MOST_LENGTHS = 4


class SharedFlows:
    """The flows of one store."""

    def __init__(self, client: Client) -> None:
        """Read the flows of this client's store, when they are first asked for."""
        self._client = client
        self._tallies: TallyReader | None = None
        self._turn = asyncio.Lock()
        #: By selection: when they were worked out, monotonic, and the flows; the oldest first.
        self._kept: dict[Hashable, tuple[float, Flows]] = {}
        #: By length: the reader of it, when it read, and what.
        self._views: dict[float, tuple[TallyReader, float, TallyView]] = {}

    async def read(self, selection: Hashable, sees: Callable[[str], bool]) -> Flows:
        """Read the flows of the queues for which `sees` is true; `selection` names them."""
        async with self._turn:
            if self._tallies is None:
                self._tallies = TallyReader(self._client.broker, self._client.state)
            known, now = self._kept.get(selection), self._client.clock.monotonic()
            if known is not None and now - known[0] < self._tallies.store_seconds:
                return known[1]
            window = window_seconds(self._tallies.store_seconds)
            flows = flows_of(await self._tallies.read(max(HISTORY_SECONDS, window)), sees)
            self._kept.pop(selection, None)
            self._kept[selection] = (now, flows)
            while len(self._kept) > _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            return flows

    async def view(self, seconds: float) -> TallyView:
        """The figures of the last `seconds`, for plots."""
        async with self._turn:
            known, now = self._views.pop(seconds, None), self._client.clock.monotonic()
            if known is None or now - known[1] >= known[0].store_seconds:
                # A reader keeps what it has read, so each length has its own: one for all would read it again each
                # time.
                reader = TallyReader(self._client.broker, self._client.state) if known is None else known[0]
                known = reader, now, await reader.read(seconds)
            self._views[seconds] = known
            while len(self._views) > _MOST_LENGTHS:
                del self._views[next(iter(self._views))]
            return known[2]
