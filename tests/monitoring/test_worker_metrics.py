"""A worker's metrics are what it did, read from the aggregate that its tallies are made of."""

import asyncio
from collections.abc import Mapping

import pytest
from tests.runtime.at_work import app_with

from tenure import Context, Tenure
from tenure.config import Settings
from tenure.monitoring.catalogue.metrics import PROCESS, WORK
from tenure.monitoring.metrics.sample import Sample, Times
from tenure.testing.virtual import VirtualClock
from tenure.verdict import Reject

QUEUE = "default-tasks"


def app_of(clock: VirtualClock, settings: Settings | None = None) -> Tenure:
    app = app_with(clock, settings=settings or Settings())

    @app.task(max_attempts=2, retry_delay=1.0, lease=30)
    async def job(_ctx: Context, kind: str) -> None:
        await asyncio.sleep(2.0)
        if kind == "error":
            raise ValueError(kind)
        if kind == "reject":
            raise Reject

    return app


def numbers(samples: list[Sample], metric: str) -> Mapping[tuple[str, ...], float]:
    return {one.labels: one.value for one in samples if one.metric == metric and not isinstance(one.value, Times)}


async def test_a_worker_shows_what_it_did(virtual_clock: VirtualClock) -> None:
    app = app_of(virtual_clock)
    async with app, app.worker() as worker:
        for kind in ("well", "well", "error", "reject"):
            await app.submit("job", {"kind": kind})
        await asyncio.sleep(20.0)
        samples = worker.metrics()
    assert numbers(samples, "tenure_messages_total") == {
        (QUEUE, "job", "completed"): 2,
        (QUEUE, "job", "retried"): 1,
        (QUEUE, "job", "dead"): 2,
    }
    assert numbers(samples, "tenure_deliveries_total") == {(QUEUE, "1"): 4, (QUEUE, "2"): 1}
    assert numbers(samples, "tenure_settlements_total") == {
        (QUEUE, "deleted"): 2, (QUEUE, "returned"): 1, (QUEUE, "dead"): 2
    }  # fmt: skip
    (duration,) = [one.value for one in samples if one.metric == "tenure_process_duration_seconds"]
    assert isinstance(duration, Times)
    assert sum(duration.buckets.values()) == 5
    assert duration.seconds == pytest.approx(10.0)
    assert numbers(samples, "tenure_worker_slots") == {(): 10}
    assert numbers(samples, "tenure_store_up") == {(): 1}


async def test_figures_are_those_of_this_moment_whatever_was_stored_of_them(virtual_clock: VirtualClock) -> None:
    app = app_of(virtual_clock)
    async with app, app.worker() as worker:
        for number in range(1, 4):
            await app.submit("job", {"kind": "well"})
            await asyncio.sleep(3.0)  # tallies are stored every five seconds
            found = numbers(worker.metrics(), "tenure_messages_total")
            assert found == {(QUEUE, "job", "completed"): number}
            assert numbers(worker.metrics(), "tenure_messages_total") == found


async def test_each_of_its_samples_is_in_the_catalogue(virtual_clock: VirtualClock) -> None:
    app = app_of(virtual_clock)
    described = {one.name: one for one in (*WORK, *PROCESS)}
    async with app, app.worker() as worker:
        await app.submit("job", {"kind": "well"})
        await asyncio.sleep(5.0)
        samples, text = worker.metrics(), worker.metrics_text()
    for one in samples:
        assert len(one.labels) == len(described[one.metric].labels), one
    assert 'tenure_lease_use_ratio{queue="default-tasks",task="job"}' in text


async def test_queues_beyond_the_bound_are_other(virtual_clock: VirtualClock) -> None:
    app = app_of(virtual_clock)
    queues = [f"q{number:03}-tasks" for number in range(105)]
    async with app, app.worker(queues=["*-tasks"]) as worker:
        for queue in queues:
            await app.submit("job", {"kind": "well"}, queue=queue)
        await asyncio.sleep(60.0)
        found = numbers(worker.metrics(), "tenure_deliveries_total")
    assert sum(found.values()) == 105
    assert len(found) == 101
    assert found["other", "1"] == 5


async def test_a_worker_shows_how_long_the_oldest_ending_waits_to_be_announced(virtual_clock: VirtualClock) -> None:
    app = app_of(virtual_clock, Settings(secret_key="k" * 32))
    async with app:
        endpoints = app.operate.access.client.webhooks.endpoints
        await endpoints.add("orders", "https://orders.example.com/hook")
        await endpoints.disable("orders", "repaired today")
        async with app.worker() as worker:
            await app.submit("job", {"kind": "well"}, webhook="orders")
            await asyncio.sleep(102.0)
            samples = worker.metrics()
    (oldest,) = numbers(samples, "tenure_announcement_oldest_seconds").values()
    assert oldest == pytest.approx(100.0, abs=1.0)
    assert numbers(samples, "tenure_announcement_lanes_waiting") == {(): 1}
