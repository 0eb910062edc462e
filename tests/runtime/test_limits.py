"""Limits in a worker: of its code, of operators, and on brokers that share them out."""

import asyncio

import pytest

from tenure import Tenure
from tenure.client.operator import Operator
from tenure.errors import BadTask
from tenure.limit import Limit, limit_from
from tenure.message import MessageState
from tenure.notice import Post
from tenure.owner import Member, Owner
from tenure.rules.operator_limits import post_of
from tenure.runtime.background.queue_limits import QueueLimits
from tenure.testing.harness import Harness
from tenure.testing.workers import Stage


def operator(harness: Harness) -> Operator:
    return Operator(harness.broker, harness.state, harness.clock, by="ada")


class Running:
    """How many run now, and the most that ever did."""

    def __init__(self) -> None:
        self.now = self.most = self.starts = 0

    async def __call__(self, seconds: float = 1.0) -> None:
        self.now, self.starts = self.now + 1, self.starts + 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(seconds)
        self.now -= 1


async def test_no_more_of_a_task_run_than_its_code_says_over_all_workers(harness: Harness) -> None:
    running = Running()
    async with Stage(harness) as stage:

        @stage.task(queue="slow", running=2)
        async def work() -> None:
            await running()

        ids = [await stage.submit(work.bind()) for _ in range(8)]
        for _ in range(2):
            await stage.start(queues=("slow",))
        await asyncio.sleep(7.0)
        assert (running.most, running.starts) == (2, 8)
        assert {(await harness.record(id)).state for id in ids} == {MessageState.COMPLETED}


async def test_no_more_of_a_task_start_than_its_rate_says(harness: Harness) -> None:
    running = Running()
    async with Stage(harness) as stage:

        @stage.task(queue="slow", rate="6/m")
        async def work() -> None:
            await running(0.0)

        for _ in range(4):
            await stage.submit(work.bind())
        await stage.start(queues=("slow",))
        await asyncio.sleep(5.0)
        assert running.starts == 1
        await asyncio.sleep(20.0)
        assert running.starts == 3
        await asyncio.sleep(10.0)
        assert running.starts == 4


async def test_a_task_without_limits_is_not_held_up_by_one_with(harness: Harness) -> None:
    limited, plain = Running(), Running()
    async with Stage(harness) as stage:

        @stage.task(queue="slow", running=1)
        async def work() -> None:
            await limited(60.0)

        @stage.task(queue="other")
        async def other() -> None:
            await plain(0.0)

        for _ in range(5):
            await stage.submit(work.bind())
        await stage.start(queues=("slow", "other"))
        await asyncio.sleep(2.0)
        for _ in range(20):
            await stage.submit(other.bind())
        await asyncio.sleep(2.0)
        assert (limited.starts, plain.starts) == (1, 20)


async def test_an_operators_limit_counts_instead_of_the_codes_until_it_is_cleared(harness: Harness) -> None:
    running = Running()
    async with Stage(harness) as stage:

        @stage.task(queue="slow", running=4)
        async def work() -> None:
            await running(10.0)

        for _ in range(20):
            await stage.submit(work.bind())
        await stage.start(queues=("slow",))
        await asyncio.sleep(2.0)
        assert running.now == 4
        await operator(harness).limit("slow", limit_from(running=1))
        await asyncio.sleep(7.0)
        assert running.now == 4, "lowering a limit ends nothing"
        await asyncio.sleep(5.0)
        assert running.now == 1
        await operator(harness).limit("slow", limit_from(running=6))
        await asyncio.sleep(2.5)
        assert running.now == 6
        assert await operator(harness).clear_limit("slow")
        await asyncio.sleep(12.0)
        assert running.now == 4


async def test_a_new_worker_knows_an_operators_limit_before_its_first_lease(harness: Harness) -> None:
    running = Running()
    async with Stage(harness) as stage:

        @stage.task(queue="slow")
        async def work() -> None:
            await running(10.0)

        for _ in range(5):
            await stage.submit(work.bind())
        await operator(harness).limit("slow", limit_from(running=1))
        await stage.start(queues=("slow",))
        await asyncio.sleep(5.0)
        assert running.most == 1


async def test_a_second_act_keeps_what_the_first_one_said(harness: Harness) -> None:
    await operator(harness).limit("slow", limit_from(running=5))
    assert await operator(harness).limit("slow", limit_from(rate="1/s")) == Limit(5, 1.0)
    posts = (await harness.state.board.read()).posts
    assert len(posts) == 1, "the older posts are withdrawn"
    assert await operator(harness).clear_limit("slow")
    assert not await operator(harness).clear_limit("slow")


# --- the worker's own part ------------------------------------------------------------------------------


