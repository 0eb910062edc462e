"""Progress is noted at once and written once a second."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from tenure import Progress
from tenure.clock import SYSTEM_CLOCK
from tenure.lease import Lease
from tenure.record import Record
from tenure.runtime.delivery import Delivery
from tenure.runtime.path import progress as module
from tenure.runtime.path.progress import ProgressWriter
from tenure.testing.harness import Harness
from tenure.testing.wire import Wire
from tenure.verdict import Completed


@asynccontextmanager
async def writing(harness: Harness) -> AsyncIterator[tuple[ProgressWriter, Wire]]:
    wire = Wire(harness.broker, harness.state)
    writer = ProgressWriter(wire.state.records, harness.clock)
    task = asyncio.create_task(writer.run())
    yield writer, wire
    assert not task.done(), f"the writer has died: {task.exception()!r}"
    task.cancel()


async def test_only_the_latest_word_of_a_second_is_written(harness: Harness) -> None:
    delivery = Delivery(await harness.leased(harness.stranger()))
    async with writing(harness) as (writer, wire):
        for step in range(100):
            writer.note(delivery, Progress(step / 100))
        await asyncio.sleep(1.5)
        assert (await harness.record(delivery.id)).progress == Progress(0.99)
        assert wire.said == ["records.progress"]


async def test_many_messages_are_written_in_one_call(harness: Harness) -> None:
    deliveries = [Delivery(await harness.leased(harness.stranger())) for _ in range(5)]
    async with writing(harness) as (writer, wire):
        for delivery in deliveries:
            writer.note(delivery, Progress(0.5))
        await asyncio.sleep(1.5)
        assert wire.said == ["records.progress"]
        for delivery in deliveries:
            assert (await harness.record(delivery.id)).progress == Progress(0.5)


async def test_nothing_is_written_for_what_is_over_or_lost(harness: Harness) -> None:
    over, lost = [Delivery(await harness.leased(harness.stranger())) for _ in range(2)]
    async with writing(harness) as (writer, wire):
        writer.note(over, Progress(0.5))
        writer.note(lost, Progress(0.5))
        over.verdict = Completed(b"1")
        lost.lease_lost = True
        await asyncio.sleep(2)
        assert wire.said == []


async def test_progress_of_an_outage_is_written_when_the_store_is_back_and_logged_once(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    delivery = Delivery(await harness.leased(harness.stranger()))
    async with writing(harness) as (writer, wire):
        wire.away()
        writer.note(delivery, Progress(0.1))
        await asyncio.sleep(5)
        assert wire.said.count("records.progress") >= 3
        wire.back()
        await asyncio.sleep(2)
        assert (await harness.record(delivery.id)).progress == Progress(0.1)
    lines = [record.getMessage() for record in caplog.records if record.name == "tenure.progress"]
    assert len(lines) == 2, lines
    assert lines[0].startswith("writing the progress of 1 message: ")
    assert lines[1].startswith("writing the progress of 1 message works again after ")


async def test_what_is_noted_during_a_failed_write_is_the_newer_value(harness: Harness) -> None:
    delivery = Delivery(await harness.leased(harness.stranger()))
    async with writing(harness) as (writer, wire):
        wire.away()
        writer.note(delivery, Progress(0.1))
        await asyncio.sleep(2)
        writer.note(delivery, Progress(0.2))
        wire.back()
        await asyncio.sleep(2)
        assert (await harness.record(delivery.id)).progress == Progress(0.2)


@pytest.mark.real_time
async def test_threads_may_note_while_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dictionary that grows while it is read would end the writer."""
    monkeypatch.setattr(module, "WRITE_SECONDS", 0.0)
    records = Records()
    writer = ProgressWriter(records, SYSTEM_CLOCK)
    task = asyncio.create_task(writer.run())
    deliveries = [Delivery(Lease(str(number), "q", b"", "o/1", 1, 1, 30.0, 0.0)) for number in range(2000)]

    def note() -> None:
        for delivery in deliveries * 5:
            writer.note(delivery, Progress(0.5))

    await asyncio.gather(*(asyncio.to_thread(note) for _ in range(2)))
    while records.ids != {str(number) for number in range(2000)}:
        assert not task.done(), f"the writer has died: {task.exception()!r}"
        await asyncio.sleep(0.01)
    task.cancel()


class Records:
    """Remembers what was written."""

    def __init__(self) -> None:
        self.ids: set[str] = set()

    async def get(self, id: str, queue: str | None = None) -> None: ...
    async def get_many(self, wanted: Sequence[tuple[str, str | None]]) -> list[Record | None]:
        raise NotImplementedError

    async def find_ids(self, beginning: str, limit: int) -> None: ...

    async def progress(self, batch: Sequence[tuple[Lease, Progress]]) -> list[bool]:
        self.ids.update(lease.id for lease, _ in batch)
        return [True] * len(batch)

    async def checkpoint(self, lease: Lease, data: bytes) -> bool:
        raise NotImplementedError

    async def load_checkpoint(self, id: str) -> bytes | None:
        raise NotImplementedError
