"""When a worker that runs until its queues are empty has nothing left to do."""

from collections.abc import Awaitable, Callable

from tenure import Tenure
from tenure.cli.commands.worker.until_empty import is_empty
from tenure.cli.loading import load
from tenure.lease import Lease, LeaseRequest
from tenure.settlement import GiveBack, Nack
from tenure.verdict import Reason

from .conftest import URL, Run, there

QUEUES = ("default-tasks", "slow")


async def _lease(app: Tenure) -> Lease:
    (lease,) = await app.broker.lease(LeaseRequest("me/1", "r", QUEUES, 1, 30.0))
    return lease


def _is_empty(prepare: Callable[[Tenure], Awaitable[object]] | None = None) -> bool:
    """At the place of `jobs.py`, after something was done there; the app that asks has its tasks."""

    async def ask(app: Tenure) -> bool:
        if prepare is not None:
            await prepare(app)
        async with load("jobs:app") as jobs:
            return await is_empty(jobs, QUEUES)

    return there(ask)


def test_a_queue_is_empty_until_something_is_ready(tenure: Run) -> None:
    assert _is_empty()
    tenure("submit", "jobs:app", "nap", '{"seconds": 1}')
    assert not _is_empty()


def test_what_somebody_else_runs_may_come_back(tenure: Run) -> None:
    tenure("submit", "jobs:app", "nap", '{"seconds": 1}')
    assert not _is_empty(_lease)


def test_what_was_tried_comes_again_and_what_was_only_delayed_does_not_count(tenure: Run) -> None:
    tenure("submit", "jobs:app", "nap", '{"seconds": 1}', "--delay", "1h")
    assert _is_empty()
    tenure("submit", "jobs:app", "nap", '{"seconds": 1}')

    async def fail(app: Tenure) -> None:
        await app.broker.nack([Nack(await _lease(app), 600.0, Reason("error", "x"))])

    assert not _is_empty(fail)


def test_a_stranger_is_for_another_worker(tenure: Run) -> None:
    tenure("submit", URL, "newer", "{}", "--create")

    async def turn_away(app: Tenure) -> None:
        await app.broker.give_back([GiveBack(await _lease(app), 600.0)])

    assert _is_empty(turn_away)


def test_a_paused_queue_is_not_waited_for_but_what_runs_of_it_is(tenure: Run) -> None:
    tenure("submit", "jobs:app", "nap", '{"seconds": 1}')
    tenure("pause", "jobs:app", "slow")
    assert _is_empty()
    assert not _is_empty(_lease)
