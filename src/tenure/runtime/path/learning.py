"""Learning: what this worker knows of how long its tasks take, and what follows from it.

Its own runs are counted as they end (`background/sampler.py` passes them on). Runs of other workers are read from the
journal: before the first lease, all of tasks whose lease depends on them; later, now and then, the new ones of tasks
that ran here. Runs on other kinds of machines count only while there are too few on this kind.

With the heartbeat on, the lease is not changed; learning decides when the first beat is due, and when the run will
probably end. With the heartbeat off (`heartbeat=False`), the lease is learned, unless the task or the message sets it.
Some brokers lease for that time at once; with the others it costs one touch on arrival. A task with a size also costs
one touch: it is leased for the usual time, and the lease is extended once the size is known, so that small work is not
held for as long as large work. A message whose lease ended unseen gets four times as much each time; otherwise work
that takes longer than 99 of 100 runs would never be done.

Everything here runs in the worker's loop. Used by `intake.py`, `context_link.py` and, for the first beat,
`background/heartbeat.py`.
"""

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tenure.broker import BrokerTraits
from tenure.clock import Clock
from tenure.errors import BrokerError
from tenure.lease import Lease
from tenure.message import Message
from tenure.rules.shared_samples import shared_queue
from tenure.runtime.background.sampler import hardware_class
from tenure.runtime.delivery import AS_USUAL, Delivery, Plan
from tenure.sample import Ended, Sample, StoredSample
from tenure.state import Journal
from tenure.tasks.task import Task
from tenure.timing.foresight import Foresight
from tenure.timing.learned import Bounds, Choice, Learned
from tenure.timing.policy import beat_interval, first_beat

logger = logging.getLogger("tenure.learning")

#: How often what others learned is read, of tasks that ran here since.
READ_SECONDS = 30.0
#: Runs on our own kind of machine, from which on those of others are not asked.
OWN_RUNS = 20
#: This many pairs of queue and task are remembered, or two for each task if that is more. Beyond, the first known is
#: forgotten, and read again if it runs.
MOST_KNOWN = 500
#: This many times as long for each time that the lease of a message ended unseen.
LOST_FACTOR = 4.0
#: Samples of our own that have not come back from the journal, of one task.
_MOST_MINE = 2_000
#: The usual duration is looked up again after this many seconds.
_FRESH_SECONDS = 1.0
#: A wall clock that is off by more than this from what has passed since was set.
_SET_SECONDS = 1.0


class _KnownFigures:
    """The figures of one task on one queue."""

    __slots__ = ("elsewhere", "here", "mine", "ran", "seq", "shared_seq")

    def __init__(self, here: Learned, elsewhere: Learned) -> None:
        self.here = here
        #: On other kinds of machines.
        self.elsewhere = elsewhere
        #: Of our own samples, those that will come back from the journal: when, how long, and how many alike.
        self.mine: Counter[tuple[float, float]] = Counter()
        #: Up to where the journal was read.
        self.seq = 0
        #: The same of the samples that many queues share, where its own queue has few.
        self.shared_seq = 0
        #: Whether it ran here since then.
        self.ran = True

    @property
    def best(self) -> Learned:
        """Our own kind of machine, as soon as there is enough of it."""
        if self.here.count >= OWN_RUNS or not self.elsewhere.count:
            return self.here
        return self.elsewhere


class _Steady:
    """Wall time as if the clock had not been set since the start.

    What was learned fades with time. A clock that was set back would stop that for days; a clock that was set forward
    would make everything old at once.
    """

    __slots__ = ("_began", "_clock", "_off")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = clock.wall() - clock.monotonic()
        #: By how much the wall clock was set since.
        self._off = 0.0

    def look(self) -> tuple[float, float]:
        """The wall clock, and by how much it was set."""
        wall = self._clock.wall()
        off = wall - self._clock.monotonic() - self._began
        if abs(off - self._off) > _SET_SECONDS:
            self._off = off
        return wall, self._off


