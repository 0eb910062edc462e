"""Suspension: notices that the machine was suspended, and has the heartbeat renew every lease at once.

Timers of an event loop stand still while a laptop sleeps; deadlines do not. A lease may be overdue by an hour when the
machine wakes, while the timer of its next beat still has ten seconds to go. The clock that counts time asleep is then
further ahead of the loop's than before. This is looked at once a second: within a second of waking everything that is
held is touched, and the store says what is still ours.

Runs beside each heartbeat: in `background.py`, and in `supervisor/lease_keeper.py` where the supervisor keeps the
leases.
"""

import asyncio
import logging
from collections.abc import Callable

from tenure.clock import Clock
from tenure.text.plural import plural

logger = logging.getLogger("tenure.heartbeat")

#: Asleep for longer than this: leases are touched.
JUMP_SECONDS = 1.0
#: The clocks are read together if it took no longer than this.
_READ_SECONDS = 0.1
#: How often to look.
LOOK_SECONDS = 1.0


class Suspension:
    """Looks whether the machine was asleep."""

    def __init__(
        self, clock: Clock, held: Callable[[], int], touch_all: Callable[[], None], every: float = LOOK_SECONDS
    ) -> None:
        """Call `touch_all` after each time asleep; `held` says how many leases that is about."""
        self._clock = clock
        self._held = held
        self._touch_all = touch_all
        self._every = every

    async def run(self) -> None:
        """Watch for a suspended machine until cancelled."""
        ahead = self._ahead()
        while True:
            await asyncio.sleep(self._every)
            before, ahead = ahead, self._ahead()
            if ahead - before > JUMP_SECONDS:
                self._wake(ahead - before)

    def _ahead(self) -> float:
        """Return how far the clock that counts time asleep is ahead of the one that does not."""
        loop = asyncio.get_running_loop()
        while True:
            before, now = loop.time(), self._clock.monotonic()
            if loop.time() - before < _READ_SECONDS:  # else we were stopped in between, and that is no suspension
                return now - before

    def _wake(self, seconds: float) -> None:
        count = self._held()
        logger.warning(
            "this machine was suspended for %.0f s; %s",
            seconds,
            f"renewing the {plural(count, 'lease')} held here now" if count else "no leases were held here",
        )
        if count:
            self._touch_all()
