"""Depths: how many messages lie in each queue, stored beside the tallies, so that the rate in can be told.

    rate in = change of depth + rate out

Only where the broker counts rather than guesses (`BrokerTraits.depth_is_exact`). One row for each ten seconds in which
something changed, else one a minute. A look that takes long is taken more seldom: at most a 200th of the time goes
into it. Asked by `rollup.py`, so that one worker does it for all; read by `client/tallies.py`.
"""

from collections.abc import Callable

from tenure.broker import Broker, Depth
from tenure.clock import Clock
from tenure.state import Journal
from tenure.tally import MINUTE, TEN_SECONDS, Tally
from tenure.timing import tallied
from tenure.timing.tallied import DEPTH_NONCE

#: So many times as long as a look takes, there is none.
_PAUSE_FACTOR = 200.0


class DepthWriter:
    """Stores the depths of all queues, when it is asked to and there is something to store."""

    def __init__(self, broker: Broker, journal: Journal, clock: Clock, wall: Callable[[], float]) -> None:
        """Nothing was looked at yet; `wall` is the store's time."""
        self._broker = broker
        self._journal = journal
        self._clock = clock
        self._wall = wall
        self._not_before = float("-inf")
        self._stored: dict[str, int] | None = None
        self._stored_at = float("-inf")

    async def store(self) -> None:
        """Look, and store what changed."""
        began = self._clock.monotonic()
        if began < self._not_before:
            return
        depths = {depth.queue: number for depth in await self._broker.depth() if (number := _held(depth))}
        took = self._clock.monotonic() - began
        self._not_before = began + took * _PAUSE_FACTOR
        now = self._wall()
        # A moment less than a minute: else the row that is due would wait for the next look.
        if depths == self._stored and now - self._stored_at < MINUTE - TEN_SECONDS / 2:
            return
        bucket = int(now // TEN_SECONDS) * TEN_SECONDS
        await self._journal.tally([Tally(TEN_SECONDS, bucket, DEPTH_NONCE, 0, tallied.encode_depths(now, depths))])
        self._stored, self._stored_at = depths, now


def _held(depth: Depth) -> int:
    return (depth.ready or 0) + (depth.delayed or 0) + (depth.leased or 0)
