"""The whole life of a message over HTTP, on every kind of store; by another server and after a restart too."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.cli.places import CLOUDS, PLACES, Place, place_for

from tenure import Tenure
from tenure.errors import NoResult
from tenure.message import MessageState

from ..asking import serving  # noqa: TID252 - the helpers of the folder above
from .consuming import Consumer, Leased

pytestmark = pytest.mark.real_time

QUEUE = "acme-tasks"
_KINDS = [pytest.param(kind, marks=pytest.mark.cloud if kind in CLOUDS else ()) for kind in PLACES]


#: All but one whose store ends with its process, and the second opinion on SQS.
LASTING = [
    pytest.param(kind, marks=pytest.mark.cloud if kind in CLOUDS else ())
    for kind in PLACES
    if kind not in ("memory", "fauxqs")
]


@pytest.fixture(params=_KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return place_for(request.param, tmp_path, monkeypatch)


@contextlib.asynccontextmanager
async def consuming(place: Place, name: str = "c1") -> AsyncIterator[tuple[Tenure, Consumer]]:
    """A server of its own, without the code of any task, and a consumer of it."""
    app = Tenure(place.url, client="acme")
    async with serving(app) as (_, client):
        yield app, Consumer(client, QUEUE, name)


async def send(consumer: Consumer, *payloads: object, **options: object) -> list[str]:
    entries = [{"queue": QUEUE, "task": "resize", "payload": one, **options} for one in payloads]
    sent = (await consumer.post("/messages", {"messages": entries}))["messages"]
    assert {one["outcome"] for one in sent} == {"sent"}
    return [one["id"] for one in sent]


async def test_each_way_to_end_a_message(place: Place) -> None:
    async with consuming(place) as (app, consumer):
        ids = await send(consumer, {"n": 1}, {"n": 2}, {"n": 3}, {"n": 4})
        leased: dict[str, Leased] = {}
        while len(leased) < len(ids):
            leased |= {one["id"]: one for one in await consumer.lease(4, wait=5, lease_seconds=60)}
        done, failed, back, dead = (leased[id] for id in ids)
        assert (done["task"], done["payload"], done["attempt"]) == ("resize", {"n": 1}, 1)
        assert 50 < done["expires_in_seconds"] <= 60
        (touched,) = await consumer.say_all("touch", [done], progress={"fraction": 0.5, "note": "half"})
        assert touched["outcome"] == "held"
        # The store's clock may be a little ahead of the server's.
        assert 50 < touched["expires_in_seconds"] < 61
        assert (await app.handle(done["id"]).status()).progress.note == "half"  # type: ignore[union-attr]
        assert await consumer.say("ack", [done], result={"ok": True}) == ["deleted"]
        assert await consumer.say("nack", [failed], reason="no disk", error="OSError", delay_seconds=0) == ["returned"]
        assert await consumer.say("give-back", [back]) == ["returned"]
        assert await consumer.say("dead-letter", [dead], reason="no PNG", error="ValueError") == ["dead"]
        assert await app.handle(done["id"]).result(timeout=10) == {"ok": True}
        with pytest.raises(NoResult, match="no PNG"):
            await app.handle(dead["id"]).result(timeout=10)
        again: dict[str, Leased] = {}
        while len(again) < 2:
            again |= {one["id"]: one for one in await consumer.lease(4, wait=5, lease_seconds=60)}
        assert {id: one["attempt"] for id, one in again.items()} == {failed["id"]: 2, back["id"]: 1}
        # Tokens of leases that have ended change nothing.
        assert await consumer.say("ack", [done, failed, back, dead]) == [
            "already_gone", "taken_over", "taken_over", "already_gone"
        ]  # fmt: skip
        assert await consumer.say("touch", [done, failed]) == ["lost", "lost"]
        assert set(await consumer.say("ack", list(again.values()))) == {"deleted"}
        for id in (failed["id"], back["id"]):
            record = await app.record(id)
            assert record is not None
            assert record.state is MessageState.COMPLETED


@pytest.mark.parametrize("place", LASTING, indirect=True)
@pytest.mark.parametrize("key", [None, "order-17"])
async def test_a_token_is_good_at_another_server_and_after_a_restart(place: Place, key: str | None) -> None:
    more = {} if key is None else {"key": key}
    async with consuming(place) as (_, consumer):
        (id,) = await send(consumer, {"n": 1}, **more)
        leased = await consumer.lease_one(lease_seconds=60)
    async with consuming(place) as (app, consumer), consuming(place) as (_, second):
        assert await consumer.say("touch", [leased]) == ["held"]
        assert await second.say("touch", [leased]) == ["held"]
        assert await consumer.say("ack", [leased], result=[1]) == ["deleted"]
        assert await second.say("ack", [leased], result=[2]) == ["already_gone"]
        assert await app.handle(id).result(timeout=10) == [1]
        assert await second.lease(1) == []


@pytest.mark.parametrize("place", LASTING, indirect=True)
async def test_a_failed_attempt_is_counted_at_another_server_too(place: Place) -> None:
    async with consuming(place) as (app, consumer), consuming(place) as (_, second):
        (id,) = await send(consumer, {"n": 1}, max_attempts=2)
        first = await consumer.lease_one(lease_seconds=60)
        assert await second.say("nack", [first], reason="once", delay_seconds=0) == ["returned"]
        last = await second.lease_one(lease_seconds=60)
        assert last["attempt"] == 2
        assert await consumer.say("nack", [last], reason="twice") == ["dead"]
        record = await app.record(id)
        assert record is not None
        assert record.reason is not None
        assert (record.state, record.reason.code) == (MessageState.DEAD, "max_attempts")


@pytest.mark.parametrize("place", LASTING, indirect=True)
@pytest.mark.parametrize("key", [None, "order-18"])
async def test_a_repeat_at_another_server_gets_the_same_message(place: Place, key: str | None) -> None:
    more = {} if key is None else {"key": key}
    async with consuming(place) as (app, consumer), consuming(place) as (_, second):
        (id,) = await send(consumer, {"n": 1}, **more)
        leased = await consumer.lease_one(lease_seconds=60, request_id="r1")
        again = await second.lease(1, lease_seconds=60, request_id="r1")
        assert [(one["id"], one["payload"]) for one in again] == [(id, {"n": 1})]
        record = await app.record(id)
        assert record is not None
        assert record.state is MessageState.LEASED
        assert await consumer.say("touch", [leased]) == ["held"]
        assert await second.say("touch", again) == ["held"]
        assert await second.say("ack", again, result=1) == ["deleted"]
        # The same lease under the same claim: that it is done may be told to both, and the first result stands.
        assert await consumer.say("ack", [leased], result=2) in (["already_gone"], ["deleted"])
        assert await app.handle(id).result(timeout=10) == 1


@pytest.mark.parametrize("place", LASTING, indirect=True)
async def test_a_repeat_never_takes_a_large_answer_from_its_consumer(place: Place) -> None:
    """Its body does not fit into what is kept; where another server needs that, the lease is left as it is."""
    async with consuming(place) as (app, consumer), consuming(place) as (_, second):
        (id,) = await send(consumer, {"text": "x" * 40_000}, key="large")
        leased = await consumer.lease_one(lease_seconds=60, request_id="r1")
        again = await second.lease(1, lease_seconds=60, request_id="r1")
        assert [one["id"] for one in again] in ([], [id])
        record = await app.record(id)
        assert record is not None
        assert record.state is MessageState.LEASED
        assert await consumer.say("ack", [leased], result=1) == ["deleted"]
