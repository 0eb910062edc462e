"""Handles: asking about one message, waiting for its result, taking it back."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

import pytest

from tenure import MessageCancelled, MessageNotFound, MessageState, Progress, Reject, ResultTimeout, TaskFailed, Tenure
from tenure.errors import ResultGone, ResultInvalid
from tenure.event import EventKind
from tenure.record import Record
from tenure.tasks.context import Context
from tenure.tasks.handle import raw_result
from tenure.testing.virtual import VirtualLoop


@dataclass
class Size:
    width: int


class Shop:
    """An app in virtual time, and what its handlers saw."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self.app = Tenure("memory://", clock=loop.clock)
        self.cancelled: list[str] = []
        app = self.app

        @app.task(max_attempts=2, retry_delay=8)
        async def resize(ctx: Context, image: str) -> Size:
            ctx.progress(0.5, "half")
            if image == "slow":
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    self.cancelled.append(image)
                    raise
            if image == "broken":
                msg = "no such file"
                raise FileNotFoundError(msg)
            if image == "never":
                raise Reject("not ours")
            return Size(len(image))

        self.resize = resize


async def settle(shop: Shop, seconds: float) -> None:
    async with shop.app.worker():
        await asyncio.sleep(seconds)


# --- result ---------------------------------------------------------------------------------------------


async def test_a_result_has_the_handlers_own_type() -> None:
    shop = Shop()
    async with shop.app, shop.app.worker():
        handle = await shop.resize.submit("abc")
        assert await handle.result(timeout=5) == Size(3)
        assert await shop.resize.handle(handle.id).result() == Size(3)
        assert await shop.app.handle(handle.id).result() == {"width": 3}


async def test_a_result_is_waited_for() -> None:
    shop = Shop()
    async with shop.app, shop.app.worker():
        handle = await shop.resize.submit("slow")
        before = shop.app.clock.monotonic()
        assert await handle.result() == Size(4)
        assert 60 <= shop.app.clock.monotonic() - before < 61


async def test_a_result_that_takes_too_long_is_a_timeout_and_the_message_goes_on() -> None:
    shop = Shop()
    async with shop.app, shop.app.worker():
        handle = await shop.resize.submit("slow")
        with pytest.raises(ResultTimeout):
            await handle.result(timeout=timedelta(seconds=1))
        with pytest.raises(TimeoutError) as caught:
            await handle.result(timeout=10)
        assert isinstance(caught.value, ResultTimeout)
        assert "leased after 10 s; it goes on" in str(caught.value)
        assert await handle.result() == Size(4)


async def test_the_error_of_a_task_comes_with_its_name_and_the_workers_traceback() -> None:
    shop = Shop()
    async with shop.app, shop.app.worker():
        with pytest.raises(TaskFailed) as caught:
            await (await shop.resize.submit("broken")).result()
    error = caught.value
    assert (error.code, error.reason_code, error.error) == ("task_failed", "max_attempts", "FileNotFoundError")
    assert "no such file" in str(error)
    assert "raise FileNotFoundError(msg)" in error.remote_traceback
    assert "In the worker" in "".join(error.__notes__)


async def test_a_rejected_task_says_so() -> None:
    shop = Shop()
    async with shop.app, shop.app.worker():
        with pytest.raises(TaskFailed, match="not ours") as caught:
            await (await shop.resize.submit("never")).result()
    assert (caught.value.reason_code, caught.value.error) == ("rejected", "")


async def test_the_result_of_a_message_that_was_purged_never_comes() -> None:
    shop = Shop()
    async with shop.app:
        handle = await shop.resize.submit("abc")
        assert await shop.app.broker.delete([handle.id]) == [handle.id]
        with pytest.raises(MessageCancelled, match="it has no result; submit it again"):
            await handle.result()


async def test_the_result_of_a_message_that_nobody_knows_is_not_waited_for() -> None:
    shop = Shop()
    async with shop.app:
        with pytest.raises(MessageNotFound, match="never sent to this place, or its record has expired"):
            await shop.app.handle("nobody").result(timeout=1)


def test_a_result_that_was_not_kept_is_not_none() -> None:
    with pytest.raises(ResultGone, match="not kept"):
        raw_result(Record(id="a", queue="q", task="t", state=MessageState.COMPLETED))


async def test_a_result_that_does_not_fit_the_type_here_says_so() -> None:
    shop = Shop()
    other = Tenure("memory://", clock=shop.app.clock)

    @other.task(name="resize")
    async def resize(image: str) -> int:
        return len(image)

    async with shop.app, shop.app.worker():
        handle = await shop.resize.submit("abc")
        await handle.result()
        with other._elsewhere(shop.app.broker, shop.app.state, shop.app.clock), pytest.raises(ResultInvalid):
            await resize.handle(handle.id).result()


# --- status ---------------------------------------------------------------------------------------------


async def test_a_status_tells_attempt_progress_deadline_next_try_and_last_error() -> None:
    shop = Shop()
    async with shop.app:
        slow, broken = await shop.resize.submit("slow"), await shop.resize.submit("broken")
        assert (await slow.status()).attempt == 0
        async with shop.app.worker(grace=0):
            await asyncio.sleep(2)
            running, failed = await slow.status(), await broken.status()
    assert (running.state, running.attempt, running.progress) == (MessageState.LEASED, 1, Progress(0.5, "half"))
    assert running.deadline_in is not None
    assert 0 < running.deadline_in <= 30
    assert (failed.state, failed.counters.attempts) == (MessageState.DELAYED, 1)
    assert failed.due_in is not None
    assert 0 < failed.due_in <= 12
    assert failed.reason is not None
    assert failed.reason.text == "FileNotFoundError: no such file"


# --- cancel ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delay", [0, 60])
async def test_a_message_that_waits_can_be_cancelled(delay: float) -> None:
    shop = Shop()
    async with shop.app:
        handle = await shop.app.submit(shop.resize.bind("abc"), delay=delay)
        assert await handle.cancel() is True
        assert (await handle.status()).state is MessageState.CANCELLED
        assert await handle.cancel() is False
        await settle(shop, 100)
        assert (await handle.status()).state is MessageState.CANCELLED


async def test_a_running_message_is_told_and_its_result_refused() -> None:
    shop = Shop()
    async with shop.app, shop.app.worker() as worker:
        handle = await shop.resize.submit("slow")
        await asyncio.sleep(3)
        assert await handle.cancel() is True
        await asyncio.sleep(2.5)
        assert shop.cancelled == ["slow"]
        assert worker.in_flight == 0
        await asyncio.sleep(100)
        record = await handle.status()
        assert record.state is MessageState.CANCELLED
        assert [ending.how for ending in record.history] == ["cancelled"]
        with pytest.raises(MessageCancelled):
            await handle.result()


async def test_a_cancel_is_recorded_with_who_did_it() -> None:
    shop = Shop()
    async with shop.app:
        handle = await shop.resize.submit("abc")
        await handle.cancel()
        (stored,) = await shop.app.state.journal.about(handle.id)
    assert stored.event.kind is EventKind.CANCELLED
    assert stored.event.data["ids"] == [handle.id]
    assert stored.event.data["by"]


async def test_what_is_finished_is_not_cancelled() -> None:
    shop = Shop()
    async with shop.app, shop.app.worker():
        handle = await shop.resize.submit("abc")
        await handle.result()
        assert await handle.cancel() is False
        assert (await handle.status()).state is MessageState.COMPLETED


async def test_a_message_that_nobody_knows_cannot_be_cancelled() -> None:
    shop = Shop()
    async with shop.app:
        with pytest.raises(MessageNotFound):
            await shop.app.handle("nobody").cancel()
