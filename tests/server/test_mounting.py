"""Mounted in another application: under a prefix, with its lifespan and without."""

import contextlib
from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI

from tenure import ConfigurationError, Tenure
from tenure.server.application import Application
from tenure.testing.virtual import VirtualClock

from .asking import OWN, application, new_token


def around(served: Application, *, runs_lifespan: bool) -> FastAPI:
    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with served.lifespan() if runs_lifespan else contextlib.nullcontext():
            yield

    web = FastAPI(lifespan=lifespan)
    web.mount("/ops/tenure", served)
    return web


@contextlib.asynccontextmanager
async def client_of(web: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        web.router.lifespan_context(web),
        httpx.AsyncClient(transport=httpx.ASGITransport(app=web), base_url="http://127.0.0.1:80") as client,
    ):
        yield client


async def test_a_mount_works_under_its_prefix(virtual_clock: VirtualClock) -> None:
    served = application(Tenure("memory://", clock=virtual_clock))
    async with client_of(around(served, runs_lifespan=True)) as client:
        assert (await client.get("/ops/tenure/readyz")).json()["ready"]
        assert (await client.get("/ops/tenure/api/v1/session")).json()["name"] == "loopback"
        assert (await client.get("/api/v1/session")).status_code == 404
        missing = await client.get("/ops/tenure/api/v1/nothing")
        assert missing.json()["code"] == "route_not_found"
        token = await new_token(served)
        logged_in = await client.post("/ops/tenure/api/v1/session", json={"token": token})
        assert "; Path=/ops/tenure;" in logged_in.headers["set-cookie"]


async def test_a_mount_that_forgot_the_lifespan_says_what_to_add(virtual_clock: VirtualClock) -> None:
    served = application(Tenure("memory://", clock=virtual_clock))
    async with client_of(around(served, runs_lifespan=False)) as client:
        response = await client.get("/ops/tenure/api/v1/session")
        assert (response.status_code, response.json()["code"]) == (503, "lifespan_missing")
        assert "server.lifespan()" in response.json()["detail"]
        assert (await client.get("/ops/tenure/livez")).status_code == 200
        ready = await client.get("/ops/tenure/readyz")
        assert (ready.status_code, ready.json()["problems"]) == (503, ["the server is not started"])


async def test_a_store_that_somebody_else_opened_is_left_open(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)
    async with app:
        async with application(app).lifespan():
            assert app.is_open
        assert app.is_open
    async with application(app).lifespan():
        assert app.is_open
    assert not app.is_open


async def test_the_lifespan_is_entered_once_at_a_time_and_may_be_again(virtual_clock: VirtualClock) -> None:
    served = application(Tenure("memory://", clock=virtual_clock))
    for _ in range(2):
        async with served.lifespan():
            with pytest.raises(ConfigurationError, match="runs already"):
                async with served.lifespan():
                    pass
            web = around(served, runs_lifespan=False)
            async with client_of(web) as client:
                assert (await client.get("/ops/tenure/api/v1/session")).status_code == 200


async def test_names_with_slashes_and_dots_reach_their_route_under_any_prefix(virtual_clock: VirtualClock) -> None:
    import msgspec

    from tenure.server.route import Ask, Reply

    async def show(ask: Ask[None, None]) -> Reply:
        return Reply(value=dict(ask.path))

    routes = tuple(msgspec.structs.replace(route, handler=show) for route in OWN[3:])
    served = application(Tenure("memory://", clock=virtual_clock), routes=routes)
    async with client_of(around(served, runs_lifespan=True)) as client:
        base = "/ops/tenure/api/v1/things"
        for raw, name in (("shop%2Forders", "shop/orders"), ("%2E%2E", ".."), ("a%20b", "a b"), ("%C3%A9", "é"),
                          ("%252F", "%2F"), ("%e2%82%ac", "€")):  # fmt: skip
            response = await client.get(f"{base}/{raw}/parts/1")
            assert response.json() == {"name": name, "part": "1"}
        assert (await client.get(f"{base}/all")).json() == {}
        for wrong in ("%00", "%1b", "%ff"):
            assert (await client.get(f"{base}/{wrong}/parts/1")).json()["code"] == "request_invalid"
        assert (await client.get(f"{base}//parts/1")).json()["code"] == "route_not_found"
