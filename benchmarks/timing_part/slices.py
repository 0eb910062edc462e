"""Slices: what learning, or statistics, cost a drain, closely enough to tell two per cent on a machine that others use.

    python -m benchmarks.timing_part.slices DRAINS [learning | statistics] [URL]

Below, "learning" is said of both.

Two drains of the same backlog differ by a fifth, by the clock and by CPU alike: what else runs on the cores and in
their caches changes all the time. So one worker drains, and learning is changed *while* it does, every 500 messages:

- "off": no run is noted, and nothing that was learned is asked for;
- "on": as in a worker of people's;
- "tenfold": everything that learning does for a message is done ten times. What it costs is a tenth of the difference
  to "off", and so the noise counts a tenth as well: this is the figure that is judged;
- "same": "off" once more. How far it is from "off" is how closely "on" and "off" can be told apart.

A block is every arm once, in some order, and once more in the opposite one, so that whatever drifts meets all alike.
What is told is the median of many blocks, with its interval. Counted is CPU of the loop's thread, which is what a drain
waits for; the writer's thread does nothing for learning but once a second. What is done once a second would fall into
any arm: telling and writing what was drawn, reading what others wrote. It is measured by itself, and counted for as
many messages as a second has when the loop does nothing else.

Prints one line of JSON, read by `claims.py`.
"""

import asyncio
import gc
import json
import random
import sys
import time
from array import array
from collections.abc import Callable, Sequence
from itertools import permutations
from statistics import median
from typing import Any

from benchmarks.sqlite_part.measure import address
from tenure import Tenure
from tenure.runtime.background.sampler import SAMPLES_A_TASK
from tenure.runtime.delivery import AS_USUAL
from tenure.runtime.path.learning import Learning
from tenure.runtime.pipeline import Pipeline
from tenure.sample import Sample

#: How often what learning does for a message is done.
ARMS = {"off": 0, "on": 1, "tenfold": 10, "same": 0}
CONCURRENCY = 100
#: Messages of a slice.
SLICE = 500
BLOCKS_A_DRAIN = 10
_SLICES = 2 * len(ARMS) * BLOCKS_A_DRAIN
#: The first ones fill caches and tables.
_WARM_UP = 4
_COUNT = SLICE * (_SLICES + _WARM_UP + 2)
_SECONDS = 50
_STORED_EVERY = 5.0

Slice = tuple[str, float]


class Switch:
    """Stands between the path and what learns: repeats what is asked of it, and changes the arm."""

    def __init__(self, path: Pipeline, seed: int, what: str) -> None:
        """Warm up first."""
        self._chance = random.Random(seed)
        self._times = range(1)
        self._note: Callable[..., None] = path.sampler.note
        if what == "statistics":
            path.statistics.note = self._repeated(path.statistics.note)  # type: ignore[method-assign]
        else:
            path.learning.look = self._repeated(path.learning.look)  # type: ignore[method-assign]
            path.learning.plan = self._repeated(path.learning.plan, AS_USUAL)  # type: ignore[method-assign]
            self._note = self._repeated(path.sampler.note)
        path.sampler.note = self.note  # type: ignore[method-assign]
        self._arms = ["on"] * _WARM_UP
        self._left = SLICE
        self._began = time.thread_time()
        #: Arm, CPU seconds of a message.
        self.slices: list[Slice] = []

    def _repeated(self, act: Callable[..., Any], otherwise: object = None) -> Callable[..., Any]:
        def repeated(*args: Any) -> Any:
            answer = otherwise
            for _ in self._times:
                answer = act(*args)
            return answer

        return repeated

    def note(self, settled: Sequence[Any], at: float) -> None:
        """Where the sampler is told of settled messages."""
        self._note(settled, at)
        self._left -= len(settled)
        if self._left <= 0:
            self._turn()

    def _turn(self) -> None:
        now = time.thread_time()
        self.slices.append((self._arms.pop(0), (now - self._began) / (SLICE - self._left)))
        if not self._arms:
            order = self._chance.choice(list(permutations(ARMS)))
            self._arms = [*order, *reversed(order)]
        self._times = range(ARMS[self._arms[0]])
        self._left = SLICE
        self._began = time.thread_time()


async def _drain(url: str, seed: int, what: str) -> tuple[list[Slice], list[float]]:
    """The slices of one backlog, and CPU seconds of what is done once a second."""
    app = Tenure(url)

    @app.task
    async def noop(n: int) -> None: ...

    async with app:
        for first in range(0, _COUNT, 1000):
            await app.submit_many([noop.bind(1) for _ in range(first, min(first + 1000, _COUNT))])
        worker = app.worker(concurrency=CONCURRENCY)
        gc.collect()
        gc.freeze()  # what is there already is not looked at again while it drains
        await worker.start()
        switch = Switch(worker._path, seed, what)  # noqa: SLF001 - there is no option: nobody gains by switching it off
        while worker.counts.get("completed", 0) < _COUNT:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
        path = worker._path  # noqa: SLF001
        if what == "statistics":
            seconds = [await _store(path, noop.queue) / _STORED_EVERY for _ in range(_SECONDS)]
        else:
            learning = path.learning
            seconds = [await _second(learning, noop.queue, app.clock.wall() + number) for number in range(_SECONDS)]
        worker.ask_to_stop()
        await worker.stop()
    return switch.slices[_WARM_UP : _WARM_UP + _SLICES], seconds


async def _second(learning: Learning, queue: str, at: float) -> float:
    """What a worker does once a second with what it has drawn, and with as much that another one wrote."""
    samples = [Sample(queue, "noop", 1e-5, at, hardware=learning._hardware) for _ in range(SAMPLES_A_TASK)]  # noqa: SLF001
    known = learning._known[queue, "noop"]  # noqa: SLF001
    before = time.process_time()
    for sample in samples:
        learning.observe(sample)
    await learning._journal.sample(samples)  # noqa: SLF001
    await learning._read(queue, known, "noop")  # noqa: SLF001
    return time.process_time() - before


async def _store(path: Pipeline, queue: str) -> float:
    """What a worker does every five seconds with what it has counted: a thousand times, and a row in the store."""
    live = path.statistics._of(queue, "noop", "completed")  # noqa: SLF001
    times = array("d", [1e-5 * (n + 1) for n in range(1_000)])
    live.durations, live.waits = times, times[:]
    before = time.process_time()
    await path.tallying.flush()
    return time.process_time() - before


def main(drains: int, what: str = "learning", place: str = "") -> dict[str, object]:
    """Microseconds of CPU: of a message, by block and arm; and of what is done once a second."""
    blocks, seconds = [], []
    size = 2 * len(ARMS)
    for seed in range(drains):
        with address() as url:
            slices, spent = asyncio.run(_drain(place or url, seed, what))
        seconds += spent
        for first in range(0, _SLICES, size):
            block = slices[first : first + size]
            blocks.append({arm: sum(cost for name, cost in block if name == arm) / 2 * 1e6 for arm in ARMS})
    return {"blocks": blocks, "second_us": median(seconds) * 1e6}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), *sys.argv[2:])), flush=True)
