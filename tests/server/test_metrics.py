"""`/metrics` of the server: the store as all viewers read it, its own requests, and for whom it is."""

import asyncio
import re
from collections.abc import Mapping

import httpx
import pytest

from tenure import BrokerUnavailable, Tenure
from tenure.server.principal import AccessScope
from tenure.testing.virtual import VirtualClock

from .asking import bearer, client_of, new_token, serving

_LINE = re.compile(r"^(?P<name>[a-z_:]+)(?:\{(?P<labels>.*)\})? (?P<value>\S+)$")


def app_on(clock: VirtualClock) -> Tenure:
    app = Tenure("memory://", clock=clock)

    @app.task(queue="mail-tasks")
    async def send(to: str) -> None: ...

    return app


async def scraped(client: httpx.AsyncClient, **headers: str) -> Mapping[str, float]:
    """The samples of a scrape, each by its line without the value."""
    response = await client.get("/metrics", headers=headers)
    assert response.status_code == 200, response.text
    lines = [line for line in response.text.splitlines() if not line.startswith("#")]
    assert all(map(_LINE.match, lines))
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


async def test_it_shows_the_store_as_it_is(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with serving(app) as (_, client):
        for _ in range(3):
            await app.submit("send", {"to": "a"})
        await app.submit("send", {"to": "b"}, delay=1000)
        await app.operate.pause("mail-tasks")
        await asyncio.sleep(30)
        found = await scraped(client)
    assert found['tenure_queue_depth{queue="mail-tasks",state="ready"}'] == 3
    assert found['tenure_queue_depth{queue="mail-tasks",state="delayed"}'] == 1
    assert found['tenure_queue_depth{queue="mail-tasks",state="dead"}'] == 0
    assert 29 <= found['tenure_oldest_message_age_seconds{queue="mail-tasks"}'] <= 31
    assert found['tenure_queue_paused{queue="mail-tasks"}'] == 1
    assert 28 <= found['tenure_queue_paused_seconds{queue="mail-tasks"}'] <= 31
    assert found['tenure_queue_workers{queue="mail-tasks"}'] == 0
    assert (found["tenure_workers"], found["tenure_store_up"]) == (0, 1)
    assert found["tenure_sweep_age_seconds"] <= 6


async def test_it_counts_its_own_requests_by_route_and_refusals_by_code(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (_, client):
        await client.get("/api/v1/queues")
        await client.get("/api/v1/messages/nothing")
        await client.get("/api/v1/messages/nothing-else")
        await client.get("/nothing-at-all")
        await client.request("BREW", "/api/v1/queues")
        await client.get("/livez")
        found = await scraped(client)
    requests = {name: value for name, value in found.items() if name.startswith("tenure_http_requests_total")}
    assert requests == {
        'tenure_http_requests_total{method="GET",route="/queues",status="200"}': 1,
        'tenure_http_requests_total{method="GET",route="/messages/{id}",status="404"}': 2,
        'tenure_http_requests_total{method="GET",route="other",status="404"}': 1,
        'tenure_http_requests_total{method="other",route="other",status="415"}': 1,
        'tenure_http_requests_total{method="GET",route="/livez",status="200"}': 1,
    }
    assert found['tenure_http_refusals_total{code="message_not_found"}'] == 2
    assert found['tenure_http_refusals_total{code="route_not_found"}'] == 1
    assert found['tenure_http_request_duration_seconds_count{route="/messages/{id}"}'] == 2
    assert found["tenure_http_requests_running"] == 1  # the scrape itself


async def test_a_long_poll_is_counted_and_has_no_duration(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with serving(app) as (_, client):
        handle = await app.submit("send", {"to": "a"})
        polling = asyncio.create_task(client.get(f"/api/v1/messages/{handle.id}/result?wait=5"))
        await asyncio.sleep(1)
        assert (await scraped(client))["tenure_http_polls_waiting"] == 1
        await polling
        found = await scraped(client)
    assert found["tenure_http_polls_waiting"] == 0
    assert sum(value for name, value in found.items() if name.startswith("tenure_http_requests_total")) == 2
    assert not [name for name in found if name.startswith("tenure_http_request_duration") and "result" in name]


async def test_only_who_may_see_everything_may_read_it(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        await scraped(client)  # a program of this machine, while there is no token
        reader = await new_token(served, AccessScope.READ, name="prometheus")
        sender = await new_token(served, AccessScope.SEND, name="sender")
        acme = await new_token(served, AccessScope.READ, name="acme", queues=["acme-*"])
        await asyncio.sleep(10)
        assert await scraped(client, **bearer(reader))
        statuses = [(await client.get("/metrics", headers=bearer(one))).status_code for one in (sender, acme)]
        statuses += [(await client.get("/metrics")).status_code, (await client.post("/metrics", json={})).status_code]
        assert statuses == [403, 403, 401, 405]
        async with client_of(served, client=("203.0.113.7", 1)) as far:
            assert (await far.get("/metrics")).status_code == 401


async def test_while_the_store_is_away_the_rest_is_answered(
    virtual_clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_on(virtual_clock)
    async with serving(app) as (_, client):
        await client.get("/api/v1/queues")

        async def away(*_: object) -> None:
            msg = "away"
            raise BrokerUnavailable(msg)

        with monkeypatch.context() as patch:
            patch.setattr(app.broker, "depth", away)
            await asyncio.sleep(60)
            found = await scraped(client)
            assert found["tenure_store_up"] == 0
            assert not [name for name in found if name.startswith("tenure_queue_depth")]
            assert found['tenure_http_requests_total{method="GET",route="/queues",status="200"}'] == 1
        await asyncio.sleep(60)
        assert (await scraped(client))["tenure_store_up"] == 1


async def test_many_queues_share_one_label_and_a_scraper_may_ask_for_openmetrics(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with serving(app) as (_, client):
        for number in range(103):
            for _ in range(2 if number > 2 else 1):
                await app.submit("send", {"to": "a"}, queue=f"q{number}-tasks")
        found = await scraped(client)
        response = await client.get("/metrics", headers={"Accept": "application/openmetrics-text"})
    depths = {name: value for name, value in found.items() if "tenure_queue_depth" in name and "ready" in name}
    assert len(depths) == 101
    assert sum(depths.values()) == 203
    assert response.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert response.text.endswith("# EOF\n")


async def test_many_scrapes_cost_the_store_one_reading_an_interval(
    virtual_clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_on(virtual_clock)
    async with serving(app) as (_, client):
        reads, depth = 0, app.broker.depth

        async def counted(*queues: object) -> object:
            nonlocal reads
            reads += 1
            return await depth(*queues)  # type: ignore[arg-type]

        await app.submit("send", {"to": "a"})
        await asyncio.sleep(0.1)
        monkeypatch.setattr(app.broker, "depth", counted)
        await asyncio.gather(*(scraped(client) for _ in range(20)))
    assert reads <= 2
