"""One policy, one scenario: workers sit down, messages are sent, and the book is kept until nothing is left.

Everything runs in virtual time and in one event loop, so the same scenario gives the same book every time. Before:
`scenario.py`, `policy.py`. After: `result.py`.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from tenure import assembly
from tenure.broker import Broker, SweepRequest
from tenure.message import Message, Outgoing
from tenure.runtime.sideloop import cancel
from tenure.runtime.sweeper import Sweeper
from tenure.simulation.book import Book
from tenure.simulation.loop import run_simulated
from tenure.simulation.meter import BATCH, MeteredBroker, MeteredLedger, MeteredState
from tenure.simulation.policy import MOST_SECONDS, SimulatedPolicy
from tenure.simulation.result import Result
from tenure.simulation.scenario import Scenario
from tenure.simulation.seat import NEVER, QUEUE, TASK, Seat
from tenure.simulation.timer import Timer
from tenure.state import State
from tenure.task import Policy, policy_from
from tenure.testing.virtual import VirtualClock

#: Told now and then: how many messages are out of the queue.
Progress = Callable[[int], None]

_LOOK_SECONDS = 60.0
#: Nothing is finished before its time; so long after its last message nothing should be left.
_PATIENCE_SECONDS = 10 * 365 * 86_400.0


def simulate(scenario: Scenario, policy: SimulatedPolicy, progress: Progress = lambda _: None) -> Result:
    """Run it to its end, or until Ctrl-C: then the result says that it is not complete."""
    clock = VirtualClock()
    with _quiet(), _chance(scenario.seed):
        return run_simulated(Simulation(scenario, policy, clock, progress).run(), clock)


class Simulation:
    """Everything that one run needs. Made on no loop; run on a virtual one."""

    def __init__(self, scenario: Scenario, policy: SimulatedPolicy, clock: VirtualClock, progress: Progress) -> None:
        """Nothing happens yet."""
        self._scenario = scenario
        self._policy = policy
        self._clock = clock
        self._progress = progress

    async def run(self) -> Result:
        """Until nothing is left."""
        book = Book(len(self._scenario.works))
        timer = Timer(self._clock)
        broker, state = self._place(book, timer)
        inner = broker.inner
        sweeper = Sweeper(inner, state.roster, self._clock, lambda _: None, request=_SWEEP)
        began = self._clock.now
        loop = asyncio.get_running_loop()
        jobs = [
            loop.create_task(self._send(broker, book)),
            loop.create_task(timer.run(sweeper)),
            loop.create_task(self._tell(book)),
        ]
        is_complete = True
        seats = [self._seat(number, broker, state, book) for number in range(self._scenario.workers)]
        try:
            for seat in seats:
                await seat.start()
            await self._until_gone(book, jobs)
        except asyncio.CancelledError:  # Ctrl-C: what is known so far is worth telling
            is_complete = False
        finally:
            await cancel(jobs)
            for seat in seats:
                await seat.end()
        book.ended_at = book.ended_at if is_complete else self._clock.now - began
        return Result.of(self._policy.name, self._scenario, book, broker.counts, is_complete=is_complete)

    def _place(self, book: Book, timer: Timer) -> tuple[MeteredBroker, State]:
        """A queue as SQS has them; with a ledger beside it, or without."""
        has_ledger = self._policy.has_ledger
        inner, state = assembly.in_memory(
            clock=self._clock, exact=not has_ledger,
            batch_limit=BATCH, min_lease_seconds=1.0, max_lease_seconds=MOST_SECONDS,
        )  # fmt: skip
        broker = MeteredBroker(
            inner, self._clock, book=book, scenario=self._scenario, timer=timer, has_ledger=has_ledger
        )
        if not has_ledger:
            return broker, state
        return broker, MeteredState(state, MeteredLedger(state, self._clock, broker.counts))

    def _seat(self, number: int, broker: Broker, state: State, book: Book) -> Seat:
        return Seat(number, broker, state, self._clock, self._scenario, book, self._task_policy(), lambda _: None)

    def _task_policy(self) -> Policy:
        lease = self._policy.lease_seconds or 30.0
        return policy_from({"lease": lease}, max_attempts=3, lease_seconds=lease, result_limit=1024)

    async def _send(self, broker: Broker, book: Book) -> None:
        """A backlog in full batches; arrivals one by one."""
        began = self._clock.now
        batch: list[Outgoing] = []
        for index, at in enumerate(self._scenario.arrivals()):
            pause = began + at - self._clock.now
            if pause > 0:
                await asyncio.sleep(pause)
            book.sent_at[index] = at
            batch.append(Outgoing(self._message(index)))
            if self._scenario.rate is not None or len(batch) == BATCH:
                await broker.send(batch)
                batch = []
        if batch:
            await broker.send(batch)

    def _message(self, index: int) -> Message:
        size = self._scenario.works[index].size
        body = {"index": index} if size is None else {"index": index, "size": size}
        return Message(
            id=str(index), queue=QUEUE, task=TASK, body=msgspec.Raw(msgspec.json.encode(body)),
            sent_at=self._clock.wall(),
        )  # fmt: skip

    async def _tell(self, book: Book) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            self._progress(book.count - book.left)

    async def _until_gone(self, book: Book, jobs: list[asyncio.Task[None]]) -> None:
        """Until nothing is left, or a part of the simulation itself broke."""
        gone = asyncio.ensure_future(book.all_gone.wait())
        try:
            await asyncio.wait([gone, *jobs[1:]], return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
        for job in jobs:
            if job.done() and job.exception() is not None:
                await job


_SWEEP = SweepRequest(limit=1000, interval_seconds=NEVER)


@contextmanager
def _quiet() -> Iterator[None]:
    """What workers log is about the simulation's misfortunes, and belongs into its table."""
    logger = logging.getLogger("tenure")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def _chance(seed: int) -> Iterator[None]:
    """Pauses after failures have a jitter; here it is the same every time."""
    before = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)
