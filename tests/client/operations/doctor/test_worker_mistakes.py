"""Mistakes of workers: missing, silent, of an old version, with a wrong clock, with leases that are too short."""

import asyncio

import pytest

from tenure import Tenure
from tenure.client.finding_store import FindingStore
from tenure.client.operations.doctor.diagnosis import Diagnosis
from tenure.config import Settings
from tenure.finding import Severity
from tenure.key_value import name_of
from tenure.lease import LeaseRequest
from tenure.monitoring.alerting.finding import AlertState, Evaluator
from tenure.monitoring.catalogue import AlertSeverity
from tenure.owner import Owner
from tenure.testing.virtual import VirtualClock
from tenure.worker_report import REPORT_KIND, WorkerReport, encoded

from .setups import UNSWEPT, app_at, of_set_up, only, working


async def test_a_queue_that_no_worker_serves(virtual_clock: VirtualClock) -> None:
    app = app_at("memory://", clock=virtual_clock)
    async with working(app):

        @app.task(queue="lonely")
        async def wait() -> None: ...

        empty = only(await app.operate.doctor())
        await app.submit(wait.bind())
        waiting = only(await app.operate.doctor())
    assert (empty.id, empty.severity, empty.subject) == ("queue_unserved", Severity.WARNING, "queue lonely")
    assert (waiting.id, waiting.severity) == ("queue_unserved", Severity.CRITICAL)
    assert waiting.evidence == "no worker serves it, and 1 message waits"
    assert waiting.remedy == "Start a worker for it: tenure worker jobs:app --queue lonely"


async def test_no_worker_and_no_sweep(virtual_clock: VirtualClock) -> None:
    async with Tenure("memory://", settings=UNSWEPT, clock=virtual_clock) as app:
        found = of_set_up(await app.operate.doctor())
    assert [(one.id, one.severity) for one in found] == [
        ("no_worker", Severity.WARNING), ("sweep_missing", Severity.WARNING),
    ]  # fmt: skip


async def test_a_sweep_that_is_missing_while_leases_run_is_critical(virtual_clock: VirtualClock) -> None:
    """A worker that is listed and does not sweep, as one that is frozen; it holds a message."""
    app = app_at("memory://", clock=virtual_clock)
    async with app:
        await app.submit(app.tasks["nap"].bind())
        await app.state.roster.join(Owner("frozen", "1", queues=("slow",)))
        await app.broker.lease(LeaseRequest("frozen/1", "r", ("slow",), 1, 30.0))
        found = only(await app.operate.doctor())
    assert (found.id, found.severity) == ("sweep_missing", Severity.CRITICAL)


async def test_a_sweep_that_is_rarer_than_leases_are_long(virtual_clock: VirtualClock) -> None:
    settings = Settings(sweep_interval_seconds=4.0, lease_seconds=2.0)
    async with working(app_at("memory://", settings, virtual_clock)) as app:
        found = only(await app.operate.doctor())
    assert (found.id, found.remedy) == ("sweep_slow", "Set TENURE_SWEEP_INTERVAL to 2")


async def test_a_worker_that_is_silent(virtual_clock: VirtualClock) -> None:
    async with working(app_at("memory://", clock=virtual_clock)) as app:
        await app.state.roster.join(Owner("frozen", "1", host="box", pid=77, queues=("slow",)))
        await asyncio.sleep(20)
        found = only(await app.operate.doctor())
    assert (found.id, found.subject) == ("worker_silent", "worker frozen/1")
    assert found.remedy.startswith("Look at process 77 on box")


async def _with_report(clock: VirtualClock, report: WorkerReport) -> Diagnosis:
    async with working(app_at("memory://", clock=clock)) as app:
        owner = Owner("other", "1", host="box", queues=("slow",))
        await app.state.roster.join(owner)
        await app.state.key_values.put(REPORT_KIND, name_of(owner.id), encoded(report), expect=None)
        return await app.operate.doctor()


async def test_a_worker_of_an_old_version(virtual_clock: VirtualClock) -> None:
    found = only(await _with_report(virtual_clock, WorkerReport(at=0.0, version="0.0.9")))
    assert (found.id, found.severity, found.subject) == ("version_skew", Severity.WARNING, "worker other/1")
    assert found.evidence.startswith("it runs Tenure 0.0.9 beside ")


async def test_a_worker_whose_machine_has_a_wrong_clock(virtual_clock: VirtualClock) -> None:
    found = only(await _with_report(virtual_clock, WorkerReport(at=0.0, skew_seconds=-90.0)))
    assert (found.id, found.subject) == ("clock_skew", "worker other/1")
    assert "the wall clock of box is 90.0 s behind the store's" in found.evidence


@pytest.mark.parametrize(("lease", "id"), [(10.0, "lease_use_critical"), (11.5, "lease_use_high"), (30.0, None)])
async def test_a_lease_that_is_shorter_than_the_work(lease: float, id: str | None, virtual_clock: VirtualClock) -> None:
    """Nothing renews it: 25 runs of 9.5 s, measured by a worker."""
    app = app_at("memory://", clock=virtual_clock)

    @app.task(queue="work", heartbeat=False, lease=lease)
    async def work() -> None:
        await asyncio.sleep(9.5)

    async with working(app):
        handles = [await app.submit(work.bind()) for _ in range(25)]
        await asyncio.gather(*(one.result(timeout=600) for one in handles))
        await asyncio.sleep(60)
        found = {one.id for one in of_set_up(await app.operate.doctor())}
    assert found == ({id} if id else set())


async def test_an_alert_that_fires_and_one_that_somebody_has_seen(virtual_clock: VirtualClock) -> None:
    async with working(app_at("memory://", clock=virtual_clock)) as app:
        store, wall = FindingStore(app.state), app.state.wall()
        state = AlertState(
            alert="duplicates", subject="slow", queue="slow", severity=AlertSeverity.PAGE, fired_at=wall,
            evidence="7 of 100",
        )  # fmt: skip
        await store.put(state, None)
        found = only(await app.operate.doctor())
        await app.operate.ack_finding(state.name)
        assert of_set_up(await app.operate.doctor()) == []
    assert (found.id, found.severity, found.evidence) == ("alert_duplicates", Severity.CRITICAL, "7 of 100")
    assert found.remedy.endswith("(tenure findings)")


async def test_alerts_that_no_worker_judges(virtual_clock: VirtualClock) -> None:
    """A worker is listed, as one that is older; the last judgement was ten minutes ago."""
    async with Tenure("memory://", settings=UNSWEPT, clock=virtual_clock) as app:
        wall = app.state.wall()
        await FindingStore(app.state).note_evaluator(Evaluator(at=wall - 600, since=wall - 6000, by="old"))
        await app.state.roster.join(Owner("old", "1", queues=("slow",)))
        found = {one.id for one in of_set_up(await app.operate.doctor())}
    assert "alerts_unjudged" in found
