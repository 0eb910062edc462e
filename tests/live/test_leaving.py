"""Nothing stays on an account that somebody pays for, however a run ends; and what is not ours is never touched."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.live import names
from tests.live.asking import AZURE, SQS
from tests.live.running import account, act, run, start, sweep, things
from tests.servers.server import until

from tenure.adapters import aws, azure
from tenure.adapters.aws.session import Session
from tenure.adapters.azure.clients import Clients
from tenure.adapters.azure.timeline import Timeline
from tenure.clock import SYSTEM_CLOCK

_FILES = {SQS: "tests/live/test_live_sqs.py", AZURE: "tests/live/test_live_azure.py"}
#: Takes a lease and lets it end: long enough to be met at it.
_LONG = "test_the_fence_rises_over_a_sweep"
_SHORT = "test_one_lease_twice_in_a_batch_takes_effect_once"
_HOUR = 60

_FAILS = """
import pytest
from tests.live.asking import asked
from tests.live.harness import {harness}

@pytest.fixture
def harness():
    return {harness}(asked("{variable}"))

@pytest.mark.real_time
async def test_that_fails(harness):
    await harness.put()
    await harness.put(queue="print")
    await (await harness.second()).depth(["print"])
    lease = await harness.leased(harness.stranger(), queue="large")
    await harness.complete(lease, b'"' + b"x" * {large} + b'"')  # on Azure, in a container
    assert False, "on purpose"
"""


@pytest.fixture(params=[SQS, AZURE])
def variable(request: pytest.FixtureRequest) -> Iterator[str]:
    """An account that has nothing of ours, and will have nothing."""
    yield request.param
    sweep(request.param, lambda name: name.startswith(names.MARK))


@pytest.mark.parametrize(
    ("words", "said"),
    [((), signal.SIGINT), (("-n", "1"), signal.SIGINT), ((), signal.SIGTERM)],
    ids=["by Ctrl-C", "by Ctrl-C, with a worker", "by a CI that is cancelled"],
)
def test_ended_in_the_middle_it_leaves_nothing(variable: str, words: tuple[str, ...], said: signal.Signals) -> None:
    with start(_FILES[variable], "-k", _LONG, *words, **{variable: account(variable)}) as process:
        until(lambda: any("-mail" in name for name in things(variable)), "a queue is there", 150.0)
        os.killpg(process.pid, said)
        told, _ = process.communicate(timeout=200)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, told
    assert things(variable) == set(), told


def test_what_a_killed_run_left_goes_with_a_later_one_but_nothing_else(variable: str) -> None:
    minute = int(SYSTEM_CLOCK.wall() / 60)
    old, young = (f"{names.MARK}{names.written(minute - age)}runxtest00-mail" for age in (_HOUR + 3, _HOUR - 3))
    foreign = {f"{names.MARK}-orders", f"{names.MARK}processingqueue-mail"}
    act(_make(variable, {old, young, *foreign}))
    ended, said = run(_FILES[variable], "-k", _SHORT, **{variable: account(variable)})
    assert ended == 0, said
    assert f"removed at the end ({variable})" in said
    assert old in said
    assert things(variable) == {young, *foreign}


def test_a_test_that_fails_leaves_nothing_but_the_table_of_the_run(variable: str, tmp_path: Path) -> None:
    file = tmp_path / "test_failing.py"
    harness, large = {SQS: ("LiveSqsHarness", 300_000), AZURE: ("LiveAzureHarness", 800_000)}[variable]
    file.write_text(_FAILS.format(variable=variable, harness=harness, large=large))
    words = (str(file), "-c", "pyproject.toml", "--rootdir", ".")
    ended, said = run(*words, **{variable: account(variable)})  # by another name: nobody sweeps after it
    assert ended == pytest.ExitCode.TESTS_FAILED, said
    assert "on purpose" in said
    assert [name for name in things(variable) if not name.endswith("-state")] == []


def test_a_name_says_whose_it_is_and_how_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TENURE_LIVE_RUN", raising=False)
    mine = f"{names.new_name()}-mail"
    assert len(names.new_name()) == 20
    assert names.is_of_the_run(mine)
    assert not names.is_old(mine)
    monkeypatch.setenv("TENURE_LIVE_RUN", "")
    monkeypatch.delenv("TENURE_LIVE_RUN")
    assert not names.is_of_the_run(mine)


async def _make(variable: str, queues: set[str]) -> None:
    url = account(variable)
    if variable == SQS:
        link = Session(aws.read_options(url, urlsplit(url)), SYSTEM_CLOCK)
        await link.open()
        for name in queues:
            await link.call("sqs", "create_queue", "SQS", QueueName=name)
        await link.close()
        return
    clients = Clients(azure.read_options(url, urlsplit(url)), Timeline(SYSTEM_CLOCK), SYSTEM_CLOCK.monotonic)
    for name in queues:
        await clients.queue_service.create_queue(name)
    await clients.close()
