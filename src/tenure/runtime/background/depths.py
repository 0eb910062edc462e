"""Depths: how many messages each queue holds, and how many of them run, stored beside the tallies.

So the rate of new messages is known, and the course of what waits and of what runs:

    rate in = change of depth + rate out

Only where the broker's counts are exact (`BrokerTraits.depth_is_exact`). One row for each ten seconds in which
something changed, else one a minute. A read that takes long is done less often, so that it uses at most a 200th of the
time. Called by `rollup.py`, so that one worker does it for all; read by `client/tallies.py`.
"""

from collections.abc import Callable

from tenure.broker import Broker, Depth
from tenure.clock import Clock
from tenure.rules.reserved_queue import is_reserved
from tenure.state import Journal
from tenure.tally import MINUTE, TEN_SECONDS, Tally
from tenure.timing import tallied
from tenure.timing.tallied import DEPTH_NONCE

#: This many times as long as a look takes, there is none.
_PAUSE_FACTOR = 200.0


class DepthWriter:
    """Stores the depths of all queues, when it is asked to and there is something to store."""

    def __init__(self, broker: Broker, journal: Journal, clock: Clock, wall: Callable[[], float]) -> None:
        """Read from `broker`, write to `journal`; `wall` is the store's time."""
        self._broker = broker
        self._journal = journal
        self._clock = clock
        self._wall = wall
        self._not_before = float("-inf")
        self._stored: tuple[dict[str, int], dict[str, int]] | None = None
        self._stored_at = float("-inf")

    async def store(self) -> None:
        """Look, and store what changed."""
        began = self._clock.monotonic()
        if began < self._not_before:
            return
        found = [depth for depth in await self._broker.depth() if not is_reserved(depth.queue)]
        depths = {depth.queue: number for depth in found if (number := _held(depth))}
        running = {depth.queue: depth.leased for depth in found if depth.leased}
        took = self._clock.monotonic() - began
        self._not_before = began + took * _PAUSE_FACTOR
        now = self._wall()
        # A moment less than a minute: else the row that is due would wait for the next look.
        if (depths, running) == self._stored and now - self._stored_at < MINUTE - TEN_SECONDS / 2:
            return
        bucket = int(now // TEN_SECONDS) * TEN_SECONDS
        data = tallied.encode_depths(now, depths, running)
        await self._journal.tally([Tally(TEN_SECONDS, bucket, DEPTH_NONCE, 0, data)])
        self._stored, self._stored_at = (depths, running), now


def _held(depth: Depth) -> int:
    return (depth.ready or 0) + (depth.delayed or 0) + (depth.leased or 0)
