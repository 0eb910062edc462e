"""Sampling: how long runs took, told to all workers once a second.

A few runs of each task are enough, so most of them cost a look into a dict. What failed by itself is left out; a run
that was ended from outside counts as one that would have taken longer. Told by `path.py` at the end of the path; kept
by `Journal.sample`, and told to `learning.py` at once.
While the journal is away samples are dropped: there will be others.
"""

import asyncio
import logging
import os
import platform
from collections.abc import Callable, Sequence

from tenure.errors import BrokerError
from tenure.runtime.delivery import Delivery
from tenure.sample import Ended, Sample
from tenure.settlement import Settlement
from tenure.state import Journal
from tenure.verdict import Completed

logger = logging.getLogger("tenure.sampling")

WRITE_SECONDS = 1.0
#: Of each task, in each second, in each worker.
SAMPLES_A_TASK = 20
#: Tasks beyond these are sampled in another second.
_MOST_TASKS = 200


def hardware_class() -> str:
    """What kind of machine this is, as far as it matters for how long work takes."""
    return f"{platform.machine()} {os.cpu_count()}"


class Sampler:
    """The samples of this second, on their way to the journal."""

    def __init__(self, journal: Journal, observe: Callable[[Sample], None] | None = None) -> None:
        """Write to `journal`, and tell `observe` at once."""
        self._journal = journal
        self._observe = observe
        self._hardware = hardware_class()
        self._samples: list[Sample] = []
        #: How many were taken of each task in this second.
        self._taken: dict[str, int] = {}
        self._wake = asyncio.Event()

    def note(self, settled: Sequence[tuple[Delivery, Settlement | None]], at: float) -> None:
        """Take what is still wanted of these runs. Called for every message, so it must cost next to nothing."""
        taken = self._taken
        for delivery, _ in settled:
            message = delivery.message
            if message is None or taken.get(message.task, 0) >= SAMPLES_A_TASK:
                continue
            self._take(delivery, message.task, at)

    def _take(self, delivery: Delivery, task: str, at: float) -> None:
        seconds = delivery.seconds
        is_killed = delivery.ending is not None
        if seconds is None or not (is_killed or isinstance(delivery.verdict, Completed)):
            return
        if task not in self._taken and len(self._taken) >= _MOST_TASKS:
            return
        self._taken[task] = self._taken.get(task, 0) + 1
        ended = Ended.KILLED if is_killed else Ended.COMPLETED
        size = None if delivery.size is None else round(delivery.size)
        sample = Sample(delivery.queue, task, round(seconds, 6), at, ended, size, self._hardware)
        self._samples.append(sample)
        if self._observe is not None:
            self._observe(sample)
        self._wake.set()

    async def run(self) -> None:
        """Write what was taken, at most once a second."""
        while True:
            await self._wake.wait()
            await asyncio.sleep(WRITE_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """Write what was taken so far."""
        self._wake.clear()
        samples, self._samples, self._taken = self._samples, [], {}
        if not samples:
            return
        try:
            await self._journal.sample(samples)
        except BrokerError as error:
            logger.debug("how long %d runs took was not kept: %s", len(samples), error)
