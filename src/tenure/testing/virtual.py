"""Virtual time: an event loop in which waiting costs nothing.

When every task of the loop waits, the loop jumps to the next timer instead of sleeping. So
`await asyncio.sleep(3600)` takes microseconds, everything else that falls due within that hour runs at
its proper moment, and a run is the same every time. Threads are waited for in real time: the loop never
jumps while one is at work (`run_in_executor`, and whatever is registered with `watch`). One that waits for an answer of
its `SyncContext` is not at work.
"""

import asyncio
import selectors
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from types import FrameType
from typing import Any, TypeVar

from tenure.tasks.context import SyncContext

T = TypeVar("T")

#: 2026-01-01T00:00:00Z, so that wall times in failures are readable.
WALL_EPOCH = 1_767_225_600.0

#: Timers this close are due. Enough for 25 years of virtual time.
_RESOLUTION_SECONDS = 1e-7

#: How long to wait, in real seconds, before looking again whether a thread is still at work: first, and at most.
_FIRST_LOOK_SECONDS = 0.0002
_LAST_LOOK_SECONDS = 0.02


class VirtualClock:
    """A clock that moves only when its loop jumps, or when a test says so."""

    def __init__(self) -> None:
        """Start at a round moment."""
        #: The loop's time: as `CLOCK_MONOTONIC`, it stands still in a suspended machine.
        self.now = 1000.0
        self._asleep = 0.0
        self._wall_offset = WALL_EPOCH

    def monotonic(self) -> float:
        """Virtual seconds, time asleep included."""
        return self.now + self._asleep

    def wall(self) -> float:
        """Virtual Unix seconds; `move_wall` shows here only."""
        return self.now + self._asleep + self._wall_offset

    def boot_id(self) -> str:
        """Virtual time has one boot."""
        return "virtual"

    def move_wall(self, seconds: float) -> None:
        """Let the wall clock jump, as NTP or an operator would; monotonic time does not notice."""
        self._wall_offset += seconds

    def suspend(self, seconds: float) -> None:
        """Act as if the machine had been suspended for this long: clocks went on, timers of the loop did not."""
        self._asleep += seconds


class SkewedClock:
    """The clock of a machine whose wall clock is wrong: this many seconds ahead of `clock`'s."""

    def __init__(self, clock: VirtualClock, ahead: float) -> None:
        """Everything else is as `clock` says."""
        self._clock = clock
        self.ahead = ahead

    def monotonic(self) -> float:
        """Virtual seconds, time asleep included."""
        return self._clock.monotonic()

    def wall(self) -> float:
        """Return the wall time of this machine."""
        return self._clock.wall() + self.ahead

    def boot_id(self) -> str:
        """Virtual time has one boot."""
        return self._clock.boot_id()


class NothingToWaitFor(RuntimeError):
    """Every task waits for something that can never happen."""


class _Selector(selectors.DefaultSelector):
    """Looks at real file descriptors, but lets time pass virtually."""

    #: How long a silent real wait may last when no timer is set at all, in real seconds.
    patience = 10.0

    def __init__(self, clock: VirtualClock, busy: Callable[[], bool]) -> None:
        super().__init__()
        self._clock = clock
        self._busy = busy

    def select(self, timeout: float | None = None) -> list[Any]:
        events: list[Any] = super().select(0)
        if events or (timeout is not None and timeout <= 0):
            return events
        pause = _FIRST_LOOK_SECONDS
        while self._busy():
            # A thread hands its result over *before* it stops being busy, and that wakes us here. Work
            # that is not awaited wakes nothing, so we look again soon, then less and less often.
            events = super().select(pause)
            if events:
                return events
            pause = min(2 * pause, _LAST_LOOK_SECONDS)
        events = super().select(0)
        if events:
            return events
        if timeout is None:
            events = super().select(self.patience)
            if not events:
                msg = "every task waits, and no timer, thread or file descriptor will wake any of them"
                raise NothingToWaitFor(msg)
            return events
        self._clock.now += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on a `VirtualClock`."""

    def __init__(self, clock: VirtualClock | None = None) -> None:
        """Run on `clock`, or on a new one."""
        self.clock = clock or VirtualClock()
        self._watched: list[Callable[[], bool]] = []
        self._in_threads = 0
        #: The threads that are at work now.
        self._idents: set[int] = set()
        super().__init__(_Selector(self.clock, self._is_busy))
        # The loop asks whether a timer lies before now + resolution. With the machine's own nanosecond that sum is
        # `now` again once 100 days have passed, and a timer that is due would never go off.
        self._clock_resolution = _RESOLUTION_SECONDS

    def time(self) -> float:
        """Virtual seconds."""
        return self.clock.now

    def watch(self, busy: Callable[[], bool]) -> None:
        """Do not jump while `busy()` is true. It must turn false only after the result was handed to the loop."""
        self._watched.append(busy)

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Run as usual, but stop virtual time until the thread is done or waits for its context."""
        future: asyncio.Future[Any] = super().run_in_executor(executor, self._note_thread, func, *args)
        self._in_threads += 1
        future.add_done_callback(self._thread_done)
        return future

    def _note_thread(self, func: Callable[..., Any], *args: Any) -> Any:
        ident = threading.get_ident()
        self._idents.add(ident)
        try:
            return func(*args)
        finally:
            self._idents.discard(ident)

    async def shutdown_default_executor(self, *args: Any) -> None:
        """Shut down as usual, with the limit in real time: a thread waits for the others here."""
        self._in_threads += 1
        try:
            await super().shutdown_default_executor(*args)
        finally:
            self._in_threads -= 1

    def _thread_done(self, _future: asyncio.Future[Any]) -> None:
        self._in_threads -= 1

    def _is_busy(self) -> bool:
        if self._in_threads > 0:
            frames = sys._current_frames()  # noqa: SLF001 - the only way to ask what a thread waits for
            waiting = sum(_waits_for_context(frames.get(ident)) for ident in self._idents.copy())
            if self._in_threads > waiting:
                return True
        return any(busy() for busy in self._watched)


def _waits_for_context(frame: FrameType | None) -> bool:
    """Whether a thread stands in a call of its context that has no answer yet, as while the store is away."""
    while frame is not None:
        if frame.f_code is SyncContext._wait.__code__:  # noqa: SLF001 - what every call of a `SyncContext` goes through
            asked = frame.f_locals.get("asked")
            return asked is not None and not asked.done()
        frame = frame.f_back
    return False


def run_virtual(main: Coroutine[Any, Any, T], clock: VirtualClock | None = None) -> T:
    """Run a coroutine to its end in virtual time."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock)) as runner:
        return runner.run(main)
