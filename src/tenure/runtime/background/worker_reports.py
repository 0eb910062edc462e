"""Reports: the worker's own report every few seconds: version, CPU, memory, rates, and whether it leaves.

One key-value for each worker, replaced each time, with an expiry: the last report of a killed worker is soon gone. It
is written every 5 seconds, in the cloud every 60, and at once when an operator has the worker leave. Counting is done
elsewhere (`background/bus.py`), so nothing here is on the path of a message. A report that cannot be written is left
out.

Runs beside the path (`background/background.py`), so it goes on while a handler blocks the worker's loop. Read by
`client/operations/workers.py`.
"""

import asyncio
import contextlib
import functools
import logging
import os
from collections import deque
from collections.abc import Callable, Mapping

from tenure.clock import Clock
from tenure.errors import BrokerError, TenureError
from tenure.key_value import name_of
from tenure.notice import Post, PostKind
from tenure.probe import cpu_seconds, resident_bytes
from tenure.state import KeyValues, State
from tenure.timing import tallied
from tenure.worker_report import RATE_SECONDS, REPORT_KIND, WorkerReport, encoded

logger = logging.getLogger("tenure.reports")

#: A report is kept for this many times as long as the next one takes.
_KEPT_TIMES = 4
#: The posts that have a worker leave.
LEAVE = (PostKind.DRAIN_WORKER, PostKind.STOP_WORKER)
_FINISHED = (tallied.COMPLETED, tallied.DEAD, tallied.DUPLICATE)


def words_of(post: Post) -> str:
    """The reason why a worker leaves, as in `drained by alice (dashboard)`."""
    done = "drained" if post.kind is PostKind.DRAIN_WORKER else "stopped"
    return f"{done} by {post.by or 'an operator'}"


class WorkerReports:
    """Writes the reports of one worker."""

    def __init__(
        self,
        key_values: KeyValues,
        clock: Clock,
        wall: Callable[[], float],
        *,
        owner: Callable[[], str],
        counts: Callable[[], Mapping[str, int]],
        journal_waiting: Callable[[], int] = lambda: 0,
        every_seconds: float,
    ) -> None:
        """`counts`: how often each kind of event happened so far; `wall`: the store's time.

        `journal_waiting`: how many events are not in the journal yet.
        """
        self._journal_waiting = journal_waiting
        self._key_values = key_values
        self._clock = clock
        self._wall = wall
        self._owner = owner
        self._counts = counts
        self._every = every_seconds
        #: The name and version of what was written last.
        self._written: tuple[str, str] | None = None
        self._leaving = ""
        self._leaving_since: float | None = None
        self._wake = asyncio.Event()
        self._cpu: tuple[float, float | None] = (clock.monotonic(), cpu_seconds())
        #: When, and how much was finished and failed by then; the last `RATE_SECONDS`, and one before.
        self._course: deque[tuple[float, int, int]] = deque()

    def leave(self, post: Post) -> None:
        """An operator has the worker leave. Called on the loop on which `run` runs."""
        self._leaving, self._leaving_since = words_of(post), self._leaving_since or self._wall()
        self._wake.set()

    async def run(self) -> None:
        """Write a report now, and every few seconds until cancelled."""
        while True:
            try:
                await self._write()
            except TenureError as error:
                logger.debug("the worker's report was not written; the next one is due in %g s: %s", self._every, error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._every):
                    await self._wake.wait()
            self._wake.clear()

    async def _write(self) -> None:
        name, data = name_of(self._owner()), encoded(self._report())
        known = self._written[1] if self._written is not None and self._written[0] == name else None
        until = self._wall() + _KEPT_TIMES * self._every
        put = await self._key_values.put(REPORT_KIND, name, data, expect=known, expires_at=until)
        if put is None:  # it has lapsed, or an answer was lost
            now = await self._key_values.get(REPORT_KIND, name)
            known = None if now is None else now.version
            put = await self._key_values.put(REPORT_KIND, name, data, expect=known, expires_at=until)
        self._written = None if put is None else (name, put.version)

    def _report(self) -> WorkerReport:
        rates = self._rates()
        return WorkerReport(
            at=self._wall(),
            version=tenure_version(),
            cpu_percent=self._cpu_percent(),
            memory_bytes=resident_bytes(os.getpid()),
            leaving_since=self._leaving_since,
            leaving=self._leaving,
            rate_per_minute=rates[0],
            errors_per_minute=rates[1],
            skew_seconds=round(self._clock.wall() - self._wall(), 3),
            journal_waiting=self._journal_waiting(),
        )

    def _cpu_percent(self) -> float | None:
        (before, used_before), now, used = self._cpu, self._clock.monotonic(), cpu_seconds()
        self._cpu = (now, used)
        if used is None or used_before is None or now <= before:
            return None
        return round(100.0 * (used - used_before) / (now - before), 1)

    def _rates(self) -> tuple[float | None, float | None]:
        """Finished and failed a minute. None: this is the first report."""
        now, counts = self._clock.monotonic(), self._counts()
        finished = sum(counts.get(kind, 0) for kind in _FINISHED)
        failed = sum(counts.get(kind, 0) for kind in tallied.FAILED)
        course = self._course
        while len(course) > 1 and now - course[1][0] >= RATE_SECONDS:
            course.popleft()
        course.append((now, finished, failed))
        began, finished_then, failed_then = course[0]
        if now <= began:
            return None, None
        minutes = (now - began) / 60.0
        return round((finished - finished_then) / minutes, 3), round((failed - failed_then) / minutes, 3)


@functools.cache
def tenure_version() -> str | None:
    """Return the version of Tenure. None: it runs from its source, without being installed."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow, and read once

    try:
        return version("tenure")
    except PackageNotFoundError:
        return None


async def withdraw(state: State, owner: str) -> None:
    """Remove the report of a worker that has left, and the requests of operators to it."""
    name = name_of(owner)
    try:
        await state.key_values.remove(REPORT_KIND, name)
        for kind in LEAVE:
            await state.board.withdraw(kind, name)
    except BrokerError as error:
        logger.debug("could not delete the last report of %s (%s); it expires by itself", owner, error)
