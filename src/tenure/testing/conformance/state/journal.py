"""The journal: every event once, in one order, to be read again from any place."""

import asyncio
from typing import Any

from tenure.event import Event, EventKind
from tenure.testing.harness import Harness

HOUR = 3600.0


class Journal:
    """The promises of the journal."""

    async def test_an_empty_journal_has_no_last_event(self, harness: Harness) -> None:
        assert await harness.state.journal.last() == 0
        assert await harness.state.journal.read() == []

    async def test_events_are_read_in_the_order_in_which_they_were_told(self, harness: Harness) -> None:
        events = [_event(harness, str(number)) for number in range(5)]
        await harness.state.journal.append(events[:3])
        await harness.state.journal.append(events[3:])
        stored = await harness.state.journal.read()
        assert [one.event for one in stored] == events
        assert [one.seq for one in stored] == [1, 2, 3, 4, 5]
        assert await harness.state.journal.last() == 5

    async def test_every_field_of_an_event_survives(self, harness: Harness) -> None:
        event = Event(
            kind=EventKind.REQUEUE,
            at=harness.clock.wall(),
            queue="mail",
            task="deliver",
            message_id="a",
            owner="one/1",
            attempt=2,
            seconds=0.25,
            data={"ids": ["a", "b"], "count": 2, "ä": None, "deep": {"x": 1.5}},
        )
        await harness.state.journal.append([event])
        (stored,) = await harness.state.journal.read()
        assert stored.event == event

    async def test_reading_goes_on_from_any_place(self, harness: Harness) -> None:
        await harness.state.journal.append([_event(harness, str(number)) for number in range(10)])
        for place in range(11):
            stored = await harness.state.journal.read(after=place)
            assert [one.seq for one in stored] == list(range(place + 1, 11))

    async def test_pages_follow_one_another_without_gap_or_repeat(self, harness: Harness) -> None:
        await harness.state.journal.append([_event(harness, str(number)) for number in range(10)])
        names: list[str | None] = []
        place = 0
        while page := await harness.state.journal.read(after=place, limit=4):
            assert len(page) <= 4
            assert page[0].seq > place, "the page repeats what was read"
            names += [one.event.message_id for one in page]
            place = page[-1].seq
        assert names == [str(number) for number in range(10)]

    async def test_reading_changes_nothing(self, harness: Harness) -> None:
        await harness.state.journal.append([_event(harness, "a")])
        assert await harness.state.journal.read() == await harness.state.journal.read()

    async def test_writers_at_once_lose_nothing_and_keep_their_own_order(self, harness: Harness) -> None:
        async def write(writer: int) -> None:
            for number in range(5):
                await harness.state.journal.append([_event(harness, f"{writer}-{number}-{half}") for half in "ab"])

        await asyncio.gather(*(write(writer) for writer in range(4)))
        stored = await harness.state.journal.read()
        assert [one.seq for one in stored] == list(range(1, 41))
        names = [str(one.event.message_id) for one in stored]
        for writer in range(4):
            mine = [name for name in names if name.startswith(f"{writer}-")]
            assert mine == sorted(mine)
            assert len(mine) == 10

    async def test_an_empty_append_is_no_event(self, harness: Harness) -> None:
        await harness.state.journal.append([])
        assert await harness.state.journal.last() == 0

    async def test_the_events_of_one_message_are_told_oldest_first(self, harness: Harness) -> None:
        journal = harness.state.journal
        await journal.append([_event(harness, id) for id in ("a", "b", "a", "c")])
        await journal.append([_event(harness, id) for id in ("b", "a")])
        found = await journal.about("a")
        assert [one.seq for one in found] == [1, 3, 6]
        everything = await journal.read()
        assert found == [one for one in everything if one.event.message_id == "a"]
        assert await journal.about("d") == []

    async def test_an_event_that_names_it_among_others_is_about_it_too(self, harness: Harness) -> None:
        journal = harness.state.journal
        await journal.append(
            [
                _event(harness, "a"),
                _event(harness, None, ids=["b", "a", "c"]),
                _event(harness, None, ids=["b"]),
                _event(harness, "a", ids=["a", "b"]),
                _event(harness, "b", ids=["a"]),
            ]
        )
        assert [one.seq for one in await journal.about("a")] == [1, 2, 4, 5]
        assert [one.seq for one in await journal.about("c")] == [2]

    async def test_an_id_in_another_place_is_not_about_it(self, harness: Harness) -> None:
        journal = harness.state.journal
        await journal.append(
            [
                _event(harness, "aa", ids=["aaa"], note="a", deep={"ids": ["a"]}),
                Event(EventKind.OWNER_JOINED, harness.clock.wall(), queue="a", task="a", owner="a"),
                _event(harness, "a"),
            ]
        )
        assert [one.seq for one in await journal.about("a")] == [3]

    async def test_no_more_than_the_first_of_them_are_told(self, harness: Harness) -> None:
        journal = harness.state.journal
        for _ in range(5):
            await journal.append([_event(harness, "a"), _event(harness, "b"), _event(harness, None, ids=["a"])])
        assert [one.seq for one in await journal.about("a", limit=3)] == [1, 3, 4]
        assert len(await journal.about("a", limit=100)) == 10

    async def test_one_message_is_found_among_thousands_of_events(self, harness: Harness) -> None:
        journal = harness.state.journal
        await journal.append([_event(harness, "a")])
        for number in range(12):
            await journal.append([_event(harness, f"{number}-{one}") for one in range(250)])
        await journal.append([_event(harness, None, ids=["x", "a"])])
        assert [one.seq for one in await journal.about("a")] == [1, 3002]

    async def test_no_event_since_a_moment_is_missed(self, harness: Harness) -> None:
        journal = harness.state.journal
        await journal.append([_event(harness, "a"), _event(harness, "a")])
        await harness.advance(HOUR, sweeping=False)
        since = harness.clock.wall()
        await journal.append([_event(harness, "b"), _event(harness, "a")])
        await harness.advance(HOUR, sweeping=False)
        await journal.append([_event(harness, "a")])
        found = [one.seq for one in await journal.about("a", since=since)]
        # Earlier ones may be among them or not.
        assert [seq for seq in found if seq > 2] == [4, 5]
        assert set(found) <= {1, 2, 4, 5}

    async def test_old_events_are_pruned_and_the_others_stay(self, harness: Harness) -> None:
        journal = harness.state.journal
        await journal.append([_event(harness, "old"), _event(harness, "old too")])
        await harness.advance(HOUR, sweeping=False)
        await journal.append([_event(harness, "new")])
        assert await journal.prune(HOUR / 2) == 2
        assert [one.event.message_id for one in await journal.read()] == ["new"]
        assert await journal.prune(HOUR / 2) == 0
        await harness.advance(HOUR, sweeping=False)
        assert await journal.prune(HOUR / 2) == 1, "it has become old meanwhile"
        assert await journal.read() == []

    async def test_one_call_prunes_any_number_of_old_events(self, harness: Harness) -> None:
        """Pruning goes in steps, so that others need not wait, until all old events are gone."""
        journal = harness.state.journal
        for page in range(25):
            await journal.append([_event(harness, f"old {page}.{number}") for number in range(10)])
        await harness.advance(HOUR, sweeping=False)
        await journal.append([_event(harness, "new"), _event(harness, "newer")])
        assert await journal.prune(HOUR / 2) == 250
        assert [(one.seq, one.event.message_id) for one in await journal.read()] == [(251, "new"), (252, "newer")]
        assert await journal.prune(HOUR / 2) == 0

    async def test_places_are_never_given_twice(self, harness: Harness) -> None:
        journal = harness.state.journal
        await journal.append([_event(harness, "a"), _event(harness, "b")])
        await harness.advance(HOUR, sweeping=False)
        assert await journal.prune(1.0) == 2
        await journal.append([_event(harness, "c")])
        assert [(one.seq, one.event.message_id) for one in await journal.read()] == [(3, "c")]
        assert [one.seq for one in await journal.read(after=2)] == [3]

    async def test_events_outlive_the_connection(self, harness: Harness) -> None:
        await harness.state.journal.append([_event(harness, "a")])
        before = await harness.state.journal.read()
        await harness.reopen()
        assert await harness.state.journal.read() == before
        await harness.state.journal.append([_event(harness, "b")])
        assert await harness.state.journal.last() == 2


def _event(harness: Harness, message_id: str | None, **data: Any) -> Event:
    return Event(EventKind.COMPLETED, harness.clock.wall(), message_id=message_id, data=data)
