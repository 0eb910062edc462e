"""Every route once with its success, on SQLite and Redis: the answer is what the document says, and it is true."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from tenure.client.finding_store import FindingStore
from tenure.errors import BrokerError, ResultTimeout, StackUnanswered
from tenure.monitoring.alerting.finding import AlertState
from tenure.monitoring.catalogue import AlertSeverity
from tenure.server.problem import status_of
from tenure.server.routes import ROUTES

from .conftest import HELD_QUEUE, QUEUE, Served, filled
from .described import check_answer

pytestmark = pytest.mark.real_time

#: Routes that have tests of their own: sessions and tokens in `tests/server`, events and snapshots beside them.
_ELSEWHERE = ("/session", "/tokens", "/events", "/snapshots")
PLACES = ("sqlite", "valkey9")


class Calls:
    """Asks, and notes which routes answered as described."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.seen: set[tuple[str, str]] = set()

    def _note(self, response: httpx.Response) -> None:
        route = check_answer(response)
        self.seen.add((route.method, route.path))

    async def get(self, path: str, status: int = 200, **more: Any) -> dict[str, Any]:
        response = await self.served.get(path, **more)
        assert response.status_code == status, response.text
        self._note(response)
        if "json" not in response.headers["content-type"]:
            return {"text": response.text}
        found: dict[str, Any] = response.json()
        return found

    async def post(self, path: str, body: Any = None, status: int = 200) -> dict[str, Any]:
        response = await self.served.post(path, body)
        assert response.status_code == status, response.text
        self._note(response)
        found: dict[str, Any] = response.json()
        return found

    async def put(self, path: str, body: Any, status: int = 200) -> dict[str, Any]:
        response = await self.served.put(path, body)
        assert response.status_code == status, response.text
        self._note(response)
        found: dict[str, Any] = response.json()
        return found

    async def delete(self, path: str, status: int = 200) -> dict[str, Any]:
        response = await self.served.delete(path)
        assert response.status_code == status, response.text
        self._note(response)
        found: dict[str, Any] = response.json()
        return found


