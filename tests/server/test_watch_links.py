"""Watch links: each opens one message for reading, until it expires, from the pages that were named."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest

from tenure import Context, Tenure
from tenure.client.signing import Signing
from tenure.config import Settings, settings_from
from tenure.errors import BadArgument, BadSetting, ConfigurationError
from tenure.lease import LeaseRequest
from tenure.server.application import Application
from tenure.settlement import Ack
from tenure.testing.virtual import VirtualClock

from .asking import new_token, serving
from .streaming import streamed

SITE = "https://app.example.com"
SERVER = "http://127.0.0.1:8383"


class World:
    """A server with tokens, so that nothing is open, and two messages that have ended."""

    def __init__(self, served: Application, client: httpx.AsyncClient, app: Tenure) -> None:
        self.served, self.client, self.app = served, client, app

    async def link(self, id: str = "m1", **options: Any) -> str:
        return (await self.app.handle(id).watch_url(**options)).removeprefix(SERVER)


def app_on(clock: VirtualClock, **settings: Any) -> Tenure:
    given = Settings(public_url=SERVER, server_origins=(SITE,), **settings)
    app = Tenure("memory://", clock=clock, settings=given)

    @app.task(max_attempts=2, retry_delay=10.0)
    async def work(ctx: Context, *, fails: bool = False) -> dict[str, str]:
        ctx.progress(0.5, "half way")
        await asyncio.sleep(5)
        if fails:
            raise OSError("the secret disk is full")
        return {"title": "a report"}

    return app


async def ended(app: Tenure) -> None:
    """`m1` is completed, `m2` is dead."""
    work = app.find("work")
    async with app.worker():
        for id, fails in (("m1", False), ("m2", True)):
            handle = await work.bind(fails=fails).submit(id=id)
            _ = [one async for one in handle.updates()]


async def open_world(served: Application, client: httpx.AsyncClient) -> World:
    app = served.server.app
    await ended(app)
    await new_token(served)  # from now on nothing is open without one
    return World(served, client, app)


# --- what a link opens ------------------------------------------------------------------------------------

EVENTS, STATUS = "/api/v1/messages/m1/events", "/api/v1/messages/m1/status"


async def test_a_link_opens_status_and_events_of_its_message_and_nothing_else(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        world = await open_world(served, client)
        link = await world.link()
        token = link.partition("?watch=")[2]
        _, _, signature = token.rpartition(".")
        other = (await world.link("m2")).partition("?watch=")[2]
        table = [
            (200, "", f"{EVENTS}?watch={token}"),
            (200, "", f"{STATUS}?watch={token}"),
            (403, "watch_link_invalid", f"/api/v1/messages/m2/events?watch={token}"),
            (403, "watch_link_invalid", f"/api/v1/messages/m2/status?watch={token}"),
            (403, "watch_link_invalid", f"{EVENTS}?watch="),
            (403, "watch_link_invalid", f"{EVENTS}?watch=x"),
            (403, "watch_link_invalid", f"{EVENTS}?watch={token[:-1]}"),
            (403, "watch_link_invalid", f"{EVENTS}?watch={'B' if token[3] == 'A' else 'A'}{token[1:]}"),
            (403, "watch_link_invalid", f"{EVENTS}?watch={other.rpartition('.')[0]}.{signature}"),
            (403, "watch_link_invalid", f"{EVENTS}?watch=%ff%fe.{signature}"),
            (422, "request_invalid", f"{STATUS}?watch={token}&watch={other}"),
            (401, "unauthenticated", EVENTS),
            (401, "unauthenticated", f"/api/v1/messages/m1?watch={token}"),
            (401, "unauthenticated", f"/api/v1/messages/m1/result?watch={token}"),
            (401, "unauthenticated", f"/api/v1/messages?watch={token}"),
            (401, "unauthenticated", f"/api/v1/events/stream?message=m1&watch={token}"),
            (401, "unauthenticated", f"/api/v1/settings?watch={token}"),
        ]
        for status, code, path in table:
            response = await client.get(path)
            assert response.status_code == status, path
            assert not code or response.json()["code"] == code, path
        for method, act in (("POST", "/cancel"), ("POST", "/touch"), ("DELETE", "")):
            response = await client.request(method, f"/api/v1/messages/m1{act}?watch={token}", json={})
            assert response.status_code in (401, 404, 405), act


async def test_a_link_expires_and_says_so(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        world = await open_world(served, client)
        link = await world.link(expires=timedelta(minutes=5))
        await asyncio.sleep(299)
        assert (await client.get(link)).status_code == 200
        await asyncio.sleep(2)
        response = await client.get(link)
        assert (response.status_code, response.json()["code"]) == (403, "watch_link_invalid")
        assert "expired" in response.json()["detail"]


async def test_a_secret_that_is_no_longer_accepted_ends_its_links(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        world = await open_world(served, client)
        link = await world.link()
        await Signing(world.app.state, world.app.clock, Settings()).rotate()
        assert (await client.get(link)).status_code == 200
        forged = Signing(world.app.state, world.app.clock, Settings(secret_key="x" * 32))
        assert not await forged.is_signed("watch", "m1", link.rpartition(".")[2])


async def test_what_it_shows(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        world = await open_world(served, client)
        for result in (False, True):
            text = (await client.get(await world.link("m1", result=result))).text
            assert ('"result":{"title":"a report"}' in text) == result
            text = (await client.get(await world.link("m2", result=result))).text
            assert '"code":"max_attempts"' in text
            assert ("secret disk" in text) == result
            link = (await world.link("m2", result=result)).replace("/events", "/status")
            status = (await client.get(link)).json()
            assert status["owner"] is None
            assert ("secret disk" in str(status["reason"])) == result


async def test_a_link_needs_an_address_and_a_time(virtual_clock: VirtualClock) -> None:
    async with Tenure("memory://", clock=virtual_clock, settings=Settings()) as app:
        with pytest.raises(ConfigurationError, match="TENURE_PUBLIC_URL"):
            await app.handle("m1").watch_url()
        link = await app.handle("a/b c").watch_url(server="https://tenure.example.com/")
        assert link.startswith("https://tenure.example.com/api/v1/messages/a%2Fb%20c/events?watch=")
        for expires in (0, -1, timedelta(days=31), float("nan")):
            with pytest.raises(BadArgument, match="expires"):
                await app.handle("m1").watch_url(expires=expires, server="https://x")


async def test_a_link_of_a_namespace_opens_its_message(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock, namespace="shop", settings=Settings(public_url=SERVER))

    @app.task
    async def work() -> None: ...

    async with serving(app) as (served, client):
        handle = await work.bind().submit(id="m1")
        async with app.worker():
            _ = [one async for one in handle.updates()]
        await new_token(served)
        for one in (handle, app.handle("m1")):
            link = (await one.watch_url()).removeprefix(SERVER)
            assert (await client.get(link)).status_code == 200


# --- from which pages -------------------------------------------------------------------------------------

ALLOW = "access-control-allow-origin"


async def test_pages_of_named_origins_may_use_links_and_nothing_else(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        world = await open_world(served, client)
        link = await world.link()
        status = link.replace("/events", "/status")
        expired = await world.link(expires=1)
        await asyncio.sleep(2)
        table = [
            (200, SITE, link, {}),
            (200, SITE, status, {}),
            (403, SITE, expired, {}),  # the page may read why
            (403, None, "/api/v1/messages/m1/status", {}),
            (403, None, "/api/v1/queues", {}),
            (403, None, link.replace("/events", "/result"), {}),
            (403, None, link, {"Origin": "https://evil.example.com"}),
            (403, None, link, {"Origin": "https://app.example.com.evil.com"}),
            (403, None, link, {"Origin": "http://app.example.com"}),
            (403, None, link, {"Origin": "null"}),
            (200, None, link, {"Origin": SERVER, "Sec-Fetch-Site": "same-origin"}),
        ]
        for expected, origin, path, more in table:
            response = await client.get(path, headers={"Origin": SITE, "Sec-Fetch-Site": "cross-site", **more})
            assert response.status_code == expected, (path, more)
            assert response.headers.get(ALLOW) == origin, (path, more)
            assert "access-control-allow-credentials" not in response.headers
        posted = await client.post(link, headers={"Origin": SITE}, json={})
        assert (posted.status_code, posted.json()["code"]) == (403, "cross_origin")


@pytest.mark.parametrize(
    ("origin", "method", "path", "status"),
    [
        (SITE, "GET", "events", 204), (SITE, "GET", "status", 204), (SITE, "POST", "events", 403),
        (SITE, "DELETE", "status", 403), (SITE, "GET", "cancel", 403),
        ("https://evil.example.com", "GET", "events", 403),
    ],
)  # fmt: skip
async def test_preflights(virtual_clock: VirtualClock, origin: str, method: str, path: str, status: int) -> None:
    async with serving(app_on(virtual_clock)) as (_, client):
        response = await client.options(
            f"/api/v1/messages/m1/{path}?watch=x",
            headers={"Origin": origin, "Access-Control-Request-Method": method, "Sec-Fetch-Site": "cross-site"},
        )
        expected = (405, 403) if status == 403 else (status,)
        assert response.status_code in expected
        assert (response.headers.get(ALLOW) == SITE) == (status == 204)
        if status == 204:
            assert response.headers["access-control-allow-methods"] == "GET, HEAD"
            assert "authorization" not in response.headers["access-control-allow-headers"].lower()


async def test_no_origin_by_default(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock, settings=Settings(public_url=SERVER))
    async with serving(app) as (_, client):
        link = (await app.handle("m1").watch_url()).removeprefix(SERVER)
        response = await client.get(link, headers={"Origin": SITE, "Sec-Fetch-Site": "cross-site"})
        assert (response.status_code, response.json()["code"], response.headers.get(ALLOW)) == (
            403,
            "cross_origin",
            None,
        )


@pytest.mark.parametrize("value", ["*", "app.example.com", "https://app.example.com/", "https://*.example.com", "null"])
def test_what_is_no_origin_is_refused(value: str) -> None:
    with pytest.raises(BadSetting, match="TENURE_SERVER_ORIGINS"):
        settings_from({"TENURE_SERVER_ORIGINS": value})
    assert settings_from({"TENURE_SERVER_ORIGINS": f"{SITE}, http://localhost:3000"}).server_origins == (
        SITE, "http://localhost:3000",
    )  # fmt: skip


# --- the stream -------------------------------------------------------------------------------------------


async def test_the_stream_tells_each_change_and_ends_with_the_message(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with serving(app) as (served, _):
        handle = await app.find("work").bind().submit(delay=3)
        async with streamed(served, f"/api/v1/messages/{handle.id}/events") as one, app.worker():
            await asyncio.sleep(30)
            assert one.has_ended
            assert one.headers["content-type"].startswith("text/event-stream")
        names = [name for name, _ in one.events]
        assert names == ["update"] * (len(names) - 1) + ["ended"]
        assert one.events[0][1]["state"] == "delayed"
        assert one.events[-2][1]["progress"] == {"fraction": 0.5, "note": "half way"}
        assert one.events[-1][1]["state"] == "completed"
        assert one.events[-1][1]["result"] == {"title": "a report"}
        async with streamed(served, f"/api/v1/messages/{handle.id}/events", {"Last-Event-ID": one.last_id}) as again:
            await asyncio.sleep(1)
        assert (again.status, again.body) == (204, b"")


async def test_who_comes_back_gets_what_ended_meanwhile(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with serving(app) as (served, _):
        handle = await app.find("work").bind(fails=True).submit()
        path = f"/api/v1/messages/{handle.id}/events"
        async with app.worker():
            async with streamed(served, path) as one:
                await asyncio.sleep(2)
            await asyncio.sleep(60)
            assert [name for name, _ in one.events] == ["update"] * len(one.events)
            async with streamed(served, path, {"Last-Event-ID": one.last_id}) as again:
                await asyncio.sleep(1)
        names = [name for name, _ in again.events]
        assert names[-1] == "ended"
        assert {*names[:-1]} == {"attempt_ended"}
        assert again.events[0][1]["how"] == "failed"
        assert again.events[-1][1]["state"] == "dead"
        async with streamed(served, path, {"Last-Event-ID": "nonsense"}) as fresh:
            await asyncio.sleep(1)
        assert [name for name, _ in fresh.events] == ["ended"]


async def test_a_stream_ends_when_its_link_expires(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with serving(app) as (served, _):
        handle = await app.find("work").bind().submit(delay=3600)
        link = (await handle.watch_url(expires=60)).removeprefix(SERVER)
        async with streamed(served, link) as one:
            await asyncio.sleep(55)
            assert not one.has_ended
            assert b": heartbeat" in one.body
            await asyncio.sleep(10)
            assert one.has_ended


async def test_a_result_with_line_ends_stays_one_event(virtual_clock: VirtualClock) -> None:
    """A consumer in another language may store its result as it likes."""
    app = app_on(virtual_clock)
    async with serving(app) as (_, client):
        handle = await app.find("work").bind().submit()
        (lease,) = await app.broker.lease(LeaseRequest("other/1", "r1", ("default-tasks",), 1, 30.0))
        await app.broker.ack([Ack(lease, b'{"a":\n\n"x",\r\n"b": 1}')])
        response = await client.get(f"/api/v1/messages/{handle.id}/events")
        assert response.text.count("data: ") == 1
        assert "\r" not in response.text


async def test_streams_are_bounded_and_viewers_share_one_reading(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with serving(app) as (served, client):
        handle = await app.find("work").bind().submit(delay=3600)
        path = f"/api/v1/messages/{handle.id}/events"
        served.server.streams.most = 2
        async with streamed(served, path) as one, streamed(served, path) as two:
            await asyncio.sleep(1)
            assert (one.status, two.status) == (200, 200)
            response = await client.get(path)
            assert (response.status_code, response.json()["code"]) == (429, "too_many_streams")
