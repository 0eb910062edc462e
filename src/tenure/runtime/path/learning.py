"""Learning: what this worker knows of how long its tasks take, and what it makes of it.

Its own runs are counted as they end (`sampling.py` tells them), those of other workers are read from the journal: all
there are of tasks whose lease depends on it before anything is leased, later now and then what is new, of tasks that
ran here. Runs on other kinds of machines are believed only while there are too few on ours.

With the heartbeat on, the lease stays what it is: learned is when the first beat is due, and when the run will be over.
With it off (`heartbeat=False`), the lease is learned, unless the task or the message says how long. A broker that can,
lends for that long; one that cannot costs one touch on arrival. So does a task with a size: it is lent for the usual
lease, and longer by its size as soon as that is read, so that small work is not held for as long as large. A message
whose lease has ended unseen before gets four times as much each time: else what takes longer than 99 of 100 would never
be done.

Everything here runs in the worker's loop. Asked by `intake.py`, `link.py` and `heartbeat.py`'s first beat.
"""

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tenure.broker import BrokerTraits
from tenure.clock import Clock
from tenure.errors import BrokerError
from tenure.rules.shared_samples import shared_queue
from tenure.runtime.delivery import Delivery
from tenure.runtime.sampling import hardware_class
from tenure.sample import Ended, Sample, StoredSample
from tenure.state import Journal
from tenure.task import Task
from tenure.timing.foresight import Foresight
from tenure.timing.learned import Bounds, Choice, Learned
from tenure.timing.policy import beat_interval, first_beat

logger = logging.getLogger("tenure.learning")

#: How often what others learned is read, of tasks that ran here since.
READ_SECONDS = 30.0
#: Runs on our own kind of machine, from which on those of others are not asked.
OWN_RUNS = 20
#: So many pairs of queue and task are remembered, or two for each task if that is more. Beyond, the first known is
#: forgotten, and read again if it runs.
MOST_KNOWN = 500
#: So many times as long for each time that the lease of a message ended unseen.
LOST_FACTOR = 4.0
#: Samples of our own that have not come back from the journal, of one task.
_MOST_MINE = 2_000
#: What is usual is looked up anew after so many seconds.
_FRESH_SECONDS = 1.0
#: A wall clock that is off by more than this from what has passed since was set.
_SET_SECONDS = 1.0


