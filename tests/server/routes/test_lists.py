"""Lists: pages by cursors, filters, export as lines, entity tags; names of every kind."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import msgspec
import pytest

from tenure import Tenure
from tenure.errors import BrokerUnavailable
from tenure.lease import LeaseRequest
from tenure.message import Message, Outgoing
from tenure.server import export
from tenure.server.principal import AccessScope
from tenure.server.routes import messages
from tenure.testing.virtual import VirtualClock

from ..asking import bearer, client_of, new_token, serving  # noqa: TID252 - the helpers of the folder above
from .conftest import Served, filled
from .described import check_answer

NDJSON = {"Accept": "application/x-ndjson"}


@pytest.fixture
def app(virtual_clock: VirtualClock) -> Tenure:
    return Tenure("memory://", clock=virtual_clock)


async def pages(client: httpx.AsyncClient, path: str, rows: str, cursor: str = "after", **params: Any) -> list[Any]:
    found: list[Any] = []
    after: Any = ""
    for _ in range(100):
        response = await client.get(f"/api/v1{path}", params={**params, cursor: after} if after else params)
        assert response.status_code == 200, response.text
        check_answer(response)
        page = response.json()
        assert len(page[rows]) <= params["limit"]
        found += page[rows]
        after = page[cursor]
        if after is None:
            return found
    raise AssertionError


async def lines(client: httpx.AsyncClient, path: str, **params: Any) -> tuple[list[Any], dict[str, Any]]:
    response = await client.get(f"/api/v1{path}", params=params, headers=NDJSON)
    assert response.status_code == 200, response.text
    check_answer(response)
    *rows, last = map(msgspec.json.decode, response.content.splitlines())
    return rows, last["export"]


async def fill_queues(app: Tenure, count: int = 7) -> list[str]:
    names = [f"q{number}" for number in range(count)]
    for name in names:
        for number in range(3):
            await _send(app, name, number)
    return names


async def _send(app: Tenure, queue: str, number: int) -> None:
    message = Message(id=f"{queue}-{number}", queue=queue, task="t", body=msgspec.Raw(b"{}"), sent_at=app.clock.wall())
    await app.send([Outgoing(message)])


async def test_pages_together_are_the_whole_list_and_so_are_the_lines(app: Tenure) -> None:
    async with serving(app) as (_, client):
        names = await fill_queues(app)
        assert [row["queue"] for row in await pages(client, "/queues", "queues", limit=2)] == names
        rows, end = await lines(client, "/queues", limit=2)
        assert [row["queue"] for row in rows] == names
        assert end == {"rows": 7, "cut": False, "detail": ""}
        everything = await pages(client, "/messages", "messages", limit=4)
        assert len({row["id"] for row in everything}) == len(everything) == 21
        rows, end = await lines(client, "/messages", limit=4)
        assert [row["id"] for row in rows] == [row["id"] for row in everything]
        assert end["rows"] == 21
        for number in range(6):
            await client.post(f"/api/v1/queues/q{number}/pause", json={})
        acts = await pages(client, "/acts", "acts", "before", limit=4)
        assert [row["queue"] for row in acts] == [f"q{number}" for number in reversed(range(6))]
        assert len((await lines(client, "/acts", limit=4))[0]) == 6


async def test_leases_come_in_pages_too(app: Tenure) -> None:
    async with serving(app) as (_, client):
        await fill_queues(app)
        held = await app.broker.lease(LeaseRequest("o", "r", tuple(f"q{n}" for n in range(7)), 9, 60.0))
        found = await pages(client, "/leases", "leases", limit=2)
        assert {row["id"] for row in found} == {lease.id for lease in held}
        assert len(found) == 9
        assert (await lines(client, "/leases", limit=2))[1]["rows"] == 9
        response = await client.get("/api/v1/leases", params={"after": "nowhere"})
        assert (response.status_code, response.json()["field"]) == (422, "after")


async def test_what_has_ended_in_several_queues_is_exported_whole(app: Tenure) -> None:
    async with serving(app) as (_, client):
        await fill_queues(app)
        for name in ("q1", "q2", "q5"):
            await client.post("/api/v1/messages/cancel", json={"queues": [name]})
        rows, end = await lines(client, "/messages", state="cancelled", limit=2)
        assert {row["queue"] for row in rows} == {"q1", "q2", "q5"}
        assert (len(rows), end["rows"], end["cut"]) == (9, 9, False)
        page = (await client.get("/api/v1/messages", params={"state": "cancelled", "limit": 2})).json()
        assert (len(page["messages"]), page["more"]) == (2, True)


async def test_an_export_says_that_it_was_cut(
    virtual_clock: VirtualClock, app: Tenure, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(app) as (served, client):
        await fill_queues(app)
        defaults = export.Export.__init__.__kwdefaults__
        assert defaults is not None
        monkeypatch.setitem(defaults, "most_rows", 6)
        rows, end = await lines(client, "/messages", limit=4)
        assert (len(rows), end["cut"]) == (6, True)
        assert "at most 6 rows" in end["detail"]
        monkeypatch.undo()
        real, calls = app.broker.browse, 0

        async def browse(query: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > 3:
                msg = "the store at /secret is away"
                raise BrokerUnavailable(msg)
            return await real(query)

        monkeypatch.setattr(app.broker, "browse", browse)
        rows, end = await lines(client, "/messages", limit=4)
        assert end["cut"] is True
        assert "store cannot be reached" in end["detail"]
        assert "secret" not in end["detail"]
        monkeypatch.undo()
        served.server.stopping.set()
        assert (await lines(client, "/queues", limit=2))[1]["detail"] == "the server stops; ask again"


async def test_an_export_ends_when_its_token_is_revoked(
    virtual_clock: VirtualClock, app: Tenure, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(app) as (served, _):
        await fill_queues(app)
        token = await new_token(served, AccessScope.READ)
        real = app.broker.browse

        async def browse(query: Any) -> Any:
            await asyncio.sleep(5)
            return await real(query)

        monkeypatch.setattr(app.broker, "browse", browse)
        async with client_of(served, headers=bearer(token)) as client:
            asking = asyncio.create_task(lines(client, "/messages", limit=1))
            await asyncio.sleep(20)
            (made,) = await served.server.tokens.list()
            await served.server.tokens.revoke(made.id)
            rows, end = await asking
        assert len(rows) < 21
        assert (end["cut"], end["detail"]) == (True, "the access token was revoked, or has expired")


async def test_exports_are_streams_and_bounded_as_such(app: Tenure) -> None:
    async with serving(app) as (served, client):
        served.server.streams.most = 0
        response = await client.get("/api/v1/queues", headers=NDJSON)
        check_answer(response)
        assert (response.status_code, response.json()["code"]) == (429, "too_many_streams")
        head = await client.head("/api/v1/queues", headers=NDJSON)
        assert (head.status_code, head.headers["content-type"]) == (200, "application/x-ndjson")


async def test_a_client_that_has_a_list_already_is_answered_304(app: Tenure) -> None:
    async with serving(app) as (_, client):
        first = await client.get("/api/v1/settings")
        tag = first.headers["etag"]
        for known in (tag, f'"x", {tag}', "*", tag.removeprefix("W/")):
            again = await client.get("/api/v1/settings", headers={"If-None-Match": known})
            check_answer(again)
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert (await client.get("/api/v1/settings", headers={"If-None-Match": '"x"'})).status_code == 200
        queues = (await client.get("/api/v1/queues")).headers["etag"]
        await fill_queues(app)
        assert (await client.get("/api/v1/queues", headers={"If-None-Match": queues})).status_code == 200


@pytest.mark.parametrize(
    ("params", "field"),
    [({"limit": 0}, "limit"), ({"limit": 1_001}, "limit"), ({"limit": "ten"}, "limit"), ({"colour": 1}, "colour"),
     ({"state": "lost"}, "state"), ({"since": "yesterday"}, "since"), ({"until": "2026-01-01T00:00:00"}, "until"),
     ({"since": "nan"}, "since"), ({"task": ["a", "b"]}, "task")],
)  # fmt: skip
async def test_wrong_parameters_are_named(app: Tenure, params: dict[str, Any], field: str) -> None:
    async with serving(app) as (_, client):
        response = await client.get("/api/v1/messages", params=params)
        check_answer(response)
        problem = response.json()
        assert (response.status_code, problem["code"]) == (422, "request_invalid")
        assert problem["field"].partition("[")[0] == field


async def test_moments_are_unix_seconds_or_rfc_3339(app: Tenure) -> None:
    async with serving(app) as (_, client):
        await fill_queues(app, 1)
        now = app.clock.wall()
        for since, count in (
            (now - 60, 3),
            (now + 60, 0),
            ("1970-01-01T00:00:00Z", 3),
            ("2200-01-01T01:00:00+01:00", 0),
        ):
            found = await client.get("/api/v1/messages", params={"since": since})
            assert len(found.json()["messages"]) == count


async def test_filters_are_combined(app: Tenure) -> None:
    async with serving(app) as (_, client):
        await fill_queues(app)
        for params, count in (
            ({"queue": "q1"}, 3), ({"queue": ["q1", "q2"]}, 6), ({"queue": "q*"}, 21), ({"task": "t"}, 21),
            ({"task": "other"}, 0), ({"queue": "q1", "text": "q1-2"}, 1), ({"state": "dead"}, 0), ({"client": "x"}, 0),
        ):  # fmt: skip
            found = (await client.get("/api/v1/messages", params=params)).json()
            assert len(found["messages"]) == count, params


async def test_a_rare_match_is_looked_for_in_short_requests(app: Tenure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "_LOOK_AT", 10)
    async with serving(app) as (_, client):
        for number in range(25):
            await _send(app, "mail", number)
        answers: list[dict[str, Any]] = []
        while not answers or answers[-1]["after"] is not None:
            params = {"task": "none", "after": answers[-1]["after"] if answers else ""}
            answers.append((await client.get("/api/v1/messages", params=params)).json())
        assert [one["looked_at"] for one in answers] == [10, 10, 5]
        assert [(one["messages"], one["more"]) for one in answers] == [([], True), ([], True), ([], False)]


@pytest.mark.parametrize("id", ["ns/a", "日本 🦆", "a b", "100%", "a+b", "..", "../x", "a?b#c", "%2F", "\\", "."])
async def test_ids_of_every_kind_are_found_percent_encoded(app: Tenure, id: str) -> None:
    async with serving(app) as (_, client):
        sent = await client.post(
            "/api/v1/messages", json={"messages": [{"queue": "q", "task": "t", "payload": 1, "id": id}]}
        )
        assert sent.json()["messages"][0]["outcome"] == "sent", sent.text
        path = quote(id, safe="").replace(".", "%2E")
        found = await client.get(f"/api/v1/messages/{path}/status")
        assert (found.status_code, found.json().get("id")) == (200, id), found.text
        assert (await client.post(f"/api/v1/messages/{path}/cancel", json={})).json()["done"] == 1


async def test_a_namespace_is_kept(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock, namespace="shop", client="acme")
    async with serving(app) as (_, client):
        await client.post(
            "/api/v1/messages", json={"messages": [{"queue": "orders", "task": "t", "payload": 1, "id": "i"}]}
        )
        for name in ("orders", "shop%2Forders"):
            assert (await client.get(f"/api/v1/queues/{name}")).json()["queue"] == "shop/orders"
        for id in ("i", "shop%2Fi"):
            assert (await client.get(f"/api/v1/messages/{id}")).json()["id"] == "shop/i"
        response = await client.get("/api/v1/queues/other%2Forders")
        assert response.status_code == 422
        assert response.json()["code"] == "bad_argument"


@pytest.mark.real_time
async def test_without_the_scope_payload_no_list_has_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filled("sqlite", tmp_path, monkeypatch) as served:
        reads = await served.client_with(AccessScope.READ, queues=("acme-*",))
        sees = await served.client_with(*AccessScope, queues=("acme-*",))
        async with reads, sees:
            for path in (
                "/messages",
                "/dead",
                "/dead/groups",
                f"/messages/{served.ids['dead']}",
                "/leases",
                "/overview",
            ):
                told, whole = await reads.get(f"/api/v1{path}"), await sees.get(f"/api/v1{path}")
                check_answer(told)
                assert "no such image" not in told.text, path
                assert "broken.png" not in told.text, path
                if path not in ("/leases", "/overview"):
                    assert "no such image" in whole.text, path
            exported = await reads.get("/api/v1/dead", headers=NDJSON)
            assert "no such image" not in exported.text
            text = await reads.get("/api/v1/messages", params={"text": "broken"})
            assert (text.status_code, text.json()["code"]) == (422, "bad_argument")


@pytest.mark.real_time
async def test_what_is_not_theirs_is_in_no_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filled("sqlite", tmp_path, monkeypatch) as served:
        await _hold_apart(served)


async def _hold_apart(served: Served) -> None:
    """The queue `held`, its message, its task and its worker are there for one of them only."""
    other = await served.client_with(*AccessScope, queues=("acme-*",))
    async with other:
        lists = ("/queues", "/tasks", "/leases", "/messages", "/workers", "/schedules", "/acts", "/dead")
        for path, accept in [("/overview", {}), *((path, accept) for path in lists for accept in ({}, NDJSON))]:
            response = await other.get(f"/api/v1{path}", headers=accept)
            check_answer(response)
            assert served.ids["held"] not in response.text, path
            assert '"held"' not in response.text, path
            assert "holder" not in response.text, path
        for method, path in (
            ("GET", "/queues/held"),
            ("DELETE", "/queues/held"),
            ("POST", "/queues/held/pause"),
            ("POST", "/queues/held/purge"),
            ("POST", f"/messages/{served.ids['held']}/cancel"),
            ("DELETE", f"/messages/{served.ids['held']}"),
            ("POST", f"/messages/{served.ids['held']}/redrive"),
        ):
            response = await other.request(method, f"/api/v1{path}", json={})
            assert response.status_code == 404, (path, response.text)
        cancelled = await other.post("/api/v1/messages/cancel", json={"queues": ["*"]})
        assert cancelled.json()["found"] == 2  # ready and delayed
    record = await served.app.record(served.ids["held"])
    assert record is not None
    assert record.state == "leased"
