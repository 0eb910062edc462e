"""Erasing: what is kept of a queue's ended messages can be removed; nothing else is lost by it."""

from tenure.event import Event, EventKind
from tenure.message import Outgoing
from tenure.settlement import Ack, DeadLetter, Nack
from tenure.testing.harness import BROKEN, QUEUE, Harness

OTHER = "other-tasks"
#: More steps than this are no bounded work for a store with a few messages.
MOST_STEPS = 1_000


class Erasing:
    """The promises of `Broker.erase` and `Journal.erase`."""

    async def test_what_has_ended_is_gone_with_its_result(self, harness: Harness) -> None:
        harness.need("erases")
        owner = await harness.owner()
        done = await harness.leased(owner)
        await harness.broker.ack([Ack(done, result=b'"secret"')])
        failed = await harness.leased(owner)
        assert await harness.state.records.checkpoint(failed, b"secret")
        await harness.broker.nack([Nack(failed, 0.0, BROKEN)])
        again = await harness.lease_one(owner)
        await harness.complete(again)
        cancelled = await harness.put()
        await harness.broker.cancel([cancelled.id])
        deleted = await harness.put(delay_seconds=60.0)
        await harness.broker.delete([deleted.id])
        ids = [done.id, failed.id, cancelled.id, deleted.id]
        assert all([await harness.state.records.get(id) for id in ids])
        assert await erase(harness) >= len(ids)
        for id in ids:
            assert await harness.state.records.get(id) is None
            assert await harness.state.records.load_checkpoint(id) is None
        assert await erase(harness) == 0

    async def test_what_has_not_ended_stays(self, harness: Harness) -> None:
        harness.need("erases")
        owner = await harness.owner()
        dead = await harness.leased(owner, key="dead")
        await harness.broker.dead_letter([DeadLetter(dead, BROKEN)])
        held = await harness.leased(owner)
        assert await harness.state.records.checkpoint(held, b"kept")
        ready, delayed = await harness.put(), await harness.put(delay_seconds=60.0)
        await harness.complete(await harness.leased(owner, queue="ended"))
        assert await erase(harness) == 0
        assert await harness.state.records.load_checkpoint(held.id) == b"kept"
        await harness.complete(held)
        for id in (dead.id, held.id, ready.id, delayed.id):
            assert await harness.state.records.get(id) is not None
        assert await harness.broker.redrive([dead.id]) == [dead.id]
        assert {one.id for one in await harness.lease_all(owner)} == {ready.id, dead.id}

    async def test_another_queue_keeps_what_has_ended(self, harness: Harness) -> None:
        harness.need("erases")
        owner = await harness.owner()
        ids = {}
        for queue in (OTHER, f"{QUEUE}x", QUEUE):
            lease = await harness.leased(owner, queue=queue)
            await harness.broker.ack([Ack(lease, result=b"1")])
            ids[queue] = lease.id
        await erase(harness)
        for queue, id in ids.items():
            record = await harness.state.records.get(id)
            assert (record is None) == (queue == QUEUE)
            assert record is None or record.result == b"1"

    async def test_the_key_of_what_was_erased_is_free(self, harness: Harness) -> None:
        harness.need("erases")
        harness.need("keys_at_send")
        owner = await harness.owner()
        lease = await harness.leased(owner, key="k")
        await harness.complete(lease)
        (known,) = await harness.send(harness.message(key="k"))
        assert known.duplicate
        await erase(harness)
        new = await harness.put(key="k")
        assert (await harness.lease_one(owner)).id == new.id

    async def test_the_key_of_what_waits_stays_taken(self, harness: Harness) -> None:
        harness.need("erases")
        harness.need("keys_at_send")
        first = await harness.put(key="k", delay_seconds=60.0)
        await erase(harness)
        (known,) = await harness.send(harness.message(key="k"))
        assert (known.id, known.duplicate) == (first.id, True)

    async def test_an_erased_id_is_new(self, harness: Harness) -> None:
        harness.need("erases")
        owner = await harness.owner()
        message = await harness.put()
        await harness.complete(await harness.lease_one(owner))
        (known,) = await harness.send(message)
        assert known.duplicate
        await erase(harness)
        (new,) = await harness.send(message)
        assert not new.duplicate
        await harness.complete(await harness.lease_one(owner))
        assert await harness.state.records.get(message.id) is not None

    async def test_what_ends_afterwards_is_kept_as_ever(self, harness: Harness) -> None:
        harness.need("erases")
        owner = await harness.owner()
        for _ in range(3):
            lease = await harness.leased(owner)
            await harness.broker.ack([Ack(lease, result=b"1")])
            record = await harness.state.records.get(lease.id)
            assert record is not None
            assert record.result == b"1"
            (known,) = await harness.send(harness.message(id=lease.id))
            assert known.duplicate
            await erase(harness)

    async def test_the_ending_that_waits_to_be_announced_stays(self, harness: Harness) -> None:
        harness.need("erases")
        lease = await harness.leased(await harness.owner(), announce=("webhook:orders",))
        await harness.broker.ack([Ack(lease, result=b'"told"')])
        await erase(harness)
        (told,) = await harness.broker.announcements()
        assert (told.id, told.result) == (lease.id, b'"told"')
        await harness.broker.announced([told])
        await erase(harness)
        assert await harness.state.records.get(lease.id) is None

    async def test_a_queue_that_is_not_there_has_nothing_to_erase(self, harness: Harness) -> None:
        assert await erase(harness, "nowhere") == 0

    # -- events ------------------------------------------------------------------------------------

    async def test_events_of_the_queue_are_blanked_and_keep_their_places(self, harness: Harness) -> None:
        journal, at = harness.state.journal, harness.clock.wall()
        data = {"error": "secret", "ids": ["a"]}
        own = Event(EventKind.RETRIED, at, QUEUE, "work", "a", "w/1", 1, 2.0, data)
        other = Event(EventKind.RETRIED, at, f"{QUEUE}x", "work", "b", "w/1", 1, 2.0, {"error": f"of {QUEUE}"})
        none = Event(EventKind.OWNER_JOINED, at, owner="w/1")
        await journal.append([own, other])
        await journal.append([none])
        await journal.append([own])
        before = await journal.read()
        assert await erase_events(harness) == 2
        after = await journal.read()
        assert [one.seq for one in after] == [one.seq for one in before]
        blank = Event(EventKind.RETRIED, at)
        assert [one.event for one in after] == [blank, other, none, blank]
        assert await journal.about("a") == []
        assert [one.event for one in await journal.about("b")] == [other]
        assert await journal.last() == before[-1].seq
        assert await journal.first() == before[0].seq
        await journal.append([own])
        assert (await journal.read(before[-1].seq))[0].event == own
        assert await erase_events(harness) == 1
        assert await erase_events(harness) == 0

    async def test_a_long_journal_is_blanked_in_steps(self, harness: Harness) -> None:
        journal, at = harness.state.journal, harness.clock.wall()
        own = Event(EventKind.COMPLETED, at, QUEUE, "work", "a")
        other = Event(EventKind.COMPLETED, at, OTHER, "work", "b")
        for _ in range(130):
            await journal.append([own, other])
        assert await erase_events(harness) == 130
        events = [one.event for one in await journal.read(limit=1_000)]
        assert events == [Event(EventKind.COMPLETED, at), other] * 130

    async def test_a_reader_goes_on_where_it_was(self, harness: Harness) -> None:
        journal, at = harness.state.journal, harness.clock.wall()
        await journal.append([Event(EventKind.COMPLETED, at, QUEUE, "work", str(number)) for number in range(3)])
        place = (await journal.read())[0].seq
        await erase_events(harness)
        await journal.append([Event(EventKind.COMPLETED, at, OTHER, "work", "new")])
        rest = await journal.read(place)
        assert [one.event.message_id for one in rest] == [None, None, "new"]

    async def test_hand_offs_of_an_erased_message_stay(self, harness: Harness) -> None:
        harness.need("erases")
        harness.need("settles_exactly_once")
        owner = await harness.owner()
        child = harness.message(queue=OTHER)
        await harness.broker.ack([Ack(await harness.leased(owner), handoffs=(Outgoing(child),))])
        await erase(harness)
        assert (await harness.lease_one(owner, queues=(OTHER,))).id == child.id


async def erase(harness: Harness, queue: str = QUEUE) -> int:
    """Erase to the end; how many messages."""
    count, after = 0, ""
    for _ in range(MOST_STEPS):
        step = await harness.broker.erase(queue, after)
        count += step.count
        if step.after is None:
            return count
        after = step.after
    msg = "erasing a few messages does not come to an end"
    raise AssertionError(msg)


async def erase_events(harness: Harness) -> int:
    """Erase the events of the queue to the end; how many."""
    count, after = 0, ""
    for _ in range(MOST_STEPS):
        step = await harness.state.journal.erase(QUEUE, after)
        count += step.count
        if step.after is None:
            return count
        after = step.after
    msg = "erasing a few events does not come to an end"
    raise AssertionError(msg)
