"""Workers that die: their messages are back in seconds, however long their leases, and nobody else pays."""

import pytest

from .grounds import EVERYWHERE, on
from .process import Process
from .stage import Stage

#: DESIGN §1, "fast recovery".
RECOVERY_SECONDS = 3.0


@on(*EVERYWHERE)
def test_a_killed_workers_message_runs_again_within_seconds_though_its_lease_is_long(stage: Stage) -> None:
    """Fast recovery: the lease is 600 s, and the kernel frees the lock, or ends the connection, of the dead."""
    stage.configure(lease=600, sweep_interval=5)
    first = stage.worker(concurrency=1)
    (id,) = stage.submit("pass_gate", {"gate": "open"})
    stage.until_started(1)
    second = stage.worker(concurrency=1)

    killed_at = first.kill()
    stage.until_started(2)
    run = stage.runs()[1]

    stage.measured_return("one message", run.start - killed_at, at_most=RECOVERY_SECONDS)
    assert run.pid == second.pid
    stage.open_gate("open")
    stage.until_settled()
    stage.verdict()
    counters = stage.record(id).counters
    assert (counters.crashes, counters.attempts, counters.lost) == (1, 0, 0)


@on("sqlite", "valkey9")
@pytest.mark.parametrize("moment", ["effect", "settle"])
def test_a_worker_killed_in_the_middle_of_a_batch_loses_and_repeats_nothing(stage: Stage, moment: str) -> None:
    """No loss, one effect: of 50 in flight some are just done, by their effect or also by their settlement."""
    stage.configure(lease=600, sweep_interval=5)
    first = stage.worker(concurrency=50)
    stage.submit_many("pass_gate", [{"gate": "early"}] * 20)
    late = stage.submit_many("pass_gate", [{"gate": "late"}] * 30)
    stage.until_started(50)
    second = stage.worker(concurrency=50)

    stage.open_gate("early")
    if moment == "effect":
        stage.until(stage.traces.effects, "the first effect is done")
    else:
        stage.until(lambda: stage.unsettled() < 50, "the first is settled")
    killed_at = first.kill()
    stage.until(lambda: len(stage.runs(late)) >= 60, "all that were under way have started again")
    again = [run.start - killed_at for run in stage.runs() if run.pid == second.pid]

    stage.measured_return(f"the last of {len(again)}", max(again), at_most=RECOVERY_SECONDS)
    stage.open_gate("late")
    stage.until_settled()
    verdict = stage.verdict()
    assert len(verdict.completed) == 50


@on(*EVERYWHERE)
def test_a_task_that_kills_its_worker_takes_no_bystander_with_it(stage: Stage) -> None:
    """No innocent victims: 100 messages are in the process each time it dies; only the killer is put aside."""
    stage.configure(lease=30, sweep_interval=1)
    running: list[Process] = [stage.worker(concurrency=120)]
    bystanders = stage.submit_many("stand_by", [{"seconds": 0.6}] * 50)
    (killer,) = stage.submit("kill_worker", {"seconds": 0.3})
    bystanders += stage.submit_many("stand_by", [{"seconds": 0.6}] * 50)

    def restarted_and_settled() -> bool:
        """As systemd would: whenever the worker is gone, there is a new one."""
        if running[-1].exit_code is not None:
            running[-1].killed_at = 0.0  # by its own task, as this scenario wants it
            running.append(stage.worker(concurrency=120))
        return stage.unsettled() == 0

    stage.until(restarted_and_settled, "every message is settled", within=90)

    verdict = stage.verdict(dead=[killer])
    record = stage.record(killer)
    assert record.reason is not None
    assert record.reason.code == "crashed_alone"
    assert "SIGKILL" in record.reason.text
    assert sorted(verdict.completed) == sorted(bystanders)
    assert len(running) == 3, "twice in company, then alone"
    crashed = sum(stage.record(id).counters.crashes > 0 for id in bystanders)
    assert crashed >= 50, "the bystanders were not there when it happened"
