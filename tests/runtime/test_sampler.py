"""Sampling: a few runs of each task are told, cheaply, and by every worker to all."""

import asyncio

import pytest

from tenure import Context
from tenure.client.operator import Operator
from tenure.lease import Lease
from tenure.runtime.background.sampler import SAMPLES_A_TASK, Sampler, hardware_class
from tenure.runtime.delivery import Delivery
from tenure.sample import Ended, Sample
from tenure.settlement import Outcome, Settlement
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.workers import Stage
from tenure.verdict import Completed, Lost, Reason, Retried, Verdict

DONE = Settlement(Outcome.DELETED)


def ran(harness: Harness, lease: Lease, verdict: Verdict, *, task: str = "work", seconds: float = 1.5) -> Delivery:
    """A delivery at the end of its path."""
    delivery = Delivery(lease)
    delivery.message = harness.message(task=task)
    delivery.started, delivery.finished = 10.0, 10.0 + seconds
    delivery.verdict = verdict
    return delivery


async def kept(harness: Harness, task: str) -> list[Sample]:
    return [one.sample for one in await harness.state.journal.samples(QUEUE, task)]


async def test_a_run_that_completed_is_told_with_its_figures(harness: Harness) -> None:
    lease = await harness.leased(harness.stranger())
    sampler = Sampler(harness.state.journal)
    sampler.note([(ran(harness, lease, Completed(b"1")), DONE)], 7.0)
    await sampler.flush()
    assert await kept(harness, "work") == [Sample(QUEUE, "work", 1.5, 7.0, hardware=hardware_class())]
    await sampler.flush()
    assert len(await kept(harness, "work")) == 1, "it was told twice"


async def test_a_run_that_was_ended_from_outside_would_have_taken_longer(harness: Harness) -> None:
    lease = await harness.leased(harness.stranger())
    delivery = ran(harness, lease, Lost())
    delivery.ending = delivery.verdict
    sampler = Sampler(harness.state.journal)
    sampler.note([(delivery, None)], 7.0)
    await sampler.flush()
    assert [one.ended for one in await kept(harness, "work")] == [Ended.KILLED]


async def test_what_failed_or_was_not_run_is_no_sample(harness: Harness) -> None:
    lease = await harness.leased(harness.stranger())
    failed = ran(harness, lease, Retried(1.0, Reason("error", "it broke")))
    idle, unread = ran(harness, lease, Completed(b"1")), ran(harness, lease, Completed(b"1"))
    idle.started, unread.message = None, None
    sampler = Sampler(harness.state.journal)
    sampler.note([(failed, DONE), (idle, DONE), (unread, DONE)], 7.0)
    await sampler.flush()
    assert await kept(harness, "work") == []


async def test_of_a_flood_a_few_a_second_are_told_and_it_hides_no_other_task(harness: Harness) -> None:
    lease = await harness.leased(harness.stranger())
    sampler = Sampler(harness.state.journal)
    flood = [(ran(harness, lease, Completed(b"1")), DONE) for _ in range(500)]
    sampler.note([*flood, (ran(harness, lease, Completed(b"1"), task="rare"), DONE)], 7.0)
    await sampler.flush()
    assert len(await kept(harness, "work")) == SAMPLES_A_TASK
    assert len(await kept(harness, "rare")) == 1
    sampler.note(flood, 8.0)
    await sampler.flush()
    assert len(await kept(harness, "work")) == 2 * SAMPLES_A_TASK


