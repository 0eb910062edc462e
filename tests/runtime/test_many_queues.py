"""Many queues: a worker serves patterns, leaves out what is paused, and changes what it serves while it runs."""

import asyncio

import pytest

from tenure import Tenure
from tenure.act import CLIENT_WEIGHED
from tenure.client.expand_queues import expand_queues
from tenure.client.operator import Operator
from tenure.client.statistics import TaskSamples
from tenure.errors import BadArgument, BadTask, ConfigurationError
from tenure.message import MessageState
from tenure.rules.rejections import error_of
from tenure.runtime.path.learning import READ_SECONDS
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.workers import Stage


async def test_a_pattern_serves_queues_that_come_later(harness: Harness) -> None:
    async with harness, Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        await stage.start(queues=("*-tasks",))
        await asyncio.sleep(3.0)
        ids = [await stage.submit(work.bind(), queue=queue) for queue in ("acme-tasks", "shop-tasks")]
        other = await stage.submit(work.bind(), queue="acme-mail")
        for id in ids:
            assert (await stage.ended(id)).state is MessageState.COMPLETED
        await asyncio.sleep(30.0)
        assert await harness.state_of(other) is MessageState.READY


async def test_a_paused_queue_that_matches_is_left_out_until_it_is_resumed(harness: Harness) -> None:
    async with harness, Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        operator = Operator(harness.broker, harness.state, harness.clock, by="ada")
        await operator.pause("acme-tasks")
        await stage.start(queues=("*-tasks",))
        paused = await stage.submit(work.bind(), queue="acme-tasks")
        await stage.ended(await stage.submit(work.bind(), queue="shop-tasks"))
        await asyncio.sleep(30.0)
        assert await harness.state_of(paused) is MessageState.READY
        await operator.resume("acme-tasks")
        await stage.ended(paused)


async def test_what_is_served_changes_while_it_runs_and_the_roster_follows(harness: Harness) -> None:
    async with harness, Stage(harness) as stage:

        @stage.task
        async def work(seconds: float = 0.0) -> None:
            await asyncio.sleep(seconds)

        actor = await stage.start(queues=("first",))
        held = await stage.submit(work.bind(seconds=20.0), queue="first")
        await asyncio.sleep(1.0)
        actor.worker.serve(["second", "third-*"])
        left = await stage.submit(work.bind(), queue="first")
        for queue in ("second", "third-1"):
            await stage.ended(await stage.submit(work.bind(), queue=queue))
        assert (await stage.ended(held)).state is MessageState.COMPLETED, "what was held goes its way"
        assert await harness.state_of(left) is MessageState.READY
        (member,) = await harness.state.roster.members()
        assert member.owner.queues == actor.worker.owner.queues == ("second", "third-*")
        with pytest.raises(ConfigurationError, match="at least one queue"):
            actor.worker.serve([])


async def test_a_queue_that_was_paused_before_it_was_served_stays_so(harness: Harness) -> None:
    async with harness, Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        await Operator(harness.broker, harness.state, harness.clock, by="ada").pause("second")
        actor = await stage.start(queues=("first",))
        await asyncio.sleep(3.0)
        actor.worker.serve(["second"])
        paused = await stage.submit(work.bind(), queue="second")
        await asyncio.sleep(30.0)
        assert await harness.state_of(paused) is MessageState.READY


