"""Learning in a worker: what it reads, what it counts, and what it says to a heartbeat."""

import asyncio
from typing import Any

import msgspec
import pytest

from tenure import Context, Tenure
from tenure.errors import BadTask
from tenure.runtime.path.learning import MOST_KNOWN, OWN_RUNS, READ_SECONDS, Learning
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.workers import Stage
from tenure.timing.profile import SizeEstimate, SizeTable

from .taught import LEASE, a_task, learning_for, sample, taught, touches

# --- what it knows --------------------------------------------------------------------------------------


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
        # Under its queue, and under the name that many queues share.
        assert actor.wire.said.count("journal.samples") == 2
        await asyncio.sleep(10 * READ_SECONDS)
        assert actor.wire.said.count("journal.samples") == 2
        await stage.ended(await stage.submit(work.bind()))
        await asyncio.sleep(10 * READ_SECONDS)
        assert actor.wire.said.count("journal.samples") == 4


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


# --- with the heartbeat on ------------------------------------------------------------------------------


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


# --- options --------------------------------------------------------------------------------------------


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