async def test_what_two_workers_told_is_read_by_a_third(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work(seconds: float) -> None:
            await asyncio.sleep(seconds)

        two = [await stage.start(concurrency=1) for _ in range(2)]
        for seconds in (2.0, 3.0):
            await stage.submit(work.bind(seconds))
        await stage.settled()
        await asyncio.sleep(1.5)
        assert all(actor.wire.said.count("journal.sample") == 1 for actor in two)
        third = await stage.start()
        read = await third.wire.state.journal.samples(QUEUE, work.name)
        assert sorted(round(one.sample.seconds, 2) for one in read) == [2.0, 3.0]


async def test_a_worker_tells_once_a_second_however_much_it_runs(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None:
            await asyncio.sleep(0.1)

        for _ in range(300):
            await stage.submit(work.bind())
        actor = await stage.start(concurrency=10)
        await stage.settled()
        await asyncio.sleep(1.5)
        assert 1 <= actor.wire.said.count("journal.sample") <= 6
        assert len(await kept(harness, work.name)) >= SAMPLES_A_TASK
        said = len(actor.wire.said)
        await asyncio.sleep(5.0)
        assert "journal.sample" not in actor.wire.said[said:]


async def test_a_worker_that_ends_tells_what_it_has(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        id = await stage.submit(work.bind())
        actor = await stage.start()
        await stage.ended(id)
        await stage.stop(actor)
        assert len(await kept(harness, work.name)) == 1


async def test_a_run_over_max_hold_is_told_as_killed(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task(max_hold=4.0)
        async def hang(ctx: Context) -> None:
            if ctx.attempt == 1:
                await asyncio.sleep(3600)

        id = await stage.submit(hang.bind())
        await stage.start()
        await stage.ended(id)
        await asyncio.sleep(2)
        samples = await kept(harness, hang.name)
        assert [one.ended for one in samples] == [Ended.KILLED, Ended.COMPLETED]
        assert 4.0 <= samples[0].seconds < 6.0


@pytest.mark.parametrize("heartbeat", [True, False])
async def test_a_cancelled_run_is_no_sample(harness: Harness, heartbeat: bool) -> None:
    """It was ended while its lease stood: how long the work takes, nobody knows by it."""
    async with Stage(harness) as stage:

        @stage.task(heartbeat=heartbeat, lease=60.0)
        async def work() -> None:
            await asyncio.sleep(3600)

        await stage.start()
        id = await stage.submit(work.bind())
        await asyncio.sleep(25)  # with the heartbeat on, after its first beat
        await Operator(harness.broker, harness.state, harness.clock, by="ada").cancel([id])
        await asyncio.sleep(5)
        assert await kept(harness, work.name) == []


async def test_a_journal_that_is_away_costs_samples_and_nothing_else(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        actor = await stage.start()
        actor.wire.away("journal.*")
        await stage.ended(await stage.submit(work.bind()))
        await asyncio.sleep(5)
        actor.wire.back()
        await stage.ended(await stage.submit(work.bind()))
        await asyncio.sleep(2)
        assert len(await kept(harness, work.name)) == 1


async def test_of_a_burst_the_slow_ones_are_told_as_often_as_the_fast_ones(harness: Harness) -> None:
    """Whatever begins together ends in the order of its length: the first ones of a second are the shortest."""
    lease = await harness.leased(harness.stranger())
    sampler = Sampler(harness.state.journal)
    for second in range(40):
        for number in range(500):
            run = ran(harness, lease, Completed(b"1"), seconds=(number + 1) / 500)
            sampler.note([(run, DONE)], 7.0 + second)
        await sampler.flush()
    told = sorted(one.seconds for one in await kept(harness, "work"))
    assert len(told) == 40 * SAMPLES_A_TASK
    assert 0.42 < told[len(told) // 2] < 0.58, "the median of all runs is 0.5 s"
    assert told[-1] > 0.97, "the slowest take 1 s"
    assert told[0] < 0.03


async def test_what_is_told_is_learned_here_too_and_nothing_else(harness: Harness) -> None:
    lease = await harness.leased(harness.stranger())
    observed: list[Sample] = []
    sampler = Sampler(harness.state.journal, observed.append)
    runs = [ran(harness, lease, Completed(b"1"), seconds=1.0 + number) for number in range(100)]
    sampler.note([(run, DONE) for run in runs], 7.0)
    await sampler.flush()
    assert sorted(one.seconds for one in observed) == sorted(one.seconds for one in await kept(harness, "work"))


async def test_a_run_that_was_ended_from_outside_is_told_at_once_and_not_lost_in_a_flood(harness: Harness) -> None:
    lease = await harness.leased(harness.stranger())
    observed: list[Sample] = []
    sampler = Sampler(harness.state.journal, observed.append)
    sampler.note([(ran(harness, lease, Completed(b"1")), DONE) for _ in range(500)], 7.0)
    killed = ran(harness, lease, Lost(), seconds=30.0)
    killed.ending = killed.verdict
    sampler.note([(killed, None)], 7.0)
    assert [one.ended for one in observed] == [Ended.KILLED], "the next lease must be longer"
    sampler.note([(ran(harness, lease, Completed(b"1")), DONE) for _ in range(500)], 7.0)
    await sampler.flush()
    assert [one.seconds for one in await kept(harness, "work") if one.ended is Ended.KILLED] == [30.0]
    assert sum(one.ended is Ended.KILLED for one in observed) == 1, "it was counted twice"


async def test_a_busy_queue_hides_no_other_queue_of_the_same_task(harness: Harness) -> None:
    lease = await harness.leased(harness.stranger())
    sampler = Sampler(harness.state.journal)
    other = ran(harness, lease, Completed(b"1"))
    other.queue = "quiet"
    flood = [(ran(harness, lease, Completed(b"1")), DONE) for _ in range(500)]
    sampler.note([*flood, (other, DONE), *flood], 7.0)
    await sampler.flush()
    assert len(await harness.state.journal.samples("quiet", "work")) == 1
