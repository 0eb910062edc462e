"""Workers on SQS and DynamoDB that are killed while they work: what they held is others', within 10 s.

SQS itself would give it back when the lease ends. Here the receipt of each lease is in the state, so a worker that can
prove that another one is dead makes its messages visible at once.
"""

import os
import re
import signal
from collections.abc import Iterator

import pytest
from tests.servers.aws import installed_aws

from tenure.clock import SYSTEM_CLOCK

from .presence import PROVED_IN_THE_CLOUD_SECONDS
from .sqs_ground import SqsGround
from .stage import Stage

#: The default.
LEASE_SECONDS = 30.0

_IS_HERE = {"fauxqs", "ministack"} <= set(installed_aws())


@pytest.fixture
def ground() -> Iterator[SqsGround]:
    """Queues and a table of its own."""
    if not _IS_HERE:
        pytest.skip("fauxqs and ministack are not installed; `make test` does it")
    ground = SqsGround()
    try:
        yield ground
    finally:
        ground.close()


@pytest.mark.timeout(120)
def test_what_a_killed_worker_held_runs_elsewhere_within_10_s(stage: Stage) -> None:
    """The others run in the same PID namespace, and see that its process has ended."""
    stage.configure(lease=LEASE_SECONDS, sweep_interval=5)
    victim = stage.worker(5)
    held = stage.submit_many("pass_gate", [{"gate": "open"}] * 5)
    stage.until_started(5)
    others = [stage.worker(5) for _ in range(2)]
    stage.submit_many("nap", [{"seconds": 0.05}] * 20)

    killed_at = victim.kill()
    stage.until(lambda: len(stage.runs(held)) == 10, "all that it held has begun again", within=2 * LEASE_SECONDS)
    stage.open_gate("open")
    stage.until(lambda: not any(stage.record(id).finished_at is None for id in stage.sent), "all is done")

    last = max(run.start for run in stage.runs(held))
    stage.measured_return("seen by witnesses", last - killed_at, at_most=PROVED_IN_THE_CLOUD_SECONDS)
    verdict = stage.verdict()
    assert len(verdict.completed) == len(stage.sent)
    assert {run.pid for run in stage.runs(held)[5:]} <= {other.pid for other in others}
    for id in held:
        counters = stage.record(id).counters
        assert (counters.attempts, counters.crashes, counters.lost) == (0, 1, 0), "a death is no attempt of the message"


@pytest.mark.timeout(120)
def test_what_a_killed_process_of_a_supervisor_held_runs_elsewhere_in_seconds(stage: Stage) -> None:
    """The supervisor sees it die, and has the receipts: the lease is 600 s."""
    stage.configure(lease=600, sweep_interval=5)
    parent = stage.start(
        "-m", "tenure", "worker", "scenarios.served:app", "--verbose", "--processes", "2", "--concurrency", "3"
    )
    works = re.compile(r"\[\d+\] \S+ runs ")
    stage.until(lambda: len(works.findall(parent.said)) == 2, "both processes work", within=90)
    held = stage.submit_many("pass_gate", [{"gate": "open"}] * 3)
    stage.until_started(3)
    victim = stage.runs()[0].pid
    before = [run for run in stage.runs(held) if run.pid == victim]

    killed_at = SYSTEM_CLOCK.monotonic()
    os.kill(victim, signal.SIGKILL)
    stage.until_started(3 + len(before), held, within=60)
    again = stage.runs(held)[3:]
    seconds = max(run.start for run in again) - killed_at
    stage.measured_return(f"told by the supervisor ({len(before)} messages)", seconds, at_most=LEASE_SECONDS)
    stage.open_gate("open")
    stage.until(lambda: not any(stage.record(id).finished_at is None for id in stage.sent), "all is done", within=90)
    stage.verdict()
    assert all(stage.record(run.id).counters.crashes == 1 for run in before)
