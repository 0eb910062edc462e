"""POST /lease: waits, repeats, connections that are cut, and a server that stops."""

import asyncio
import contextlib
from typing import Self

import pytest

from tenure import Tenure
from tenure.client.operations.messages import MessageQuery
from tenure.config import Settings
from tenure.event import Event
from tenure.message import MessageState
from tenure.server.application import Application
from tenure.server.principal import AccessScope
from tenure.testing.virtual import VirtualClock

from ..asking import bearer, new_token, serving  # noqa: TID252 - the helpers of the folder above
from .consuming import Connection, Consumer

QUEUE = "acme-tasks"


@pytest.fixture
def app(virtual_clock: VirtualClock) -> Tenure:
    app = Tenure("memory://", clock=virtual_clock, client="acme")

    @app.task
    async def resize(n: int) -> None:
        """Worked on by others."""

    return app


class Served:
    """A server and a consumer of it; entered by the plugin, in the time of its clock."""

    application: Application
    consumer: Consumer

    def __init__(self, app: Tenure) -> None:
        self.clock = app.clock
        self._app = app
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        self.application, client = await self._stack.enter_async_context(serving(self._app))
        self.consumer = Consumer(client, QUEUE)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()


@pytest.fixture
def served(app: Tenure) -> Served:
    return Served(app)


async def send(app: Tenure, *payloads: object, queue: str = QUEUE) -> list[str]:
    return [(await app.submit("resize", {"n": one}, queue=queue)).id for one in payloads]


async def test_a_request_waits_for_a_message_and_no_longer(app: Tenure, served: Served) -> None:
    consumer = served.consumer
    began = app.clock.monotonic()
    assert await consumer.lease(1, wait=7) == []
    assert app.clock.monotonic() - began == pytest.approx(7, abs=0.5)
    waiting = asyncio.create_task(consumer.lease(5, wait=20))
    await asyncio.sleep(11)
    ids = await send(app, 1)
    assert [one["id"] for one in await waiting] == ids
    assert app.clock.monotonic() - began == pytest.approx(18, abs=0.5)


async def test_a_repeat_gets_the_same_leases(app: Tenure, served: Served) -> None:
    consumer = served.consumer
    await send(app, 1, 2, 3)
    first = await consumer.lease(2, request_id="r1")
    again = await consumer.lease(2, request_id="r1")
    assert [(one["id"], one["token"]) for one in again] == [(one["id"], one["token"]) for one in first]
    other = await consumer.lease(2, request_id="r2")
    assert {one["payload"]["n"] for one in other} == {3}
    assert await consumer.say("ack", [*first, *other]) == ["deleted"] * 3


