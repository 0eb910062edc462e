"""A task: a named handler with its policy."""

from datetime import timedelta
from typing import Any

import pytest

from tenure import BadArgument, Tenure
from tenure.errors import BadTask, PayloadInvalid
from tenure.tasks.task import RunsIn, policy_from


def plain() -> None:
    """Does nothing."""


async def asynchronous(a: int = 1) -> int:
    return a


@pytest.fixture
def app() -> Tenure:
    return Tenure("memory://")


def test_defaults_come_from_the_app(app: Tenure) -> None:
    policy = app.task(plain).policy
    assert (policy.retry.max_attempts, policy.lease.seconds, policy.lease.max_hold_seconds) == (3, 30.0, None)
    assert policy.reject_on == ()


def test_times_are_seconds_or_timedeltas() -> None:
    policy = policy_from(
        {"lease": timedelta(minutes=1), "max_hold": 5, "retry_delay": 0.5, "max_retry_delay": timedelta(hours=1)},
        max_attempts=3,
        lease_seconds=30.0,
        result_limit=1,
    )
    assert (policy.lease.seconds, policy.lease.max_hold_seconds) == (60.0, 5.0)
    assert (policy.retry.first_delay_seconds, policy.retry.max_delay_seconds) == (0.5, 3600.0)


@pytest.mark.parametrize(
    "options",
    [
        {"max_attempts": 0},
        {"max_attempts": True},
        {"max_attempts": 2.5},
        {"lease": 0},
        {"lease": -1},
        {"lease": float("inf")},
        {"lease": "30"},
        {"max_hold": 0},
        {"retry_delay": timedelta(seconds=-1)},
        {"reject_on": "ValueError"},
        {"reject_on": (ValueError, "KeyError")},
        {"reject_on": int},
        {"runs_in": "cloud"},
        {"retries": 5},
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused_where_the_task_is_made(app: Tenure, options: dict[str, Any]) -> None:
    with pytest.raises(BadTask) as caught:
        app.task(**options)(plain)
    assert next(iter(options)) in str(caught.value)
    assert "nothing was sent" not in str(caught.value)
    assert app.tasks == {}


def test_one_class_of_errors_is_enough(app: Tenure) -> None:
    assert app.task(reject_on=ValueError)(plain).policy.reject_on == (ValueError,)


def test_where_it_runs_follows_from_the_function(app: Tenure) -> None:
    assert app.task(plain).runs_in is RunsIn.THREAD
    assert app.task(asynchronous).runs_in is RunsIn.LOOP
    assert app.task(name="p", runs_in="process")(plain).runs_in is RunsIn.PROCESS
    assert app.task(name="q", runs_in="process")(asynchronous).runs_in is RunsIn.PROCESS
    with pytest.raises(BadTask, match="an async function runs in the loop or in a process, not in a thread"):
        app.task(name="r", runs_in="thread")(asynchronous)
    with pytest.raises(BadTask, match="a plain function runs in a thread or in a process, not in a loop"):
        app.task(name="r", runs_in="loop")(plain)


def test_a_name_is_taken_once(app: Tenure) -> None:
    app.task(plain)
    with pytest.raises(BadTask, match="'plain' is registered already"):
        app.task(plain)
    assert app.task(name="other")(plain).name == "other"


def test_it_looks_like_its_function(app: Tenure) -> None:
    task = app.task(plain)
    assert (task.__name__, task.__doc__, task.__module__) == ("plain", "Does nothing.", __name__)
    assert repr(task) == "<Task plain on default-tasks>"


async def test_calling_it_calls_the_handler(app: Tenure) -> None:
    assert await app.task(asynchronous)(a=5) == 5


async def test_a_bound_call_knows_its_task_and_its_payload(app: Tenure) -> None:
    call = app.task(asynchronous).bind(5)
    assert (call.task.name, bytes(call.body)) == ("asynchronous", b'{"a":5}')
    assert "asynchronous" in repr(call)
    with pytest.raises(PayloadInvalid):
        app.tasks["asynchronous"].bind("five")


async def test_submit_sends_to_the_tasks_queue(app: Tenure) -> None:
    task = app.task(queue="urgent")(asynchronous)
    handle = await task.submit(2)
    assert (await handle.status()).queue == "urgent"


def test_a_bad_argument_is_no_bad_task() -> None:
    """The two are told apart: one is a mistake of the deploy, the other of one submit."""
    assert not issubclass(BadTask, BadArgument)
