"""Detail: each step of a message where it is asked for; what is abnormal always; else nothing."""

import asyncio
import math
from collections.abc import Sequence
from typing import cast

import pytest

from tenure.event import Event, EventKind
from tenure.lease import Lease
from tenure.runtime.background.bus import Bus
from tenure.runtime.background.facts import Facts
from tenure.runtime.background.statistics import Statistics
from tenure.runtime.delivery import Delivery
from tenure.runtime.path.detail import Detail
from tenure.runtime.path.events import RISK
from tenure.settlement import Outcome, Settlement
from tenure.state import Journal
from tenure.tasks.context import Context
from tenure.testing.harness import Harness
from tenure.testing.virtual import VirtualClock
from tenure.testing.workers import Stage
from tenure.verdict import Completed

LEASE = 30.0
STEPS = {
    EventKind.RECEIVED, EventKind.HEARTBEAT_STARTED, EventKind.HEARTBEAT_EXTENDED, EventKind.HEARTBEAT_STATS,
    EventKind.PROCESSED, EventKind.DELETION,
}  # fmt: skip


async def _steps(harness: Harness) -> list[Event]:
    await asyncio.sleep(1.0)  # events go to the journal together, within half a second
    return [one.event for one in await harness.state.journal.read() if one.event.kind in STEPS]


def _one(events: list[Event], kind: EventKind) -> Event:
    (found,) = [event for event in events if event.kind is kind]
    return found


