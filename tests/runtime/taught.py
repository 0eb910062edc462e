"""What a journal has taught a worker; for the tests of learning."""

from typing import Any

from tenure.lease import Lease
from tenure.message import Counters
from tenure.runtime.background.sampler import hardware_class
from tenure.runtime.delivery import Delivery
from tenure.runtime.path.learning import Learning
from tenure.sample import Sample
from tenure.tasks.task import Task
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.workers import Actor, Stage

LEASE = 30.0


def sample(seconds: float, at: float = 1.0, task: str = "work", **fields: Any) -> Sample:
    return Sample(QUEUE, task, seconds, at, hardware=fields.pop("hardware", hardware_class()), **fields)


async def taught(harness: Harness, seconds: float, times: int = 200, **fields: Any) -> None:
    """So many runs are in the journal."""
    at = harness.clock.wall() - times
    await harness.state.journal.sample([sample(seconds, at + number, **fields) for number in range(times)])


def learning_for(harness: Harness, task: Task[..., Any], **options: Any) -> Learning:
    tasks = {task.name: task}
    return Learning(harness.state.journal, tasks, harness.traits, harness.clock, lease_seconds=LEASE, **options)


def delivery_of(harness: Harness, task: Task[..., Any], *, lost: int = 0, seconds: float = LEASE) -> Delivery:
    message = harness.message(task=task.name)
    deadline = harness.clock.monotonic() + seconds
    return Delivery(Lease(message.id, QUEUE, b"", "me", 1, "r", seconds, deadline, Counters(lost=lost)), message, task)


def a_task(harness: Harness, **options: Any) -> Task[..., Any]:
    async def work() -> None: ...

    return Stage(harness).task(name="work", **options)(work)


def touches(actor: Actor) -> int:
    return actor.wire.said.count("broker.touch")