async def test_a_repeat_to_another_server_gets_the_same_messages(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (_, client), serving(app) as (_, second):
        consumer, other = Consumer(client, QUEUE), Consumer(second, QUEUE)
        await send(app, 1, 2)
        first = await consumer.lease(2, request_id="r1")
        again = await other.lease(2, request_id="r1")
        assert [one["id"] for one in again] == [one["id"] for one in first]
        assert await other.say("ack", again[:1]) == ["deleted"]
        assert await consumer.say("ack", first[1:]) == ["deleted"]


async def test_a_repeat_that_comes_while_the_first_still_waits_takes_its_place(app: Tenure, served: Served) -> None:
    application, consumer = served.application, served.consumer
    body = consumer.body(1, wait=20, request_id="r1")
    first = Connection(application, "/lease", body)
    await asyncio.sleep(3)
    again = Connection(application, "/lease", body)
    assert (await first.ended()).messages == []
    (id,) = await send(app, 1)
    assert [one["id"] for one in (await again.ended()).messages] == [id]


async def test_a_client_that_leaves_while_it_waits_gets_nothing(app: Tenure, served: Served) -> None:
    application, consumer = served.application, served.consumer
    gone = Connection(application, "/lease", consumer.body(1, wait=20))
    await asyncio.sleep(3)
    gone.cut()
    await gone.ended()
    (id,) = await send(app, 1)
    (leased,) = await consumer.lease(1)
    assert (leased["id"], leased["deliveries"]) == (id, 1)


async def test_what_was_leased_for_a_client_that_left_is_given_back_uncounted(
    app: Tenure, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    application, consumer = served.application, served.consumer
    (id,) = await send(app, 1)
    lease = app.broker.lease
    gone: list[Connection] = []

    async def slow(request: object) -> object:
        found = await lease(request)  # type: ignore[arg-type]
        if not gone[0].is_written:
            gone[0].cut()
            await asyncio.sleep(0.01)
        return found

    monkeypatch.setattr(app.broker, "lease", slow)
    gone.append(Connection(application, "/lease", consumer.body(1, request_id="r1")))
    await gone[0].ended()
    assert not gone[0].is_written
    monkeypatch.undo()
    record = await app.record(id)
    assert record is not None
    assert (record.state, record.counters.attempts, record.counters.lost) == (MessageState.READY, 0, 0)
    (leased,) = await consumer.lease(1)
    assert (leased["id"], leased["attempt"]) == (id, 1)


async def test_a_request_that_is_cancelled_gives_back_what_it_leases_later(
    app: Tenure, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    application, consumer = served.application, served.consumer
    (id,) = await send(app, 1)
    lease, is_leasing = app.broker.lease, asyncio.Event()

    async def slow(request: object) -> object:
        is_leasing.set()
        await asyncio.sleep(1)
        return await lease(request)  # type: ignore[arg-type]

    monkeypatch.setattr(app.broker, "lease", slow)
    connection = Connection(application, "/lease", consumer.body(1))
    await is_leasing.wait()
    connection.running.cancel()
    await asyncio.sleep(2)
    monkeypatch.undo()
    record = await app.record(id)
    assert record is not None
    assert (record.state, record.counters.attempts, record.counters.lost) == (MessageState.READY, 0, 0)


async def test_a_wait_ends_when_the_server_stops(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (application, client):
        consumer = Consumer(client, QUEUE)
        waiting = asyncio.create_task(consumer.lease(1, wait=20))
        await asyncio.sleep(1)
        began = app.clock.monotonic()
        application.server.stopping.set()
        assert await waiting == []
        assert app.clock.monotonic() - began < 1


async def test_ten_consumers_of_one_token_share_the_work(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (application, client):
        token = await new_token(application, AccessScope.CONSUME, queues=["acme-*"])
        ids = await send(app, *range(100))
        consumers = [Consumer(client, QUEUE, f"c{number}", **bearer(token)) for number in range(10)]
        found: list[str] = []

        async def work(consumer: Consumer) -> None:
            while leased := await consumer.lease(3, request_id=f"{consumer.name}-{len(found)}"):
                found.extend(one["id"] for one in leased)
                assert set(await consumer.say("ack", leased)) == {"deleted"}

        await asyncio.gather(*map(work, consumers))
        assert sorted(found) == sorted(ids)
        owners = {row.message_id: row.owner for row in await _completed(app)}
        id = token.split("_")[1]
        assert set(owners) == set(ids)
        assert {one for one in owners.values() if one is not None} <= {f"http:{id}/c{number}" for number in range(10)}


async def _completed(app: Tenure) -> list[Event]:
    await asyncio.sleep(1)
    return [one.event for one in await app.state.journal.read(0, 1000) if one.event.kind == "completed"]


async def test_a_proxy_that_cuts_every_long_poll_costs_nothing(app: Tenure, served: Served) -> None:
    """For ten minutes: before the answer, in the middle of a lease, and after the answer was written."""
    application, consumer = served.application, served.consumer
    ids: list[str] = []
    polls = 0
    until = app.clock.monotonic() + 600
    request_id, leased = "r0", 0
    while app.clock.monotonic() < until:
        connection = Connection(application, "/lease", consumer.body(2, wait=20, request_id=request_id))
        if polls % 4 == 0:
            ids += await send(app, polls)
        # After 0 to 3 seconds, wherever the request is by then. What was written by then is lost in the proxy.
        await asyncio.sleep(polls % 4 + (polls % 7) * 0.001)
        connection.cut()
        await connection.ended()
        polls += 1
        if not connection.is_written:
            request_id = f"r{polls}"  # a client may make a new one: nothing was leased for the old one
        else:
            leased += 1
    assert (polls > 300, leased > 30) == (True, True)
    found: dict[str, int] = {}
    # The proxy is repaired: the client gets what was leased for its last request, and goes on.
    some = await consumer.lease(2, request_id=request_id)
    found |= {one["id"]: one["attempt"] for one in some}
    assert set(await consumer.say("ack", some)) == {"deleted"}
    while some := await consumer.lease(50, wait=5):
        found |= {one["id"]: one["attempt"] for one in some}
        assert set(await consumer.say("ack", some)) == {"deleted"}
    assert found == dict.fromkeys(ids, 1)
    for id in ids:
        record = await app.record(id)
        assert record is not None
        assert (record.state, record.counters.lost, record.counters.attempts) == (MessageState.COMPLETED, 0, 0)
    assert (await app.operate.messages(MessageQuery(states=(MessageState.DEAD,)))).messages == ()


@pytest.mark.parametrize("touches", [False, True])
async def test_a_lease_that_lapses_is_lost_without_a_touch_and_failed_with_one(
    app: Tenure, served: Served, *, touches: bool
) -> None:
    consumer = served.consumer
    (id,) = await send(app, 1)
    for number in range(1, 4):
        leased = await consumer.lease_one(wait=20)
        if touches:
            assert await consumer.say("touch", [leased]) == ["held"]
        await asyncio.sleep(45)
        record = await app.record(id)
        assert record is not None
        counters = record.counters
        assert (counters.attempts, counters.lost) == ((number, 0) if touches else (0, number))
        is_dead = touches and number == 3
        assert record.state is (MessageState.DEAD if is_dead else MessageState.READY)


async def test_a_paused_queue_gives_nothing_and_goes_on_when_it_is_resumed(app: Tenure, served: Served) -> None:
    consumer = served.consumer
    (id,) = await send(app, 1)
    await app.operate.pause(QUEUE)
    await asyncio.sleep(2)
    assert await consumer.lease(1, wait=3) == []
    waiting = asyncio.create_task(consumer.lease(1, wait=20))
    await asyncio.sleep(2)
    await app.operate.resume(QUEUE)
    assert [one["id"] for one in await waiting] == [id]


async def test_a_limit_is_kept(app: Tenure, served: Served) -> None:
    consumer = served.consumer
    await send(app, *range(5))
    await app.operate.limit(QUEUE, running=2)
    await asyncio.sleep(2)
    held = await consumer.lease(5)
    assert len(held) == 2
    assert await consumer.lease(5) == []
    assert await consumer.say("ack", held) == ["deleted"] * 2
    assert len(await consumer.lease(5)) == 2


@pytest.mark.parametrize("queue", ["acme-tasks", "*-tasks"])
async def test_the_quota_of_every_client_is_kept(virtual_clock: VirtualClock, queue: str) -> None:
    app = Tenure("memory://", clock=virtual_clock, settings=Settings(quota_running=2))
    async with serving(app) as (_, client):
        consumer = Consumer(client, queue)
        entries = [{"queue": "acme-tasks", "task": "resize", "payload": number} for number in range(5)]
        await consumer.post("/messages", {"messages": entries})
        await asyncio.sleep(2)
        held = await consumer.lease(5)
        assert len(held) == 2
        assert await consumer.lease(5) == []
        assert await consumer.say("ack", held[:1]) == ["deleted"]
        assert len(await consumer.lease(5)) == 1


async def test_waits_are_bounded_and_one_too_many_is_answered_at_once(app: Tenure, served: Served) -> None:
    application, consumer = served.application, served.consumer
    application.server.waiting.most = 2
    waiting = [asyncio.create_task(consumer.lease(1, wait=20)) for _ in range(2)]
    await asyncio.sleep(1)
    began = app.clock.monotonic()
    assert await consumer.lease(1, wait=20) == []
    assert app.clock.monotonic() - began < 1
    await asyncio.gather(*waiting)


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"want": 0}, "request_invalid"),
        ({"want": 1001}, "request_invalid"),
        ({"wait": 20.1}, "request_invalid"),
        ({"queues": []}, "request_invalid"),
        ({"queues": ["a b"]}, "bad_argument"),
        ({"queues": ["webhooks"]}, "bad_argument"),
        ({"consumer": "a/b"}, "request_invalid"),
        ({"request_id": ""}, "request_invalid"),
        ({"lease_seconds": 0}, "request_invalid"),
        ({"colour": "red"}, "request_invalid"),
    ],
)
async def test_what_makes_no_sense_is_refused(served: Served, wrong: dict[str, object], code: str) -> None:
    consumer = served.consumer
    assert (await consumer.post("/lease", {**consumer.body(), **wrong}, 422))["code"] == code
