"""Learning in a worker: what it reads, what it counts, and what it makes of it."""

import asyncio
from typing import Any

import msgspec
import pytest

from tenure import Context, Tenure
from tenure.claim import ClaimRequest, Running, Scope, digest
from tenure.envelope import decode
from tenure.errors import BadArgument, BadTask
from tenure.event import Event, EventKind
from tenure.lease import Lease
from tenure.message import Counters, MessageState
from tenure.runtime.delivery import Delivery
from tenure.runtime.learning import MOST_KNOWN, OWN_RUNS, READ_SECONDS, Learning
from tenure.runtime.sampling import hardware_class
from tenure.sample import Ended, Sample
from tenure.task import Task
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.workers import Actor, Stage
from tenure.timing.learned import LEAST_SECONDS
from tenure.timing.profile import Profile, SizeEstimate, SizeTable

LEASE = 30.0


def sample(seconds: float, at: float = 1.0, task: str = "work", **fields: Any) -> Sample:
    return Sample(QUEUE, task, seconds, at, hardware=fields.pop("hardware", hardware_class()), **fields)


async def taught(harness: Harness, seconds: float, times: int = 200, **fields: Any) -> None:
    """So many runs are in the journal."""
    at = harness.clock.wall() - times
    await harness.state.journal.sample([sample(seconds, at + number, **fields) for number in range(times)])


def learning_for(harness: Harness, task: Task[..., Any], **options: Any) -> Learning:
    tasks = {task.name: task}
    return Learning(
        harness.state.journal, tasks, harness.traits, harness.clock, lease_seconds=LEASE, **options
    )  # fmt: skip


def delivery_of(harness: Harness, task: Task[..., Any], *, lost: int = 0, seconds: float = LEASE) -> Delivery:
    message = harness.message(task=task.name)
    deadline = harness.clock.monotonic() + seconds
    delivery = Delivery(Lease(message.id, QUEUE, b"", "me", 1, "r", seconds, deadline, Counters(lost=lost)))
    delivery.message, delivery.task = message, task
    return delivery


def a_task(harness: Harness, **options: Any) -> Task[..., Any]:
    async def work() -> None: ...

    return Stage(harness).task(name="work", **options)(work)


def touches(actor: Actor) -> int:
    return actor.wire.said.count("broker.touch")


# --- what it knows ----------------------------------------------------------------------------------------


async def test_a_worker_begins_with_what_others_learned(harness: Harness) -> None:
    await taught(harness, 100.0)
    learning = learning_for(harness, a_task(harness, heartbeat=False))
    assert learning.seconds_by_task() == {"work": 60.0}
    await learning.open()
    assert learning.seconds_by_task() == {"work": pytest.approx(175.0, rel=0.01)}
    assert learning.seconds_by_task() is learning.seconds_by_task()


async def test_its_own_runs_count_at_once_and_once(harness: Harness) -> None:
    task = a_task(harness, heartbeat=False)
    learning = learning_for(harness, task)
    runs = [sample(float(number), number) for number in range(1, 41)]
    for one in runs:
        learning.observe(one)
    known = learning._of(QUEUE, task)
    assert known.here.count == 40
    await harness.state.journal.sample([*runs, sample(7.0, 99.0)])
    await learning.open()
    assert known.here.count == 41, "they came back from the journal, and one of another worker came with them"
    assert not known.mine


async def test_own_runs_that_are_alike_count_once_each(harness: Harness) -> None:
    """Of one batch and of the same length: nothing but their number tells them apart."""
    task = a_task(harness, heartbeat=False)
    learning = learning_for(harness, task)
    runs = [sample(4.0, 7.0)] * 40
    for one in runs:
        learning.observe(one)
    await harness.state.journal.sample(runs)
    await learning.open()
    known = learning._of(QUEUE, task)
    assert known.here.count == 40
    assert not known.mine


