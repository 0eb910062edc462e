"""Batch handlers: many messages in one call, each with a lease, an attempt, a result and an end of its own."""

import asyncio
import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tenure import BatchContext, Context, MessageCancelled, Reject, Retry, Snooze, SyncContext, TaskFailed, Tenure
from tenure.errors import BadTask, PayloadInvalid
from tenure.message import MessageState
from tenure.runtime.background.stacks.frames import stack_of_task
from tenure.testing import Kit
from tenure.testing.virtual import VirtualClock


class Row(msgspec.Struct):
    id: int
    text: str = ""


def _doubling(app: Tenure, *, batch: int = 5, within: float = 0.5, **options: Any) -> tuple[Any, list[list[int]]]:
    calls: list[list[int]] = []

    @app.task(batch=batch, within=within, **options)
    async def double(numbers: list[int]) -> list[int]:
        calls.append(list(numbers))
        return [2 * one for one in numbers]

    return double, calls


async def test_a_full_batch_runs_at_once_and_each_message_gets_its_own_result(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)
    double, calls = _doubling(app, batch=5, within=60)
    async with app, app.worker(concurrency=20):
        began = app.clock.monotonic()
        handles = await app.submit_many([double.bind(number) for number in range(10)])
        assert [await one.result(timeout=5) for one in handles] == [2 * number for number in range(10)]
        assert app.clock.monotonic() - began < 5
    assert [len(one) for one in calls] == [5, 5]
    assert sorted(number for one in calls for number in one) == list(range(10))


async def test_a_batch_that_does_not_fill_runs_after_its_time(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)
    double, calls = _doubling(app, batch=100, within=10)
    async with app, app.worker(concurrency=200):
        first = await double.submit(1)
        await asyncio.sleep(5)
        second = await double.submit(2)
        await asyncio.sleep(4)
        assert calls == []
        assert [await first.result(timeout=2), await second.result(timeout=2)] == [2, 4]
    assert calls == [[1, 2]]


async def test_a_batch_is_as_large_as_the_worker_runs_at_once_and_does_not_wait_for_more(
    virtual_clock: VirtualClock,
) -> None:
    app = Tenure("memory://", clock=virtual_clock)
    double, calls = _doubling(app, batch=100, within=600)
    limited, others = _doubling(Tenure("memory://", clock=app.clock), batch=100, within=600, concurrency=2)
    async with app, app.worker(concurrency=4):
        handles = await app.submit_many([double.bind(number) for number in range(4)])
        assert [await one.result(timeout=5) for one in handles] == [0, 2, 4, 6]
    async with limited.app as app, app.worker(concurrency=4):
        handles = await app.submit_many([limited.bind(number) for number in range(4)])
        assert [await one.result(timeout=5) for one in handles] == [0, 2, 4, 6]
    assert [len(one) for one in (*calls, *others)] == [4, 2, 2]


async def test_an_exception_in_the_list_is_the_failure_of_one_message(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)
    tried: list[tuple[list[int], list[int]]] = []

    @app.task(batch=6, within=1, max_attempts=2)
    async def check(ctx: BatchContext, rows: list[Row]) -> Sequence[int | Exception | type[Exception]]:
        tried.append(([row.id for row in rows], [one.attempt for one in ctx]))
        first = rows[0].id == 0
        ends = {1: ValueError("one"), 2: Reject("never"), 3: Retry(after=2.0), 4: Snooze(5.0)}
        return [ends.get(row.id, row.id) if first or row.id == 1 else row.id for row in rows]

    async with app, app.worker(concurrency=10):
        handles = await app.submit_many([check.bind(Row(number)) for number in range(6)])
        assert [await handles[number].result(timeout=60) for number in (0, 3, 4, 5)] == [0, 3, 4, 5]
        with pytest.raises(TaskFailed, match="ValueError: one"):
            await handles[1].result(timeout=60)
        with pytest.raises(TaskFailed, match="never"):
            await handles[2].result(timeout=60)
    assert tried[0] == ([0, 1, 2, 3, 4, 5], [1] * 6)
    # What failed ran in a batch of its own; a snooze is no failure.
    assert sorted(tried[1:]) == [([1], [2]), ([3], [2]), ([4], [1])]


async def test_a_bad_message_does_not_use_up_the_attempts_of_the_others(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)
    sizes: list[int] = []

    @app.task(batch=10, within=1, max_attempts=2)
    async def load(numbers: list[int]) -> None:
        sizes.append(len(numbers))
        if 7 in numbers:
            raise RuntimeError("seven")

    async with app, app.worker(concurrency=20):
        handles = await app.submit_many([load.bind(number) for number in range(10)])
        for number, handle in enumerate(handles):
            if number == 7:
                with pytest.raises(TaskFailed, match="RuntimeError: seven"):
                    await handle.result(timeout=60)
            else:
                await handle.result(timeout=60)
    assert sizes == [10] + [1] * 10


