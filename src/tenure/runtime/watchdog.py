"""The watchdog: says when the worker's event loop is blocked, and by which line of code.

A blocked loop harms nobody's lease (the heartbeat has its own), but every other handler of the worker
stands still. Runs beside the heartbeat.
"""

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Callable

from tenure.clock import Clock

logger = logging.getLogger("tenure.watchdog")

LOOK_SECONDS = 0.5
BLOCKED_SECONDS = 1.0


class Watchdog:
    """Looks at one loop from another."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock, on_blocked: Callable[[float, str], None]) -> None:
        """Watch `loop`, whose thread is the caller's."""
        self._loop = loop
        self._thread_id = threading.get_ident()
        self._clock = clock
        self._on_blocked = on_blocked
        self._seen = clock.monotonic()

    async def run(self) -> None:
        """Look for ever; one report a spell."""
        reported = False
        self._seen = self._clock.monotonic()
        while True:
            self._loop.call_soon_threadsafe(self._answer)
            await asyncio.sleep(LOOK_SECONDS)
            silent = self._clock.monotonic() - self._seen
            if silent < BLOCKED_SECONDS:
                reported = False
            elif not reported:
                reported = True
                self._report(silent)

    def _answer(self) -> None:
        self._seen = self._clock.monotonic()

    def _report(self, silent: float) -> None:
        frame = sys._current_frames().get(self._thread_id)  # noqa: SLF001 - the documented way to see another thread
        stack = "".join(traceback.format_stack(frame, limit=8)) if frame is not None else ""
        logger.warning("the worker's event loop has not moved for %.1f s; it is at:\n%s", silent, stack)
        self._on_blocked(silent, stack)