class Told:
    """A worker's limits, and what intake was told of them."""

    def __init__(self, code: dict[str, Limit], *, are_shared_out: bool) -> None:
        self.limits: list[dict[str, Limit]] = []
        self.owner = Owner("b", "2", queues=("slow",))
        self.known = QueueLimits(
            code, owner=lambda: self.owner, are_shared_out=are_shared_out, on_changed=self.limits.append
        )

    def members(self, *owners: Owner) -> None:
        self.known.read_members([Member(owner=owner) for owner in owners])


def test_limits_are_told_when_they_change() -> None:
    told = Told({"slow": Limit(5)}, are_shared_out=False)
    posts: list[Post] = []
    told.known.read_posts(posts)
    told.known.read_posts(posts)
    told.known.read_posts([post_of("slow", Limit(2), 1.0, "ada", "x")])
    told.known.read_posts([])
    assert told.limits == [{"slow": Limit(5)}, {"slow": Limit(2)}, {"slow": Limit(5)}]


def test_each_worker_has_its_part_where_limits_are_shared_out() -> None:
    told = Told({"slow": Limit(5, 3.0)}, are_shared_out=True)
    told.known.read_posts([])
    told.members(told.owner, Owner("a", "1", queues=("*w",)), Owner("c", "3", queues=("other",)))
    told.members(told.owner)
    assert told.limits == [{"slow": Limit(running=0)}, {"slow": Limit(2, 1.5)}, {"slow": Limit(5, 3.0)}]


def test_who_left_or_is_silent_has_no_part() -> None:
    told = Told({"slow": Limit(4)}, are_shared_out=True)
    told.known.read_posts([])
    others = [
        Member(owner=Owner("a", "1", queues=("slow",)), left=True),
        Member(owner=Owner("c", "3", queues=("slow",)), silent_seconds=100.0),
        Member(owner=Owner("d", "4", queues=("slow",)), is_retired=True),
    ]
    told.known.read_members([*others, Member(owner=told.owner)])
    assert told.limits[-1] == {"slow": Limit(4)}


# --- registration ---------------------------------------------------------------------------------------


def test_a_limited_task_names_a_queue_of_its_own() -> None:
    app = Tenure("memory://limits")
    with pytest.raises(BadTask, match="Give it a queue of its own"):
        app.task(rate="1/s")(_plain)


@pytest.mark.parametrize("first", [True, False], ids=["limited-first", "limited-second"])
def test_a_limited_task_shares_its_queue_with_no_other(*, first: bool) -> None:
    app = Tenure("memory://limits")
    _named(app, "one", is_limited=first)
    with pytest.raises(BadTask, match="shares the queue 'slow'") as caught:
        _named(app, "two", is_limited=not first)
    assert ("Give 'one'" if first else "Give 'two'") in str(caught.value)
    assert list(app.tasks) == ["one"]


@pytest.mark.parametrize("options", [{"rate": "often"}, {"running": 0}, {"running": "5"}, {"rate": "0/s"}])
def test_what_is_no_limit_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(BadTask):
        Tenure("memory://limits").task(queue="slow", **options)(_plain)  # type: ignore[call-overload]


async def _plain() -> None: ...


def _named(app: Tenure, name: str, *, is_limited: bool) -> None:
    if is_limited:
        app.task(name=name, queue="slow", running=1)(_plain)
    else:
        app.task(name=name, queue="slow")(_plain)


# -- quotas that hold for every client -----------------------------------------------------------------


def test_a_default_of_all_clients_is_a_limit_of_each_ones_queue() -> None:
    told: list[dict[str, Limit]] = []
    limits = QueueLimits(
        {"acme-tasks": Limit(running=9), "gpu": Limit(running=1)},
        owner=lambda: Owner("w", "1"),
        are_shared_out=False,
        on_changed=told.append,
        of_clients=Limit(running=2, per_second=5.0),
        queues=("*-tasks", "eve-tasks", "gpu"),
    )
    limits.read_posts(())
    code = {"acme-tasks": Limit(running=9), "gpu": Limit(running=1)}
    assert told == [{**code, "eve-tasks": Limit(running=2, per_second=5.0)}]
    limits.read_queues(("acme-tasks", "new-tasks", "gpu"))
    assert told[-1] == {
        "acme-tasks": Limit(running=9, per_second=5.0),
        "gpu": Limit(running=1),
        "new-tasks": Limit(running=2, per_second=5.0),
    }
    limits.read_posts((post_of("new-tasks", Limit(running=7), 1.0, "ada", "1"),))
    assert told[-1]["new-tasks"] == Limit(running=7, per_second=5.0)


async def test_no_more_of_a_client_run_than_the_default_says(harness: Harness) -> None:
    running = Running()
    async with Stage(harness) as stage:

        @stage.task(queue="acme-tasks")
        async def work() -> None:
            await running()

        for _ in range(6):
            await stage.submit(work.bind())
        await stage.start(queues=("*-tasks",), client_limit=Limit(running=2))
        await asyncio.sleep(6.0)
        assert running.starts == 6
        assert running.most == 2
