"""Links and contexts: what a handler says reaches the worker, and what is stale is refused."""

import asyncio
import logging
from typing import Any

import msgspec
import pytest

from tenure import BadArgument, Context, LeaseLost, Progress, SyncContext, Tenure
from tenure.envelope import decode
from tenure.errors import BodyTooLarge
from tenure.runtime.background.heartbeat import Heartbeat
from tenure.runtime.delivery import Delivery
from tenure.runtime.handoff import derived_id
from tenure.runtime.path.context_link import ContextServices, WorkerLink
from tenure.runtime.path.progress import ProgressWriter
from tenure.testing.harness import Harness
from tenure.testing.wire import Wire
from tenure.verdict import Lost


class Bench:
    """A context on one leased message."""

    def __init__(self, harness: Harness, delivery: Delivery, body_limit: int = 10_000) -> None:
        self.delivery = delivery
        message = delivery.message = decode(delivery.lease.envelope)
        self.heartbeat = Heartbeat(
            harness.broker,
            harness.state.ledger,
            harness.clock,
            on_lost=lambda _: None,
            on_overheld=lambda _: None,
            on_failed=lambda *_: None,
        )
        self.progress = ProgressWriter(harness.state.records, harness.clock)
        self.wire = wire = Wire(harness.broker, harness.state)
        wire.body_limit = body_limit
        self.desk = ContextServices(
            self.heartbeat, wire.state.records, self.progress, harness.clock, wire.broker, wall=harness.state.wall,
            slots=10,
        )  # fmt: skip
        self.link = WorkerLink(delivery, self.desk)
        self.context = Context(message, 1, delivery.fence, self.link, "the state")
        self.heartbeat.hold([delivery])
        app = Tenure("memory://", clock=harness.clock)
        self.follow = app.task(name="follow", queue="next")(_follow)


async def _follow(text: str = "") -> None: ...


async def bench_on(harness: Harness, **fields: Any) -> Bench:
    return Bench(harness, Delivery(await harness.leased(harness.stranger(), **fields)))


async def test_the_context_knows_its_message_and_its_lease(harness: Harness) -> None:
    bench = await bench_on(harness)
    ctx = bench.context
    assert (ctx.message.id, ctx.fence, ctx.state) == (bench.delivery.id, bench.delivery.lease.fence, "the state")
    assert ctx.deadline == bench.delivery.lease.deadline
    assert (ctx.lease_lost, ctx.stopping) == (False, False)
    bench.desk.stopping = bench.delivery.lease_lost = True
    assert (ctx.lease_lost, ctx.stopping) == (True, True)


async def test_a_checkpoint_can_be_read_back_in_the_type_it_had(harness: Harness) -> None:
    ctx = (await bench_on(harness)).context
    assert await ctx.last_checkpoint() is None
    await ctx.checkpoint({"page": 7})
    assert await ctx.last_checkpoint() == {"page": 7}
    assert await ctx.last_checkpoint(dict[str, int]) == {"page": 7}
    with pytest.raises(msgspec.ValidationError):
        await ctx.last_checkpoint(int)


async def test_a_stale_holder_keeps_no_checkpoint(harness: Harness) -> None:
    bench = await bench_on(harness)
    await harness.broker.retire(bench.delivery.lease.owner, crashed=True)
    with pytest.raises(LeaseLost):
        await bench.context.checkpoint(1)
    assert await bench.context.last_checkpoint() is None


@pytest.mark.parametrize("how", ["lease_lost", "left", "ending"])
async def test_a_run_that_was_ended_does_not_wait_for_the_store(harness: Harness, how: str) -> None:
    """As in a thread, which cannot be ended from outside."""
    bench = await bench_on(harness)
    bench.wire.away()
    waiting = asyncio.create_task(bench.context.checkpoint(1))
    await asyncio.sleep(10)
    assert not waiting.done()
    setattr(bench.delivery, how, Lost() if how == "ending" else True)
    with pytest.raises(LeaseLost, match=r"was ended while ctx\.checkpoint waited"):
        async with asyncio.timeout(5):
            await waiting