async def test_each_step_of_a_long_run_is_told_in_its_order(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task(detail=1.0, lease=LEASE)
        async def work() -> None:
            await asyncio.sleep(25.0)

        id = await stage.submit(work.bind(), correlation_id="order-7")
        await stage.start()
        await stage.ended(id)
        await stage.settled()
        told = await _steps(harness)
    assert [event.kind.value for event in told] == [
        "received", "heartbeat_started", "heartbeat_extended", "heartbeat_extended", "processed", "heartbeat_stats",
        "deletion",
    ]  # fmt: skip
    assert all(event.data["sample_weight"] == 1.0 for event in told)
    assert {(event.message_id, event.task, event.attempt) for event in told} == {(id, "work", 1)}
    assert {event.data["correlation_id"] for event in told} == {"order-7"}
    received, started, _, extended, processed, stats, deletion = (event.data for event in told)
    assert (received["deliveries"], received["lease_seconds"]) == (1, LEASE)
    assert received["waited_seconds"] >= 0
    assert started["interval_seconds"] == pytest.approx(LEASE / 3)
    assert (extended["extension_count"], extended["total_extended_seconds"]) == (2, 2 * LEASE)
    assert _one(told, EventKind.PROCESSED).seconds == pytest.approx(25.0)
    assert processed["lease_use"] == pytest.approx(25.0 / LEASE, abs=0.01)
    assert (processed["outcome"], processed["timeout_risk"]) == ("completed", False)
    assert (stats["extension_count"], stats["is_running"], stats["last_error"]) == (2, False, None)
    assert (deletion["result"], deletion["is_failure"], deletion["delete_attempts"]) == ("deleted", False, 1)


async def test_nothing_is_told_in_detail_unless_it_is_asked_for(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task(lease=LEASE, max_attempts=2, retry_delay=0.1)
        async def work(ctx: Context) -> None:
            await asyncio.sleep(25.0)
            if ctx.attempt == 1:
                raise ValueError

        id = await stage.submit(work.bind())
        await stage.start()
        await stage.ended(id)
        await stage.settled()
        assert await _steps(harness) == []


async def test_a_tasks_part_is_its_own(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task(detail=0.0)
        async def quiet() -> None: ...

        @stage.task(detail=1.0)
        async def loud() -> None: ...

        ids = [await stage.submit(task.bind()) for task in (quiet, loud)]
        await stage.start()
        for id in ids:
            await stage.ended(id)
        await stage.settled()
        assert {event.task for event in await _steps(harness)} == {"loud"}


async def test_a_run_that_ended_shortly_before_its_lease_is_always_told(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task(heartbeat=False, lease=LEASE)
        async def work(seconds: float) -> None:
            await asyncio.sleep(seconds)

        near, far = [await stage.submit(work.bind(LEASE * (1 - RISK) + more)) for more in (1.0, -1.0)]
        await stage.start()
        for id in (near, far):
            await stage.ended(id)
        await stage.settled()
        (told,) = await _steps(harness)
    assert (told.kind, told.message_id, told.data["timeout_risk"]) == (EventKind.PROCESSED, near, True)
    assert told.data["lease_left_seconds"] == pytest.approx(LEASE * RISK - 1.0, abs=0.1)
    assert "sample_weight" not in told.data


async def test_a_renewed_lease_is_no_risk_however_long_the_run_was(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task(lease=LEASE)
        async def work() -> None:
            await asyncio.sleep(10 * LEASE)

        id = await stage.submit(work.bind())
        await stage.start()
        await stage.ended(id)
        await stage.settled()
        assert await _steps(harness) == []


async def test_what_a_dead_worker_had_is_told_when_it_is_received_again(harness: Harness) -> None:
    async with Stage(harness) as stage:
        runs: list[int] = []

        @stage.task
        async def work(ctx: Context) -> None:
            runs.append(ctx.attempt)
            if len(runs) == 1:
                await asyncio.sleep(3600.0)

        id = await stage.submit(work.bind())
        first = await stage.start()
        await stage.until(lambda: bool(runs))
        await stage.kill(first)
        await stage.start()
        await stage.ended(id)
        await stage.settled()
        received = _one(await _steps(harness), EventKind.RECEIVED)
    assert (received.message_id, received.data["deliveries"]) == (id, 2)


@pytest.mark.parametrize(
    ("outcome", "is_failure"),
    [(Outcome.ALREADY_GONE, False), (Outcome.TAKEN_OVER, True), (Outcome.UNKNOWN, True)],
)
def test_a_delete_that_did_not_work_is_always_told(outcome: Outcome, *, is_failure: bool) -> None:
    bus = Bus(cast("Journal", None), [told := Told()])
    clock = VirtualClock()
    facts = Facts(bus, clock, Statistics(), owner_id=lambda: "w/1", wall=clock.wall, has_statistics=False)
    delivery = Delivery(Lease("m1", "mail", b"", "w/1", 7, 7, 30.0, math.inf))
    delivery.started, delivery.finished, delivery.verdict = 0.0, 1.0, Completed(b"1")
    detail = Detail(facts, clock, 0.0, {})
    settled = [(delivery, Settlement(outcome, attempts=2, seconds=0.25))]
    detail.ended(settled, settled)
    (deletion,) = told.events
    assert deletion.data == {
        "result": outcome.value, "is_failure": is_failure, "delete_attempts": 2, "delete_seconds": 0.25
    }  # fmt: skip


class Told:
    """A sink."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def publish(self, events: Sequence[Event]) -> None:
        self.events += events


async def test_a_duplicate_says_why_it_came_again(loose: Harness) -> None:
    async with Stage(loose) as stage:

        @stage.task
        async def work() -> None: ...

        id = await stage.submit(work.bind())
        wire = stage.wire()
        wire.away("broker.ack")
        first = await stage.start(wire=wire)
        await stage.until(lambda: "broker.ack" in wire.said)
        await stage.kill(first)
        second = await stage.start()
        await stage.until(lambda: bool(second.counts.get("duplicate")))
        await stage.until(lambda: _is_told(loose, id))
        (told,) = [one.event for one in await loose.state.journal.about(id) if one.event.kind is EventKind.DUPLICATE]
    assert (told.data["tier"], told.data["cause"], told.data["deliveries"]) == ("ledger", "delete_failed", 2)


async def _is_told(harness: Harness, id: str) -> bool:
    return any(one.event.kind is EventKind.DUPLICATE for one in await harness.state.journal.about(id))
