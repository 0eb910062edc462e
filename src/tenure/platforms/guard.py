"""The guard: tells a manager whether this worker holds leases, and renews that for as long as it does.

An autoscaler that takes a machine away picks any of them. With a guard it picks one that is idle. What is held is
looked at once a second, so for up to a second after the first lease the machine may still be picked; the worker then
stops as on SIGTERM, and returns what it cannot finish.

A manager that does not answer is asked again later. The worker goes on: it is no less safe than without a guard.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from tenure.clock import Clock
from tenure.platforms.calls import Unanswered
from tenure.text.plural import plural

logger = logging.getLogger("tenure.platform")

LOOK_SECONDS = 1.0
#: An idle worker stays protected for so long: the next message is often there at once.
CALM_SECONDS = 5.0
#: After a manager did not answer.
AGAIN_SECONDS = 15.0
#: At the end, for the last call.
_LAST_SECONDS = 5.0


class Protector(Protocol):
    """Tells one manager."""

    name: str
    #: What was said must be said again after this time.
    renew_seconds: float

    async def tell(self, held: int) -> None:
        """Say that so many messages are held. Raises `Unanswered` if it was not heard."""
        ...


class Guard:
    """Watches how many messages are held, and tells one manager."""

    def __init__(self, protector: Protector, held: Callable[[], int], clock: Clock) -> None:
        """`held` says how many there are now."""
        self._protector = protector
        self._held = held
        self._clock = clock
        #: What the manager knows. None: nothing.
        self._told: int | None = None
        self._told_at = float("-inf")
        self._failed_at = float("-inf")
        self._busy_at = float("-inf")
        self._is_failing = False

    async def run(self) -> None:
        """Watch until cancelled; then say that nothing is held."""
        try:
            while True:
                await self._look()
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            await self._end()

    async def _look(self) -> None:
        now, held = self._clock.monotonic(), self._held()
        if held:
            self._busy_at = now
        elif now - self._busy_at < CALM_SECONDS:
            return
        if now - self._failed_at >= AGAIN_SECONDS and self._is_news(held, now):
            await self._tell(held)

    def _is_news(self, held: int, now: float) -> bool:
        """Whether it is busy now and was idle, or the reverse; or the manager would forget it."""
        if self._told is None or bool(held) != bool(self._told):
            return True
        return bool(held) and now - self._told_at >= self._protector.renew_seconds

    async def _tell(self, held: int) -> None:
        try:
            await self._protector.tell(held)
        except Unanswered as error:
            # Once for each outage: a worker may run for weeks where no manager listens.
            logger.log(
                logging.DEBUG if self._is_failing else logging.WARNING,
                "%s could not be told that this worker holds %s: %s; asked again every %.0f s",
                self._protector.name, plural(held, "message"), error, AGAIN_SECONDS,
            )  # fmt: skip
            self._is_failing, self._failed_at = True, self._clock.monotonic()
            return
        if self._is_failing:
            logger.info("%s answers again", self._protector.name)
        self._is_failing, self._failed_at = False, float("-inf")
        self._told, self._told_at = held, self._clock.monotonic()

    async def _end(self) -> None:
        if self._told:
            try:
                async with asyncio.timeout(_LAST_SECONDS):
                    await self._protector.tell(0)
            except (Unanswered, TimeoutError) as error:
                logger.debug("%s did not hear that the worker stops: %s", self._protector.name, error)
