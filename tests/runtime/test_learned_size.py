"""What the size of a message says about its lease."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from tenure import Context
from tenure.errors import BadArgument, BadTask
from tenure.event import Event, EventKind
from tenure.message import MessageState
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.workers import Stage

from .taught import LEASE, sample, taught, touches


async def test_a_size_in_the_payload_makes_the_lease_as_long_as_that_size_needs(harness: Harness) -> None:
    await harness.state.journal.sample(
        [sample(number * 1.0, float(number), size=number * 1_000_000) for number in range(1, 301)]
    )
    async with Stage(harness) as stage:

        @stage.task(heartbeat=False, size="bytes")
        async def work(ctx: Context, bytes: int) -> float:  # noqa: A002
            began = harness.clock.monotonic()
            await asyncio.sleep(bytes / 1_000_000)
            return ctx.deadline - began

        await stage.start()
        record = await stage.ended(await stage.submit(work.bind(1_000_000_000)), within=5_000)
        assert record.counters.lost == 0
        assert msgspec.json.decode(record.result or b"0") == pytest.approx(1000 * 1.75, rel=0.15)
        await asyncio.sleep(2)
        newest = (await harness.state.journal.samples(QUEUE, "work"))[-1].sample
        assert (newest.size, round(newest.seconds)) == (1_000_000_000, 1000)


async def test_small_work_is_not_held_for_as_long_as_large(harness: Harness) -> None:
    async with Stage(harness) as stage:
        for size in (1, 50):
            await taught(harness, 10.0 * size, size=size)

        @stage.task(heartbeat=False, size="size")
        async def work(ctx: Context, size: int) -> float:
            await asyncio.sleep(5)
            return ctx.deadline - harness.clock.monotonic()

        ids = {size: await stage.submit(work.bind(size)) for size in (1, 10, 50)}
        await stage.start()
        left = {size: float((await stage.ended(id)).result or 0) for size, id in ids.items()}
        assert left[1] == pytest.approx(LEASE - 5, abs=1.5), "as it was lent"
        assert left[10] == pytest.approx(175 - 5, rel=0.2)
        assert left[50] == pytest.approx(875 - 5, rel=0.2)


async def test_a_size_may_be_a_function_of_the_handler_s_arguments(harness: Harness) -> None:
    stage = Stage(harness)

    @stage.task(size=lambda lines, *, twice: len(lines) * (2 if twice else 1))
    async def work(lines: list[str], *, twice: bool = False) -> None: ...

    assert work.sizer is not None
    assert work.sizer.size_of(b'{"lines": ["a", "b", "c"]}') == 3.0
    assert work.sizer.size_of(b'{"lines": ["a", "b", "c"], "twice": true}') == 6.0
    assert work.sizer.size_of(b'{"lines": 7}') is None, "what the handler cannot take has no size"


@pytest.mark.parametrize(
    "body",
    [
        b"{}", b'{"n": null}', b'{"n": "many"}', b'{"n": -1}', b'{"n": true}', b"[1]", b"{", b'{"n": 1e308}',
        b'{"n": 1e19}',
    ],
)  # fmt: skip
async def test_what_is_no_size_is_none(harness: Harness, body: bytes) -> None:
    stage = Stage(harness)

    @stage.task(size="n")
    async def work(n: object = None) -> None: ...

    assert work.sizer is not None
    assert work.sizer.size_of(body) is None


async def test_a_size_function_that_fails_costs_a_line_in_the_log(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    async with Stage(harness) as stage:

        @stage.task(size=lambda n: 1 // n)
        async def work(n: int) -> None: ...

        await stage.start()
        assert (await stage.ended(await stage.submit(work.bind(0)))).state is MessageState.COMPLETED
    assert "its size= function failed; the message runs anyway" in caplog.text


async def events(harness: Harness, kind: EventKind) -> list[Event]:
    return [one.event for one in await harness.state.journal.read() if one.event.kind is kind]


async def test_a_size_function_that_can_never_say_one_is_refused(harness: Harness) -> None:
    stage = Stage(harness)

    async def waits(name: str, n: int) -> float:
        return n

    for function, said in (
        (waits, "must not be an async function"),
        (lambda n: n, "which are: name, n"),
        (lambda name, n, more: n, "which are: name, n"),
    ):
        with pytest.raises(BadTask, match=said):

            @stage.task(size=function)
            async def work(name: str, *, n: int) -> None: ...

    good: list[Callable[..., float]] = [lambda name, n: n, lambda *_, **words: words["n"], lambda name="", n=0: n]
    for index, fitting in enumerate(good):

        @stage.task(name=f"fits-{index}", size=fitting)
        async def fits(name: str, *, n: int) -> None: ...

        assert fits.sizer is not None
        assert fits.sizer.size_of(b'{"name":"a","n":7}') == 7


async def test_a_size_that_is_known_after_the_download_touches_at_once(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task(heartbeat=False, profile="transcoding")
        async def work(ctx: Context) -> float:
            before = ctx.deadline
            await ctx.set_size(4096 * 2**20)
            assert ctx.deadline > before
            assert ctx.expected_end is not None
            began = harness.clock.monotonic()
            await asyncio.sleep(1860)
            return ctx.deadline - began

        actor = await stage.start()
        record = await stage.ended(await stage.submit(work.bind()), within=5_000)
        assert msgspec.json.decode(record.result or b"0") >= 1860 * 2 * 1.75
        assert touches(actor) == 1
        await asyncio.sleep(2)
        (event,) = await events(harness, EventKind.FILE_SIZE_DETECTED)
        assert (event.task, event.message_id) == ("work", record.id)
        assert event.data == {
            "file_size_bytes": 4294967296,
            "file_size_mb": 4096,
            "estimated_processing_seconds": 1860,
        }


async def test_who_said_how_long_is_not_corrected_by_a_size_and_a_smaller_size_takes_nothing_back(
    harness: Harness,
) -> None:
    async with Stage(harness) as stage:

        @stage.task(heartbeat=False, profile="transcoding")
        async def work(ctx: Context) -> list[float]:
            ends = [ctx.deadline]
            for size in (100 * 2**20, 4096 * 2**20, 100 * 2**20):
                await ctx.set_size(size)
                ends.append(ctx.deadline)
            return ends

        actor = await stage.start()
        record = await stage.ended(await stage.submit(work.bind()))
        lent, small, large, again = msgspec.json.decode(record.result or b"[]")
        assert lent < small < large == again
        assert touches(actor) == 2
        own = await stage.ended(await stage.submit(work.bind(), lease=60.0))
        assert len(set(msgspec.json.decode(own.result or b"[]"))) == 1
        assert touches(actor) == 2


async def test_with_the_heartbeat_on_a_size_is_told_and_the_lease_stays_short(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work(ctx: Context) -> float:
            await ctx.set_size(10)
            assert ctx.expected_end is None
            return ctx.deadline - harness.clock.monotonic()

        actor = await stage.start()
        record = await stage.ended(await stage.submit(work.bind()))
        assert msgspec.json.decode(record.result or b"0") <= LEASE
        assert touches(actor) == 0
        await asyncio.sleep(2)
        (event,) = await events(harness, EventKind.FILE_SIZE_DETECTED)
        assert event.data["estimated_processing_seconds"] is None, "nobody can say"


async def test_what_is_no_size_is_refused(harness: Harness) -> None:
    async with Stage(harness) as stage:
        refused: list[str] = []

        @stage.task
        async def work(ctx: Context) -> None:
            for wrong in (-1, "many", None, float("inf"), float("nan"), True, 1e308, 10**400):
                with pytest.raises(BadArgument) as error:
                    await ctx.set_size(wrong)  # type: ignore[arg-type]
                refused.append(str(error.value))

        await stage.start()
        await stage.ended(await stage.submit(work.bind()))
        assert len(refused) == 8


async def test_an_outage_while_the_size_is_told_costs_the_touch_and_not_the_run(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task(heartbeat=False, profile="transcoding")
        async def work(ctx: Context) -> float:
            actor.wire.away("broker.touch")
            await ctx.set_size(4096 * 2**20)
            actor.wire.back()
            await asyncio.sleep(50)
            return ctx.deadline - harness.clock.monotonic()

        actor = await stage.start()
        record = await stage.ended(await stage.submit(work.bind()))
        assert msgspec.json.decode(record.result or b"0") > 1860, "it was asked for again when the broker was back"
