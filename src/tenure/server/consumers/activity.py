"""Activity: what each consumer does at this server, written to the store every few seconds for people to see.

One key-value a server, replaced each time and with an expiry, so the report of a server that died is soon gone. Nothing
is written while no consumer is there. Read by `client/operations/consumers.py`, which adds up the servers.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from tenure.clock import Clock
from tenure.consumer_report import (
    MOST_CONSUMERS,
    MOST_QUEUES,
    REPORT_KIND,
    ConsumerActivity,
    ConsumerReport,
    encoded,
)
from tenure.errors import TenureError
from tenure.key_value import MOST_BYTES
from tenure.server.consumers.remote_delivery import RemoteDelivery
from tenure.settlement import Settlement
from tenure.state import KeyValues
from tenure.verdict import Completed, Dead, Duplicate, Retried
from tenure.worker_report import RATE_SECONDS

logger = logging.getLogger("tenure.consumers")

#: A consumer that was not heard for so long is left out.
GONE_SECONDS = 120.0
#: A report is kept for this many times as long as the next one takes.
_KEPT_TIMES = 4
#: Of what may be kept in a document, without what is around it.
_MOST_BYTES = MOST_BYTES - 1_024
_FINISHED = (Completed, Dead, Duplicate)
_FAILED = (Dead, Retried)


class _Consumer:
    """The counts of one consumer. Each step is one report."""

    __slots__ = ("course", "failed", "finished", "heard", "queues")

    def __init__(self) -> None:
        self.queues: tuple[str, ...] = ()
        self.heard = 0.0
        self.finished = 0
        self.failed = 0
        #: When, and how much was finished and failed by then; the last `RATE_SECONDS`, and one before.
        self.course: deque[tuple[float, int, int]] = deque()

    def rates(self, now: float) -> tuple[float, float]:
        """Finished and failed a minute."""
        course = self.course
        while len(course) > 1 and now - course[1][0] >= RATE_SECONDS:
            course.popleft()
        course.append((now, self.finished, self.failed))
        began, finished, failed = course[0]
        minutes = max(now - began, 1.0) / 60.0
        return round((self.finished - finished) / minutes, 3), round((self.failed - failed) / minutes, 3)


class Activity:
    """The consumers of one server."""

    def __init__(
        self,
        key_values: KeyValues,
        clock: Clock,
        wall: Callable[[], float],
        *,
        name: str,
        every_seconds: float,
    ) -> None:
        """Write under `name`, which no other server has; `wall` is the store's time."""
        self._key_values = key_values
        self._clock = clock
        self._wall = wall
        self._name = name
        self._every = every_seconds
        self._consumers: dict[str, _Consumer] = {}
        self._version: str | None = None

    def heard(self, owner: str, queues: Sequence[str] = ()) -> None:
        """A consumer made a request."""
        one = self._consumers.get(owner)
        if one is None:
            one = self._consumers[owner] = _Consumer()
            one.course.append((self._clock.monotonic(), 0, 0))
            if len(self._consumers) > 2 * MOST_CONSUMERS:
                self._forget()
        one.heard = self._clock.monotonic()
        if queues:
            one.queues = tuple(queues[:MOST_QUEUES])

    def settled(self, owner: str, batch: Sequence[tuple[RemoteDelivery, Settlement | None]]) -> None:
        """Count what a consumer said of messages."""
        self.heard(owner)
        one = self._consumers[owner]
        done = [
            type(delivery.verdict)
            for delivery, settlement in batch
            if delivery.sealed or (settlement is not None and settlement.took_effect)
        ]
        one.finished += sum(kind in _FINISHED for kind in done)
        one.failed += sum(kind in _FAILED for kind in done)

    async def run(self) -> None:
        """Write a report every few seconds until cancelled."""
        while True:
            await asyncio.sleep(self._every)
            await self.write()

    async def write(self) -> None:
        """Write a report now, if there is something to say. One that cannot be written is left out."""
        self._forget()
        if not self._consumers and self._version is None:
            return
        try:
            await self._write()
        except TenureError as error:
            logger.debug("consumers were not reported; the next report is due in %g s: %s", self._every, error)
            self._version = None

    async def close(self) -> None:
        """Remove the report."""
        if self._version is None:
            return
        try:
            await self._key_values.remove(REPORT_KIND, self._name)
        except TenureError as error:
            logger.debug("could not delete the report of this server's consumers (%s); it expires by itself", error)

    async def _write(self) -> None:
        data, wall = encoded(self._report()), self._wall()
        until = wall + _KEPT_TIMES * self._every
        put = await self._key_values.put(REPORT_KIND, self._name, data, expect=self._version, expires_at=until)
        if put is None:  # it has lapsed, or an answer was lost
            now = await self._key_values.get(REPORT_KIND, self._name)
            known = None if now is None else now.version
            put = await self._key_values.put(REPORT_KIND, self._name, data, expect=known, expires_at=until)
        self._version = None if put is None or not self._consumers else put.version

    def _report(self) -> ConsumerReport:
        now, wall = self._clock.monotonic(), self._wall()
        latest = sorted(self._consumers.items(), key=lambda item: -item[1].heard)[:MOST_CONSUMERS]
        named: list[ConsumerActivity] = []
        room = _MOST_BYTES
        for owner, one in latest:
            finished, failed = one.rates(now)
            heard_at = round(wall - (now - one.heard), 3)
            activity = ConsumerActivity(
                id=owner, queues=one.queues, heard_at=heard_at, rate_per_minute=finished, errors_per_minute=failed
            )
            room -= len(msgspec.json.encode(activity)) + 1
            if room < 0:
                break
            named.append(activity)
        return ConsumerReport(at=wall, consumers=tuple(named))

    def _forget(self) -> None:
        since = self._clock.monotonic() - GONE_SECONDS
        self._consumers = {owner: one for owner, one in self._consumers.items() if one.heard >= since}
        if len(self._consumers) > 2 * MOST_CONSUMERS:
            latest = sorted(self._consumers.items(), key=lambda item: -item[1].heard)[:MOST_CONSUMERS]
            self._consumers = dict(latest)