class Learning:
    """The learned run times of tasks, for one worker."""

    def __init__(
        self,
        journal: Journal,
        tasks: Mapping[str, Task[..., Any]],
        traits: BrokerTraits,
        clock: Clock,
        *,
        lease_seconds: float,
        is_on: bool = True,
    ) -> None:
        """Learn from `journal`. `is_on=False`: learn nothing, and use profiles."""
        self._journal = journal
        self._tasks = tasks
        self._clock = clock
        self._is_on = is_on
        self._default = lease_seconds
        self._bounds = Bounds.lent(traits.min_lease_seconds, traits.max_lease_seconds)
        self._hardware = hardware_class()
        self._steady = _Steady(clock)
        self._known: dict[tuple[str, str], _KnownFigures] = {}
        self._most_known = max(MOST_KNOWN, 2 * len(tasks))
        #: What 99 of 100 runs stay within, where that is long enough to matter.
        self._usual: dict[tuple[str, str], float] = {}
        #: What runs usually take; replaced as a whole, so that the heartbeat's thread may read it.
        self._foresights: dict[tuple[str, str], Foresight] = {}
        #: True: queues are many, and what is learned of a task holds for all of them (`rules/shared_samples.py`).
        self.is_shared = False
        self._looked_at = -math.inf
        self._soon = beat_interval(min([lease_seconds, *(task.policy.lease.seconds for task in tasks.values())]))
        self._unrenewed = {name: task for name, task in tasks.items() if task.policy.lease.is_learned}
        self._by_task = {
            name: task.policy.lease.seconds
            for name, task in tasks.items()
            if task.policy.lease.seconds != lease_seconds
        }

    # -- what is asked for on the path -------------------------------------------------------------

    def seconds_by_task(self) -> dict[str, float]:
        """The leases to ask for that differ from the usual one. The same object while nothing has changed."""
        for name, task in self._unrenewed.items():
            seconds = self._of(task.queue, task).best.choose().seconds
            if task.sizer is not None:  # it depends on the size, which is not read yet
                seconds = min(seconds, self._bounds.within(self._default))
            if self._by_task.get(name) != seconds:
                self._by_task = {**self._by_task, name: seconds}
        return self._by_task

    def plan(self, lease: Lease, message: Message, task: Task[..., Any]) -> Plan:
        """Plan a message: its size, its first beat or its lease. Called for every message."""
        policy, size = task.policy.lease, None
        if task.sizer is not None and message.ticket is None:
            size = task.sizer.size_of(message.body)
        if not policy.heartbeat:
            longer = self._longer(lease, message, task, size) if policy.is_learned else None
            return Plan(longer, size, is_renewed=False)
        if size is not None and self._is_on:
            usual = self._of(lease.queue, task).best.usual(size)
            return Plan(size=size, first_beat=first_beat(lease.seconds, usual))
        if self._usual:  # mostly there is none: it takes runs of a certain length
            usual = self._usual.get((self._kept_under(lease.queue), task.name))
            return Plan(size=size, first_beat=first_beat(lease.seconds, usual))
        return AS_USUAL if size is None else Plan(size=size)

    def look(self) -> None:
        """Before messages are prepared, find the tasks whose first beat may wait. Looked up once a second."""
        now = self._clock.monotonic()
        if not self._is_on or now - self._looked_at < _FRESH_SECONDS:
            return
        self._looked_at = now
        self._foresights = {pair: known.best.foresight() for pair, known in self._known.items()}
        usual = {pair: known.best.usual() for pair, known in self._known.items()}
        # Whatever the lease of a message: shorter runs than a third of the shortest are over before any first beat.
        self._usual = {
            pair: seconds for pair, seconds in usual.items() if seconds is not None and seconds >= self._soon
        }

    def _longer(self, lease: Lease, message: Message, task: Task[..., Any], size: float | None) -> float | None:
        """Return the lease that it needs. None: its present lease is long enough."""
        if message.overrides.lease_seconds is not None:
            return None
        seconds = self._needed(lease, task, size)
        return seconds if seconds > lease.seconds else None

    def _needed(self, lease: Lease, task: Task[..., Any], size: float | None) -> float:
        seconds = self._of(lease.queue, task).best.choose(size).seconds
        lost = lease.counters.lost
        return self._bounds.within(seconds * LOST_FACTOR**lost) if lost else seconds

    def resize(self, delivery: Delivery, size: float) -> float | None:
        """The size became known while it runs: the lease that it needs now. None: the lease is not learned."""
        delivery.size = size
        message, task = delivery.message, delivery.task
        if message is None or task is None or not task.policy.lease.is_learned:
            return None
        return None if message.overrides.lease_seconds is not None else self._needed(delivery.lease, task, size)

    def expected(self, delivery: Delivery) -> float | None:
        """Seconds that a run of it usually takes. None: not known."""
        task = delivery.task
        return None if task is None else self._of(delivery.queue, task).best.predict(delivery.size)

    def foreseen(self, delivery: Delivery) -> float | None:
        """Return `expected` by the last look, at most a second before the message came. Any thread may ask."""
        if delivery.task is None:
            return None
        foresight = self._foresights.get((self._kept_under(delivery.queue), delivery.task.name))
        return None if foresight is None else foresight.seconds(delivery.size)

    def choice(self, queue: str, task: Task[..., Any], size: float | None = None) -> Choice:
        """The lease that would be asked for with the heartbeat off, and why."""
        return self._of(queue, task).best.choose(size)

    def advised_hold(self, queue: str, task: Task[..., Any]) -> Choice | None:
        """A `max_hold` that no run so far would have exceeded, and why. None: there are too few runs."""
        return self._of(queue, task).best.hold()

    # -- new runs ----------------------------------------------------------------------------------

    def observe(self, sample: Sample) -> None:
        """Count a run of this worker. It is not counted again when it comes back from the journal."""
        task = self._tasks.get(sample.task)
        if task is None or not self._is_on:
            return
        known = self._of(sample.queue, task)
        known.ran = True
        wall, off = self._steady.look()
        at = min(sample.at, wall) - off
        known.here.observe(sample.seconds, sample.size, killed=sample.ended is Ended.KILLED, at=at)
        if len(known.mine) >= _MOST_MINE:  # the journal was away for long, and has not kept them
            known.mine.clear()
        known.mine[sample.at, sample.seconds] += 1

    def _of(self, queue: str, task: Task[..., Any]) -> _KnownFigures:
        queue = self._kept_under(queue)
        known = self._known.get((queue, task.name))
        if known is None:
            if len(self._known) >= self._most_known:
                del self._known[next(iter(self._known))]
            known = self._known[queue, task.name] = _KnownFigures(self._new(task), self._new(task))
        return known

    def _kept_under(self, queue: str) -> str:
        return shared_queue(queue) if self.is_shared else queue

    def _new(self, task: Task[..., Any]) -> Learned:
        return Learned(prior=task.prior, bounds=self._bounds, default=self._default)

    # -- what others learned -----------------------------------------------------------------------

    async def open(self) -> None:
        """Read what the first lease depends on. A journal that is away is read later."""
        for task in self._unrenewed.values():
            await self._read(self._kept_under(task.queue), self._of(task.queue, task), task.name)

    async def run(self) -> None:
        """Read what is new, of tasks that ran here; the first time, of all."""
        if not self._is_on:
            return
        for task in self._tasks.values():
            self._of(task.queue, task)
        while True:
            for (queue, name), known in list(self._known.items()):
                if known.ran or name in self._unrenewed:
                    await self._read(queue, known, name)
            await asyncio.sleep(READ_SECONDS)

    async def _read(self, queue: str, known: _KnownFigures, name: str) -> None:
        if not self._is_on:
            return
        try:
            stored = await self._journal.samples(queue, name, after=known.seq)
            runs = known.here.count + known.elsewhere.count + len(stored)
            shared = await self._read_shared(queue, known, name) if runs < OWN_RUNS else []
        except BrokerError as error:
            logger.debug("could not read how long %s takes on other workers: %s", name, error)
            return
        known.ran = False
        wall, off = self._steady.look()
        for one in stored:
            known.seq = max(known.seq, one.seq)
            self._take(known, one.sample, wall, off)
        for one in shared:
            known.shared_seq = max(known.shared_seq, one.seq)
            self._take(known, one.sample, wall, off)

    async def _read_shared(self, queue: str, known: _KnownFigures, name: str) -> Sequence[StoredSample]:
        """Read the samples that workers of many queues share, where its own queue has few."""
        shared = shared_queue(queue)
        return [] if shared == queue else await self._journal.samples(shared, name, after=known.shared_seq)

    def _take(self, known: _KnownFigures, sample: Sample, wall: float, off: float) -> None:
        alike = known.mine.pop((sample.at, sample.seconds), 0)
        if alike:
            if alike > 1:
                known.mine[sample.at, sample.seconds] = alike - 1
            return
        if not 0.0 <= sample.seconds < math.inf:
            return
        learned = known.here if sample.hardware == self._hardware else known.elsewhere
        at = min(sample.at, wall) - off  # a moment in the future, by another clock, counts as now
        learned.observe(sample.seconds, sample.size, killed=sample.ended is Ended.KILLED, at=at)
