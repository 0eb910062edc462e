"""Rollup: sums rows of ten seconds into rows of minutes, and those into rows of hours.

Of all workers, the one that has the turn does it. A sum is always computed from all rows below it and replaces the
existing row; nothing is ever added to a row. So it does not matter how often it is done, whether two workers do it at
once, or that a row came late: a row that differs is written again. After a gap everything is summed that the shorter
rows still cover.

Before: `tallying.py`, `depths.py`. After: `client/tallies.py`. Runs beside the heartbeat.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Sequence

from tenure.errors import BrokerError
from tenure.runtime.background.depths import DepthWriter
from tenure.state import Board, Journal
from tenure.tally import HOUR, MINUTE, TEN_SECONDS, Tally
from tenure.timing import tallied
from tenure.timing.tallied import DEPTH_NONCE, Sum, TallyRow

logger = logging.getLogger("tenure.rollup")

#: What the turn is called.
TURN = "tallies"
#: The nonce of rows that are sums over all processes.
SUM_NONCE = ""
#: A bucket is closed this many seconds after its end: by then its rows are stored.
_CLOSED_AFTER = 15
#: Rows may come late: this many seconds are looked at again each time.
_AGAIN_SECONDS = 600
#: After a gap it is caught up as far back as the shorter rows are kept for sure.
_REACH = {MINUTE: 3_600, HOUR: 86_400}
#: Before the largest series are chosen.
_MOST_SUMMED = 20_000
_BELOW = {MINUTE: TEN_SECONDS, HOUR: MINUTE}


class Rollup:
    """Sums up the tallies of one place, whenever it has the turn."""

    def __init__(
        self,
        journal: Journal,
        board: Board,
        wall: Callable[[], float],
        depths: DepthWriter | None,
        *,
        store_seconds: float,
    ) -> None:
        """`depths` stores how deep queues are; None: it cannot be known here. `store_seconds`: how often rows come."""
        self._journal = journal
        self._board = board
        self._wall = wall
        self._depths = depths
        #: Rows of ten seconds where they come often; in the cloud each look costs money.
        self._every = float(TEN_SECONDS) if store_seconds <= TEN_SECONDS else 5.0 * MINUTE
        self._token = os.urandom(8).hex()
        #: By step and bucket: the rows that were last written for it. None: nothing is known, as after a gap.
        self._written: dict[tuple[int, int], list[Tally]] | None = None
        self._summed_at = 0.0

    async def run(self) -> None:
        """Sum up whenever it is our turn, until cancelled."""
        while True:
            await asyncio.sleep(self._every)
            try:
                if await self._board.take_turn(TURN, self._token, 2.5 * self._every):
                    await self.work()
                else:
                    self._written = None
            except BrokerError as error:
                self._written = None
                logger.debug("statistics were not rolled up; the next try is in %g s: %s", self._every, error)

    async def work(self) -> None:
        """Store the depths; once a minute, write every sum that is missing or out of date."""
        if self._depths is not None:
            await self._depths.store()
        now = self._wall()
        if self._written is not None and now - self._summed_at < MINUTE:
            return
        is_first = self._written is None
        written = await self._stored(now) if self._written is None else self._written
        minutes = _closed(now, MINUTE, _REACH[MINUTE] if is_first else now - self._summed_at + _AGAIN_SECONDS)
        changed = {bucket // HOUR * HOUR for bucket in await self._sum(MINUTE, minutes, written)}
        hours = _closed(now, HOUR, _REACH[HOUR])
        if not is_first:  # an hour changes when it ends, and with its minutes
            hours = [hour for hour in hours if hour in changed or (HOUR, hour) not in written]
        await self._sum(HOUR, hours, written)
        self._written = {key: rows for key, rows in written.items() if key[1] >= now - _REACH[key[0]] - HOUR}
        self._summed_at = now

    async def _stored(self, now: float) -> dict[tuple[int, int], list[Tally]]:
        """The rows that earlier holders of the turn have written."""
        found: dict[tuple[int, int], list[Tally]] = {}
        for step, reach in _REACH.items():
            for bucket in (buckets := _closed(now, step, reach)):
                found[step, bucket] = []
            if buckets:
                for tally in await self._journal.tallies(step, buckets[0], buckets[-1] + step):
                    found[step, tally.bucket].append(tally)
        return found

    async def _sum(self, step: int, buckets: Sequence[int], written: dict[tuple[int, int], list[Tally]]) -> list[int]:
        """Write the sums of these buckets that differ from what is written; which those were."""
        if not buckets:
            return []
        below: dict[int, list[Tally]] = {bucket: [] for bucket in buckets}
        for tally in await self._journal.tallies(_BELOW[step], buckets[0], buckets[-1] + step):
            below.get(tally.bucket // step * step, []).append(tally)
        changed: list[int] = []
        for bucket in buckets:
            rows = _summed(step, bucket, below[bucket])
            old = written.get((step, bucket), [])
            written[step, bucket] = rows or old
            if rows and rows != old:
                await self._journal.tally([*rows, *_emptied(old, rows)])
                changed.append(bucket)
            await asyncio.sleep(0)  # the heartbeat runs on this loop too
        return changed


def _closed(now: float, step: int, reach: float) -> list[int]:
    """The buckets that begin not longer than `reach` ago and are closed, oldest first."""
    return list(range(-(-int(now - reach) // step) * step, int(now - _CLOSED_AFTER) // step * step, step))


def _summed(step: int, bucket: int, below: Sequence[Tally]) -> list[Tally]:
    """The rows that a bucket should have."""
    total = Sum(_MOST_SUMMED)
    rows = [(tally.nonce, tallied.decode(tally.data)) for tally in below]
    for nonce, row in rows:
        if row is not None and nonce != DEPTH_NONCE:
            total.add(row.series)
    data = enumerate(tallied.encode(total.largest()))
    sums = [Tally(step, bucket, SUM_NONCE, number, one) for number, one in data]
    depths = _last_depths([row for nonce, row in rows if row is not None and nonce == DEPTH_NONCE])
    return sums if depths is None else [*sums, Tally(step, bucket, DEPTH_NONCE, 0, depths)]


def _last_depths(rows: Iterable[TallyRow]) -> bytes | None:
    """Of several moments the last one: what queues held at the end of the bucket."""
    last = max(rows, key=lambda row: row.depths_at or 0.0, default=None)
    if last is None or last.depths_at is None:
        return None
    return tallied.encode_row(last)


def _emptied(old: Iterable[Tally], new: Iterable[Tally]) -> list[Tally]:
    """Rows that clear an earlier sum: rows that the new sum does not replace count nothing from now on."""
    kept = {(tally.nonce, tally.number) for tally in new}
    return [
        Tally(tally.step, tally.bucket, tally.nonce, tally.number, tallied.empty())
        for tally in old
        if (tally.nonce, tally.number) not in kept
    ]
