"""Streams in virtual time: nothing is missed, slow readers are cut loose, and without viewers nothing is asked."""

import asyncio
import contextlib

import pytest

from tenure import Tenure
from tenure.client.operations.event_choice import EventChoice
from tenure.errors import BrokerUnavailable
from tenure.event import Event, EventKind
from tenure.server.events.recent_events import MOST_EVENTS
from tenure.server.events.viewers import Viewers
from tenure.testing.virtual import VirtualClock

from .following import AwayJournal, BrokenJournal, CountedJournal, append, names, viewing

HOUR = 3600.0


@pytest.fixture
def app(virtual_clock: VirtualClock) -> Tenure:
    return Tenure("memory://", clock=virtual_clock)


@pytest.fixture
def journal(app: Tenure, monkeypatch: pytest.MonkeyPatch) -> CountedJournal:
    counted = CountedJournal(app.state.journal)
    monkeypatch.setattr(type(app.state), "journal", property(lambda _: counted))
    return counted


async def test_a_viewer_gets_what_happens_from_now_on(virtual_clock: VirtualClock, app: Tenure) -> None:
    viewers = Viewers(app)
    await append(app, "before")
    async with viewing(viewers) as viewer:
        assert viewer.received == b"retry: 2000\nid: 1\n\n"
        await append(app, "a", "b")
        await asyncio.sleep(0.2)
        await append(app, "c")
        await asyncio.sleep(0.2)
    assert viewer.messages == ["a", "b", "c"]
    assert viewer.last_id == 4


async def test_without_viewers_the_store_is_asked_nothing(
    virtual_clock: VirtualClock, app: Tenure, journal: CountedJournal
) -> None:
    viewers = Viewers(app)
    await asyncio.sleep(HOUR)
    assert not journal.calls
    async with viewing(viewers):
        await asyncio.sleep(60)
    assert journal.calls
    journal.calls.clear()
    await asyncio.sleep(HOUR)
    assert not journal.calls
    assert not viewers.count


async def test_two_hundred_viewers_cost_as_many_reads_as_one(
    virtual_clock: VirtualClock, app: Tenure, journal: CountedJournal
) -> None:
    async def reads_of(number: int) -> int:
        viewers, journal.calls = Viewers(app), type(journal.calls)()
        async with contextlib.AsyncExitStack() as stack:
            got = [await stack.enter_async_context(viewing(viewers)) for _ in range(number)]
            for name in names(0, 10):
                await append(app, name)
                await asyncio.sleep(1)
            assert all(viewer.messages == names(0, 10) for viewer in got)
        return journal.calls["read"] + journal.calls["wait"] + journal.calls["last"] + journal.calls["first"]

    one = await reads_of(1)
    assert await reads_of(200) <= one + 2


