"""Probes, and what a server does beside requests."""

import asyncio

import httpx
import pytest

from tenure import BrokerUnavailable, Tenure
from tenure.message import MessageState
from tenure.server.application import Application
from tenure.server.housekeeping import Housekeeping
from tenure.testing.virtual import VirtualClock

from .asking import application, client_of, serving


def app_on(clock: VirtualClock) -> Tenure:
    app = Tenure("memory://", clock=clock)

    @app.task
    async def nothing() -> None: ...

    return app


async def ready(client: httpx.AsyncClient) -> tuple[int, list[str]]:
    response = await client.get("/readyz")
    return response.status_code, response.json()["problems"]


async def test_a_server_that_sweeps_is_ready(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (_, client):
        for _ in range(5):
            assert await ready(client) == (200, [])
            await asyncio.sleep(30)


async def test_while_the_store_is_away_it_is_alive_and_not_ready(
    virtual_clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_on(virtual_clock)
    async with serving(app) as (_, client):

        async def away(*_: object) -> None:
            msg = "redis at 10.0.0.5 is away"
            raise BrokerUnavailable(msg)

        with monkeypatch.context() as patch:
            for name in ("read", "take_turn"):
                patch.setattr(app.state.board, name, away)
            await asyncio.sleep(60)
            assert await ready(client) == (503, ["the store does not answer", "no sweep has run for 10 s"])
            assert "10.0.0.5" not in (await client.get("/readyz")).text
            assert (await client.get("/livez")).status_code == 200
        await asyncio.sleep(60)
        assert await ready(client) == (200, [])


async def test_a_server_that_lost_a_part_or_stops_is_not_ready(
    virtual_clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_on(virtual_clock)
    async with serving(app) as (served, client):

        async def broken(*_: object) -> None:
            msg = "a mistake"
            raise RuntimeError(msg)

        monkeypatch.setattr(app.broker, "sweep", broken)
        await asyncio.sleep(10)
        assert isinstance(served.server.failure, RuntimeError)
        served.server.stopping.set()
        assert await ready(client) == (503, ["a part of the server has died", "the server is stopping"])


async def overdue(app: Tenure, served: Application) -> MessageState:
    """The state of a message after a holder without presence let its lease end, and a while."""
    from tenure.lease import LeaseRequest
    from tenure.owner import Owner, new_nonce

    handle = await app.submit("nothing")
    owner = Owner(name="http", nonce=new_nonce())
    leases = await app.broker.lease(
        LeaseRequest(request_id="r1", owner=owner.id, queues=(app.queue,), want=1, seconds=10)
    )
    assert len(leases) == 1
    await asyncio.sleep(120)
    record = await app.record(handle.id)
    assert record is not None
    return record.state


async def test_a_store_without_workers_is_swept_and_viewed_it_is_not(virtual_clock: VirtualClock) -> None:
    for view, expected in ((False, MessageState.READY), (True, MessageState.LEASED)):
        app = app_on(virtual_clock)
        async with app, serving(app, view=view) as (served, client):
            assert await overdue(app, served) is expected
            assert await ready(client) == (200, [])
            events = [stored.event.kind.value for stored in await app.state.journal.read()]
            assert ("requeue" in events) is not view


async def test_a_failing_job_ends_no_other(virtual_clock: VirtualClock) -> None:
    async with app_on(virtual_clock) as app:
        housekeeping = Housekeeping(app, sweeps=True)
        await housekeeping.start()
        await asyncio.sleep(1)
        await housekeeping.stop()
        assert housekeeping.failure is None


async def test_a_probe_before_the_start_is_answered(virtual_clock: VirtualClock) -> None:
    async with client_of(application(app_on(virtual_clock))) as client:
        assert (await client.get("/livez")).status_code == 200
        assert await ready(client) == (503, ["the server is not started"])
