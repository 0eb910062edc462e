"""The journal, tallies and acts in the table: what they read, and how many requests that takes."""

import pytest
from tests.adapters.azure.test_azure_calls import WatchedHarness

from tenure.act import Act
from tenure.adapters import azure
from tenure.adapters.azure import journal
from tenure.event import Event, EventKind
from tenure.tally import TEN_SECONDS, Tally
from tenure.testing.harness import QUEUE


@pytest.fixture
def harness() -> WatchedHarness:
    """In virtual time; every request is written down."""
    return WatchedHarness()


def _event(harness: WatchedHarness, id: str) -> Event:
    return Event(EventKind.COMPLETED, harness.clock.wall(), QUEUE, "t", id)


async def test_the_timeline_of_a_message_begins_where_it_was_sent(
    harness: WatchedHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_SHORT", 4)
    await harness.state.journal.append([_event(harness, f"old{number}") for number in range(40)])
    await harness.advance(7200, sweeping=False)
    message = await harness.put()
    await harness.state.journal.append([_event(harness, message.id), _event(harness, "other")])
    harness.requests.clear()
    (found,) = await harness.state.journal.about(message.id)
    assert (found.seq, found.event.message_id) == (41, message.id)
    (query,) = [one for one in harness.asked("GET", "tenure") if "MessageId" in str(one)]
    low = next(int(word.strip("'")[2:]) for word in query["$filter"][0].split() if word.startswith("'e:"))
    assert low > 36, "events from before it was sent are not looked through"
    assert len(harness.requests) <= 10


async def test_an_event_of_another_process_is_noticed_within_five_seconds(harness: WatchedHarness) -> None:
    other, state = azure.connect(harness._options, clock=harness.clock, hook=harness._tell_time)
    await other.open()
    last = await harness.state.journal.last()
    harness.requests.clear()
    assert await harness.took(harness.state.journal.wait(last, 60.0)) >= 60.0
    assert len(harness.requests) <= 18
    await state.journal.append([_event(harness, "m1")])
    assert await harness.took(harness.state.journal.wait(last, 60.0)) <= 5.1
    await other.close()


async def test_a_batch_of_tallies_and_an_act_are_one_request_each(harness: WatchedHarness) -> None:
    rows = [Tally(TEN_SECONDS, 1000, "nonce", number, b"data") for number in range(60)]
    await harness.state.acts.record([Act("paused", 1.0)])
    harness.requests.clear()
    await harness.state.journal.tally(rows)
    await harness.state.acts.record([Act("resumed", 2.0)])
    assert len(harness.requests) == 2
    assert await harness.state.journal.tallies(TEN_SECONDS, 1000, 1001) == rows
    assert [one.act.kind for one in await harness.state.acts.read()] == ["resumed", "paused"]