async def test_the_broker_checks_names_and_no_patterns(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    async def check(queues: list[str]) -> list[object]:
        asked.append(list(queues))
        return []

    async with harness, Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        await harness.put(queue="acme-tasks")
        await harness.put(queue="mail")
        monkeypatch.setattr(harness.broker, "check", check)
        await stage.start(queues=("*-tasks", "more"))
        assert asked == [["acme-tasks", "more"]]
        assert await expand_queues(harness.broker, ["mail", "*"]) == ["acme-tasks", "mail"]


async def test_a_stranger_is_left_to_a_worker_that_serves_its_queue_by_a_pattern(harness: Harness) -> None:
    async with harness, Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        @stage.task
        async def newer() -> None: ...

        old = await stage.start(queues=("acme-tasks",), tasks={"work": work})
        id = await stage.submit(newer.bind(), queue="acme-tasks")
        await stage.start(queues=("*-tasks",))
        assert (await stage.ended(id)).state is MessageState.COMPLETED
        assert old.counts.get("dead", 0) == 0


async def test_samples_of_many_queues_are_shared_and_found_by_others(harness: Harness) -> None:
    async with harness, Stage(harness) as stage:

        @stage.task
        async def work() -> None:
            await asyncio.sleep(4.0)

        many = await stage.start(queues=("*-tasks",))
        ids = [await stage.submit(work.bind(), queue=f"c{number}-tasks") for number in range(30)]
        for id in ids:
            await stage.ended(id)
        await asyncio.sleep(3.0)
        assert await harness.state.journal.samples("c1-tasks", "work") == []
        assert len(await harness.state.journal.samples("*", "work")) == 30
        assert len(await TaskSamples(harness.state.journal).of("c1-tasks", "work")) == 30

        await stage.stop(many)
        one = await stage.start(queues=("c1-tasks",))
        await stage.ended(await stage.submit(work.bind(), queue="c1-tasks"))
        await asyncio.sleep(READ_SECONDS + 1.0)
        assert one.worker._path.learning._of("c1-tasks", work).best.count == 31


async def test_beats_tell_the_size_of_the_work_and_how_long_it_should_take(harness: Harness) -> None:
    async with harness, Stage(harness) as stage:

        @stage.task(size="amount", profile="content-collector")
        async def work(amount: int) -> None:
            await asyncio.sleep(100.0)

        await stage.start()
        id = await stage.submit(work.bind(amount=700))
        await asyncio.sleep(35.0)
        (held,) = (await harness.broker.leases()).leases
        assert (held.id, held.size, held.predicted_seconds) == (id, 700, 90.0)
        assert held.beats >= 2


def test_a_pattern_is_no_name_of_a_queue_and_names_belong_to_the_namespace() -> None:
    app = Tenure("memory://", namespace="shop")
    with pytest.raises(BadTask):
        app.task(queue="*-tasks")(lambda: None)

    @app.task
    async def work() -> None: ...

    worker = app.worker(queues=["*-tasks", "mail"])
    assert worker.queues == ("shop/*-tasks", "shop/mail")
    worker.serve(["x*"])
    assert worker.owner.queues == ("shop/x*",)
    with pytest.raises(BadTask, match="cannot name queues"):
        app.worker(queues=["a b*"])


async def test_a_queue_with_a_star_is_refused_at_send(harness: Harness) -> None:
    async with harness:
        (sent,) = await harness.send(harness.message(queue="*-tasks"))
        assert sent.refusal is not None
        assert isinstance(error_of(sent.refusal), BadArgument)
        (sent,) = await harness.send(harness.message(queue="*-tasks"), delay_seconds=5.0)
        assert sent.refusal is not None
        assert sent.refusal.code == "bad_argument"
        assert (await harness.depth(QUEUE)).ready == 0


# --- clients -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clients", "queues"),
    [
        ("acme", ("acme-tasks",)),
        (["acme", "a*"], ("acme-tasks", "a*-tasks")),
        ("all", ("*-tasks",)),
    ],
)
@pytest.mark.parametrize("namespace", [None, "shop"])
async def test_a_worker_serves_clients(
    clients: str | list[str], queues: tuple[str, ...], namespace: str | None
) -> None:
    app = Tenure("memory://", namespace=namespace)

    @app.task
    async def work() -> None: ...

    await app.open()
    own = "" if namespace is None else f"{namespace}/"
    assert app.worker(clients=clients).queues == tuple(f"{own}{queue}" for queue in queues)
    both = app.worker(clients=clients, queues=["mail", queues[0]]).queues
    assert both == tuple(f"{own}{queue}" for queue in ("mail", *queues))
    assert app.worker().queues == (f"{own}default-tasks",)
    await app.close()


@pytest.mark.parametrize("clients", ["", "Acme", ["a.b"], "a,,b", ["a/b"]])
async def test_what_names_no_client_makes_no_worker(clients: str | list[str]) -> None:
    app = Tenure("memory://")

    @app.task
    async def work() -> None: ...

    with pytest.raises(ConfigurationError, match="no worker was made"):
        app.worker(clients=clients)


async def test_an_operators_weight_counts_within_a_second_or_two(harness: Harness) -> None:
    async with harness, Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        actor = await stage.start(queues=("*-tasks",))
        operator = Operator(harness.broker, harness.state, harness.clock, by="ada")
        for weight in (3.0, 5.0):
            assert await operator.weigh_client("acme-tasks", weight)
            await asyncio.sleep(3.0)
            assert actor.worker._path.turns.weights == {"acme-tasks": weight}
        assert len((await harness.state.board.read()).posts) == 1
        assert await operator.clear_weight("acme-tasks")
        assert not await operator.clear_weight("acme-tasks")
        await asyncio.sleep(3.0)
        assert actor.worker._path.turns.weights == {}
        acts = [(stored.act.kind, stored.act.by, stored.act.data) for stored in await harness.state.acts.read()]
        assert acts == [(CLIENT_WEIGHED, "ada", {"weight": weight}) for weight in (None, 5.0, 3.0)]
