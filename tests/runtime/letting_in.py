"""An intake that fetches from a harness, and what it let in; for the tests of intake and of admission."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tenure import Tenure
from tenure.owner import Owner
from tenure.runtime.delivery import Delivery
from tenure.runtime.ownership import Ownership
from tenure.runtime.path.admission import Admission
from tenure.runtime.path.intake import Intake
from tenure.runtime.path.learning import Learning
from tenure.runtime.path.slots import Slots
from tenure.runtime.path.unknown_tasks import UnknownTasks
from tenure.testing.harness import QUEUE, TASK, Harness
from tenure.testing.wire import Wire
from tenure.verdict import Verdict


class Stages:
    """Stands for the worker around intake and admission: who leases, and the stages that come after."""

    def __init__(self, harness: Harness, owner: Owner) -> None:
        self._harness = harness
        self.owner = owner
        self.admitted: list[Delivery] = []
        self.concluded: list[tuple[Delivery, Verdict]] = []
        self.running: set[str] = set()

    @property
    def owner_id(self) -> str:
        return self.owner.id

    async def rejoin(self) -> None:
        self.owner = await self._harness.owner()

    def is_running(self, id: str) -> bool:
        return id in self.running

    def take(self, deliveries: Sequence[Delivery]) -> None:
        self.admitted += deliveries

    def put(self, delivery: Delivery, verdict: Verdict) -> None:
        self.concluded.append((delivery, verdict))


class Bench:
    """An intake that fetches, and what it let in."""

    def __init__(
        self,
        harness: Harness,
        owner: Owner,
        concurrency: int,
        queues: tuple[str, ...] = (QUEUE,),
        lease: float = 30.0,
    ) -> None:
        app = Tenure("memory://", client="test")
        app.task(name=TASK, queue=QUEUE, lease=lease)(_deliver)
        self.harness = harness
        self.wire = Wire(harness.broker, harness.state)
        self.stages = Stages(harness, owner)
        self.slots = Slots(concurrency)
        broker, state, clock, seconds = self.wire.broker, self.wire.state, harness.clock, harness.lease_seconds
        learning = Learning(state.journal, app.tasks, broker.traits, clock, lease_seconds=seconds)
        self.admission = Admission(
            Ownership(broker, state.ledger, clock, wall=state.wall, has_presence=True),
            self.slots, self.stages, self.stages, owner_id=lambda: self.stages.owner_id,
            tasks=app.tasks, learning=learning, lease_per_message=broker.traits.lease_per_message,
            unknown_tasks=UnknownTasks(state, clock, probe=harness.probe),
        )  # fmt: skip
        self.intake = Intake(
            broker, clock, self.slots, self.stages, self.admission,
            queues=queues, lease_seconds=seconds, learning=learning,
        )  # fmt: skip
        self.asked: list[int] = []
        self.wire.spy = self._spy

    def _spy(self, name: str, arguments: tuple[Any, ...]) -> None:
        if name == "broker.lease":
            self.asked.append(arguments[0].want)

    @property
    def verdicts(self) -> list[Verdict]:
        return [verdict for _, verdict in self.stages.concluded]

    @property
    def ids(self) -> list[str]:
        return [delivery.id for delivery in self.stages.admitted]


async def _deliver(to: str) -> None: ...


@asynccontextmanager
async def fetching(harness: Harness, *, concurrency: int = 10, lease: float = 30.0) -> AsyncIterator[Bench]:
    bench = Bench(harness, await harness.owner(), concurrency, lease=lease)
    task = asyncio.create_task(bench.intake.run())
    yield bench
    assert not task.done() or task.exception() is None, "the intake has died"
    bench.intake.stop()
    async with asyncio.timeout(1):
        await task
