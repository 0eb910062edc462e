"""A trace goes from the submit through the broker to the handler, what it hands on, and its webhook."""

import asyncio
import sys
from typing import Any

import msgspec
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode
from tests.monitoring.otel.sdk import Sdk
from tests.webhooks.world import World

from tenure import Context, Snooze, Tenure
from tenure.errors import MissingExtra
from tenure.message import Message, Outgoing
from tenure.monitoring.otel import instrument
from tenure.monitoring.otel.tracing import OpenTelemetry
from tenure.monitoring.telemetry import is_sampled
from tenure.testing.virtual import VirtualClock
from tenure.webhooks.deliver import delivery_task
from tenure.webhooks.targets import with_context


def app_on(clock: VirtualClock, sdk: Sdk) -> Tenure:
    app = Tenure("memory://", clock=clock)
    instrument(app, tracer_provider=sdk.tracers, meter_provider=sdk.meters)

    @app.task(queue="mail-tasks", max_attempts=1)
    async def mail(_ctx: Context, how: str = "well") -> None:
        if how == "fails":
            raise ValueError(how)
        if how == "later":
            raise Snooze(1.0)

    @app.task(queue="order-tasks")
    async def order(ctx: Context) -> None:
        with trace.get_tracer("users", tracer_provider=sdk.tracers).start_as_current_span("look up the price"):
            await asyncio.sleep(0.1)
        ctx.submit(mail.bind())

    @app.task(queue="file-tasks", runs_in="thread")
    def write_file() -> None:
        with trace.get_tracer("users", tracer_provider=sdk.tracers).start_as_current_span("in the thread"):
            pass

    return app


def ids(span: ReadableSpan) -> tuple[int, int]:
    context = span.get_span_context()
    assert context is not None
    return context.trace_id, context.span_id


def parent(span: ReadableSpan) -> tuple[int, int]:
    assert span.parent is not None
    return span.parent.trace_id, span.parent.span_id


async def run(app: Tenure, task: str, seconds: float = 5.0, **payload: object) -> None:
    async with app, app.worker():
        await app.submit(task, payload)
        await asyncio.sleep(seconds)


async def test_one_trace_has_the_submit_the_run_and_what_it_hands_on(virtual_clock: VirtualClock, sdk: Sdk) -> None:
    app = app_on(virtual_clock, sdk)
    await run(app, "order")
    (sent,) = sdk.spans("send order-tasks")
    (ran,) = sdk.spans("process order-tasks")
    (inner,) = sdk.spans("look up the price")
    (handed,) = sdk.spans("process mail-tasks")
    assert parent(ran) == ids(sent)
    assert parent(inner) == ids(ran)
    assert parent(handed) == ids(ran)
    assert len({ids(one)[0] for one in (sent, ran, inner, handed)}) == 1
    (received,) = sdk.spans("receive order-tasks")
    assert [(link.context.trace_id, link.context.span_id) for link in received.links] == [ids(sent)]
    assert ran.attributes is not None
    assert dict(ran.attributes) == {
        "messaging.system": "tenure",
        "messaging.destination.name": "order-tasks",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.message.id": ran.attributes["messaging.message.id"],
        "tenure.task": "order",
        "tenure.attempt": 1,
    }


async def test_a_thread_sees_the_span_of_its_run(virtual_clock: VirtualClock, sdk: Sdk) -> None:
    await run(app_on(virtual_clock, sdk), "write_file")
    (ran,) = sdk.spans("process file-tasks")
    (inner,) = sdk.spans("in the thread")
    assert parent(inner) == ids(ran)


async def test_a_failed_run_is_an_error_and_a_snooze_is_none(virtual_clock: VirtualClock, sdk: Sdk) -> None:
    app = app_on(virtual_clock, sdk)
    await run(app, "mail", how="fails")
    (failed,) = sdk.spans("process mail-tasks")
    assert failed.status.status_code is StatusCode.ERROR
    assert failed.attributes is not None
    assert failed.attributes["error.type"] == "ValueError"
    assert [event.name for event in failed.events] == ["exception"]
    await run(app, "mail", seconds=0.5, how="later")
    assert sdk.spans("process mail-tasks")[1].status.status_code is StatusCode.UNSET


async def test_many_messages_are_sent_under_one_span_and_keep_a_context_of_their_own(
    virtual_clock: VirtualClock, sdk: Sdk
) -> None:
    app = app_on(virtual_clock, sdk)
    own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    mail = app.tasks["mail"]
    async with app:
        handles = await app.submit_many([mail.bind(), mail.bind(), mail.bind().having(headers={"traceparent": own})])
        async with app.worker():
            await asyncio.sleep(5)
    (sent,) = sdk.spans("send mail-tasks")
    assert sent.attributes is not None
    assert sent.attributes["messaging.batch.message_count"] == len(handles)
    ran = sdk.spans("process mail-tasks")
    assert sorted(map(parent, ran)) == sorted([ids(sent), ids(sent), (int(own[3:35], 16), int(own[36:52], 16))])


