"""Several processes are scraped as one, whatever becomes of each."""

from collections.abc import Callable
from typing import cast

import pytest

from tenure.event import Event, EventKind
from tenure.monitoring.metrics.sample import Sample, Times
from tenure.runtime.processes.frames import Frame
from tenure.runtime.supervisor.process_metrics import ProcessMetrics
from tenure.runtime.supervisor.protocol import MetricsShown, ShowMetrics
from tenure.runtime.supervisor.worker_process import WorkerProcess
from tenure.testing.virtual import VirtualClock

DONE = ("mail-tasks", "mail", "completed")


class Child:
    """Answers with what it has counted, unless it is blocked."""

    def __init__(self, pid: int, completed: int) -> None:
        self.pid = pid
        self.completed = completed
        self.has_worked = True
        self.is_blocked = False
        self.answer: Callable[[MetricsShown], None] = lambda _: None

    def samples(self) -> list[Sample]:
        return [
            Sample("tenure_messages_total", DONE, self.completed),
            Sample("tenure_worker_slots", (), 10),
            Sample("tenure_worker_responds", (), 1),
        ]

    def tell(self, frame: Frame) -> None:
        if isinstance(frame, ShowMetrics) and not self.is_blocked:
            self.answer(MetricsShown(frame.question, self.samples()))


class Family:
    def __init__(self, clock: VirtualClock) -> None:
        self.children: list[Child] = []
        self.metrics = ProcessMetrics(lambda: cast("list[WorkerProcess]", self.children), clock)

    def add(self, pid: int, completed: int) -> Child:
        child = Child(pid, completed)
        child.answer = self.metrics.hear
        self.children.append(child)
        return child

    def end(self, child: Child, *, died: bool) -> None:
        self.children.remove(child)
        self.metrics.note_end(cast("WorkerProcess", child), died=died)

    async def scrape(self) -> dict[str, float]:
        found = await self.metrics.collect()
        return {one.metric: one.value for one in found if not isinstance(one.value, Times)}


@pytest.fixture
def family(virtual_clock: VirtualClock) -> Family:
    return Family(virtual_clock)


async def test_what_all_of_them_did_is_added_up(family: Family) -> None:
    family.add(1, 30)
    family.add(2, 12)
    found = await family.scrape()
    assert (found["tenure_messages_total"], found["tenure_worker_slots"]) == (42, 20)
    assert found["tenure_process_deaths_total"] == 0


async def test_of_one_that_was_killed_the_last_scrape_stays(family: Family) -> None:
    first, second = family.add(1, 30), family.add(2, 12)
    await family.scrape()
    first.completed = 35  # nobody has heard of these
    family.end(first, died=True)
    found = await family.scrape()
    assert (found["tenure_messages_total"], found["tenure_worker_slots"]) == (42, 10)
    assert found["tenure_process_deaths_total"] == 1
    family.add(3, 4)
    second.completed = 13
    assert (await family.scrape())["tenure_messages_total"] == 47


async def test_one_that_stops_says_all_it_has_counted(family: Family) -> None:
    child = family.add(1, 30)
    await family.scrape()
    child.completed = 35
    family.metrics.note_last(cast("WorkerProcess", child), child.samples())
    family.end(child, died=False)
    found = await family.scrape()
    assert (found["tenure_messages_total"], found["tenure_process_deaths_total"]) == (35, 0)
    assert "tenure_worker_slots" not in found


async def test_one_that_is_blocked_holds_no_other_up_and_its_counters_stay(
    family: Family, virtual_clock: VirtualClock
) -> None:
    blocked = family.add(1, 30)
    family.add(2, 12)
    await family.scrape()
    blocked.is_blocked = True
    began = virtual_clock.now
    found = await family.scrape()
    assert virtual_clock.now - began <= 1.1
    assert (found["tenure_messages_total"], found["tenure_worker_responds"]) == (42, 0)


async def test_one_that_has_not_begun_is_not_asked(family: Family, virtual_clock: VirtualClock) -> None:
    family.add(1, 30)
    family.add(2, 0).has_worked = False
    began = virtual_clock.now
    found = await family.scrape()
    assert (virtual_clock.now - began, found["tenure_worker_responds"]) == (0, 1)


async def test_what_was_returned_from_the_dead_is_counted(family: Family) -> None:
    family.metrics.note_events([
        Event(EventKind.OWNER_RETIRED, 1.0, owner="w/1", data={"left": False}),
        Event(EventKind.REQUEUE, 1.0, "mail-tasks", data={"count": 3, "triggered_by": "supervisor"}),
    ])  # fmt: skip
    found = await family.metrics.collect()
    assert Sample("tenure_leases_returned_total", ("mail-tasks", "dead_worker", "ready"), 3) in found
    assert Sample("tenure_workers_crashed_total", (), 1) in found
