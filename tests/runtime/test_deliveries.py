"""Deliveries beside a worker: real receivers on loopback, a real SQLite file, and no slot of users' tasks taken."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec
import pytest
from tests.webhooks.receivers import Receiver, answers, receiver, silent

from tenure import Context, Tenure
from tenure.client.operations.messages import MessageQuery
from tenure.config import Settings
from tenure.errors import BadArgument, BadTask, TaskFailed, WebhookRefused
from tenure.message import MessageState
from tenure.monitoring.metrics.sample import Times
from tenure.rules.reserved_queue import RESERVED_QUEUE
from tenure.webhooks import verify

pytestmark = pytest.mark.real_time

SETTINGS = Settings(webhook_allow=("127.0.0.1",), secret_key="k" * 32)


@pytest.fixture
def app(tmp_path: Path) -> Tenure:
    return Tenure(f"sqlite:///{tmp_path}/jobs.db", settings=SETTINGS)


@asynccontextmanager
async def registered(app: Tenure, name: str = "orders") -> AsyncGenerator[tuple[Receiver, str]]:
    """An open app, a receiver that says yes, and its secret."""
    async with app, receiver(answers(200)) as one:
        made = await app.operate.access.client.webhooks.endpoints.add(name, one.url)
        assert made.secret is not None
        yield one, made.secret


async def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - a receiver on another connection tells nobody
            await asyncio.sleep(0.02)


def tasks(one: Receiver) -> list[str]:
    return [msgspec.json.decode(request.body)["task_id"] for request in one.got]


async def test_an_ending_is_posted_and_signed(app: Tenure) -> None:
    @app.task
    async def double(x: int) -> int:
        return 2 * x

    async with registered(app) as (one, secret), app.worker():
        handle = await double.bind(4).submit(webhook="orders")
        await until(lambda: bool(one.got))
        (request,) = one.got
        verify(request.body, request.headers, secret)
        body = msgspec.json.decode(request.body)
        assert (body["task_id"], body["status"], body["result"], body["error"]) == (handle.id, "completed", 8, None)
    assert await _waiting(app) == []


async def test_a_worker_counts_what_it_announces_and_delivers(app: Tenure) -> None:
    @app.task
    async def work() -> None: ...

    async with registered(app) as (one, _), app.worker() as worker:

        def counted() -> dict[str, float]:
            return {
                " ".join((sample.metric, *sample.labels)): sample.value
                for sample in worker.metrics()
                if "webhook" in sample.metric or "announcement" in sample.metric
                if not isinstance(sample.value, Times)
            }

        for _ in range(3):
            await work.bind().submit(webhook="orders")
        expected = {
            "tenure_announcements_total": 3,
            "tenure_announcement_lanes_waiting": 0,
            "tenure_announcement_oldest_seconds": 0,
            "tenure_webhook_deliveries_total delivered": 3,
        }
        await until(lambda: counted() == expected)
        assert len(one.got) == 3


async def test_a_default_of_the_task_asks_and_one_submit_may_not(app: Tenure) -> None:
    @app.task(webhook="orders")
    async def work() -> None: ...

    async with registered(app) as (one, _), app.worker():
        quiet = await work.bind().submit(webhook=None)
        loud = await work.submit()
        await quiet.result(timeout=20)
        await until(lambda: bool(one.got))
    assert tasks(one) == [loud.id]


async def test_what_may_not_be_called_is_refused_before_anything_is_sent(app: Tenure) -> None:
    @app.task
    async def work() -> None: ...

    async with registered(app):
        for bad in ("nobody", "http://10.0.0.1/", "https://elsewhere.example.com/hook"):
            with pytest.raises(WebhookRefused, match="Nothing was sent"):
                await work.bind().submit(webhook=bad)
        with pytest.raises(BadArgument, match="neither the name"):
            await work.bind().submit(webhook="two words")
        assert (await app.operate.messages()).messages == ()


async def test_a_run_that_hands_on_to_a_webhook_that_may_not_be_called_fails(app: Tenure) -> None:
    @app.task
    async def second() -> None: ...

    @app.task(max_attempts=1)
    async def first(ctx: Context, webhook: str) -> None:
        ctx.submit(second.bind(), webhook=webhook)

    async with registered(app) as (one, _), app.worker():
        for bad in ("order", "https://elsewhere.example.com/hook"):
            handle = await first.submit(bad)
            with pytest.raises(TaskFailed):
                await handle.result(timeout=20)
            record = await app.record(handle.id)
            assert record is not None
            assert record.reason is not None
            assert "WebhookRefused: webhook=" in record.reason.text
        await (await first.submit("orders")).result(timeout=20)
        await until(lambda: bool(one.got))
        query = MessageQuery(task="second", states=(MessageState.COMPLETED,))
        assert tasks(one) == [message.id for message in (await app.operate.messages(query)).messages]


async def test_handlers_that_fill_every_slot_stop_no_delivery(app: Tenure) -> None:
    release = asyncio.Event()

    @app.task
    async def hold() -> None:
        await release.wait()

    @app.task
    async def work() -> None: ...

    async with registered(app) as (one, _), app.worker(concurrency=1):
        first = await work.bind().submit(webhook="orders")
        await first.result(timeout=20)
        await hold.submit()
        second = await hold.bind().submit(webhook="orders", delay=3600)
        assert await second.cancel()
        await until(lambda: len(one.got) == 2)
        release.set()
    assert set(tasks(one)) == {first.id, second.id}


async def test_another_worker_posts_what_a_killed_one_left(app: Tenure) -> None:
    @app.task
    async def work() -> None: ...

    async with registered(app) as (one, _):
        worker = app.worker()
        await worker.start()
        handle = await work.bind().submit(webhook="orders")
        await handle.result(timeout=20)
        await worker.abandon()
        async with app.worker():
            await until(lambda: bool(one.got), 60)
    assert set(tasks(one)) == {handle.id}
    assert len({request.headers["webhook-id"] for request in one.got}) == 1


async def test_a_delivery_whose_workers_died_again_and_again_is_posted_all_the_same(app: Tenure) -> None:
    @app.task
    async def work() -> None: ...

    async with registered(app) as (one, _):
        one.reply = silent
        handle = await work.bind().submit(webhook="orders")
        for deaths in range(1, 5):
            worker = app.worker()
            await worker.start()
            await until(partial(_has_got, one, deaths), 60)
            await worker.abandon()
            for member in await app.state.roster.members():
                await app.broker.retire(member.owner.id, crashed=True)
        one.reply = answers(200)
        async with app.worker():
            await until(lambda: len(one.got) == 5, 60)
    assert set(tasks(one)) == {handle.id}
    assert len({request.headers["webhook-id"] for request in one.got}) == 1


def _has_got(one: Receiver, count: int) -> bool:
    return len(one.got) == count


async def test_without_an_endpoint_nothing_is_started(app: Tenure) -> None:
    @app.task
    async def work() -> None: ...

    async with app:
        deliveries = app.deliveries()
        await deliveries.start()
        await asyncio.sleep(0.5)
        assert not deliveries.is_delivering
        await deliveries.stop()
        assert [member.owner.name for member in await app.state.roster.members()] == []


async def test_no_pattern_serves_the_reserved_queue_and_no_task_has_it(app: Tenure) -> None:
    with pytest.raises(BadTask, match="reserved"):
        app.task(queue=RESERVED_QUEUE)(_nothing)

    @app.task
    async def work() -> None: ...

    with pytest.raises(BadArgument, match="reserved"):
        await work.bind().submit(queue=RESERVED_QUEUE)
    async with registered(app) as (one, _), app.worker(queues=["*"]):
        handle = await work.bind().submit(webhook="orders")
        await until(lambda: bool(one.got))
        assert [queue.queue for queue in (await app.operate.queues()).queues if queue.queue == RESERVED_QUEUE] == []
        assert tasks(one) == [handle.id]


async def _nothing() -> None: ...


async def _waiting(app: Tenure) -> list[str]:
    async with app:
        return [one.id for one in await app.broker.announcements()]


async def test_a_worker_for_deliveries_that_dies_is_started_again(
    app: Tenure, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("tenure.runtime.deliveries._LOOK_SECONDS", 0.1)

    @app.task
    async def work() -> None: ...

    async with registered(app) as (one, _):
        deliveries = app.deliveries()
        await deliveries.start()
        await until(lambda: deliveries.is_delivering)
        first = deliveries._worker
        assert first is not None
        first._fail("a part of it", RuntimeError("broken on purpose"))
        await until(lambda: deliveries.is_delivering and deliveries._worker is not first)
        handle = await work.bind().submit(webhook="orders")
        assert await handle.cancel()
        await until(lambda: bool(one.got))
        await deliveries.stop()
    assert tasks(one) == [handle.id]
    assert "the worker that delivers webhooks has died" in caplog.text
