"""Metrics of an OpenTelemetry SDK are those of the aggregate, read when it collects."""

import asyncio

import pytest
from tests.monitoring.otel.sdk import Sdk

from tenure import Context, Tenure
from tenure.monitoring.otel import instrument
from tenure.testing.virtual import VirtualClock

OF_WORK = (("messaging.destination.name", "mail-tasks"), ("tenure.task", "mail"))


def app_on(clock: VirtualClock, sdk: Sdk) -> Tenure:
    app = Tenure("memory://", clock=clock)
    instrument(app, tracer_provider=sdk.tracers, meter_provider=sdk.meters)

    @app.task(queue="mail-tasks", lease=30)
    async def mail(_ctx: Context) -> None:
        await asyncio.sleep(3.0)

    return app


async def test_they_show_what_a_worker_did(virtual_clock: VirtualClock, sdk: Sdk) -> None:
    app = app_on(virtual_clock, sdk)
    async with app, app.worker():
        for _ in range(4):
            await app.submit("mail")
        await asyncio.sleep(10)
        found = sdk.metrics()
    assert found["tenure.messages"] == {(*OF_WORK[:1], ("tenure.outcome", "completed"), *OF_WORK[1:]): 4}
    assert found["messaging.client.consumed.messages"][OF_WORK[0], ("tenure.delivery", "1")] == 4
    assert found["tenure.process.duration.count"][OF_WORK] == 4
    assert found["tenure.process.duration.sum"][OF_WORK] == pytest.approx(12.0)
    percentiles = found["tenure.process.duration.percentile"]
    assert {dict(key)["tenure.percentile"]: value for key, value in percentiles.items()} == pytest.approx(
        {"50": 3.0, "95": 3.0, "99": 3.0}, rel=0.04
    )
    assert found["tenure.lease.use"][OF_WORK] == pytest.approx(0.1, rel=0.04)
    assert found["tenure.worker.slots"] == {(): 10}


async def test_a_worker_that_has_stopped_is_not_asked_any_more(
    virtual_clock: VirtualClock, sdk: Sdk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.monitoring.otel.instruments._FRESH_SECONDS", 0.0)
    app = app_on(virtual_clock, sdk)
    async with app, app.worker():
        await asyncio.sleep(1)
        assert "tenure.worker.slots" in sdk.metrics()
    await asyncio.sleep(5)
    assert "tenure.worker.slots" not in sdk.metrics()


@pytest.mark.real_time
async def test_an_sdk_collects_in_a_thread_of_its_own(sdk: Sdk) -> None:
    app = Tenure("memory://")
    instrument(app, meter_provider=sdk.meters)

    @app.task
    async def nothing() -> None: ...

    async with app, app.worker(concurrency=7):
        found = await asyncio.to_thread(sdk.metrics)
    assert found["tenure.worker.slots"] == {(): 7}