async def test_a_trace_that_is_not_recorded_is_handed_on_and_makes_no_spans(virtual_clock: VirtualClock) -> None:
    sdk = Sdk(ALWAYS_OFF)
    app = app_on(virtual_clock, sdk)
    seen: list[Message] = []

    @app.task(queue="last-tasks")
    async def last(ctx: Context) -> None:
        seen.append(ctx.message)

    @app.task(queue="first-tasks")
    async def first(ctx: Context) -> None:
        seen.append(ctx.message)
        ctx.submit(last.bind())

    await run(app, "first")
    assert sdk.spans() == []
    before, after = (message.headers["traceparent"] for message in seen)
    assert not is_sampled(before)
    assert after[:35] == before[:35]


async def test_only_recorded_traces_leave_a_mark_on_messages_and_others_begin_none(
    virtual_clock: VirtualClock,
) -> None:
    sdk = Sdk(ALWAYS_OFF)
    app = Tenure("memory://", clock=virtual_clock)
    instrument(app, tracer_provider=sdk.tracers, meter_provider=sdk.meters, only_recorded=True)
    seen: list[Message] = []

    @app.task(queue="last-tasks")
    async def last(ctx: Context) -> None:
        seen.append(ctx.message)

    @app.task(queue="first-tasks")
    async def first(ctx: Context) -> None:
        seen.append(ctx.message)
        assert not trace.get_current_span().is_recording()
        with trace.get_tracer("users", tracer_provider=Sdk().tracers).start_as_current_span("a query") as span:
            assert not span.is_recording()  # by the sampler of users, which follows the parent
        ctx.submit(last.bind())
        await app.submit(last.bind())

    await run(app, "first")
    assert [message.headers for message in seen] == [{}, {}, {}]
    assert sdk.spans() == []


async def test_a_recorded_trace_is_followed_with_only_recorded_too(virtual_clock: VirtualClock, sdk: Sdk) -> None:
    app = Tenure("memory://", clock=virtual_clock)
    instrument(app, tracer_provider=sdk.tracers, meter_provider=sdk.meters, only_recorded=True)

    @app.task
    async def work() -> None: ...

    await run(app, "work")
    assert parent(sdk.spans("process")[0]) == ids(sdk.spans("send")[0])


async def test_a_message_that_nobody_traced_begins_a_trace(virtual_clock: VirtualClock, sdk: Sdk) -> None:
    app = app_on(virtual_clock, sdk)
    telemetry, app.telemetry = app.telemetry, None
    async with app:
        await app.submit("mail")
        app.telemetry = telemetry
        async with app.worker():
            await asyncio.sleep(5)
    (ran,) = sdk.spans("process mail-tasks")
    assert ran.parent is None


@pytest.mark.parametrize("header", ["", "00-zz", "00-" + "0" * 32 + "-" + "0" * 16 + "-00", "x" * 55])
async def test_a_header_that_is_no_context_harms_nothing(virtual_clock: VirtualClock, sdk: Sdk, header: str) -> None:
    app = app_on(virtual_clock, sdk)
    async with app, app.worker():
        handle = await app.submit("mail", {}, headers={"traceparent": header})
        await handle.result()


async def test_an_app_is_instrumented_once(virtual_clock: VirtualClock, sdk: Sdk) -> None:
    app = app_on(virtual_clock, sdk)
    instrument(app)
    await run(app, "mail")
    assert len(sdk.spans("process mail-tasks")) == 1


async def test_the_webhook_of_a_message_is_called_in_its_trace(world: World, sdk: Sdk) -> None:
    telemetry = OpenTelemetry(sdk.tracers, sdk.meters)
    await world.add()
    with telemetry.sending([Outgoing(message(announce=("webhook:orders",)))]) as (followed,):
        (target,) = with_context(followed).message.announce
    world.deliverer = world.hooks.deliverer(transport=world.transport, telemetry=telemetry)
    world.task = delivery_task(world.deliverer, None)
    await world.end(target)
    await world.run(5)
    (headers,) = world.transport.headers
    (sent,) = sdk.spans("send")
    (posted,) = sdk.spans("POST webhook orders")
    assert parent(posted) == ids(sent)
    assert posted.attributes is not None
    assert posted.attributes["http.response.status_code"] == 200
    assert headers["traceparent"][3:52] == "{:032x}-{:016x}".format(*ids(posted))


def message(**fields: Any) -> Message:
    return Message(id="m1", queue="mail-tasks", task="mail", body=msgspec.Raw(b"{}"), sent_at=1.0, **fields)


def test_a_target_carries_the_context_of_a_trace_that_is_recorded_and_of_no_other() -> None:
    recorded, other = ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0" + flag for flag in "12")
    asked = ("webhook:orders", "group:a")
    followed = with_context(Outgoing(message(announce=asked, headers={"traceparent": recorded})))
    assert followed.message.announce == (f"webhook:orders trace={recorded}", "group:a")
    assert with_context(followed) == followed
    kept = with_context(Outgoing(message(announce=asked, headers={"traceparent": other})))
    assert kept.message.announce == asked


def test_without_the_package_it_says_how_to_get_it_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Tenure("memory://")
    monkeypatch.setitem(sys.modules, "tenure.monitoring.otel.tracing", None)
    with pytest.raises(MissingExtra, match=r"pip install 'tenure\[otel\]'"):
        instrument(app)
    assert (app.telemetry, list(app.middleware)) == (None, [])
