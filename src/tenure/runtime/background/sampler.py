"""Sampling: how long runs took, shared with all workers once a second.

A few runs of each task are enough, so most of them cost one look into a dict. Which ones is left to chance, among all
that ended in that second: the first ones would be the shortest of those that started together. Runs that failed by
themselves are left out, and so are runs that were cancelled or taken away while their lease was valid. A run that was
ended because it took too long, or because its worker stopped, counts as one that would have taken longer, and is always
kept.

Called by `path/reporting.py` at the end of the path, and for consumers over HTTP by `server/consumers/reporting.py`.
Samples go to `path/learning.py`, in a worker, and then to `Journal.sample`. While the journal is away
samples are dropped: there will be others.
"""

import asyncio
import logging
import math
import os
import platform
import random
from collections.abc import Callable, Sequence

from tenure.errors import BrokerError
from tenure.rules.shared_samples import shared_queue
from tenure.runtime.delivery import Delivery
from tenure.sample import Ended, Sample
from tenure.settlement import Settlement
from tenure.state import Journal
from tenure.text.plural import plural
from tenure.verdict import Completed

logger = logging.getLogger("tenure.sampling")

WRITE_SECONDS = 1.0
#: Of each queue and task, in each second, in each worker; and as many that were ended from outside.
SAMPLES_A_TASK = 20
#: Queues and tasks beyond these are sampled in another second.
_MOST_TASKS = 200
#: Of a draw: at 1 there would be no logarithm.
_MOST_WEIGHT = 1.0 - 1e-9


def hardware_class() -> str:
    """Return the kind of this machine, as far as it matters for how long work takes."""
    return f"{platform.machine()} {os.cpu_count()}"


class _Second:
    """The runs of one task on one queue in this second: a fair choice of them, however many there are.

    A reservoir: every run has the same chance to be in it at the end. The number of runs to pass over before the next
    one is drawn at once (Li's algorithm L), so passing over one costs a subtraction.
    """

    __slots__ = ("_chance", "_weight", "killed", "runs", "skip")

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.runs: list[Sample] = []
        #: Ended from outside; not drawn.
        self.killed: list[Sample] = []
        #: This many more are passed over.
        self.skip = 0
        self._weight = 1.0

    def put(self, sample: Sample) -> None:
        """It is one of those that get in."""
        if len(self.runs) < SAMPLES_A_TASK:
            self.runs.append(sample)
            if len(self.runs) < SAMPLES_A_TASK:
                return
        else:
            self.runs[self._chance.randrange(SAMPLES_A_TASK)] = sample
        weight = self._weight * (1.0 - self._chance.random()) ** (1.0 / SAMPLES_A_TASK)
        self._weight = min(weight, _MOST_WEIGHT)
        self.skip = int(math.log(1.0 - self._chance.random()) / math.log1p(-self._weight))


class Sampler:
    """Writes the samples of each second to the journal."""

    def __init__(
        self, journal: Journal, observe: Callable[[Sample], None] | None = None, *, hardware: str | None = None
    ) -> None:
        """Write to `journal`, and call `observe`. `hardware`: where the runs are. None: here; empty: not known."""
        self._journal = journal
        self._observe = observe
        self._hardware = hardware_class() if hardware is None else hardware
        #: Of its own, and always the same: what is simulated comes out the same each time.
        self._chance = random.Random(1)  # noqa: S311 - no secret
        self._seconds: dict[tuple[str, str], _Second] = {}
        self._wake = asyncio.Event()
        #: True: queues are many, and samples of all of them are kept together (`rules/shared_samples.py`).
        self.is_shared = False

    def note(self, settled: Sequence[tuple[Delivery, Settlement | None]], at: float) -> None:
        """Take what is wanted of these runs. Called for every message, so it must cost next to nothing."""
        seconds, is_shared = self._seconds, self.is_shared
        for delivery, _ in settled:
            message = delivery.message
            if message is None:
                continue
            queue = shared_queue(delivery.queue) if is_shared else delivery.queue
            second = seconds.get((queue, message.task))
            if second is not None and second.skip and delivery.ending is None:
                second.skip -= isinstance(delivery.verdict, Completed)
                continue
            self._take(delivery, (queue, message.task), second, at)

    def _take(self, delivery: Delivery, name: tuple[str, str], second: _Second | None, at: float) -> None:
        seconds = delivery.seconds
        is_killed = delivery.ending is not None
        if seconds is None or delivery.taken_early or not (is_killed or isinstance(delivery.verdict, Completed)):
            return
        if second is None:
            if len(self._seconds) >= _MOST_TASKS:
                return
            second = self._seconds[name] = _Second(self._chance)
        ended = Ended.KILLED if is_killed else Ended.COMPLETED
        size = None if delivery.size is None else round(delivery.size)
        sample = Sample(*name, round(seconds, 6), at, ended, size, self._hardware)
        if not is_killed:
            second.put(sample)
        elif len(second.killed) < SAMPLES_A_TASK:
            second.killed.append(sample)
            if self._observe is not None:
                self._observe(sample)  # at once: the next lease must be longer
        self._wake.set()

    async def run(self) -> None:
        """Write what was taken, at most once a second."""
        while True:
            await self._wake.wait()
            await asyncio.sleep(WRITE_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """Pass on and write what was taken so far."""
        self._wake.clear()
        taken, self._seconds = self._seconds.values(), {}
        if self._observe is not None:
            for second in taken:
                for sample in second.runs:
                    self._observe(sample)
        samples = [sample for second in taken for sample in (*second.killed, *second.runs)]
        if not samples:
            return
        try:
            await self._journal.sample(samples)
        except BrokerError as error:
            logger.debug("could not store how long %s took: %s", plural(len(samples), "run"), error)