async def test_a_lost_lease_starts_no_effect(harness: Harness) -> None:
    bench = await bench_on(harness)
    bench.delivery.lease_lost = True
    with pytest.raises(LeaseLost):
        bench.context.once(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan")])
async def test_progress_is_a_fraction(harness: Harness, fraction: float) -> None:
    ctx = (await bench_on(harness)).context
    with pytest.raises(BadArgument):
        ctx.progress(fraction)


async def test_progress_with_text_that_is_not_utf_8_can_be_stored(harness: Harness) -> None:
    bench = await bench_on(harness)
    bench.context.progress(0.5, "reading caf\udce9")
    (noted,) = bench.progress._noted.values()
    assert noted == Progress(0.5, "reading caf\\udce9")
    msgspec.json.encode(noted)


async def test_a_hand_off_has_the_same_id_in_every_run_and_another_for_each_place(harness: Harness) -> None:
    bench = await bench_on(harness)
    first, second = bench.context.submit(bench.follow.bind()), bench.context.submit(bench.follow.bind())
    message = bench.context.message
    assert (first, second) == (derived_id(message, 0), derived_id(message, 1))
    assert first != second
    redriven = msgspec.structs.replace(message, generation=1)
    assert derived_id(redriven, 0) != first


async def test_a_hand_off_of_a_message_that_was_sent_anew_is_another_message(harness: Harness) -> None:
    message = (await bench_on(harness)).context.message
    later = msgspec.structs.replace(message, sent_at=message.sent_at + 8 * 86_400)
    assert derived_id(later, 0) != derived_id(message, 0)


async def test_a_hand_off_carries_its_parent_and_its_correlation(harness: Harness) -> None:
    bench = await bench_on(harness, correlation_id="order-7", client="acme")
    bench.context.submit(bench.follow.bind(), priority=9, delay=5)
    (outgoing,) = bench.delivery.handoffs
    message = outgoing.message
    assert (message.parent_id, message.correlation_id) == (bench.delivery.id, "order-7")
    assert (message.client, message.priority, outgoing.delay_seconds) == ("acme", 9, 5.0)


async def test_a_hand_off_that_the_broker_would_refuse_is_refused_in_the_handler(harness: Harness) -> None:
    bench = await bench_on(harness)
    with pytest.raises(BodyTooLarge):
        bench.context.submit(bench.follow.bind("x" * 20_000))
    assert bench.delivery.handoffs == []


async def test_a_hand_off_with_a_bad_option_is_refused_in_the_handler(harness: Harness) -> None:
    bench = await bench_on(harness)
    with pytest.raises(BadArgument, match="priorty"):
        bench.context.submit(bench.follow.bind(), priorty=9)  # type: ignore[call-arg]


async def test_the_log_says_which_message_it_is_about(harness: Harness, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    bench = await bench_on(harness)
    bench.context.log.info("hello")
    (record,) = caplog.records
    assert record.__dict__["message_id"] == bench.delivery.id


async def test_the_sync_context_waits_for_the_same_answers(harness: Harness) -> None:
    bench = await bench_on(harness)
    beating = asyncio.create_task(bench.heartbeat.run())
    loop = asyncio.get_running_loop()
    ctx = SyncContext(bench.context.message, 1, bench.context.fence, bench.link, None, loop)

    def handler() -> object:
        ctx.touch(120)
        ctx.checkpoint([1, 2])
        return ctx.last_checkpoint(list[int])

    assert await loop.run_in_executor(None, handler) == [1, 2]
    assert ctx.deadline == pytest.approx(harness.clock.monotonic() + 120)
    beating.cancel()


@pytest.mark.parametrize("seconds", [1e13, float("inf"), float("nan"), -1.0])
async def test_a_touch_that_no_store_could_hold_is_refused(harness: Harness, seconds: float) -> None:
    bench = await bench_on(harness)
    with pytest.raises(BadArgument):
        await bench.context.touch(seconds)


async def test_a_hand_off_that_cannot_be_encoded_is_not_kept(harness: Harness) -> None:
    """A handler may catch the error; the ack must not meet the broken message."""
    bench = await bench_on(harness)
    with pytest.raises(BadArgument, match="lone surrogates"):
        bench.context.submit(bench.follow.bind("x"), headers={"a": "\ud800"})
    assert bench.delivery.handoffs == []
