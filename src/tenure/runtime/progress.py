"""Progress is noted at once and written once a second: a handler may report as often as it likes."""

import asyncio
import logging
import threading

from tenure.errors import BrokerError
from tenure.record import Progress
from tenure.runtime.delivery import Delivery
from tenure.state import Records

logger = logging.getLogger("tenure.progress")

WRITE_SECONDS = 1.0


class ProgressWriter:
    """The latest word of each handler, on its way to the records."""

    def __init__(self, records: Records) -> None:
        """Write to `records`."""
        self._records = records
        self._noted: dict[Delivery, Progress] = {}
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()

    def note(self, delivery: Delivery, progress: Progress) -> None:
        """Keep the newest. Any thread may call."""
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
            entries = [(d.lease, p) for d, p in noted.items() if not d.lease_lost and d.verdict is None]
            if not entries:
                continue
            try:
                await self._records.progress(entries)
            except BrokerError as error:
                logger.warning("progress of %d messages was not written: %s", len(entries), error)
