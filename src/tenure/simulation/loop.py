"""The loop of a simulation: virtual time as in `tenure.testing.virtual`, and nothing in the world but timers.

A simulation has one thread and no file descriptors, so the loop asks the operating system for nothing: neither whether
something became readable, nor to be woken. That is a third of the time of a simulated message. Used by `running.py`.
"""

import asyncio
import contextvars
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tenure.testing.virtual import NothingToWaitFor, VirtualClock

T = TypeVar("T")

#: As in `tenure.testing.virtual`: timers this close are due.
_RESOLUTION_SECONDS = 1e-7


class _NoSelector(selectors.SelectSelector):
    """Waits for timers alone."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            msg = "everything in the simulation waits, and no timer will wake any of it"
            raise NothingToWaitFor(msg)
        if timeout > 0:
            self._clock.now += timeout
        return []


class SimulationLoop(asyncio.SelectorEventLoop):
    """Everything happens in one thread, at its virtual moment."""

    #: Until it is made: Ctrl-C can come even here, and there is nothing to close then.
    _closed = True

    def __init__(self, clock: VirtualClock) -> None:
        """Run on `clock`."""
        self._virtual = clock
        super().__init__(_NoSelector(clock))
        self._clock_resolution = _RESOLUTION_SECONDS

    def time(self) -> float:
        """Virtual seconds."""
        return self._virtual.now

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        """There is no other thread."""
        return self.call_soon(callback, *args, context=context)


def run_simulated(main: Coroutine[Any, Any, T], clock: VirtualClock) -> T:
    """Run a coroutine to its end. Ctrl-C cancels it."""
    try:
        with asyncio.Runner(loop_factory=lambda: SimulationLoop(clock)) as runner:
            return runner.run(main)
    finally:
        main.close()  # Ctrl-C came before it began
