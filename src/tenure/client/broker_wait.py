"""Waits at the start for a broker that is away: a container of a broker may start after those that use it.

Only an outage is waited for. A wrong password, a server of another kind or a missing table is raised at once. What is
opened later, by a `submit` or a read, does not wait: its caller gets the error.

Used by `app.py` (`Tenure.open`).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from tenure.clock import Clock
from tenure.errors import BrokerUnavailable

logger = logging.getLogger("tenure.app")

_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 1.0


async def open_when_there(opening: Callable[[], Awaitable[None]], seconds: float, clock: Clock) -> None:
    """Call `opening` until the broker is there, for up to `seconds`. Logs once that it waits, and when it is there."""
    began = clock.monotonic()
    pause = _FIRST_PAUSE_SECONDS
    has_told = False
    while True:
        try:
            await opening()
        except BrokerUnavailable as error:
            waited = clock.monotonic() - began
            left = seconds - waited
            if not is_away(error) or left <= 0:
                if has_told:
                    error.add_note(f"waited {waited:.0f} s for it")
                raise
            if not has_told:
                logger.warning("waiting up to %g s for the broker: %s", seconds, error)
                has_told = True
            await asyncio.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
        else:
            if has_told:
                logger.info("the broker is there, after %.1f s", clock.monotonic() - began)
            return


def is_away(error: BrokerUnavailable) -> bool:
    """Whether waiting helps. The kinds of `BrokerUnavailable` are other troubles, such as TLS that fails."""
    return error.code == BrokerUnavailable.code
