"""One policy, one scenario: workers start, messages are sent, and outcomes are noted until nothing is left.

Everything runs in virtual time and in one event loop, so the same scenario gives the same result every time. Before:
`scenario.py`, `policy.py`. After: `result.py`.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, cast

import msgspec

from tenure import assembly
from tenure.broker import Broker, SweepRequest
from tenure.lease import Lease
from tenure.message import Message, Outgoing
from tenure.runtime.background.sampler import hardware_class
from tenure.runtime.background.side_thread import cancel
from tenure.runtime.background.sweeper import Sweeper
from tenure.sample import Sample
from tenure.simulation.billing import BATCH, MeteredBroker, MeteredLedger, MeteredState
from tenure.simulation.extending import extend
from tenure.simulation.fleet import Fleet, FleetView, Scaler, Scaling
from tenure.simulation.loop import run_simulated
from tenure.simulation.outcomes import Outcomes
from tenure.simulation.policy import MOST_SECONDS, USUAL_LEASE, SimulatedPolicy
from tenure.simulation.result import Result
from tenure.simulation.scenario import Scenario
from tenure.simulation.timer import Timer
from tenure.simulation.virtual_worker import NEVER, QUEUE, TASK, Beating, VirtualWorker
from tenure.state import State
from tenure.tasks.task import Policy, TaskOptions, policy_from
from tenure.testing.faulty.honest_state import HonestState
from tenure.testing.mortal import Mortal
from tenure.testing.virtual import VirtualClock

#: Called now and then with the number of messages that have left the queue.
Progress = Callable[[int], None]

_LOOK_SECONDS = 60.0


def simulate(
    scenario: Scenario, policy: SimulatedPolicy, scaling: Scaling | None = None, progress: Progress = lambda _: None
) -> Result:
    """Run it to its end, or until Ctrl-C: then the result says that it is not complete."""
    clock = VirtualClock()
    with _quiet(), _chance(scenario.seed):
        return run_simulated(Simulation(scenario, policy, scaling, clock, progress).run(), clock)


class Simulation:
    """Everything that one run needs. Made on no loop; run on a virtual one."""

    def __init__(
        self,
        scenario: Scenario,
        policy: SimulatedPolicy,
        scaling: Scaling | None,
        clock: VirtualClock,
        progress: Progress,
    ) -> None:
        """Take the settings of one run. Without `scaling` there are as many workers as the scenario says."""
        self._scenario = scenario
        self._policy = policy
        self._scaling = scaling
        self._clock = clock
        self._progress = progress

    async def run(self) -> Result:
        """Run until no message is left."""
        began = self._clock.now
        slots = self._scenario.workers * self._scenario.slots
        book, timer = Outcomes(len(self._scenario.works), began, slots=slots), Timer(self._clock)
        broker, state = self._place(book, timer)
        await state.journal.sample(self._recorded())
        inner = broker.inner
        sweeper = Sweeper(inner, state.roster, self._clock, lambda _: None, request=_SWEEP)
        on_death = self._prover(state, sweeper)
        policy, beating = self._task_policy(), self._beating(broker)

        def seat(number: int) -> VirtualWorker:
            return VirtualWorker(
                number,
                broker,
                state,
                self._clock,
                self._scenario,
                book,
                policy,
                on_death,
                learns=self._policy.has_ledger,
                beating=beating,
            )

        crew = Fleet(seat, self._clock, self._scenario)
        jobs = [self._send(broker, book), timer.run(sweeper), self._tell(book)]
        seen: list[FleetView] = []
        if self._scaling is not None:
            scaler = Scaler(crew, inner, self._scenario, self._scaling, self._clock)
            seen = scaler.seen
            jobs.append(scaler.run())
        is_complete = await self._work(crew, book, jobs)
        is_stuck = is_complete and book.left > 0
        book.ended_at = self._clock.now - began if book.left else book.ended_at
        name = self._policy.name if self._scaling is None else f"{self._policy.name} {self._scaling.name}"
        return Result.of(
            name,
            self._scenario,
            book,
            broker.counts,
            is_complete=is_complete,
            is_stuck=is_stuck,
            worker_seconds=crew.worker_seconds,
            seen=seen,
        )

    async def _work(self, crew: Fleet, book: Outcomes, jobs: list[Coroutine[Any, Any, None]]) -> bool:
        """Whether it ran without interruption."""
        loop = asyncio.get_running_loop()
        sending, *others = tasks = [loop.create_task(job) for job in jobs]
        gone = loop.create_task(book.is_over.wait())
        try:
            await crew.become(self._scenario.workers if self._scaling is None else 0)
            limit = self._scenario.limit_seconds()
            await asyncio.wait([gone, *others], timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            for task in (sending, *others):  # a part of the simulation itself broke
                if task.done():
                    task.result()
        except asyncio.CancelledError:  # Ctrl-C: what is known so far is worth telling
            return False
        finally:
            await cancel([gone, *tasks])
            await crew.end()
        return True

    def _recorded(self) -> list[Sample]:
        """Load recorded runs as if they had happened here and the newest had ended now."""
        recorded, hardware = self._scenario.recorded, hardware_class()
        since = self._clock.wall() - max((sample.at for sample in recorded), default=0.0)
        return [
            msgspec.structs.replace(sample, queue=QUEUE, task=TASK, at=since + sample.at, hardware=hardware)
            for sample in recorded
        ]

    def _prover(self, state: State, sweeper: Sweeper) -> Callable[[str], None]:
        """Prove dead workers dead after a while, if the policy can."""
        proof = self._scenario.proof_seconds
        if proof is None:
            return lambda _: None
        mortal = cast("Mortal", state.inner if isinstance(state, HonestState) else state)
        burials: set[asyncio.Task[None]] = set()

        async def bury(owner_id: str) -> None:
            await asyncio.sleep(proof)
            mortal.kill(owner_id)
            await sweeper.bury()

        def on_death(owner_id: str) -> None:
            burial = asyncio.get_running_loop().create_task(bury(owner_id))
            burials.add(burial)
            burial.add_done_callback(burials.discard)

        return on_death

    def _beating(self, broker: MeteredBroker) -> Beating | None:
        """Make the loop that a user would write beside each handler, if the policy extends its timeouts."""
        plan, clock = self._policy.plan, self._clock
        if plan is None:
            return None
        lent: dict[tuple[str, str], Lease] = {}
        broker.lent = lent
        return lambda owner_id, id: extend(broker, lent.pop((owner_id, id)), plan, clock)

    def _place(self, book: Outcomes, timer: Timer) -> tuple[MeteredBroker, State]:
        """A queue as SQS has them; with a ledger beside it, or without."""
        has_ledger = self._policy.has_ledger
        inner, state = assembly.in_memory(
            clock=self._clock,
            exact=not has_ledger,
            batch_limit=BATCH,
            min_lease_seconds=1.0,
            max_lease_seconds=MOST_SECONDS,
        )
        broker = MeteredBroker(
            inner, self._clock, book=book, scenario=self._scenario, timer=timer, has_ledger=has_ledger
        )
        if not has_ledger:
            return broker, state
        return broker, MeteredState(state, MeteredLedger(state, self._clock, broker.counts))

    def _task_policy(self) -> Policy:
        """Make the policy that a user would write: `@app.task(lease=…, heartbeat=…, size=…, profile=…)`."""
        options: TaskOptions = {}
        if self._policy.lease_seconds is not None:
            options["lease"] = self._policy.lease_seconds
        if not self._policy.beats:
            options["heartbeat"] = False
        if any(work.size is not None for work in self._scenario.works):
            options["size"] = "size"
        if self._scenario.profile is not None:
            options["profile"] = self._scenario.profile
        return policy_from(options, max_attempts=3, lease_seconds=USUAL_LEASE, result_limit=1024)

    async def _send(self, broker: Broker, book: Outcomes) -> None:
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
        book.all_sent = True

    def _message(self, index: int) -> Message:
        size = self._scenario.works[index].size
        body = {"index": index} if size is None else {"index": index, "size": size}
        return Message(
            id=str(index),
            queue=QUEUE,
            task=TASK,
            body=msgspec.Raw(msgspec.json.encode(body)),
            sent_at=self._clock.wall(),
        )

    async def _tell(self, book: Outcomes) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            self._progress(book.count - book.left)


_SWEEP = SweepRequest(limit=1000, interval_seconds=NEVER)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the workers' log: the simulation's faults belong in its table."""
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
