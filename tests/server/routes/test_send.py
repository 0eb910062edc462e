"""POST /messages: one outcome for each entry, payloads exactly as given, repeats that store nothing twice."""

import base64
from collections.abc import Sequence
from typing import Any

import httpx
import msgspec
import pytest

from tenure import Tenure, envelope
from tenure.broker import Sent
from tenure.errors import BrokerUnavailable
from tenure.message import Outgoing
from tenure.server.principal import AccessScope
from tenure.testing.virtual import VirtualClock

from ..asking import bearer, new_token, serving  # noqa: TID252 - the helpers of the folder above
from .described import check_answer

PATH = "/api/v1/messages"


@pytest.fixture
def app(virtual_clock: VirtualClock) -> Tenure:
    return Tenure("memory://", clock=virtual_clock)


def entry(**more: Any) -> dict[str, Any]:
    return {"queue": "acme-tasks", "task": "resize", "payload": {}, **more}


async def send(client: httpx.AsyncClient, *entries: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    response = await client.post(PATH, json={"messages": list(entries)}, **more)
    assert response.status_code == 200, response.text
    check_answer(response)
    found: list[dict[str, Any]] = response.json()["messages"]
    return found


async def body_of(app: Tenure, id: str) -> bytes:
    record = await app.record(id)
    assert record is not None
    assert record.envelope is not None
    return bytes(envelope.decode(record.envelope).body)


@pytest.mark.parametrize(
    "text",
    ['{"n": 12345678901234567890123,  "x": 1.10, "e": 1e400}', '"a\\u00e9 \\u0041"', "[1,2 ,3]", "null", '"日本 🦆"'],
)
async def test_a_payload_is_stored_exactly_as_it_was_given(app: Tenure, text: str) -> None:
    async with serving(app) as (_, client):
        raw = text.encode()
        body = b'{"messages": [{"queue": "q", "task": "t", "payload": ' + raw + b"}]}"
        first = (await client.post(PATH, content=body, headers={"Content-Type": "application/json"})).json()
        (second,) = await send(client, {"queue": "q", "task": "t", "payload_base64": base64.b64encode(raw).decode()})
        assert await body_of(app, first["messages"][0]["id"]) == raw
        assert await body_of(app, second["id"]) == raw


async def test_every_option_reaches_the_message(app: Tenure) -> None:
    async with serving(app) as (_, client):
        now = app.clock.wall()
        options = {
            "id": "my-id", "priority": 9, "delay_seconds": 60, "expires_seconds": 3600, "key": "k", "unique": "u",
            "unique_window_seconds": 60, "lease_seconds": 10, "max_attempts": 7, "max_hold_seconds": 100,
            "headers": {"a": "b"}, "correlation_id": "c",
        }  # fmt: skip
        (sent,) = await send(client, entry(**options))
        assert sent["id"] == "my-id"
        record = await app.record("my-id")
        assert record is not None
        assert record.envelope is not None
        message = envelope.decode(record.envelope)
        assert (message.priority, message.key, message.headers, message.correlation_id) == (9, "k", {"a": "b"}, "c")
        assert message.expires_at == pytest.approx(now + 3600, abs=1)
        assert record.due_in == pytest.approx(60, abs=1)
        overrides = message.overrides
        assert (overrides.lease_seconds, overrides.max_attempts, overrides.max_hold_seconds) == (10, 7, 100)


async def test_moments_are_rfc_3339(app: Tenure) -> None:
    async with serving(app) as (_, client):
        (sent, naive) = await send(client, entry(at="2200-01-31T09:00:00+01:00"), entry(at="2200-01-31T09:00:00"))
        assert sent["outcome"] == "refused"  # over ten years ahead
        assert "ten years" in sent["detail"]
        assert (naive["outcome"], naive["code"]) == ("refused", "bad_argument")
        assert "no time zone" in naive["detail"]


async def test_one_that_is_refused_does_not_hold_up_the_others(app: Tenure) -> None:
    async with serving(app) as (_, client):
        told = await send(
            client, entry(), entry(priority=12), entry(queue="no queue"), entry(id=" x"),
            entry(payload_base64="bnVsbA=="), {"queue": "q", "task": "t"},
            {"queue": "q", "task": "t", "payload_base64": "e3t7"},
            entry(expires_seconds=5, expires_at="2030-01-01T00:00:00Z"), entry(task=""), entry(),
        )  # fmt: skip
        assert [one["outcome"] for one in told] == ["sent", *["refused"] * 8, "sent"]
        assert [one["code"] for one in told[1:-1]] == [*["bad_argument"] * 5, "payload_invalid", *["bad_argument"] * 2]
        for one in told[1:-1]:
            assert any(
                end in one["detail"].lower() for end in ("nothing was sent", "not stored", "nothing was changed")
            ), one
        assert len({told[0]["id"], told[-1]["id"]}) == 2


@pytest.mark.parametrize(
    ("body", "field"),
    [('{"messages": []}', "messages"), ("{}", "body"), ('{"messages": [{"queue": "q"}]}', "messages[0]"),
     ('{"messages": [{"queue": "q", "task": "t", "payload": 1, "proirity": 3}]}', "messages[0]"),
     ('{"messages": [{"queue": "q", "task": "t", "payload": 1, "priority": "high"}]}', "messages[0].priority"),
     ('{"messages": [{"queue": "q", "task": "t", "payload": {]}', "body"), ('{"messages"', "body")],
)  # fmt: skip
async def test_what_has_not_the_right_form_is_refused_as_a_whole(app: Tenure, body: str, field: str) -> None:
    async with serving(app) as (_, client):
        response = await client.post(PATH, content=body, headers={"Content-Type": "application/json"})
        check_answer(response)
        problem = response.json()
        assert (response.status_code, problem["code"]) == (422, "request_invalid")
        assert problem["field"].replace("[...]", "[0]") == field
        assert [depth.ready for depth in await app.broker.depth()] == []


async def test_too_many_entries_are_refused(app: Tenure) -> None:
    async with serving(app) as (_, client):
        response = await client.post(PATH, json={"messages": [entry()] * 1_001})
        assert (response.status_code, response.json()["code"]) == (422, "request_invalid")
        assert len(await send(client, *[entry()] * 1_000)) == 1_000


async def test_a_repeat_with_the_same_idempotency_key_stores_nothing_twice(app: Tenure) -> None:
    async with serving(app) as (_, client):
        headers = {"Idempotency-Key": "order 17"}
        first = await send(client, entry(), entry(id="own"), entry(), headers=headers)
        again = await send(client, entry(), entry(id="own"), entry(), headers=headers)
        assert [one["id"] for one in first] == ["order 17:0", "own", "order 17:2"]
        assert [one["outcome"] for one in first] == ["sent"] * 3
        assert [one["outcome"] for one in again] == ["duplicate"] * 3
        assert [one["id"] for one in again] == [one["id"] for one in first]
        for bad in ("", "x" * 201):
            response = await client.post(PATH, json={"messages": [entry()]}, headers={"Idempotency-Key": bad})
            assert (response.status_code, response.json()["field"]) == (422, "Idempotency-Key")


async def test_a_queue_that_is_not_theirs_does_not_exist_whether_it_does_or_not(app: Tenure) -> None:
    async with serving(app) as (served, client):
        token = await new_token(served, AccessScope.SEND, AccessScope.ADMIN, queues=["acme-*"])
        all_of_them = await new_token(served)
        await send(client, entry(queue="other", id="taken", key="k"), headers=bearer(all_of_them))
        told = await send(
            client,
            entry(queue="other"),
            entry(queue="nowhere"),
            entry(id="taken"),
            entry(id="free"),
            headers=bearer(token),
        )
        assert [one["outcome"] for one in told] == ["refused", "refused", "refused", "sent"]
        assert told[0]["code"] == told[1]["code"] == "unknown_queue"
        assert told[0]["detail"].replace("other", "nowhere") == told[1]["detail"]
        assert told[2]["id"] is None


async def test_a_client_has_its_own_queue(app: Tenure) -> None:
    async with serving(app) as (_, client):
        mine = {"task": "resize", "payload": 1}
        told = await send(
            client, {**mine, "client": "demo"}, {**mine, "queue": "demo-tasks"}, {**mine, "queue": "own"}, mine,
            {**mine, "queue": "own", "client": "demo"}, {**mine, "client": "Demo"},
        )  # fmt: skip
        assert [one["outcome"] for one in told] == [*["sent"] * 5, "refused"]
        assert told[5]["code"] == "bad_argument"
        places = []
        for one in told[:5]:
            record = await app.record(one["id"])
            assert record is not None
            assert record.envelope is not None
            places.append((envelope.decode(record.envelope).client, record.queue))
        own = (app.client, f"{app.client}-tasks")
        assert places == [("demo", "demo-tasks"), ("demo", "demo-tasks"), (app.client, "own"), own, ("demo", "own")]


async def test_a_token_names_only_clients_whose_queues_it_sees(app: Tenure) -> None:
    async with serving(app) as (served, client):
        token = bearer(await new_token(served, AccessScope.SEND, queues=["acme-tasks"]))
        mine = {"task": "resize", "payload": 1}
        told = await send(
            client, {**mine, "client": "demo"}, {**mine, "client": "demo", "queue": "acme-tasks"},
            {**mine, "client": "nobody", "queue": "acme-tasks"}, {**mine, "client": "acme"}, headers=token,
        )  # fmt: skip
        assert [one["outcome"] for one in told] == ["refused", "refused", "refused", "sent"]
        assert told[1]["code"] == told[2]["code"] == "unknown_queue"
        assert told[1]["detail"].replace("demo", "nobody") == told[2]["detail"]


async def test_an_outage_in_the_middle_is_told_by_entry(app: Tenure, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(app) as (_, client):
        limit, calls = app.broker.traits.batch_limit, 0
        traits = app.broker.traits
        real = app.broker.send

        async def send_once(batch: Sequence[Outgoing]) -> list[Sent]:
            nonlocal calls
            calls += 1
            if calls == 2:
                msg = "store at /secret/place is away"
                raise BrokerUnavailable(msg, outcome_unknown=True)
            return await real(batch)

        monkeypatch.setattr(app.broker, "send", send_once)
        if limit >= 1_000:
            monkeypatch.setattr(
                type(app.broker), "traits", property(lambda _: msgspec.structs.replace(traits, batch_limit=2))
            )
            limit = 2
        told = await send(client, *[entry()] * (2 * limit + 1))
        assert [one["outcome"] for one in told] == ["sent"] * limit + ["failed"] * (limit + 1)
        assert [one["outcome_unknown"] for one in told[limit:]] == [True] * limit + [False]
        assert "secret" not in str(told)
        calls = 1  # the first batch fails: nothing was sent, as far as is known
        response = await client.post(PATH, json={"messages": [entry()]})
        assert (response.status_code, response.json()["outcome_unknown"]) == (503, True)
        assert response.headers["retry-after"]
