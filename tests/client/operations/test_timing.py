"""Timing for an identity that is bound to some queues."""

import pytest
from tests.conformance.harnesses import MemoryHarness

from tenure.event import Event, EventKind
from tenure.sample import Sample
from tenure.testing.operated import operate_on


@pytest.fixture
def harness() -> MemoryHarness:
    return MemoryHarness()


async def test_what_queues_share_is_shown_only_to_those_who_see_all_of_them(harness: MemoryHarness) -> None:
    now = harness.clock.wall()
    await harness.put(queue="acme-tasks", task="export")
    await harness.state.journal.sample([Sample("*", "export", 1.0 + number, now) for number in range(30)])
    await harness.state.journal.append([Event(EventKind.COMPLETED, now, "acme-tasks", "export", "m1", "w", 1, 1.0)])
    operate = operate_on(harness)
    (everything,) = (await operate.timing()).tasks
    assert everything.durations is not None
    assert everything.durations.longest == 30.0
    (theirs,) = (await operate.bound(by="acme", queues=("acme-*",)).timing()).tasks
    assert theirs.durations is None
    assert not theirs.distribution
