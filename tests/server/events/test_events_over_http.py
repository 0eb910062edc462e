"""Streams of real servers on real stores: restarts, another server, revoked tokens, and what proxies see."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from tests.servers.shared import shared

from tenure import Tenure
from tenure.event import Event, EventKind
from tenure.server.principal import AccessScope

from .following import names
from .listening import Running, listening, running

pytestmark = pytest.mark.real_time


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "redis":
        return f"{shared('valkey9').url}?prefix=events-{os.urandom(4).hex()}"
    return f"sqlite:///{tmp_path / 'jobs.db'}"


async def append(app: Tenure, *ids: str, queue: str = "mail", **data: object) -> None:
    wall = app.clock.wall()
    await app.state.journal.append([Event(EventKind.DEAD, wall, queue, "resize", id, data=data) for id in ids])


async def token_for(server: Running, *scopes: AccessScope, queues: tuple[str, ...] = ("*",)) -> tuple[str, str]:
    made = await server.web.server.tokens.create("viewer", scopes, queues)
    return made.id, made.token


async def test_a_restart_and_another_server_lose_no_event(url: str) -> None:
    async with Tenure(url) as app:
        async with running(url) as first, listening(first) as one:
            await append(app, *names(0, 3))
            await one.until(lambda one: len(one.messages) == 3)
        await append(app, *names(3, 203))  # nobody serves
        async with running(url) as second, running(url) as third:
            async with listening(second, last_id=one.last_id) as two:
                await append(app, *names(203, 210))
                await two.until(lambda two: len(two.messages) == 207)
            async with (
                listening(third, last_id=two.last_id) as three,
                listening(third, f"after={one.last_id}") as all_of,
            ):
                await append(app, *names(210, 220))
                await three.until(lambda three: len(three.messages) == 10)
                await all_of.until(lambda all_of: len(all_of.messages) == 217)
        assert one.messages + two.messages + three.messages == names(0, 220)
        assert one.messages + all_of.messages == names(0, 220)


async def test_a_pruned_journal_is_a_gap(url: str) -> None:
    async with Tenure(url) as app, running(url) as server:
        wall = app.clock.wall()
        await app.state.journal.append([Event(EventKind.DEAD, wall - 7200, message_id=id) for id in names(0, 50)])
        await append(app, "new")
        assert await app.state.journal.prune(3600) == 50
        async with listening(server, last_id="7") as one:
            await one.until(lambda one: one.messages)
        assert [stored["type"] for stored in one.data] == ["gap", "dead"]
        assert (one.data[0]["payload"]["after"], one.data[0]["payload"]["first"]) == (7, 51)


async def test_stopping_ends_streams_with_a_word_when_to_come_back(url: str) -> None:
    async with running(url) as server, listening(server) as one:
        server.server.should_exit = True
        await one.until(lambda one: one.has_ended, within=4)
        assert one.lines[-4:] == [": closing", "retry: 2000", f"id: {one.last_id}", ""]
        async with asyncio.timeout(5):
            await server.serving


async def test_the_headers_keep_proxies_from_holding_events_back(url: str) -> None:
    async with running(url) as server, listening(server) as one:
        headers = one.response.headers
        assert headers["content-type"] == "text/event-stream; charset=utf-8"
        assert headers["cache-control"] == "no-store, no-transform"
        assert headers["x-accel-buffering"] == "no"
        assert "content-encoding" not in headers
        assert "content-length" not in headers
        async with httpx.AsyncClient() as client:
            head = await client.head(f"{server.base}/events/stream", timeout=5)
            assert (head.status_code, head.headers["content-type"]) == (200, headers["content-type"])


async def test_a_revoked_token_ends_its_streams_within_5_seconds(url: str) -> None:
    async with running(url) as server, running(url) as other:
        id, token = await token_for(server, AccessScope.READ)
        _, kept = await token_for(server, AccessScope.READ)
        async with listening(server, token=token) as one, listening(server, token=kept) as two:
            assert one.response.status_code == 200
            await asyncio.sleep(0.5)
            await other.web.server.tokens.revoke(id)
            await one.until(lambda one: one.has_ended, within=5.0)
            assert not two.has_ended
        async with listening(server, token=token) as again:
            assert again.response.status_code == 401


async def test_a_principal_sees_its_queues_and_no_payload(url: str) -> None:
    async with Tenure(url) as app, running(url) as server:
        _, token = await token_for(server, AccessScope.READ, queues=("acme-*",))
        _, full = await token_for(server, AccessScope.READ, AccessScope.PAYLOAD)
        async with listening(server, token=token) as one, listening(server, token=full) as two:
            await append(app, "a", queue="acme-1", reason="card 4111 refused", code="error")
            await append(app, "b", queue="umbrella-1", reason="secret")
            await append(app, "c", queue="acme-1")
            await one.until(lambda one: "c" in one.messages)
            await two.until(lambda two: "c" in two.messages)
        assert one.messages == ["a", "c"]
        assert one.data[0]["payload"] == {
            "code": "error",
            "redacted": True,
            "queue": "acme-1",
            "task": "resize",
            "message_id": "a",
        }
        assert not any("4111" in line or "umbrella" in line for line in one.lines)
        assert two.data[0]["payload"]["reason"] == "card 4111 refused"
        async with listening(server, token=token, last_id="1") as again:
            await again.until(lambda again: again.messages)
        assert again.messages == ["c"]


async def test_hostile_texts_stay_inside_their_event(url: str) -> None:
    text = "x\r\n\r\nid: 999\r\nevent: snapshot\r\ndata: {}\n\n"
    async with Tenure(url) as app, running(url) as server, listening(server) as one:
        await append(app, text, reason=text, **{text: text})
        await append(app, "after")
        await one.until(lambda one: len(one.data) == 2)
    assert one.data[0]["payload"]["message_id"] == text
    assert {line.partition(":")[0] for line in one.lines} == {"", "retry", "id", "data"}
    assert one.last_id == "2"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("after=-1", "after"), ("after=x", "after"), ("kind=nonsense", "kind"), ("leases=0", "leases"),
        ("leases=9999", "leases"), ("snapshot=queues", "snapshot"), ("nothing=1", "nothing"),
    ],
)  # fmt: skip
async def test_what_cannot_be_meant_is_refused(query: str, field: str, tmp_path: Path) -> None:
    async with running(f"sqlite:///{tmp_path / 'jobs.db'}") as server, httpx.AsyncClient() as client:
        answer = await client.get(f"{server.base}/events/stream?{query}", timeout=5)
        assert (answer.status_code, answer.json()["code"]) == (422, "request_invalid")
        assert field in answer.json()["detail"]


async def test_a_client_and_a_pattern_name_queues(url: str) -> None:
    def shows(*wanted: str) -> Callable[[object], bool]:
        return lambda one: getattr(one, "messages", ())[-1:] == list(wanted[-1:])

    async with Tenure(url) as app, running(url) as server:
        async with (
            listening(server, "client=acme&kind=dead") as one,
            listening(server, "queue=*-tasks&queue=mail") as two,
        ):
            await append(app, "a", queue="acme-tasks")
            await append(app, "b", queue="umbrella-tasks")
            await append(app, "c", queue="mail")
            await append(app, "d", queue="other")
            await append(app, "e", queue="acme-tasks")
            await one.until(shows("e"))
            await two.until(shows("e"))
        assert one.messages == ["a", "e"]
        assert two.messages == ["a", "b", "c", "e"]


async def test_a_client_that_reads_nothing_does_not_hold_the_others_up(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    async with Tenure(url) as app, running(url) as server, listening(server) as quick:
        port = int(server.base.split(":")[2].split("/")[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        writer.write(f"GET /api/v1/events/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        await reader.readuntil(b"retry: 2000")
        for page in range(60):
            await append(app, *(f"{page}-{number}" for number in range(200)), reason="x" * 500)
            await asyncio.sleep(0.02)
        await quick.until(lambda quick: len(quick.messages) == 12_000)
        received = b""
        async with asyncio.timeout(60):
            while block := await reader.read(1 << 16):
                received += block
        assert b'"reason":"too_slow"' in received
        assert received.rstrip().endswith(b"0")  # the last chunk of HTTP/1.1: the answer is whole
        writer.close()


async def test_streams_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_SERVER_MOST_STREAMS", "2")
    async with running(f"sqlite:///{tmp_path / 'jobs.db'}") as server:
        async with listening(server), listening(server) as second:
            assert second.response.status_code == 429
            assert "retry-after" in second.response.headers
        async with listening(server) as third:
            assert third.response.status_code == 200