@pytest.mark.parametrize("kind", PLACES)
async def test_every_route_answers_as_it_is_described(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with filled(kind, tmp_path, monkeypatch) as served:
        calls = Calls(served)
        await _look(calls, served.ids)
        await _look_at_a_run(calls)
        await _send(calls)
        await _consume(calls)
        await _act(calls, served.ids)
        own = {
            (route.method, route.path)
            for route in ROUTES
            if not (route.path.startswith(_ELSEWHERE) or route.media_type == "text/event-stream")
        }
        await _look_at_a_group(calls)
        assert calls.seen == own


async def _look_at_a_group(calls: Calls) -> None:
    app = calls.served.app
    call = app.tasks["resize"].bind("a.png").having(delay=3600)
    await app.group([call, call], then=app.tasks["resize"].bind("b.png"), id="album")
    found = await calls.get("/groups/album")
    assert (found["id"].endswith("grp_album"), found["state"], found["total"]) == (True, "running", 2)
    members = await calls.get("/groups/album/members?limit=1")
    assert ([one["state"] for one in members["members"]], members["more"]) == (["unfinished"], True)
    assert (await calls.post("/groups/album/cancel"))["cancelled"] is True
    assert (await calls.post("/groups/album/cancel"))["cancelled"] is False


async def _look(calls: Calls, ids: dict[str, str]) -> None:
    overview = await calls.get("/overview")
    assert overview["total"]["dead"] == 3
    queues = await calls.get("/queues")
    figures = {row["queue"]: row for row in queues["queues"]}
    assert [figures[QUEUE][name] for name in ("ready", "delayed", "leased", "dead")] == [1, 1, 0, 3]
    assert await calls.get(f"/queues/{HELD_QUEUE}") == figures[HELD_QUEUE]
    counted = await calls.get("/figures?step=60")
    assert len(counted["points"]) == 60
    timing = await calls.get("/timing", params={"queue": QUEUE})
    (row,) = timing["tasks"]
    assert (row["queue"], row["task"], row["completed"], row["status"]) == (QUEUE, "resize", 1, "renewed")
    assert sum(bucket["runs"] for bucket in row["distribution"]) == row["durations"]["samples"]
    scaling = await calls.get("/scaling", params={"queue": HELD_QUEUE})
    assert [(row["queue"], row["leased"]) for row in scaling["queues"]] == [(HELD_QUEUE, 1)]
    assert (await calls.get(f"/scaling/{HELD_QUEUE}"))["desired"] == 1
    tasks = await calls.get("/tasks")
    assert {row["task"] for row in tasks["tasks"]} == {"resize", "hold"}
    leases = await calls.get("/leases")
    assert [row["id"] for row in leases["leases"]] == [ids["held"]]
    workers = await calls.get("/workers")
    assert [row["id"] for row in workers["workers"]] == ["holder/1"]
    schedules = await calls.get("/schedules")
    assert [row["name"] for row in schedules["schedules"]] == ["acme/nightly"]
    found = await calls.get("/messages", params={"state": "ready", "queue": QUEUE})
    assert [row["id"] for row in found["messages"]] == [ids["ready"]]
    dead = await calls.get("/dead")
    assert {row["id"] for row in dead["messages"]} == {ids[word] for word in ("dead", "dead2", "dead3")}
    (group,) = (await calls.get("/dead/groups"))["groups"]
    assert (group["count"], group["task"]) == (3, "resize")
    detail = await calls.get(f"/messages/{ids['dead']}")
    assert detail["body"] == {"image": "broken.png"}
    status = await calls.get(f"/messages/{ids['held']}/status")
    assert (status["state"], status["owner"]) == ("leased", "holder/1")
    result = await calls.get(f"/messages/{ids['done']}/result")
    assert result == {"id": ids["done"], "state": "completed", "result": {"image": "a.png", "width": 800}}
    assert await calls.get(f"/messages/{ids['done']}/children") == {
        "id": ids["done"],
        "parent_id": None,
        "children": [],
        "more": False,
    }
    await _look_at_the_set_up(calls)


async def _look_at_the_set_up(calls: Calls) -> None:
    """What is about no message."""
    settings = await calls.get("/settings")
    assert "lease_seconds" in {row["name"] for row in settings["settings"]}
    assert {"sweep", "settings"} <= {row["id"] for row in (await calls.get("/doctor"))["checks"]}
    assert (await calls.get("/openapi.json"))["openapi"] == "3.1.0"
    assert "<h1>HTTP API</h1>" in (await calls.get("/docs"))["text"]


async def _look_at_a_run(calls: Calls) -> None:
    """What runs in this process, as its worker sees it."""
    app = calls.served.app
    running = await app.submit("hold", {"seconds": 60}, queue="runs")
    async with app.worker(name="w2", queues=["runs"], grace=0):
        while (await calls.get(f"/messages/{running.id}/status"))["state"] != "leased":  # noqa: ASYNC110 - another worker takes it
            await asyncio.sleep(0.02)
        found = await calls.post(f"/messages/{running.id}/stack", {"wait": 10})
        assert (found["id"], found["task"], found["runs_in"]) == (running.id, "hold", "loop")
        await calls.post(f"/messages/{running.id}/cancel")


async def _send(calls: Calls) -> None:
    sent = await calls.post("/messages", {"messages": [{"queue": QUEUE, "task": "resize", "payload": {"image": "x"}}]})
    assert [one["outcome"] for one in sent["messages"]] == ["sent"]
    submitted = await calls.post("/tasks/resize/submit", {"payload": {"image": "b.png"}}, 201)
    assert (submitted["queue"], submitted["duplicate"]) == (QUEUE, False)


async def _consume(calls: Calls) -> None:
    entries = [{"queue": "http", "task": "elsewhere", "payload": {"n": n}} for n in range(10)]
    await calls.post("/messages", {"messages": entries})
    ask = {"queues": ["http"], "want": 10, "consumer": "c1", "request_id": "r1", "lease_seconds": 60}
    leased = (await calls.post("/lease", ask))["messages"]
    assert [one["payload"] for one in leased] == [entry["payload"] for entry in entries]
    assert [one["id"] for one in (await calls.post("/lease", ask))["messages"]] == [one["id"] for one in leased]
    outcomes = {"touch": "held", "ack": "deleted", "nack": "returned", "give-back": "returned", "dead-letter": "dead"}
    for number, (verb, outcome) in enumerate(outcomes.items()):
        one, other = leased[2 * number : 2 * number + 2]
        more = {"delay_seconds": 60} if outcome == "returned" else {}
        many = await calls.post(f"/leases/{verb}", {"leases": [{"token": one["token"], **more}, {"token": "tnl_"}]})
        told = [(entry["id"], entry["outcome"], entry["code"]) for entry in many["leases"]]
        assert told == [(one["id"], outcome, None), (None, "refused", "lease_token_invalid")]
        said = {"token": other["token"], **more}
        assert (await calls.post(f"/messages/{other['id']}/{verb}", said))["outcome"] == outcome
        assert (await calls.post(f"/messages/{one['id']}/{verb}", said, 422))["code"] == "lease_token_invalid"
        again = await calls.post(f"/messages/{other['id']}/{verb}", said, 200 if verb == "touch" else 410)
        assert again.get("code") == (None if verb == "touch" else "already_gone")
    await calls.post("/leases/ack", {"leases": [{"token": one["token"]} for one in leased[:2]]})
    await calls.post("/queues/http/purge")
    await calls.post("/dead/delete", {"queues": ["http"]})


async def _act(calls: Calls, ids: dict[str, str]) -> None:
    moved = await calls.post(f"/messages/{ids['dead2']}/move", {"queue": "images"})
    assert (moved["done"], moved["skipped"]) == (1, 0)
    edited = await calls.post(f"/messages/{ids['dead3']}/edit", {"payload": {"image": "ok.png"}})
    assert edited["checked"] is True
    assert (await calls.post(f"/messages/{ids['dead']}/redrive"))["done"] == 1
    assert (await calls.delete(f"/messages/{ids['dead']}"))["done"] == 1
    touched = await calls.post(f"/leases/{ids['held']}/touch", {"seconds": 300})
    assert (touched["id"], touched["owner"], touched["state"]) == (ids["held"], "holder/1", "held")
    assert 295 < touched["deadline_in"] <= 300
    assert 295 < (await calls.get("/leases"))["leases"][0]["deadline_in"] <= 300
    assert (await calls.post(f"/messages/{ids['held']}/run-now", status=409))["code"] == "not_delayed"
    now = await calls.post(f"/messages/{ids['delayed']}/run-now")
    assert now == {"id": ids["delayed"], "queue": QUEUE, "was": "delayed", "changed": True, "paused": None}
    assert (await calls.post(f"/messages/{ids['delayed']}/run-now"))["changed"] is False
    assert (await calls.post(f"/messages/{ids['held']}/cancel"))["done"] == 1
    assert (await calls.post(f"/leases/{ids['held']}/touch", status=409))["code"] == "not_running"
    assert (await calls.post("/messages/cancel", {"ids": [ids["delayed"]]}))["done"] == 1
    for act in ("drain", "stop"):
        change = await calls.post(f"/workers/holder%2F1/{act}")
        assert (change["id"], change["act"], change["changed"]) == ("holder/1", act, True)
    await calls.post("/workers/nobody%2F1/drain", status=404)
    for act in ("redrive", "delete"):
        assert (await calls.post(f"/dead/{act}", {"all": True}))["found"] == 0
    assert (await calls.post("/dead/move", {"all": True, "to": "images"}))["found"] == 0
    assert (await calls.post(f"/queues/{QUEUE}/pause"))["changed"] is True
    assert (await calls.post(f"/queues/{QUEUE}/resume"))["changed"] is True
    assert (await calls.put(f"/queues/{QUEUE}/limit", {"running": 5, "rate": "100/m"}))["limit"]["rate"] == "100/m"
    assert (await calls.get(f"/queues/{QUEUE}"))["limit"]["running"] == 5
    assert (await calls.put(f"/queues/{QUEUE}/limit", {"rate": "often"}, status=422))["code"] == "bad_argument"
    assert (await calls.delete(f"/queues/{QUEUE}/limit"))["limit"] is None
    await _act_on_a_client(calls)
    assert (await calls.post("/queues/images/purge"))["purged"] == 1
    assert (await calls.delete("/queues/images"))["changed"] is True
    for act in ("pause", "resume"):
        assert (await calls.post(f"/schedules/acme%2Fnightly/{act}"))["changed"] is True
    assert (await calls.post("/schedules/acme%2Fnightly/run"))["duplicate"] is False
    await _call_webhooks(calls)
    await _call_findings(calls)
    acts = await calls.get("/acts")
    kinds = {row["kind"] for row in acts["acts"]}
    assert {
        "moved",
        "edited",
        "redriven",
        "cancelled",
        "deleted",
        "paused",
        "resumed",
        "limited",
        "limit_cleared",
        "quota_set",
        "quota_cleared",
        "purged",
        "worker_drained",
    } <= kinds
    assert {"touched", "promoted"} <= kinds
    assert {row["triggered_by"] for row in acts["acts"]} == {"http"}


async def _act_on_a_client(calls: Calls) -> None:
    (row,) = (await calls.get("/clients"))["clients"]
    one = await calls.get("/clients/acme")
    assert [one[name] for name in ("client", "queue", "waiting")] == ["acme", QUEUE, row["waiting"]]
    for act in ("pause", "resume"):
        assert (await calls.post(f"/clients/acme/{act}"))["changed"] is True
    quota = (await calls.put("/clients/acme/quota", {"waiting": 0, "running": 5, "payload": "1KiB"}))["quota"]
    assert (quota["waiting"], quota["running"], quota["payload_bytes"], quota["by"]) == (0, 5, 1024, "loopback")
    message = {"queue": QUEUE, "task": "resize", "payload": {"image": "x"}}
    other = {**message, "queue": "images"}
    refused = await calls.post("/messages", {"messages": [message]}, 429)
    assert refused["code"] == "quota_exceeded"
    assert (await calls.post("/tasks/resize/submit", {"payload": {"image": "b.png"}}, 429))["code"] == "quota_exceeded"
    mixed = (await calls.post("/messages", {"messages": [message, other]}))["messages"]
    assert [one["outcome"] for one in mixed] == ["refused", "sent"]
    await calls.post(f"/messages/{mixed[1]['id']}/cancel")
    assert (await calls.delete("/clients/acme/quota"))["quota"] is None
    assert (await calls.put("/clients/acme/quota", {"rate": "often"}, status=422))["code"] == "bad_argument"
    weights = [await calls.put("/clients/acme/weight", {"weight": 3}) for _ in range(2)]
    assert [(one["weight"], one["changed"]) for one in weights] == [(3.0, True), (3.0, False)]
    assert (await calls.delete("/clients/acme/weight"))["weight"] is None
    assert (await calls.put("/clients/acme/weight", {"weight": 0}, status=422))["code"] == "bad_argument"
    assert (await calls.post("/clients/acme/purge", {"dry_run": True}))["client"] == "acme"
    assert (await calls.get("/clients/ACME", status=422))["code"] == "bad_argument"
    assert (await calls.post("/clients/acme/forget", {"dry_run": True}))["removed"] == {}


async def _call_findings(calls: Calls) -> None:
    state = calls.served.app.state
    finding = AlertState(
        alert="duplicates", subject=QUEUE, queue=QUEUE, severity=AlertSeverity.TICKET, fired_at=state.wall(),
        value=0.01, evidence="3 of 300", seen_at=state.wall(),
    )  # fmt: skip
    await FindingStore(state).put(finding, None)
    path = f"/findings/duplicates@{QUEUE}"
    listed = await calls.get("/findings")
    assert ([row["id"] for row in listed["findings"]], listed["open"]) == ([f"duplicates@{QUEUE}"], 1)
    assert (await calls.get(path))["runbook"] == "duplicates"
    assert (await calls.post(f"{path}/ack"))["acked_by"]
    assert (await calls.post(f"{path}/silence", {"seconds": 60}))["silenced_until"] is not None
    assert (await calls.post(f"{path}/silence", {"seconds": 0}))["silenced_until"] is None
    assert (await calls.post("/findings/nothing/ack", status=404))["code"] == "unknown_finding"
    assert (await calls.get("/findings"))["open"] == 0


async def _call_webhooks(calls: Calls) -> None:
    """Nothing is posted: the variable with the secret is not set."""
    asked = {"name": "orders", "url": "https://hooks.example.com/notify", "secret": "env:NO_SUCH_SECRET"}
    made = await calls.post("/webhooks/endpoints", asked, 201)
    assert (made["secret"], made["endpoint"]["secret"]) == (None, "env:NO_SUCH_SECRET")
    assert (await calls.post("/webhooks/endpoints", asked, 409))["code"] == "endpoint_exists"
    changed = await calls.served.put("/webhooks/endpoints/orders", {"clients": ["acme"]})
    calls._note(changed)
    assert (changed.status_code, changed.json()["clients"]) == (200, ["acme"])
    (row,) = (await calls.get("/webhooks/endpoints"))["endpoints"]
    assert (row["url"], row["health"]["state"], row["disabled"]) == (asked["url"], "closed", None)
    await calls.post("/webhooks/endpoints/orders/rotate", {"secret": "env:NO_OTHER_SECRET"})
    for act, was in (("disable", True), ("disable", False), ("enable", True), ("enable", False)):
        body = {"reason": "moves"} if act == "disable" else None
        assert (await calls.post(f"/webhooks/endpoints/orders/{act}", body))["changed"] is was
    assert (await calls.post("/webhooks/endpoints/orders/test", status=409))["code"] == "secret_unreadable"
    assert (await calls.get("/webhooks/deliveries"))["deliveries"] == []
    assert (await calls.post("/webhooks/deliveries/replay", {"endpoint": "orders"}))["found"] == 0
    assert (await calls.delete("/webhooks/endpoints/orders"))["changed"] is True
    assert (await calls.post("/webhooks/endpoints/orders/enable", status=404))["code"] == "unknown_endpoint"


def test_no_route_answers_a_mistake_of_the_client_as_one_of_the_server() -> None:
    of_the_store = (BrokerError, ResultTimeout, StackUnanswered)
    for route in ROUTES:
        wrong = [error for error in route.errors if status_of(error) >= 500 and not issubclass(error, of_the_store)]
        assert not wrong, (route.path, wrong)
