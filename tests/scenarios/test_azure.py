"""Real workers on a storage account, killed without a word."""

import pytest

from tenure.event import EventKind
from tenure.message import MessageState

from .grounds import on
from .presence import PROVED_IN_THE_CLOUD_SECONDS
from .stage import Stage

#: The usual lease.
LEASE = 30.0


@on("azurite")
@pytest.mark.timeout(180)
def test_what_a_killed_worker_held_is_run_elsewhere_within_10_s(stage: Stage) -> None:
    """No loss, one effect. Receipts are recorded with the lives, so nobody waits for the queue to show a message again.

    The other worker runs in the same PID namespace, and sees that the process has ended.
    """
    stage.configure(lease=LEASE, sweep_interval=2)
    first = stage.worker(concurrency=8)
    held = stage.submit("nap", {"seconds": 8.0}, count=3)
    stage.until_started(3, held)
    short = stage.submit("nap", {"seconds": 0.05}, count=20)
    second = stage.worker(concurrency=8)

    killed_at = first.kill()
    stage.until_started(6, held, within=60)
    slowest = max(run.start for run in stage.runs(held) if run.pid == second.pid)
    stage.until_settled(within=60)

    verdict = stage.verdict()
    assert len(verdict.completed) == 23
    assert set(stage.states([*held, *short])) == {MessageState.COMPLETED}
    assert not stage.events(EventKind.LEASE_LOST)
    stage.measured_return("until they run again", slowest - killed_at, at_most=PROVED_IN_THE_CLOUD_SECONDS)