async def test_the_traceback_shows_the_handler_and_not_how_batches_work(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)

    @app.task(batch=3, within=1, max_attempts=1)
    async def load(numbers: list[int]) -> None:
        raise RuntimeError(f"{len(numbers)} rows")

    async with app, app.worker():
        handle = await load.submit(1)
        with pytest.raises(TaskFailed):
            await handle.result(timeout=10)
        record = await app.state.records.get(handle.id)
    assert record is not None
    assert record.reason is not None
    assert "in load" in record.reason.traceback
    assert "batch.py" not in record.reason.traceback


async def test_a_wrong_number_of_results_is_an_error_that_says_what_is_right(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)

    @app.task(batch=3, within=1, max_attempts=1)
    async def short(numbers: list[int]) -> list[int]:
        return numbers[:-1]

    @app.task(batch=3, within=1, max_attempts=1)
    async def odd(numbers: list[int]) -> list[int]:
        return {"a": 1}  # type: ignore[return-value]

    async with app, app.worker():
        first, second = await short.submit(1), await odd.submit(1)
        with pytest.raises(TaskFailed, match="short returned 0 results for 1 messages; a handler of batches returns"):
            await first.result(timeout=10)
        with pytest.raises(TaskFailed, match="odd returned a dict for 1 messages"):
            await second.result(timeout=10)


async def test_leases_of_a_long_batch_are_renewed_message_by_message(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)
    fences: list[int] = []

    @app.task(batch=3, within=1, lease=10)
    async def slow(ctx: BatchContext, numbers: list[int]) -> None:
        await asyncio.sleep(300)
        fences.extend(one.fence for one in ctx)
        assert not any(one.lease_lost for one in ctx)

    async with app, app.worker(concurrency=10), app.worker(concurrency=10):
        handles = await app.submit_many([slow.bind(number) for number in range(3)])
        for handle in handles:
            await handle.result(timeout=400)
            assert (await handle.status()).counters.deliveries == 1
    assert len(fences) == 3


async def test_a_cancelled_message_leaves_its_batch_and_the_others_go_on(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)
    finished: list[list[int]] = []
    running = asyncio.Event()

    @app.task(batch=3, within=5)
    async def slow(numbers: list[int]) -> None:
        running.set()
        await asyncio.sleep(60)
        finished.append(numbers)

    async with app, app.worker(concurrency=10):
        gathering = [await slow.submit(number) for number in (1, 2)]
        await asyncio.sleep(1)
        await gathering[0].cancel()
        await asyncio.sleep(3)
        begun = await slow.submit(3)
        await running.wait()
        await begun.cancel()
        with pytest.raises(MessageCancelled):
            await begun.result(timeout=10)
        await gathering[1].result(timeout=100)
    # The first left before the batch began, the third was in it when it was cancelled.
    assert finished == [[2, 3]]


async def test_a_batch_is_cancelled_when_all_of_its_messages_are(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)
    ended: list[str] = []
    running = asyncio.Event()

    @app.task(batch=2, within=5)
    async def slow(numbers: list[int]) -> None:
        try:
            running.set()
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async with app, app.worker(concurrency=10):
        handles = await app.submit_many([slow.bind(number) for number in range(2)])
        await running.wait()
        for handle in handles:
            await handle.cancel()
        for handle in handles:
            with pytest.raises(MessageCancelled):
                await handle.result(timeout=10)
        await asyncio.sleep(1)
    assert ended == ["cancelled"]


async def test_each_message_has_its_own_context(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)
    rows = sqlite3.connect(":memory:")
    sent: list[str] = []

    @app.task
    async def follow(number: int) -> None: ...

    @app.task(batch=3, within=1)
    async def write(ctx: BatchContext, numbers: list[int]) -> None:
        assert len(ctx) == len(numbers)
        for one, number in zip(ctx.contexts, numbers, strict=True):
            assert one.once(rows) is True
            assert one.once(rows) is False
            one.progress(0.5, f"row {number}")
            sent.append(one.submit(follow.bind(number)))

    async with app, app.worker(concurrency=10):
        handles = await app.submit_many([write.bind(number) for number in range(3)])
        for handle in handles:
            await handle.result(timeout=10)
        for id in sent:
            await app.handle(id).result(timeout=10)
    assert len(set(sent)) == 3


async def test_a_message_that_was_cancelled_by_its_own_code_has_failed(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)

    @app.task(batch=2, within=1, max_attempts=1)
    async def give_up(numbers: list[int]) -> None:
        raise asyncio.CancelledError

    async with app, app.worker():
        handle = await give_up.submit(1)
        with pytest.raises(TaskFailed, match="cancelled by its own code"):
            await handle.result(timeout=10)


