"""The bus: publishing never waits and never fails the path."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from tenure import BrokerUnavailable, Event
from tenure.event import EventKind
from tenure.runtime.background import bus as module
from tenure.runtime.background.bus import Bus
from tenure.testing.harness import Harness
from tenure.testing.wire import Wire


def event(number: int, kind: EventKind = EventKind.COMPLETED) -> Event:
    return Event(kind, float(number), message_id=str(number))


async def kept(harness: Harness) -> list[str | None]:
    return [stored.event.message_id for stored in await harness.state.journal.read(limit=100_000)]


@asynccontextmanager
async def running(bus: Bus) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(bus.run())
    yield task
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


class Notebook:
    def __init__(self) -> None:
        self.seen: list[Event] = []

    def publish(self, events: Sequence[Event]) -> None:
        self.seen += events


class Broken:
    def publish(self, events: Sequence[Event]) -> None:
        raise RuntimeError


async def test_events_reach_the_journal_in_order(harness: Harness) -> None:
    bus = Bus(harness.state.journal)
    async with running(bus):
        for number in range(5):
            bus.publish([event(number)])
        await asyncio.sleep(1)
    assert await kept(harness) == ["0", "1", "2", "3", "4"]


async def test_what_gathers_during_an_append_goes_in_one_batch(harness: Harness) -> None:
    wire = Wire(harness.broker, harness.state)
    bus = Bus(wire.state.journal)
    async with running(bus):
        for number in range(50):
            bus.publish([event(number)])
        await asyncio.sleep(1)
    assert wire.said.count("journal.append") == 1


async def test_what_comes_soon_after_an_append_goes_together(harness: Harness) -> None:
    wire = Wire(harness.broker, harness.state)
    bus = Bus(wire.state.journal)
    async with running(bus):
        for number in range(10):
            bus.publish([event(number)])
            await asyncio.sleep(0.001)
        await asyncio.sleep(1)
    assert len(await kept(harness)) == 10
    assert wire.said.count("journal.append") == 2, "the first at once, and the rest"


async def test_a_closing_bus_gathers_no_more(harness: Harness) -> None:
    bus = Bus(harness.state.journal)
    task = asyncio.create_task(bus.run())
    bus.publish([event(1)])
    await asyncio.sleep(0.001)
    bus.publish([event(2)])
    bus.close()
    await task
    assert await kept(harness) == ["1", "2"]


async def test_every_sink_hears_at_once(harness: Harness) -> None:
    notebook = Notebook()
    bus = Bus(harness.state.journal, [notebook])
    bus.publish([event(1)])
    assert notebook.seen == [event(1)]


async def test_a_sink_that_fails_harms_nobody(harness: Harness, caplog: pytest.LogCaptureFixture) -> None:
    notebook = Notebook()
    bus = Bus(harness.state.journal, [Broken(), notebook])
    async with running(bus):
        bus.publish([event(1)])
        await asyncio.sleep(1)
    assert notebook.seen == [event(1)]
    assert await kept(harness) == ["1"]
    assert "Broken failed" in caplog.text


async def test_kinds_are_counted(harness: Harness) -> None:
    bus = Bus(harness.state.journal)
    bus.publish([event(1), event(2), event(3, EventKind.DEAD)])
    assert bus.counts == {"completed": 2, "dead": 1}


async def test_events_wait_while_the_journal_is_away(harness: Harness) -> None:
    wire = Wire(harness.broker, harness.state)
    wire.away("journal.*")
    bus = Bus(wire.state.journal)
    async with running(bus):
        bus.publish([event(1)])
        await asyncio.sleep(10)
        bus.publish([event(2)])
        wire.back()
        await asyncio.sleep(2)
    assert await kept(harness) == ["1", "2"]


async def test_a_batch_that_failed_is_repeated_as_it_was(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a journal whose reply was lost can tell that it has it."""
    bus, journal = Bus(harness.state.journal), harness.state.journal
    append, said = journal.append, list[list[str | None]]()

    async def listen(events: Sequence[Event]) -> None:
        said.append([event.message_id for event in events])
        if len(said) == 1:
            bus.publish([event(2)])
            msg = "the reply was lost"
            raise BrokerUnavailable(msg)
        await append(events)

    monkeypatch.setattr(journal, "append", listen)
    async with running(bus):
        bus.publish([event(1)])
        await asyncio.sleep(5)
    assert said == [["1"], ["1"], ["2"]]


async def test_what_waits_is_bounded_and_what_is_dropped_is_said(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_KEEP", 10)
    wire = Wire(harness.broker, harness.state)
    wire.away("journal.*")
    bus = Bus(wire.state.journal)
    async with running(bus):
        for number in range(25):
            bus.publish([event(number)])
        await asyncio.sleep(1)
        wire.back()
        await asyncio.sleep(3)
    assert await kept(harness) == [str(number) for number in range(15, 25)]
    assert "dropped 15 events" in caplog.text


async def test_closing_appends_what_is_left(harness: Harness) -> None:
    wire = Wire(harness.broker, harness.state)
    bus = Bus(wire.state.journal)
    async with running(bus) as task:
        await asyncio.sleep(0)
        wire.spy = lambda *_: wire.freeze()
        bus.publish([event(1)])
        await asyncio.sleep(1)  # an append is under way
        bus.publish([event(2)])
        bus.close()
        wire.spy = lambda *_: None
        wire.thaw()
        async with asyncio.timeout(1):
            await task
    assert await kept(harness) == ["1", "2"]


async def test_closing_does_not_wait_for_a_journal_that_is_away(harness: Harness) -> None:
    wire = Wire(harness.broker, harness.state)
    wire.away()
    bus = Bus(wire.state.journal)
    async with running(bus) as task:
        bus.publish([event(1)])
        await asyncio.sleep(5)
        bus.close()
        async with asyncio.timeout(3):
            await task