async def test_an_app_of_very_many_tasks_forgets_none_of_them(harness: Harness) -> None:
    stage = Stage(harness)

    async def work() -> None: ...

    tasks = {f"work{n}": stage.task(name=f"work{n}", heartbeat=False)(work) for n in range(MOST_KNOWN + 100)}
    learning = Learning(harness.state.journal, tasks, harness.traits, harness.clock, lease_seconds=LEASE)
    for _ in range(200):
        learning.observe(sample(100.0, task="work0"))
    assert learning.seconds_by_task()["work0"] == pytest.approx(175.0, rel=0.01)
    assert learning.seconds_by_task()["work0"] == pytest.approx(175.0, rel=0.01), "it was pushed out by the others"


async def test_what_others_learn_later_is_read_while_the_task_runs_here(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task(heartbeat=False)
        async def work() -> None: ...

        actor = await stage.start()
        learning = actor.worker._path.learning
        assert learning.choice(QUEUE, work).seconds == 60.0
        await taught(harness, 100.0)
        await asyncio.sleep(READ_SECONDS + 1)
        assert learning.choice(QUEUE, work).seconds == pytest.approx(175.0, rel=0.01)


async def test_an_idle_task_costs_no_reading(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        actor = await stage.start()
        await asyncio.sleep(1)
        assert actor.wire.said.count("journal.samples") == 1
        await asyncio.sleep(10 * READ_SECONDS)
        assert actor.wire.said.count("journal.samples") == 1
        await stage.ended(await stage.submit(work.bind()))
        await asyncio.sleep(10 * READ_SECONDS)
        assert actor.wire.said.count("journal.samples") == 2


async def test_runs_on_other_machines_are_believed_only_while_there_are_few_on_ours(harness: Harness) -> None:
    task = a_task(harness, heartbeat=False)
    await taught(harness, 1000.0, hardware="abacus 1")
    learning = learning_for(harness, task)
    await learning.open()
    assert learning.choice(QUEUE, task).seconds == pytest.approx(1750.0, rel=0.01)
    for number in range(OWN_RUNS):
        learning.observe(sample(10.0, float(number)))
    assert learning.choice(QUEUE, task).seconds < 40.0


async def test_a_journal_that_is_away_is_asked_later(harness: Harness) -> None:
    await taught(harness, 100.0)
    async with Stage(harness) as stage:

        @stage.task(heartbeat=False)
        async def work() -> None: ...

        wire = stage.wire()
        wire.away("journal.*")
        actor = await stage.start(wire=wire)
        await stage.ended(await stage.submit(work.bind()))
        wire.back()
        await asyncio.sleep(2 * READ_SECONDS)
        assert actor.worker._path.learning.choice(QUEUE, work).seconds == pytest.approx(175.0, abs=2)


async def test_a_clock_that_is_fast_elsewhere_makes_its_runs_count_no_more_than_ours(harness: Harness) -> None:
    month = 30 * 86_400.0
    ahead = [sample(100.0, harness.clock.wall() + month + number) for number in range(200)]
    await harness.state.journal.sample(ahead)
    task = a_task(harness, heartbeat=False)
    learning = learning_for(harness, task)
    await learning.open()
    for _ in range(200):
        learning.observe(sample(1.0, harness.clock.wall()))
    assert learning._of(QUEUE, task).here.runs > 350


async def test_a_night_in_which_the_machine_slept_pins_no_lease(harness: Harness) -> None:
    """Ten runs were under way, and took six hours instead of two seconds; a crash must not cost half a day."""
    night = [sample(6 * 3600.0, harness.clock.wall() - 10.0 + number / 10) for number in range(10)]
    await taught(harness, 2.0, times=50)
    await harness.state.journal.sample(night)
    task = a_task(harness, heartbeat=False)
    learning = learning_for(harness, task)
    await learning.open()
    assert learning.choice(QUEUE, task).seconds < 60


@pytest.mark.parametrize("days", [-3, 3])
async def test_a_clock_that_is_set_by_days_keeps_no_lease_from_falling(harness: Harness, days: int) -> None:
    task = a_task(harness, heartbeat=False)
    learning = learning_for(harness, task)
    for _ in range(200):
        harness.clock.now += 1
        learning.observe(sample(100.0, harness.clock.wall()))
    before = learning.choice(QUEUE, task).seconds
    harness.clock.move_wall(days * 86_400.0)
    chosen = []
    for _ in range(10):  # minutes
        for _ in range(1_200):
            harness.clock.now += 0.05
            learning.observe(sample(20.0, harness.clock.wall()))
        chosen.append(learning.choice(QUEUE, task).seconds)
    falling = [one for one in chosen if one < before]
    assert falling[0] > 0.85 * before, "not all at once"
    assert len(falling) > 4
    assert falling[4] < 0.7 * before, "and by a tenth a minute"


async def test_nonsense_in_the_journal_teaches_nothing(harness: Harness) -> None:
    await harness.state.journal.sample([sample(-1.0), sample(5.0, 9e18)])
    task = a_task(harness, heartbeat=False)
    learning = learning_for(harness, task)
    await learning.open()
    assert learning._of(QUEUE, task).here.count == 1


async def test_many_queues_take_no_more_memory_than_some(harness: Harness) -> None:
    task = a_task(harness)
    learning = learning_for(harness, task)
    for number in range(MOST_KNOWN + 50):
        learning.observe(msgspec.structs.replace(sample(1.0), queue=f"queue-{number}"))
    assert len(learning._known) == MOST_KNOWN
    for number in range(5_000):
        learning.observe(sample(1.0, float(number)))
    assert len(learning._of(QUEUE, task).mine) <= 2_000


async def test_switched_off_it_learns_nothing(harness: Harness) -> None:
    await taught(harness, 100.0)
    task = a_task(harness, heartbeat=False)
    learning = learning_for(harness, task, is_on=False)
    await learning.open()
    learning.observe(sample(100.0))
    assert learning.seconds_by_task() == {"work": 60.0}


# --- the lease, with the heartbeat off --------------------------------------------------------------------


async def test_a_profile_is_taken_by_name_by_value_or_by_the_task_s_own_name(harness: Harness) -> None:
    for options in ({"profile": "content-processor"}, {"profile": Profile(10, 45, 90, 120)}):
        learning = learning_for(harness, a_task(harness, heartbeat=False, **options))
        assert learning.seconds_by_task() == {"work": 158.0}
    named: Task[..., Any] = Stage(harness).task(name="content-processor", heartbeat=False)(_nothing)
    assert learning_for(harness, named).seconds_by_task() == {"content-processor": 158.0}


async def _nothing() -> None: ...


async def test_who_says_how_long_is_not_corrected(harness: Harness) -> None:
    await taught(harness, 100.0)
    task = a_task(harness, heartbeat=False, lease=45.0)
    learning = learning_for(harness, task)
    await learning.open()
    assert learning.seconds_by_task() == {"work": 45.0}
    delivery = delivery_of(harness, task, seconds=45.0, lost=2)
    learning.prepare(delivery, task)
    assert delivery.lease.seconds == 45.0
    assert not delivery.is_renewed
    task = a_task(harness, heartbeat=False)
    delivery = delivery_of(harness, task)
    assert delivery.message is not None
    own = msgspec.structs.replace(delivery.message.overrides, lease_seconds=LEASE)
    delivery.message = msgspec.structs.replace(delivery.message, overrides=own)
    learning_for(harness, task).prepare(delivery, task)
    assert delivery.lease.seconds == LEASE


async def test_the_shortest_work_has_a_lease_that_outlasts_a_hiccup(harness: Harness) -> None:
    await taught(harness, 0.01)
    learning = learning_for(harness, a_task(harness, heartbeat=False))
    await learning.open()
    assert learning.seconds_by_task() == {"work": LEAST_SECONDS}


async def test_a_message_whose_lease_ended_unseen_gets_four_times_as_much_each_time(harness: Harness) -> None:
    await taught(harness, 10.0)
    task = a_task(harness, heartbeat=False)
    learning = learning_for(harness, task)
    await learning.open()
    asked = []
    for lost in range(4):
        delivery = delivery_of(harness, task, lost=lost, seconds=18.0)
        learning.prepare(delivery, task)
        asked.append(delivery.lease.seconds)
    assert asked == [18.0, 72.0, 288.0, 1152.0]


async def test_what_was_lent_for_longer_is_not_made_shorter(harness: Harness) -> None:
    await taught(harness, 1.0)
    task = a_task(harness, heartbeat=False)
    learning = learning_for(harness, task)
    await learning.open()
    delivery = delivery_of(harness, task, seconds=600.0)
    learning.prepare(delivery, task)
    assert delivery.lease.seconds == 600.0


async def test_nobody_renews_it_and_it_costs_no_touch(harness: Harness) -> None:
    await taught(harness, 100.0)
    async with Stage(harness) as stage:

        @stage.task(heartbeat=False)
        async def work(ctx: Context) -> float:
            began = harness.clock.monotonic()
            await asyncio.sleep(100)
            return ctx.deadline - began

        actor = await stage.start()
        record = await stage.ended(await stage.submit(work.bind()))
        assert msgspec.json.decode(record.result or b"null") == pytest.approx(175.0, abs=1.0)
        assert touches(actor) == 0


async def test_a_broker_that_lends_alike_costs_one_touch_on_arrival(alike: Harness) -> None:
    await taught(alike, 100.0)
    async with Stage(alike) as stage:

        @stage.task(heartbeat=False)
        async def work(ctx: Context) -> float:
            began = alike.clock.monotonic()
            await asyncio.sleep(100)
            return ctx.deadline - began

        actor = await stage.start()
        record = await stage.ended(await stage.submit(work.bind()))
        assert msgspec.json.decode(record.result or b"null") == pytest.approx(175.0, abs=1.0)
        assert touches(actor) == 1


@pytest.mark.parametrize("trouble", ["away", "reply lost"])
async def test_a_touch_on_arrival_that_fails_is_tried_again_within_what_was_lent(alike: Harness, trouble: str) -> None:
    """It was lent for 30 s and needs 525: the next try must not wait for as long as the longer lease would allow."""
    await taught(alike, 300.0)
    began: list[float] = []
    async with Stage(alike) as stage:

        @stage.task(heartbeat=False)
        async def work() -> None:
            began.append(alike.clock.monotonic())
            await asyncio.sleep(300)

        actor = await stage.start()
        if trouble == "away":
            actor.wire.away("broker.touch", "ledger.renew")
        else:
            actor.wire.lose_replies("broker.touch", 3)
        id = await stage.submit(work.bind())
        await asyncio.sleep(25)
        actor.wire.back()
        assert (await stage.ended(id)).counters.lost == 0
        assert len(began) == 1


async def test_a_size_is_touched_for_on_arrival_however_often_that_fails_at_first(harness: Harness) -> None:
    began: list[float] = []
    async with Stage(harness) as stage:

        @stage.task(heartbeat=False, size="n", profile=SizeTable((SizeEstimate(100, 300, 500),)))
        async def work(n: int) -> None:
            began.append(harness.clock.monotonic())
            await asyncio.sleep(3 * n)

        actor = await stage.start()
        actor.wire.away("broker.touch")
        id = await stage.submit(work.bind(100))
        await asyncio.sleep(25)
        actor.wire.back()
        assert (await stage.ended(id)).counters.lost == 0
        assert len(began) == 1


async def test_where_it_is_claimed_the_claim_is_the_lease_whether_the_broker_can_be_reached_or_not(
    alike: Harness,
) -> None:
    """It was claimed for 525 s: that nobody could tell the broker so ends no run."""
    await taught(alike, 300.0)
    began: list[float] = []
    async with Stage(alike) as stage:

        @stage.task(heartbeat=False)
        async def work() -> None:
            began.append(alike.clock.monotonic())
            await asyncio.sleep(300)

        actor = await stage.start()
        actor.wire.away("broker.touch")
        id = await stage.submit(work.bind())
        await asyncio.sleep(250)
        actor.wire.back()
        record = await stage.ended(id)
        assert len(began) == 1
        assert record.result == b"null"


async def test_a_handler_that_outlives_its_lease_loses_it_and_settles_nothing(harness: Harness) -> None:
    ended: list[str] = []
    async with Stage(harness) as stage:

        @stage.task(heartbeat=False, lease=10.0)
        async def work(ctx: Context) -> str:
            if len(ended):
                return "second"
            try:
                await asyncio.sleep(3600)
            finally:
                ended.append(f"{harness.clock.monotonic() - ctx.deadline:.1f} {ctx.lease_lost}")
            return "first"

        actor = await stage.start()
        record = await stage.ended(await stage.submit(work.bind()))
        assert record.result == b'"second"'
        assert record.counters.lost == 1
        assert ended == ["0.0 True"], "it ends with its lease, and is told why"
        assert actor.counts[EventKind.LEASE_LOST] == 1
        await asyncio.sleep(2)
        kept = [one.sample for one in await harness.state.journal.samples(QUEUE, work.name)]
        assert [one.ended for one in kept] == [Ended.KILLED, Ended.COMPLETED]


async def test_a_handler_may_still_touch_and_then_has_that_long(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task(heartbeat=False, lease=10.0)
        async def work(ctx: Context) -> str:
            await asyncio.sleep(8)
            await ctx.touch(60)
            await asyncio.sleep(50)
            return "done"

        actor = await stage.start()
        record = await stage.ended(await stage.submit(work.bind()))
        assert (record.result, record.counters.lost) == (b'"done"', 0)
        assert touches(actor) == 1


@pytest.mark.parametrize("touching", [False, True])
async def test_a_claim_lasts_as_long_as_the_lease_also_where_that_was_lent_for_longer_than_it_needs(
    alike: Harness, touching: bool
) -> None:
    await taught(alike, 1.0)
    runs: list[float] = []
    async with Stage(alike) as stage:

        @stage.task(heartbeat=False)
        async def work(ctx: Context) -> None:
            runs.append(ctx.deadline)
            if touching:
                await ctx.touch(1)
            await asyncio.sleep(20)
            runs.append(ctx.deadline)

        actor = await stage.start()
        id = await stage.submit(work.bind(), key="one")
        await asyncio.sleep(10)
        (mine,) = await alike.broker.held(actor.worker.owner_id)
        message = decode(mine.envelope)
        request = ClaimRequest(Scope.of(message), id, alike.stranger(), LEASE, digest(message))
        (other,) = await alike.state.ledger.claim([request])
        assert isinstance(other, Running), "another copy of it was let in"
        assert (await stage.ended(id)).counters.lost == 0
        assert runs[0] == pytest.approx(runs[1], abs=0.1)
        assert touches(actor) == touching


async def test_a_cancel_reaches_it_though_nobody_renews_and_renews_nothing(harness: Harness) -> None:
    async with Stage(harness) as stage:
        deadlines: list[float] = []

        @stage.task(heartbeat=False, lease=1000.0)
        async def work(ctx: Context, name: str) -> None:
            try:
                await asyncio.sleep(900)
            finally:
                deadlines.append(ctx.deadline)

        actor = await stage.start()
        first, second = [await stage.submit(work.bind(name)) for name in ("first", "second")]
        await asyncio.sleep(10)
        lent = {lease.id: lease.deadline for lease in await harness.broker.held(actor.worker.owner_id)}
        assert await harness.broker.cancel([first]) == [MessageState.LEASED]
        await asyncio.sleep(10)
        assert len(deadlines) == 1
        now = {lease.id: lease.deadline for lease in await harness.broker.held(actor.worker.owner_id)}
        assert now[second] == pytest.approx(lent[second], abs=1.5)


async def test_while_it_waits_for_a_place_its_lease_is_renewed_and_then_it_has_all_of_it(harness: Harness) -> None:
    async with Stage(harness) as stage:
        left: list[float] = []

        @stage.task(heartbeat=False, lease=12.0, concurrency=1)
        async def work(ctx: Context) -> None:
            await asyncio.sleep(0.5)
            left.append(round(ctx.deadline - harness.clock.monotonic(), 1))
            await asyncio.sleep(7.5)

        await stage.start(concurrency=4)
        ids = [await stage.submit(work.bind()) for _ in range(3)]
        for id in ids:
            assert (await stage.ended(id)).counters.lost == 0
        assert left == [11.5, 11.5, 11.5]


# --- size -------------------------------------------------------------------------------------------------


async def test_a_size_in_the_payload_makes_the_lease_as_long_as_that_size_needs(harness: Harness) -> None:
    await harness.state.journal.sample(
        [sample(number * 1.0, float(number), size=number * 1_000_000) for number in range(1, 301)]
    )
    async with Stage(harness) as stage:

        @stage.task(heartbeat=False, size="bytes")
        async def work(ctx: Context, bytes: int) -> float:  # noqa: A002
            began = harness.clock.monotonic()
            await asyncio.sleep(bytes / 1_000_000)
            return ctx.deadline - began

        await stage.start()
        record = await stage.ended(await stage.submit(work.bind(1_000_000_000)), within=5_000)
        assert record.counters.lost == 0
        assert msgspec.json.decode(record.result or b"0") == pytest.approx(1000 * 1.75, rel=0.15)
        await asyncio.sleep(2)
        newest = (await harness.state.journal.samples(QUEUE, "work"))[-1].sample
        assert (newest.size, round(newest.seconds)) == (1_000_000_000, 1000)


async def test_small_work_is_not_held_for_as_long_as_large(harness: Harness) -> None:
    async with Stage(harness) as stage:
        for size in (1, 50):
            await taught(harness, 10.0 * size, size=size)

        @stage.task(heartbeat=False, size="size")
        async def work(ctx: Context, size: int) -> float:
            await asyncio.sleep(5)
            return ctx.deadline - harness.clock.monotonic()

        ids = {size: await stage.submit(work.bind(size)) for size in (1, 10, 50)}
        await stage.start()
        left = {size: float((await stage.ended(id)).result or 0) for size, id in ids.items()}
        assert left[1] == pytest.approx(LEASE - 5, abs=1.5), "as it was lent"
        assert left[10] == pytest.approx(175 - 5, rel=0.2)
        assert left[50] == pytest.approx(875 - 5, rel=0.2)


async def test_a_size_may_be_a_function_of_the_handler_s_arguments(harness: Harness) -> None:
    stage = Stage(harness)

    @stage.task(size=lambda lines, *, twice: len(lines) * (2 if twice else 1))
    async def work(lines: list[str], *, twice: bool = False) -> None: ...

    assert work.sizer is not None
    assert work.sizer.size_of(b'{"lines": ["a", "b", "c"]}') == 3.0
    assert work.sizer.size_of(b'{"lines": ["a", "b", "c"], "twice": true}') == 6.0
    assert work.sizer.size_of(b'{"lines": 7}') is None, "what the handler cannot take has no size"


@pytest.mark.parametrize(
    "body",
    [
        b"{}", b'{"n": null}', b'{"n": "many"}', b'{"n": -1}', b'{"n": true}', b"[1]", b"{", b'{"n": 1e308}',
        b'{"n": 1e19}',
    ],
)  # fmt: skip
async def test_what_is_no_size_is_none(harness: Harness, body: bytes) -> None:
    stage = Stage(harness)

    @stage.task(size="n")
    async def work(n: object = None) -> None: ...

    assert work.sizer is not None
    assert work.sizer.size_of(body) is None


async def test_a_size_function_that_fails_costs_a_line_in_the_log(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    async with Stage(harness) as stage:

        @stage.task(size=lambda n: 1 // n)
        async def work(n: int) -> None: ...

        await stage.start()
        assert (await stage.ended(await stage.submit(work.bind(0)))).state is MessageState.COMPLETED
    assert "its size= function failed" in caplog.text


async def events(harness: Harness, kind: EventKind) -> list[Event]:
    return [one.event for one in await harness.state.journal.read() if one.event.kind is kind]


async def test_a_size_that_is_known_after_the_download_touches_at_once(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task(heartbeat=False, profile="transcoding")
        async def work(ctx: Context) -> float:
            before = ctx.deadline
            await ctx.set_size(4096 * 2**20)
            assert ctx.deadline > before
            assert ctx.expected_end is not None
            began = harness.clock.monotonic()
            await asyncio.sleep(1860)
            return ctx.deadline - began

        actor = await stage.start()
        record = await stage.ended(await stage.submit(work.bind()), within=5_000)
        assert msgspec.json.decode(record.result or b"0") >= 1860 * 2 * 1.75
        assert touches(actor) == 1
        await asyncio.sleep(2)
        (event,) = await events(harness, EventKind.FILE_SIZE_DETECTED)
        assert (event.task, event.message_id) == ("work", record.id)
        assert event.data == {
            "file_size_bytes": 4294967296, "file_size_mb": 4096, "estimated_processing_seconds": 1860,
        }  # fmt: skip


async def test_who_said_how_long_is_not_corrected_by_a_size_and_a_smaller_size_takes_nothing_back(
    harness: Harness,
) -> None:
    async with Stage(harness) as stage:

        @stage.task(heartbeat=False, profile="transcoding")
        async def work(ctx: Context) -> list[float]:
            ends = [ctx.deadline]
            for size in (100 * 2**20, 4096 * 2**20, 100 * 2**20):
                await ctx.set_size(size)
                ends.append(ctx.deadline)
            return ends

        actor = await stage.start()
        record = await stage.ended(await stage.submit(work.bind()))
        lent, small, large, again = msgspec.json.decode(record.result or b"[]")
        assert lent < small < large == again
        assert touches(actor) == 2
        own = await stage.ended(await stage.submit(work.bind(), lease=60.0))
        assert len(set(msgspec.json.decode(own.result or b"[]"))) == 1
        assert touches(actor) == 2


async def test_with_the_heartbeat_on_a_size_is_told_and_the_lease_stays_short(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work(ctx: Context) -> float:
            await ctx.set_size(10)
            assert ctx.expected_end is None
            return ctx.deadline - harness.clock.monotonic()

        actor = await stage.start()
        record = await stage.ended(await stage.submit(work.bind()))
        assert msgspec.json.decode(record.result or b"0") <= LEASE
        assert touches(actor) == 0
        await asyncio.sleep(2)
        (event,) = await events(harness, EventKind.FILE_SIZE_DETECTED)
        assert event.data["estimated_processing_seconds"] is None, "nobody can say"


async def test_what_is_no_size_is_refused(harness: Harness) -> None:
    async with Stage(harness) as stage:
        refused: list[str] = []

        @stage.task
        async def work(ctx: Context) -> None:
            for wrong in (-1, "many", None, float("inf"), float("nan"), True, 1e308, 10**400):
                with pytest.raises(BadArgument) as error:
                    await ctx.set_size(wrong)  # type: ignore[arg-type]
                refused.append(str(error.value))

        await stage.start()
        await stage.ended(await stage.submit(work.bind()))
        assert len(refused) == 8


async def test_an_outage_while_the_size_is_told_costs_the_touch_and_not_the_run(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task(heartbeat=False, profile="transcoding")
        async def work(ctx: Context) -> float:
            actor.wire.away("broker.touch")
            await ctx.set_size(4096 * 2**20)
            actor.wire.back()
            await asyncio.sleep(50)
            return ctx.deadline - harness.clock.monotonic()

        actor = await stage.start()
        record = await stage.ended(await stage.submit(work.bind()))
        assert msgspec.json.decode(record.result or b"0") > 1860, "it was asked for again when the broker was back"


# --- with the heartbeat on --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usual", "first"), [(3.0, 10.0), (15.0, 20.0), (60.0, 10.0)], ids=["short", "between", "long"]
)
async def test_the_first_beat_waits_only_where_runs_usually_end_before_it(
    harness: Harness, usual: float, first: float
) -> None:
    await taught(harness, usual)
    async with Stage(harness) as stage:
        began: list[float] = []

        @stage.task
        async def work() -> None:
            began.append(harness.clock.monotonic())
            await asyncio.sleep(100)

        wire = stage.wire()
        at: list[float] = []
        wire.spy = lambda name, _: at.append(harness.clock.monotonic()) if name == "broker.touch" else None
        await stage.start(wire=wire)
        await asyncio.sleep(1)
        record = await stage.ended(await stage.submit(work.bind()))
        assert record.counters.lost == 0
        assert at[0] - began[0] == pytest.approx(first, abs=0.5)
        assert at[1] - at[0] == pytest.approx(10.0, abs=0.5), "and then as ever"


async def test_a_run_that_ends_where_it_usually_does_touches_nothing(harness: Harness) -> None:
    await taught(harness, 15.0)
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None:
            await asyncio.sleep(15)

        actor = await stage.start()
        await asyncio.sleep(1)
        await stage.ended(await stage.submit(work.bind()))
        assert touches(actor) == 0


async def test_a_late_first_beat_that_fails_is_tried_again_before_the_lease_ends(harness: Harness) -> None:
    await taught(harness, 15.0)
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None:
            await asyncio.sleep(60)

        actor = await stage.start()
        await asyncio.sleep(1)
        id = await stage.submit(work.bind())
        await asyncio.sleep(19)
        actor.wire.away("broker.touch")
        await asyncio.sleep(6)
        actor.wire.back()
        assert (await stage.ended(id)).counters.lost == 0


async def test_a_handler_knows_when_runs_like_it_are_usually_over(harness: Harness) -> None:
    await taught(harness, 15.0)
    async with Stage(harness) as stage:

        @stage.task
        async def work(ctx: Context) -> float:
            assert ctx.expected_end is not None
            return ctx.expected_end - harness.clock.monotonic()

        await stage.start()
        await asyncio.sleep(1)
        record = await stage.ended(await stage.submit(work.bind()))
        assert msgspec.json.decode(record.result or b"0") == pytest.approx(15.0, rel=0.02)


async def test_it_advises_a_max_hold(harness: Harness) -> None:
    await taught(harness, 20.0)
    task = a_task(harness)
    learning = learning_for(harness, task)
    assert learning.advised_hold(QUEUE, task) is None
    await learning._read(QUEUE, learning._of(QUEUE, task), task.name)
    hold = learning.advised_hold(QUEUE, task)
    assert hold is not None
    assert hold.seconds == pytest.approx(60.0, abs=1.0)
    assert hold.why.startswith(f"{hold.seconds:g} s: the longest of 19")
    assert hold.why.endswith(" runs took 20 s, × 3")


# --- options ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"heartbeat": 0}, "heartbeat=0 is neither True nor False"),
        ({"heartbeat": "off"}, "neither True nor False"),
        ({"size": "bites"}, "is not one of the handler's parameters, which are: bytes"),
        ({"size": 17}, "neither a parameter's name nor a function"),
        ({"profile": "content-procesor"}, "nor one of those that have a name: content-collector"),
        ({"profile": 45}, "profile=45 is neither"),
    ],
)
def test_options_that_cannot_work_are_refused_where_they_are_given(options: Any, words: str) -> None:
    app = Tenure("memory://")

    async def transcode(bytes: int) -> None: ...  # noqa: A002

    with pytest.raises(BadTask, match=words):
        app.task(**options)(transcode)


def test_an_own_size_table_is_taken() -> None:
    app = Tenure("memory://")
    table = SizeTable((SizeEstimate(1, 10, 20), SizeEstimate(2, 20, 40)))

    @app.task(size="pages", profile=table, heartbeat=False)
    async def render(pages: int) -> None: ...

    assert render.prior.estimate(2) is not None
    assert render.policy.lease.is_learned
