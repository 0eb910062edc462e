"""Exports metrics as lines of the embedded metric format, once a minute, from a thread of its own.

    async with EmfExport("tcp://127.0.0.1:25888", collect):
        ...

`collect` is a coroutine on the caller's loop. While a handler blocks that loop nothing is exported but
`tenure_worker_responds` 0, and the counters catch up afterwards. At the end the last figures are written.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import TimeoutError as NoAnswer
from typing import Self

from tenure.clock import SYSTEM_CLOCK
from tenure.monitoring.cloudwatch.emf import EmfLines
from tenure.monitoring.cloudwatch.emf_target import emf_target
from tenure.monitoring.cloudwatch.signal import NAMESPACE
from tenure.monitoring.metrics.recent import Recent
from tenure.monitoring.metrics.sample import Sample

logger = logging.getLogger("tenure.metrics")

EVERY_SECONDS = 60.0
_PATIENCE_SECONDS = 10.0
#: At the end, for the last figures: what reads standard output may have stopped reading.
_END_SECONDS = 10.0

Collect = Callable[[], Awaitable[Sequence[Sample]]]


class EmfExport:
    """The export of one process."""

    def __init__(
        self,
        target: str,
        collect: Collect,
        *,
        namespace: str = NAMESPACE,
        every_seconds: float = EVERY_SECONDS,
        end_seconds: float = _END_SECONDS,
    ) -> None:
        """Write what `collect` returns to `target`. Raises `ConfigurationError` for a target that is none."""
        self._target = emf_target(target)
        self._collect = collect
        self._lines = EmfLines(namespace)
        self._recent = Recent()
        self._every = every_seconds
        self._end_seconds = end_seconds
        self._last: Sequence[Sample] = ()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tenure-emf", daemon=True)
        self._is_failing = False

    @property
    def place(self) -> str:
        """Where the lines go, for people."""
        return self._target.place

    async def __aenter__(self) -> Self:
        """Begin."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Write the last figures, and end. A target that takes nothing delays the end by 10 s at most."""
        try:
            self._last = await self._collect()
        except Exception as error:  # noqa: BLE001 - the end of a worker does not depend on its figures
            self._complain("figures could not be read", error)
        self._stop.set()
        await asyncio.to_thread(self._thread.join, self._end_seconds)
        if self._thread.is_alive():
            logger.warning("the last metrics could not be written to %s: it takes no more", self.place)

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            try:
                samples = self._read()
            except Exception as error:  # noqa: BLE001 - whatever it was, the next minute is tried
                self._complain("figures could not be read", error)
            else:
                self._write(samples)
        self._write(self._last)

    def _read(self) -> Sequence[Sample]:
        async def collect() -> Sequence[Sample]:
            return await self._collect()

        asked = asyncio.run_coroutine_threadsafe(collect(), self._loop)
        for _ in range(int(_PATIENCE_SECONDS / 0.5)):
            with contextlib.suppress(NoAnswer):
                return asked.result(0.5)
            if self._stop.is_set():
                asked.cancel()
                return ()
        asked.cancel()
        return [Sample("tenure_worker_responds", (), 0)]

    def _write(self, samples: Sequence[Sample]) -> None:
        if not samples:
            return
        known = [*samples, *self._gauges(samples)]
        try:
            self._target.write(self._lines.lines(known, SYSTEM_CLOCK.wall()))
        except (OSError, ValueError) as error:  # ValueError: standard output is closed
            self._lines.take_back()
            self._complain(f"metrics could not be written to {self.place}", error)
        else:
            self._is_failing = False

    def _complain(self, what: str, error: Exception) -> None:
        """Once for each outage."""
        level = logging.DEBUG if self._is_failing else logging.WARNING
        logger.log(level, "%s: %s; tried again every minute", what, error)
        self._is_failing = True

    def _gauges(self, samples: Sequence[Sample]) -> list[Sample]:
        """Percentiles and the use of leases, unless they are there already."""
        if any(one.metric == "tenure_lease_use_ratio" for one in samples):
            return []
        return self._recent.samples(samples, SYSTEM_CLOCK.monotonic())
