"""Settling over HTTP: retries, refusals, outages, and leases that have ended."""

import asyncio
from typing import Any

import pytest

from tenure import Tenure
from tenure.config import Settings
from tenure.errors import BrokerUnavailable
from tenure.message import MessageState
from tenure.rules.shared_samples import MANY, shared_queue
from tenure.sample import Ended
from tenure.server.principal import AccessScope
from tenure.testing.virtual import VirtualClock

from ..asking import bearer, new_token, serving  # noqa: TID252 - the helpers of the folder above
from .consuming import Consumer, Leased

QUEUE = "acme-tasks"


@pytest.fixture
def app(virtual_clock: VirtualClock) -> Tenure:
    app = Tenure("memory://", clock=virtual_clock, client="acme", settings=Settings(result_limit=100))

    @app.task(max_attempts=2, retry_delay=7)
    async def resize(n: int) -> None:
        """Worked on by others."""

    return app


async def lease_one(app: Tenure, consumer: Consumer, **options: Any) -> Leased:
    await app.submit("resize", {"n": 1}, **options)
    return await consumer.lease_one()


async def test_retries_go_by_the_tasks_policy(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (_, client):
        consumer = Consumer(client, QUEUE)
        leased = await lease_one(app, consumer)
        began = app.clock.monotonic()
        assert await consumer.say("nack", [leased], reason="no disk", error="OSError") == ["returned"]
        last = await consumer.lease_one()
        assert 3 <= app.clock.monotonic() - began <= 8
        assert await consumer.say("nack", [last], reason="no disk", error="OSError") == ["dead"]
        record = await app.record(last["id"])
        assert record is not None
        assert record.reason is not None
        assert (record.reason.code, record.reason.error) == ("max_attempts", "OSError")


async def test_a_messages_own_limit_counts(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (_, client):
        consumer = Consumer(client, QUEUE)
        leased = await lease_one(app, consumer, max_attempts=1)
        assert await consumer.say("nack", [leased]) == ["dead"]


async def test_one_that_is_refused_does_not_hold_up_the_others(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (_, client):
        consumer = Consumer(client, QUEUE)
        good, large = await lease_one(app, consumer), await lease_one(app, consumer)
        entries = [
            {"token": "tnl_none"},
            {"token": large["token"], "result": "x" * 200},
            {"token": good["token"], "result": 1},
            {"token": good["token"], "result": 2},
        ]
        told = (await consumer.post("/leases/ack", {"leases": entries}))["leases"]
        assert [(one["outcome"], one["code"]) for one in told] == [
            ("refused", "lease_token_invalid"), ("refused", "result_too_large"), ("deleted", None),
            ("already_gone", None),
        ]  # fmt: skip
        assert await app.handle(good["id"]).result(timeout=1) == 1
        assert await consumer.say("ack", [large]) == ["deleted"]


async def test_a_lease_that_has_ended_changes_nothing(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (_, client):
        consumer, other = Consumer(client, QUEUE), Consumer(client, QUEUE, "c2")
        leased = await lease_one(app, consumer)
        await asyncio.sleep(45)
        assert await consumer.say("touch", [leased]) == ["lost"]
        assert await consumer.say("ack", [leased]) == ["already_gone"]
        taken = await other.lease_one()
        assert await consumer.say("nack", [leased]) == ["taken_over"]
        one = f"/messages/{leased['id']}"
        assert (await consumer.post(f"{one}/ack", {"token": leased["token"]}, 409))["code"] == "taken_over"
        assert (await consumer.post(f"{one}/touch", {"token": leased["token"]}, 409))["code"] == "lease_lost"
        assert await other.say("ack", [taken]) == ["deleted"]
        assert (await consumer.post(f"{one}/ack", {"token": leased["token"]}, 410))["code"] == "already_gone"


async def test_a_cancelled_message_is_told_so(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (_, client):
        consumer = Consumer(client, QUEUE)
        leased = await lease_one(app, consumer)
        await app.operate.cancel([leased["id"]])
        assert await consumer.say("touch", [leased]) == ["cancelled"]
        assert await consumer.say("ack", [leased]) == ["cancelled"]
        one, said = f"/messages/{leased['id']}", {"token": leased["token"]}
        for verb in ("touch", "ack"):
            assert (await consumer.post(f"{one}/{verb}", said, 409))["code"] == "message_cancelled"


@pytest.mark.parametrize("key", [None, "k"])
async def test_an_outage_is_told_and_the_same_request_repeated(
    virtual_clock: VirtualClock, app: Tenure, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    async with serving(app) as (_, client):
        consumer = Consumer(client, QUEUE)
        leased = await lease_one(app, consumer, **({} if key is None else {"key": key}))

        async def away(*_: object) -> None:
            msg = "the store is away"
            raise BrokerUnavailable(msg, outcome_unknown=True)

        for verb in ("ack", "touch"):
            monkeypatch.setattr(app.broker, verb, away)
        (told,) = await consumer.say_all("ack", [leased], result=1)
        assert (told["outcome"], told["code"], told["outcome_unknown"]) == ("failed", "broker_unavailable", True)
        assert await consumer.say("touch", [leased]) == ["uncertain"]
        problem = await consumer.post(f"/messages/{leased['id']}/ack", {"token": leased["token"]}, 503)
        assert problem["code"] == "broker_unavailable"
        monkeypatch.undo()
        assert await consumer.say("ack", [leased], result=1) == ["deleted"]
        assert await app.handle(leased["id"]).result(timeout=1) == 1


async def test_a_token_of_a_queue_that_the_caller_does_not_see_is_none(
    virtual_clock: VirtualClock, app: Tenure
) -> None:
    async with serving(app) as (application, client):
        mine = await new_token(application, AccessScope.CONSUME, AccessScope.SEND, queues=["acme-*"])
        theirs = await new_token(application, AccessScope.CONSUME, queues=["umbrella-*"])
        consumer, other = Consumer(client, QUEUE, **bearer(mine)), Consumer(client, QUEUE, **bearer(theirs))
        leased = await lease_one(app, consumer)
        assert (await other.post("/lease", other.body(), 404))["code"] == "unknown_queue"
        for verb in ("touch", "ack", "nack", "give-back", "dead-letter"):
            (told,) = await other.say_all(verb, [leased])
            assert (told["id"], told["outcome"], told["code"]) == (None, "refused", "lease_token_invalid")
        record = await app.record(leased["id"])
        assert record is not None
        assert (record.state, record.owner) == (MessageState.LEASED, f"http:{mine.split('_')[1]}/c1")
        assert await consumer.say("ack", [leased]) == ["deleted"]


async def test_consumers_are_counted_with_the_workers(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (application, client):
        consumer = Consumer(client, QUEUE)
        for number in range(6):
            leased = await lease_one(app, consumer)
            await asyncio.sleep(2)
            verb, more = ("ack", {}) if number < 4 else ("dead-letter", {"reason": "no PNG"})
            await consumer.say(verb, [leased], **more)
        assert application.server.housekeeping is not None
        application.server.housekeeping.statistics.take()
        total = application.server.housekeeping.statistics.total()
        counts = {key: one.count for key, one in total.items()}
        assert counts == {(QUEUE, "resize", "completed"): 4, (QUEUE, "resize", "dead"): 2}
        done = total[QUEUE, "resize", "completed"]
        assert done.seconds == pytest.approx(8, abs=0.1)
        await asyncio.sleep(2)
        events = [one.event for one in await app.state.journal.read(0, 100)]
        assert [event.kind for event in events] == ["completed"] * 4 + ["dead"] * 2
        assert {event.owner for event in events} == {"http:loopback/c1"}


async def test_how_long_consumers_took_is_learned_by_workers(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (_, client):
        consumer = Consumer(client, QUEUE)
        for verb in ("ack", "nack", "ack"):
            leased = await lease_one(app, consumer)
            await asyncio.sleep(2)
            await consumer.say(verb, [leased])
        await asyncio.sleep(1.5)
        kept = [one.sample for one in await app.state.journal.samples(QUEUE, "resize")]
        assert [one.seconds for one in kept] == pytest.approx([2, 2], abs=0.1)
        assert {(one.ended, one.hardware) for one in kept} == {(Ended.COMPLETED, "")}  # on any machine
        await consumer.say("ack", [await lease_one(app, consumer)])
    assert len(await app.state.journal.samples(QUEUE, "resize")) == 3  # written when the server stops


async def test_samples_of_consumers_of_many_queues_are_kept_together(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (_, client):
        for number in range(MANY + 1):
            await app.submit("resize", {"n": 1}, client=f"c{number}")
            consumer = Consumer(client, f"c{number}-tasks")
            assert await consumer.say("ack", [await consumer.lease_one()]) == ["deleted"]
    last = f"c{MANY}-tasks"
    assert await app.state.journal.samples(last, "resize") == []
    assert await app.state.journal.samples(shared_queue(last), "resize") != []


async def test_consumers_are_listed_with_what_they_hold_and_do(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (application, client):
        mine = await new_token(application, AccessScope.CONSUME, AccessScope.READ, queues=["acme-*"])
        theirs = await new_token(application, AccessScope.CONSUME, AccessScope.READ, queues=["umbrella-*"])
        id = mine.split("_")[1]
        consumer = Consumer(client, QUEUE, "shop-1", **bearer(mine))
        for number in range(3):
            verb = "ack" if number else "dead-letter"
            assert await consumer.say(verb, [await lease_one(app, consumer)])
        held = await lease_one(app, consumer)
        await asyncio.sleep(6)
        (row,) = (await client.get("/api/v1/workers", headers=bearer(mine))).json()["consumers"]
        assert {key: row[key] for key in ("id", "name", "token", "queues", "holds")} == {
            "id": f"http:{id}/shop-1", "name": "shop-1", "token": id, "queues": [QUEUE],
            "holds": [{"id": held["id"], "queue": QUEUE, "task": "resize"}],
        }  # fmt: skip
        assert row["rate_per_minute"] == 3 * row["errors_per_minute"] > 0
        assert 0 < row["silent_seconds"] < 10
        assert (await client.get("/api/v1/workers", headers=bearer(theirs))).json()["consumers"] == []
        await consumer.say("ack", [held])
        await asyncio.sleep(150)
        assert (await app.operate.workers()).consumers == ()
    async with serving(app) as (_, client):
        consumer = Consumer(client, QUEUE, "shop-1", **bearer(mine))
        await lease_one(app, consumer)
    (left,) = (await app.operate.workers()).consumers
    assert (left.name, left.queues, len(left.holds), left.silent_seconds) == ("shop-1", (QUEUE,), 1, None)
