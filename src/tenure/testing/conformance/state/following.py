"""Following: who reads the journal as it grows wakes for each event, and learns what was pruned before it came."""

import asyncio

from tenure.event import Event, EventKind
from tenure.testing.harness import Harness

HOUR = 3600.0
LONG = 600.0
#: A reader wakes at most so late.
WAKING_SECONDS = 1.0


class Following:
    """The promises of `Journal.first` and `Journal.wait`."""

    async def test_an_empty_journal_has_no_first_event(self, harness: Harness) -> None:
        assert await harness.state.journal.first() == 0

    async def test_the_first_event_is_the_oldest_that_is_kept(self, harness: Harness) -> None:
        journal = harness.state.journal
        for _ in range(3):
            await journal.append([_event(harness), _event(harness)])
            assert await journal.first() == 1
            await harness.advance(HOUR, sweeping=False)
        await journal.prune(HOUR * 2.5)
        assert await journal.first() == 3
        (stored, *_) = await journal.read(after=await journal.first() - 1, limit=1)
        assert stored.seq == 3

    async def test_when_all_are_pruned_there_is_no_first_event(self, harness: Harness) -> None:
        journal = harness.state.journal
        await journal.append([_event(harness), _event(harness)])
        await harness.advance(HOUR, sweeping=False)
        await journal.prune(1.0)
        assert await journal.first() == 0
        await journal.append([_event(harness)])
        assert await journal.first() == 3

    async def test_waiting_for_what_is_there_takes_no_time(self, harness: Harness) -> None:
        journal = harness.state.journal
        await journal.append([_event(harness), _event(harness)])
        assert await harness.took(journal.wait(0, LONG)) <= WAKING_SECONDS
        assert await harness.took(journal.wait(1, LONG)) <= WAKING_SECONDS

    async def test_waiting_in_vain_ends_on_time(self, harness: Harness) -> None:
        journal = harness.state.journal
        assert 20.0 <= await harness.took(journal.wait(0, 20.0)) <= 20.0 + WAKING_SECONDS
        await journal.append([_event(harness)])
        assert 20.0 <= await harness.took(journal.wait(1, 20.0)) <= 20.0 + WAKING_SECONDS

    async def test_an_append_wakes_every_reader(self, harness: Harness) -> None:
        journal = harness.state.journal
        await journal.append([_event(harness)])
        waiters = [asyncio.create_task(journal.wait(1, LONG)) for _ in range(3)]
        await asyncio.sleep(29.0)
        assert not any(waiter.done() for waiter in waiters), "it woke although nothing was told"
        await journal.append([_event(harness)])
        assert await harness.took(asyncio.gather(*waiters)) <= WAKING_SECONDS

    async def test_an_append_to_an_empty_journal_wakes(self, harness: Harness) -> None:
        journal = harness.state.journal
        waiter = asyncio.create_task(journal.wait(0, LONG))
        await asyncio.sleep(29.0)
        await journal.append([_event(harness)])
        assert await harness.took(waiter) <= WAKING_SECONDS

    async def test_an_append_after_a_prune_wakes(self, harness: Harness) -> None:
        journal = harness.state.journal
        await journal.append([_event(harness), _event(harness)])
        await harness.advance(HOUR, sweeping=False)
        await journal.prune(1.0)
        waiter = asyncio.create_task(journal.wait(2, LONG))
        await asyncio.sleep(29.0)
        assert not waiter.done()
        await journal.append([_event(harness)])
        assert await harness.took(waiter) <= WAKING_SECONDS

    async def test_a_reader_that_follows_misses_nothing(self, harness: Harness) -> None:
        journal = harness.state.journal
        read: list[int] = []

        async def follow() -> None:
            while len(read) < 12:
                await journal.wait(read[-1] if read else 0, LONG)
                read.extend(stored.seq for stored in await journal.read(read[-1] if read else 0, limit=5))

        follower = asyncio.create_task(follow())
        for number in range(6):
            await asyncio.sleep(number % 3)
            await journal.append([_event(harness), _event(harness)])
        assert await harness.took(follower) <= WAKING_SECONDS
        assert read == list(range(1, 13))

    async def test_waiting_can_be_cancelled(self, harness: Harness) -> None:
        journal = harness.state.journal
        waiter = asyncio.create_task(journal.wait(0, LONG))
        await asyncio.sleep(1.0)
        waiter.cancel()
        (ended,) = await asyncio.gather(waiter, return_exceptions=True)
        assert isinstance(ended, asyncio.CancelledError)
        await journal.append([_event(harness)])
        assert await journal.last() == 1


def _event(harness: Harness) -> Event:
    return Event(EventKind.COMPLETED, harness.clock.wall(), message_id="a")
