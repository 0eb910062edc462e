"""Patterns: a worker serves every queue that matches, also one that was made a moment ago."""

import asyncio

from tenure.lease import Lease
from tenure.settlement import Ack, GiveBack
from tenure.testing.harness import Harness

#: A waiter wakes at most so late.
WAKING_SECONDS = 1.0
LONG = 600.0
TASKS = ("*-tasks",)


class Patterns:
    """The promises of queue patterns, exclusions and many queues in `lease` and `wait`."""

    async def test_every_queue_that_matches_is_served_and_no_other(self, harness: Harness) -> None:
        wanted = {(await harness.put(queue=queue)).id for queue in ("a-tasks", "b-tasks", "a-b-tasks")}
        for queue in ("a-mail", "tasks-a", "a-tasks2"):
            await harness.put(queue=queue)
        leases = await _lease_all(harness, TASKS)
        assert {lease.id for lease in leases} == wanted
        assert {lease.queue for lease in leases} == {"a-tasks", "b-tasks", "a-b-tasks"}

    async def test_a_star_alone_serves_every_queue(self, harness: Harness) -> None:
        ids = {(await harness.put(queue=queue)).id for queue in ("mail", "a-tasks", "b-c")}
        assert {lease.id for lease in await _lease_all(harness, ("*",))} == ids

    async def test_other_signs_stand_for_themselves(self, harness: Harness) -> None:
        await harness.put(queue="axb-tasks")
        wanted = await harness.put(queue="a-b-tasks")
        leases = await _lease_all(harness, ("a-b-*", "a.b-*", "[a]*", "a?b-*"))
        assert [lease.id for lease in leases] == [wanted.id]

    async def test_names_and_patterns_go_together(self, harness: Harness) -> None:
        ids = {(await harness.put(queue=queue)).id for queue in ("mail", "a-tasks", "b-tasks")}
        await harness.put(queue="other")
        leases = await _lease_all(harness, ("mail", "a-tasks", "*-tasks", "b-*"))
        assert {lease.id for lease in leases} == ids

    async def test_a_queue_that_matches_twice_is_lent_once(self, harness: Harness) -> None:
        ids = [message.id for message in await harness.put_many(4, queue="a-tasks")]
        leases = await _lease_all(harness, ("a-tasks", "*-tasks", "a-*", "a-tasks"))
        assert sorted(lease.id for lease in leases) == sorted(ids)

    async def test_an_excluded_queue_is_not_served(self, harness: Harness) -> None:
        paused, served = await harness.put(queue="a-tasks"), await harness.put(queue="b-tasks")
        leases = await _lease_all(harness, TASKS, excluded=("a-tasks", "nowhere"))
        assert [lease.id for lease in leases] == [served.id]
        assert [lease.id for lease in await _lease_all(harness, TASKS)] == [paused.id]

    async def test_a_name_can_be_excluded_too(self, harness: Harness) -> None:
        await harness.put(queue="a-tasks")
        served = await harness.put(queue="b-tasks")
        leases = await _lease_all(harness, ("a-tasks", "b-tasks"), excluded=("a-tasks",))
        assert [lease.id for lease in leases] == [served.id]

    async def test_a_pattern_that_matches_nothing_lends_nothing(self, harness: Harness) -> None:
        await harness.put()
        assert await harness.lease(harness.stranger(), 5, queues=TASKS) == []

    async def test_a_new_queue_is_served_by_a_worker_that_runs(self, harness: Harness) -> None:
        await harness.put(queue="a-tasks")
        assert len(await _lease_all(harness, TASKS)) == 1
        for number in range(3):
            message = await harness.put(queue=f"new{number}-tasks")
            assert [lease.id for lease in await _lease_all(harness, TASKS)] == [message.id]

    async def test_what_comes_back_in_a_matching_queue_is_served(self, harness: Harness) -> None:
        await harness.put(queue="a-tasks")
        (lease,) = await _lease_all(harness, TASKS)
        await harness.broker.give_back([GiveBack(lease)])
        (again,) = await _lease_all(harness, TASKS)
        assert (again.id, again.counters.deliveries) == (lease.id, 2)
        await harness.lapse()
        assert [one.id for one in await _lease_all(harness, TASKS)] == [lease.id]

    async def test_a_delayed_message_of_a_matching_queue_is_promoted(self, harness: Harness) -> None:
        message = await harness.put(queue="a-tasks", delay_seconds=50.0)
        assert await harness.lease(harness.stranger(), queues=TASKS) == []
        took = await harness.took(harness.broker.wait(TASKS, LONG))
        assert 50.0 <= took <= 50.0 + WAKING_SECONDS
        assert [lease.id for lease in await _lease_all(harness, TASKS)] == [message.id]

    async def test_waiting_for_what_is_there_takes_no_time(self, harness: Harness) -> None:
        await harness.put(queue="a-tasks")
        assert await harness.took(harness.broker.wait(TASKS, LONG)) <= WAKING_SECONDS

    async def test_a_queue_that_comes_into_being_wakes(self, harness: Harness) -> None:
        waiter = asyncio.create_task(harness.broker.wait(TASKS, LONG))
        await asyncio.sleep(29.0)
        assert not waiter.done(), "it woke although there was nothing to lease"
        message = await harness.put(queue="new-tasks")
        assert await harness.took(waiter) <= WAKING_SECONDS
        assert [lease.id for lease in await _lease_all(harness, TASKS)] == [message.id]

    async def test_a_queue_that_comes_into_being_over_another_connection_wakes(self, harness: Harness) -> None:
        second = await harness.second()
        waiter = asyncio.create_task(second.wait(("a-tasks", "*-tasks"), LONG))
        await asyncio.sleep(30.0)
        await harness.put(queue="new-tasks")
        assert await harness.took(waiter) <= WAKING_SECONDS

    async def test_a_send_to_a_queue_that_was_empty_wakes(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger(), queue="a-tasks")
        await harness.broker.ack([Ack(lease)])
        waiter = asyncio.create_task(harness.broker.wait(TASKS, LONG))
        await asyncio.sleep(30.0)
        await harness.put(queue="a-tasks")
        assert await harness.took(waiter) <= WAKING_SECONDS

    async def test_queues_that_do_not_match_wake_nobody(self, harness: Harness) -> None:
        await harness.put(queue="mail")
        assert await harness.took(harness.broker.wait(TASKS, 20.0)) >= 20.0

    async def test_an_excluded_queue_wakes_nobody(self, harness: Harness) -> None:
        """A worker that waits beside a paused queue must not spin."""
        await harness.put(queue="paused-tasks")
        wait = harness.broker.wait(TASKS, 20.0, ("paused-tasks",))
        assert await harness.took(wait) >= 20.0
        wait = harness.broker.wait(("paused-tasks", "a-tasks"), 20.0, excluded=("paused-tasks",))
        assert await harness.took(wait) >= 20.0

    async def test_another_queue_wakes_beside_an_excluded_one(self, harness: Harness) -> None:
        await harness.put(queue="paused-tasks")
        waiter = asyncio.create_task(harness.broker.wait(TASKS, LONG, ("paused-tasks",)))
        await asyncio.sleep(15.0)
        await harness.put(queue="a-tasks")
        assert await harness.took(waiter) <= WAKING_SECONDS

    async def test_waiting_in_vain_for_a_pattern_ends_on_time(self, harness: Harness) -> None:
        took = await harness.took(harness.broker.wait(TASKS, 20.0))
        assert 20.0 <= took <= 20.0 + WAKING_SECONDS

    async def test_each_busy_queue_gets_its_turn(self, harness: Harness) -> None:
        queues = [f"q{number:02}-tasks" for number in range(12)]
        for queue in queues:
            await harness.put_many(4, queue=queue)
        served = [lease.queue for lease in await _lease_some(harness, TASKS, 36)]
        assert set(served) == set(queues), "a queue was not served while others were served three times"

    async def test_a_long_queue_does_not_hide_short_ones(self, harness: Harness) -> None:
        await harness.put_many(80, queue="long-tasks")
        short = {(await harness.put(queue=f"short{number}-tasks")).id for number in range(6)}
        leases = await _lease_some(harness, TASKS, 40, want=4)
        assert short <= {lease.id for lease in leases}

    async def test_named_queues_get_their_turns_too(self, harness: Harness) -> None:
        queues = tuple(f"q{number:02}-tasks" for number in range(12))
        for queue in queues:
            await harness.put_many(4, queue=queue)
        served = {lease.queue for lease in await _lease_some(harness, queues, 36)}
        assert served == set(queues)

    async def test_queues_that_are_empty_hide_nothing(self, harness: Harness) -> None:
        for number in range(20):
            lease = await harness.leased(harness.stranger(), queue=f"idle{number:02}-tasks")
            await harness.broker.ack([Ack(lease)])
        ids = {message.id for message in await harness.put_many(5, queue="zz-tasks")}
        first = await harness.lease(harness.stranger(), 5, queues=TASKS)
        assert first, "there was something, and nothing was lent"
        assert {lease.id for lease in [*first, *await _lease_all(harness, TASKS)]} == ids


async def _lease_all(harness: Harness, queues: tuple[str, ...], excluded: tuple[str, ...] = ()) -> list[Lease]:
    return await harness.lease_all(harness.stranger(), queues=queues, excluded=excluded)


async def _lease_some(harness: Harness, queues: tuple[str, ...], count: int, want: int = 1) -> list[Lease]:
    """The first `count` that are lent, `want` at a time."""
    leases: list[Lease] = []
    while len(leases) < count:
        batch = await harness.lease(harness.stranger(), want, queues=queues)
        assert batch, "there was something, and nothing was lent"
        leases += batch
    return leases