async def test_an_event_is_encoded_once_for_all(
    virtual_clock: VirtualClock, app: Tenure, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tenure.server.events import wire

    encoded: list[int] = []
    plain = wire._event_block

    def encode(seq: int, event: Event, *, redacts: bool) -> bytes:
        encoded.append(seq)
        return plain(seq, event, redacts=redacts)

    monkeypatch.setattr(wire, "_event_block", encode)
    viewers = Viewers(app)
    async with contextlib.AsyncExitStack() as stack:
        filters = [EventChoice(), EventChoice(), EventChoice(queues=("mail",))]
        got = [await stack.enter_async_context(viewing(viewers, one)) for one in filters]
        await append(app, "a")
        await asyncio.sleep(0.2)
        assert [viewer.messages for viewer in got] == [["a"]] * 3
    assert encoded == [1]


@pytest.mark.parametrize("with_completed", [False, True])
@pytest.mark.parametrize("number", [200, MOST_EVENTS + 5_000])
async def test_who_was_away_goes_on_without_a_gap(
    virtual_clock: VirtualClock, app: Tenure, number: int, *, with_completed: bool
) -> None:
    viewers = Viewers(app)
    wanted = EventChoice(everything=with_completed)
    async with viewing(viewers, wanted) as viewer:
        await append(app, "a")
        await asyncio.sleep(0.2)
    await append(app, *names(0, number // 2))
    other = Viewers(app)  # the server was started anew, or it is another one
    async with viewing(other, wanted, after=viewer.last_id) as again:
        await append(app, *names(number // 2, number))
        await asyncio.sleep(5)
        await append(app, "b")
        await asyncio.sleep(0.2)
    assert again.messages == [*names(0, number), "b"]
    assert "gap" not in again.types


async def test_events_that_come_while_one_catches_up_come_once(virtual_clock: VirtualClock, app: Tenure) -> None:
    viewers = Viewers(app)
    await append(app, *names(0, 6_000))

    async def write_on() -> None:
        for number in range(6_000, 6_200):
            await append(app, f"m{number}")
            await asyncio.sleep(0.01)

    writing = asyncio.create_task(write_on())
    async with viewing(viewers, after=0) as viewer, viewing(viewers, after=500) as second:
        await writing
        await asyncio.sleep(1)
    assert viewer.messages == names(0, 6_200)
    assert second.messages == names(500, 6_200)


async def test_five_hours_later_the_forgotten_part_is_a_gap(virtual_clock: VirtualClock, app: Tenure) -> None:
    viewers = Viewers(app)
    await append(app, *names(0, 10))
    await asyncio.sleep(5 * HOUR)
    await append(app, *names(10, 20))
    await app.state.journal.prune(HOUR)
    async with viewing(viewers, after=4) as viewer:
        await asyncio.sleep(1)
    (gap, *others) = viewer.data
    assert gap["type"] == "gap"
    assert gap["payload"]["after"] == 4
    assert gap["payload"]["first"] == 11
    assert gap["payload"]["reason"] == "forgotten"
    assert [one["payload"]["message_id"] for one in others] == names(10, 20)


async def test_when_all_was_forgotten_there_is_a_gap_too(virtual_clock: VirtualClock, app: Tenure) -> None:
    await append(app, *names(0, 10))
    await asyncio.sleep(HOUR)
    await app.state.journal.prune(1.0)
    viewers = Viewers(app)
    async with viewing(viewers, EventChoice(everything=True), after=4) as viewer:
        await append(app, "a")
        await asyncio.sleep(1)
    assert viewer.types == ["gap", "dead"]


async def test_who_begins_with_the_oldest_has_missed_nothing(virtual_clock: VirtualClock, app: Tenure) -> None:
    await append(app, *names(0, 10))
    await asyncio.sleep(HOUR)
    await append(app, "a")
    await app.state.journal.prune(1.0)
    async with viewing(Viewers(app), after=0) as viewer:
        await asyncio.sleep(1)
    assert viewer.types == ["dead"]


async def test_a_place_of_another_journal_is_a_gap(virtual_clock: VirtualClock, app: Tenure) -> None:
    await append(app, "a")
    async with viewing(Viewers(app), after=1_000) as viewer:
        await append(app, "b")
        await asyncio.sleep(1)
    assert viewer.types == ["gap", "dead"]
    assert viewer.data[0]["payload"]["reason"] == "other_journal"
    assert viewer.last_id == 2


async def test_what_was_forgotten_before_the_tail_read_it_is_a_gap_for_all(
    virtual_clock: VirtualClock, app: Tenure
) -> None:
    viewers = Viewers(app)
    async with viewing(viewers) as viewer, viewing(viewers, EventChoice(task="x")) as other:
        await append(app, "a")
        await asyncio.sleep(0.05)  # the tail pauses after a read
        await append(app, *names(0, 10))
        await app.state.journal.prune(-1.0)
        await append(app, "b")
        await asyncio.sleep(1)
    assert viewer.messages == ["a", "b"]
    assert viewer.types == ["dead", "gap", "dead"]
    assert other.types == ["gap"]


async def test_one_who_reads_too_slowly_is_told_and_can_go_on(virtual_clock: VirtualClock, app: Tenure) -> None:
    viewers = Viewers(app)
    async with viewing(viewers) as slow, viewing(viewers) as quick:
        slow.reads.clear()
        for page in range(60):
            await append(app, *(f"{page}-{number}" for number in range(100)))
            await asyncio.sleep(0.2)
        assert len(quick.messages) == 6_000
        slow.reads.set()
        await asyncio.sleep(0.2)
        assert slow.has_ended
        assert slow.types[-1] == "gap"
        assert slow.data[-1]["payload"]["reason"] == "too_slow"
        assert slow.data[-1]["payload"]["after"] == slow.last_id
        async with viewing(viewers, after=slow.last_id) as again:
            await asyncio.sleep(5)
        assert slow.messages + again.messages == quick.messages
        assert not quick.has_ended


async def test_what_is_kept_for_a_slow_reader_is_bounded(virtual_clock: VirtualClock, app: Tenure) -> None:
    viewers = Viewers(app)
    async with viewing(viewers) as slow:
        slow.reads.clear()
        for _ in range(50):
            await append(app, *names(0, 500), data={"reason": "x" * 200})
            await asyncio.sleep(0.2)
        (feed,) = viewers._feeds.values()
        assert sum(len(piece.data) for piece in feed._pieces) <= 512 * 1024


async def test_pieces_that_everybody_has_are_dropped(virtual_clock: VirtualClock, app: Tenure) -> None:
    viewers = Viewers(app)
    async with viewing(viewers), viewing(viewers):
        for name in names(0, 20):
            await append(app, name)
            await asyncio.sleep(0.2)
        (feed,) = viewers._feeds.values()
        assert len(feed._pieces) <= 1


async def test_silence_is_broken_every_15_seconds_by_the_place(virtual_clock: VirtualClock, app: Tenure) -> None:
    viewers = Viewers(app)
    async with viewing(viewers, EventChoice(task="rare")) as viewer:
        await append(app, *names(0, 30))
        await asyncio.sleep(14.9)
        assert b"heartbeat" not in viewer.received
        await asyncio.sleep(30.2)
    assert viewer.received.count(b": heartbeat\nid: 30\n\n") == 3
    assert not viewer.data
    assert viewer.last_id == 30


async def test_left_out_completed_messages_are_counted_even_if_nothing_follows(
    virtual_clock: VirtualClock, app: Tenure
) -> None:
    viewers = Viewers(app)
    async with viewing(viewers, EventChoice(everything=True)) as viewer, viewing(viewers) as other:
        await append(app, *names(0, 80), kind=EventKind.COMPLETED)
        await asyncio.sleep(3)
    assert viewer.types == ["completed"] * 50 + ["skipped"]
    assert viewer.data[-1]["payload"] == {"kind": "completed", "count": 30}
    assert viewer.last_id == 80
    assert other.types == []


async def test_an_outage_is_told_and_nothing_is_missed(
    virtual_clock: VirtualClock, app: Tenure, journal: CountedJournal
) -> None:
    viewers, plain = Viewers(app), journal._journal
    async with viewing(viewers) as viewer:
        await append(app, "a")
        await asyncio.sleep(1)
        journal._journal = AwayJournal()
        await asyncio.sleep(60)
        journal._journal = plain
        await append(app, "b")
        await asyncio.sleep(10)
    assert viewer.types == ["dead", "away", "back", "dead"]
    assert viewer.data[1]["payload"] == {"error": "broker_unavailable"}


async def test_a_stream_is_refused_while_the_store_is_away(
    virtual_clock: VirtualClock, app: Tenure, journal: CountedJournal
) -> None:
    viewers, plain = Viewers(app), journal._journal
    journal._journal = AwayJournal()
    with pytest.raises(BrokerUnavailable):
        async with viewing(viewers):
            pass
    journal._journal = plain
    async with viewing(viewers) as viewer:
        await append(app, "a")
        await asyncio.sleep(1)
    assert viewer.messages == ["a"]


async def test_when_reading_fails_streams_end_and_can_be_opened_again(
    virtual_clock: VirtualClock, app: Tenure, journal: CountedJournal, caplog: pytest.LogCaptureFixture
) -> None:
    viewers, plain = Viewers(app), journal._journal
    async with viewing(viewers) as viewer:
        await append(app, "a")
        journal._journal = BrokenJournal()
        await asyncio.sleep(30)
        assert viewer.has_ended
        journal._journal = plain
        async with viewing(viewers, after=viewer.last_id) as again:
            await append(app, "b")
            await asyncio.sleep(1)
        assert again.messages == ["a", "b"]
    assert "reading the journal for viewers failed" in caplog.text


async def test_streams_end_with_a_word_when_to_come_back(virtual_clock: VirtualClock, app: Tenure) -> None:
    viewers = Viewers(app)
    async with viewing(viewers) as viewer:
        await append(app, "a")
        await asyncio.sleep(0.2)
        viewers.end()
        await asyncio.sleep(0.1)
        assert viewer.has_ended
    assert viewer.received.endswith(b": closing\nretry: 2000\nid: 1\n\n")
