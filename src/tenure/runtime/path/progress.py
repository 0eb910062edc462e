"""Progress is noted at once and written once a second, so a handler may report as often as it likes.

While the store is away the newest value of each message is kept, and written when the store is back.
"""

import asyncio
import logging
import threading

from tenure.clock import Clock
from tenure.errors import BrokerError, BrokerUnavailable
from tenure.record import Progress
from tenure.runtime.delivery import Delivery
from tenure.runtime.outage import OutageBackoff
from tenure.state import Records
from tenure.text.plural import plural

logger = logging.getLogger("tenure.progress")

WRITE_SECONDS = 1.0


class ProgressWriter:
    """Writes the newest progress of each handler to the records."""

    def __init__(self, records: Records, clock: Clock) -> None:
        """Write to `records`."""
        self._records = records
        self._clock = clock
        self._backoff = OutageBackoff(clock)
        self._noted: dict[Delivery, Progress] = {}
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()

    def note(self, delivery: Delivery, progress: Progress) -> None:
        """Keep the newest. Any thread may call."""
        delivery.progress = (progress, self._clock.monotonic())
        with self._lock:
            self._noted[delivery] = progress
        self._loop.call_soon_threadsafe(self._wake.set)

    async def run(self) -> None:
        """Write what was noted, at most once a second."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await asyncio.sleep(WRITE_SECONDS)
            with self._lock:
                noted, self._noted = self._noted, {}
            await self._write({d: p for d, p in noted.items() if not d.is_gone and d.verdict is None})

    async def _write(self, noted: dict[Delivery, Progress]) -> None:
        if not noted:
            return
        what = f"writing the progress of {plural(len(noted), 'message')}"
        try:
            await self._records.progress([(delivery.lease, progress) for delivery, progress in noted.items()])
        except BrokerUnavailable as error:
            self._backoff.failed(logger, what, error)
            with self._lock:
                self._noted = noted | self._noted  # what was noted meanwhile is newer
            self._wake.set()
        except BrokerError as error:
            logger.warning("%s failed: %s; the next value will be tried", what, error)
        else:
            self._backoff.succeeded(logger, "writing progress")
