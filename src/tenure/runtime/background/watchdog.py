"""The watchdog: reports when the worker's event loop is blocked, and by which line of code.

A blocked loop loses no lease (the heartbeat has its own loop), but every other handler of the worker waits. If the
watchdog itself stood still, so did the heartbeat, and no stack is at fault: the process was stopped or swapped out, or
a call kept the GIL. Runs beside the heartbeat.
"""

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Callable

logger = logging.getLogger("tenure.watchdog")

LOOK_SECONDS = 0.5
BLOCKED_SECONDS = 1.0


class Watchdog:
    """Watches one loop from another."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        on_blocked: Callable[[float, str], None],
        on_look: Callable[[], None] = lambda: None,
    ) -> None:
        """Watch `loop`, whose thread is the caller's. `on_look` is called at every look: we move."""
        self._on_look = on_look
        self._loop = loop
        self._thread_id = threading.get_ident()
        self._on_blocked = on_blocked
        self._seen = 0.0

    async def run(self) -> None:
        """Check until cancelled; one report for each time the loop is blocked."""
        reported = False
        now = self._seen = _awake()
        while True:
            # From the last look on: the GIL can be lost at any line, also while the loop is told to answer.
            looked = now
            self._loop.call_soon_threadsafe(self._answer)
            self._on_look()
            await asyncio.sleep(LOOK_SECONDS)
            now = _awake()
            silent, still = now - self._seen, now - looked - LOOK_SECONDS
            if still >= BLOCKED_SECONDS:
                self._report_standstill(still)
            elif silent < BLOCKED_SECONDS:
                reported = False
            elif not reported:
                reported = True
                self._report(silent)

    def silent_seconds(self) -> float:
        """Return for how long the loop has not moved; asked on the watchdog's own loop, which looks twice a second."""
        return max(0.0, _awake() - self._seen) if self._seen else 0.0

    def _answer(self) -> None:
        self._seen = _awake()

    def _report(self, silent: float) -> None:
        frame = sys._current_frames().get(self._thread_id)  # noqa: SLF001 - the documented way to see another thread
        stack = "".join(traceback.format_stack(frame, limit=8)) if frame is not None else ""
        logger.warning("the worker's event loop has not moved for %.1f s; it is at:\n%s", silent, stack)
        self._on_blocked(silent, stack)

    def _report_standstill(self, still: float) -> None:
        logger.warning(
            "the whole process stood still for %.1f s and may have lost leases: it was stopped or swapped out, "
            'or a handler kept the GIL; such a handler belongs in a process of its own (runs_in="process")',
            still,
        )
        self._on_blocked(still, "")


def _awake() -> float:
    """The loops' own time: while the machine is suspended nothing is blocked (`suspension.py` says so)."""
    return asyncio.get_running_loop().time()