async def test_errors_that_end_programs_end_only_their_messages(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)

    @app.task(batch=2, within=1, max_attempts=1)
    async def leave(words: list[str]) -> None:
        raise SystemExit(3) if "exit" in words else StopIteration

    async with app, app.worker():
        first = await leave.submit("exit")
        with pytest.raises(TaskFailed, match="SystemExit"):
            await first.result(timeout=10)
        second = await leave.submit("stop")
        with pytest.raises(TaskFailed, match="StopIteration"):
            await second.result(timeout=10)


async def test_the_stack_of_a_message_shows_where_its_batch_is(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)
    running = asyncio.Event()

    @app.task(batch=2, within=1)
    async def slow(numbers: list[int]) -> None:
        running.set()
        await asyncio.sleep(60)

    async with app, app.worker(concurrency=10) as worker:
        await slow.submit(1)
        await running.wait()
        (delivery,) = worker._path.handling.running
        assert delivery.runner is not None
        stack = stack_of_task(delivery.runner, 0, __file__)
        assert [branch.name for branch in stack.branches] == ["slow, a batch of 1"]
        assert stack.branches[0].frames[1].function.endswith("slow")


async def test_called_directly_it_runs_for_one_message_at_once(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)
    double, calls = _doubling(app, within=600)
    assert await double(4) == 8
    assert calls == [[4]]


async def test_a_payload_has_one_item_and_is_checked_as_ever(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)

    @app.task(batch=3)
    async def index(ctx: BatchContext, rows: list[Row]) -> None: ...

    assert bytes(index.bind(Row(1, "a")).body) == b'{"rows":{"id":1,"text":"a"}}'
    with pytest.raises(PayloadInvalid, match="index\\(rows\\)"):
        index.bind({"id": "x"})  # type: ignore[arg-type]


async def test_the_kit_drains_batches(kit: Kit) -> None:
    double, calls = _doubling(kit.app, batch=10, within=30)
    handles = [await double.submit(number) for number in range(3)]
    await kit.drain()
    assert [await one.result() for one in handles] == [0, 2, 4]
    assert sorted(number for one in calls for number in one) == [0, 1, 2]


async def test_a_pause_in_the_middle_of_gathering_loses_nothing(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)
    double, _ = _doubling(app, batch=10, within=5)
    async with app:
        async with app.worker(concurrency=20):
            handles = [await double.submit(number) for number in range(3)]
            await asyncio.sleep(1)
        states = [(await one.status()).state for one in handles]
        assert set(states) <= {MessageState.COMPLETED, MessageState.READY}
        async with app.worker(concurrency=20):
            assert [await one.result(timeout=20) for one in handles] == [0, 2, 4]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"batch": 0}, "batch=0 is not a whole number from 1 to 10,000"),
        ({"batch": 2.5}, r"batch=2\.5 is not a whole number"),
        ({"within": 1}, "within=1 says how long a batch gathers; say batch= too"),
        ({"batch": 2, "within": -1}, "within=-1 is not a duration"),
        ({"batch": 2, "runs_in": "process"}, "so runs_in='process' cannot be"),
        ({"bach": 2}, "did you mean batch"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], sentence: str) -> None:
    app = Tenure("memory://")

    async def index(rows: list[Row]) -> None: ...

    with pytest.raises(BadTask, match=sentence):
        app.task(**options)(index)


async def _no_list(row: Row) -> None: ...
async def _two(rows: list[Row], more: list[int]) -> None: ...
async def _bare(rows: list) -> None: ...  # type: ignore[type-arg]
async def _of_one(ctx: Context, rows: list[Row]) -> None: ...
async def _of_a_thread(ctx: SyncContext, rows: list[Row]) -> None: ...
def _plain(rows: list[Row]) -> None: ...
async def _unknown(rows: "list[Nothing]") -> None: ...  # type: ignore[name-defined] # noqa: F821
async def _nothing() -> None: ...


@pytest.mark.parametrize(
    ("handler", "sentence"),
    [
        (_no_list, "takes one list, such as rows: list"),
        (_two, "takes one list"),
        (_bare, "takes one list"),
        (_nothing, "takes one list"),
        (_of_one, "takes ctx: BatchContext"),
        (_of_a_thread, "takes ctx: BatchContext"),
        (_plain, "is an async function; call plain code in it by asyncio.to_thread"),
        (_unknown, "an annotation cannot be resolved"),
    ],
)
def test_handlers_that_take_no_batch_are_refused(handler: Any, sentence: str) -> None:
    app = Tenure("memory://")
    with pytest.raises(BadTask, match=sentence):
        app.task(batch=2)(handler)