class _Known:
    """What is known of one task on one queue."""

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
    """Wall time as it would be if nobody had set the clock since we began.

    What was learned fades and falls by the time that passes. By a clock that was set back none would for days; one that
    was set forward would make everything old at once.
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
    """How long tasks take, for one worker."""

    def __init__(
        self, journal: Journal, tasks: Mapping[str, Task[..., Any]], traits: BrokerTraits, clock: Clock, *,
        lease_seconds: float, is_on: bool = True,
    ) -> None:  # fmt: skip
        """Nothing is known yet. `is_on=False`: nothing ever will be, and profiles decide."""
        self._journal = journal
        self._tasks = tasks
        self._clock = clock
        self._is_on = is_on
        self._default = lease_seconds
        self._bounds = Bounds.lent(traits.min_lease_seconds, traits.max_lease_seconds)
        self._hardware = hardware_class()
        self._steady = _Steady(clock)
        self._known: dict[tuple[str, str], _Known] = {}
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
            if task.sizer is not None:  # how long is told by its size, which nobody has read yet
                seconds = min(seconds, self._bounds.within(self._default))
            if self._by_task.get(name) != seconds:
                self._by_task = {**self._by_task, name: seconds}
        return self._by_task

    def prepare(self, delivery: Delivery, task: Task[..., Any]) -> None:
        """Decide what a message needs: its size, its first beat or its lease. Called for every one."""
        policy = task.policy.lease
        if task.sizer is not None and delivery.message is not None and delivery.message.ticket is None:
            delivery.size = task.sizer.size_of(delivery.message.body)
        if not policy.heartbeat:
            delivery.is_renewed = False
            if policy.is_learned:
                self._lengthen(delivery, task)
        elif delivery.size is not None and self._is_on:
            usual = self._of(delivery.queue, task).best.usual(delivery.size)
            delivery.first_beat = first_beat(delivery.lease.seconds, usual)
        elif self._usual:  # mostly there is none: it takes runs of a certain length
            usual = self._usual.get((self._kept_under(delivery.queue), task.name))
            delivery.first_beat = first_beat(delivery.lease.seconds, usual)

    def look(self) -> None:
        """Before messages are prepared: whose first beat may wait. Looked up once a second."""
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

    def _lengthen(self, delivery: Delivery, task: Task[..., Any]) -> None:
        """Ask for as long as it needs. Never for less than it was lent for."""
        message, lease = delivery.message, delivery.lease
        if message is None or message.overrides.lease_seconds is not None:
            return
        seconds = self._needed(delivery, task)
        if seconds > lease.seconds:
            delivery.lease = msgspec.structs.replace(lease, seconds=seconds)

    def _needed(self, delivery: Delivery, task: Task[..., Any]) -> float:
        seconds = self._of(delivery.queue, task).best.choose(delivery.size).seconds
        lost = delivery.lease.counters.lost
        return self._bounds.within(seconds * LOST_FACTOR**lost) if lost else seconds

    def resize(self, delivery: Delivery, size: float) -> float | None:
        """The size became known while it runs. The lease it needs now, where nobody renews it and nobody said."""
        delivery.size = size
        message, task = delivery.message, delivery.task
        if message is None or task is None or not task.policy.lease.is_learned:
            return None
        return None if message.overrides.lease_seconds is not None else self._needed(delivery, task)

    def expected(self, delivery: Delivery) -> float | None:
        """Seconds that a run of it usually takes. None: nobody can say."""
        task = delivery.task
        return None if task is None else self._of(delivery.queue, task).best.predict(delivery.size)

    def foreseen(self, delivery: Delivery) -> float | None:
        """As `expected`, by the last look, which is at most a second before the message came. Any thread may ask."""
        if delivery.task is None:
            return None
        foresight = self._foresights.get((self._kept_under(delivery.queue), delivery.task.name))
        return None if foresight is None else foresight.seconds(delivery.size)

    def choice(self, queue: str, task: Task[..., Any], size: float | None = None) -> Choice:
        """The lease that would be asked for with the heartbeat off, and why."""
        return self._of(queue, task).best.choose(size)

    def advised_hold(self, queue: str, task: Task[..., Any]) -> Choice | None:
        """A `max_hold` that no run so far would have met, and why. None: there are too few runs to say."""
        return self._of(queue, task).best.hold()

    # -- what is told ------------------------------------------------------------------------------

    def observe(self, sample: Sample) -> None:
        """A run of our own; it will come back from the journal, and is not counted again then."""
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

    def _of(self, queue: str, task: Task[..., Any]) -> _Known:
        queue = self._kept_under(queue)
        known = self._known.get((queue, task.name))
        if known is None:
            if len(self._known) >= self._most_known:
                del self._known[next(iter(self._known))]
            known = self._known[queue, task.name] = _Known(self._new(task), self._new(task))
        return known

    def _kept_under(self, queue: str) -> str:
        return shared_queue(queue) if self.is_shared else queue

    def _new(self, task: Task[..., Any]) -> Learned:
        return Learned(prior=task.prior, bounds=self._bounds, default=self._default)

    # -- what others learned -----------------------------------------------------------------------

    async def open(self) -> None:
        """Before the first lease: what must be known for it. A journal that is away is asked later."""
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

    async def _read(self, queue: str, known: _Known, name: str) -> None:
        if not self._is_on:
            return
        try:
            stored = await self._journal.samples(queue, name, after=known.seq)
            runs = known.here.count + known.elsewhere.count + len(stored)
            shared = await self._read_shared(queue, known, name) if runs < OWN_RUNS else []
        except BrokerError as error:
            logger.debug("how long %s takes elsewhere is not known for now: %s", name, error)
            return
        known.ran = False
        wall, off = self._steady.look()
        for one in stored:
            known.seq = max(known.seq, one.seq)
            self._take(known, one.sample, wall, off)
        for one in shared:
            known.shared_seq = max(known.shared_seq, one.seq)
            self._take(known, one.sample, wall, off)

    async def _read_shared(self, queue: str, known: _Known, name: str) -> Sequence[StoredSample]:
        """Where its own queue has few samples: those that workers of many queues share."""
        shared = shared_queue(queue)
        return [] if shared == queue else await self._journal.samples(shared, name, after=known.shared_seq)

    def _take(self, known: _Known, sample: Sample, wall: float, off: float) -> None:
        alike = known.mine.pop((sample.at, sample.seconds), 0)
        if alike:
            if alike > 1:
                known.mine[sample.at, sample.seconds] = alike - 1
            return
        if not 0.0 <= sample.seconds < math.inf:
            return
        learned = known.here if sample.hardware == self._hardware else known.elsewhere
        at = min(sample.at, wall) - off  # what is still to come by somebody's clock is now
        learned.observe(sample.seconds, sample.size, killed=sample.ended is Ended.KILLED, at=at)
