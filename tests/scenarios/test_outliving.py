"""Work that takes longer than its lease, in all the ways in which code can be slow."""

import pytest

from tenure.event import EventKind

from .grounds import EVERYWHERE, on
from .stage import Stage


@on(*EVERYWHERE)
def test_a_task_of_three_leases_runs_once_beside_an_idle_worker(stage: Stage) -> None:
    """No overlap: the heartbeat keeps the lease, wherever the handler runs."""
    stage.configure(lease=1, sweep_interval=0.25)
    stage.worker()
    stage.worker()
    for task in ("nap", "nap_in_thread", "nap_in_process"):
        stage.submit(task, {"seconds": 3.0})

    stage.until_settled()

    stage.verdict()
    assert len(stage.runs()) == 3
    assert not stage.events(EventKind.REQUEUE, EventKind.LEASE_LOST)


@on("sqlite", "valkey9")
def test_a_blocked_event_loop_loses_no_lease(stage: Stage) -> None:
    """No overlap: the heartbeat has a thread of its own. What stands still is the worker, and it is told so."""
    stage.configure(lease=1, sweep_interval=0.25)
    first = stage.worker()
    beside = stage.submit("nap", {"seconds": 0.5}, count=5)
    (blocker,) = stage.submit("block_loop", {"seconds": 2.5})
    stage.until_started(6)
    stage.worker()

    stage.until_settled()

    stage.verdict()
    assert len(stage.runs()) == 6
    assert {run.pid for run in stage.runs([*beside, blocker])} == {first.pid}
    assert not stage.events(EventKind.REQUEUE, EventKind.LEASE_LOST)
    assert "event loop has not moved" in first.said
    assert "block_loop" in first.said, "the stack names the culprit"
    stage.until(lambda: stage.events(EventKind.LOOP_BLOCKED), "the journal has it")


@on("sqlite", "valkey9")
def test_a_handler_that_holds_the_gil_may_lose_its_lease_and_then_settles_nothing(stage: Stage) -> None:
    """Fenced: no thread of the worker can beat meanwhile, so the message may run elsewhere. That is documented.

    The first run then changes nothing, its effect is not done twice, and its worker goes on.
    """
    stage.configure(lease=1, sweep_interval=0.25)
    workers = {process.pid: process for process in (stage.worker(concurrency=2), stage.worker(concurrency=2))}
    id = ""
    for number in range(5):
        (id,) = stage.submit("hold_gil", {"seconds": 4, "gate": f"released-{number}"})
        stage.until_started(1, [id])
        stage.open_gate(f"released-{number}")  # whoever runs it next is quick
        stage.until_settled()
        stage.until(lambda: all(run.how is not None for run in stage.runs()), "the first run has ended too")
        # Else it fell into a write of that worker's own: then nobody else could write, and nothing was lost.
        if len(stage.runs([id])) > 1:
            break

    stage.verdict(may_overlap=stage.sent)
    first, second = (workers[run.pid] for run in stage.runs([id]))
    assert first is not second
    counters = stage.record(id).counters
    assert (counters.lost, counters.attempts, counters.crashes) == (1, 0, 0)
    stage.until(lambda: "whole process stood still" in first.said, "the log says what happened, and what to do")

    second.terminate()
    assert second.wait() == 0
    (after,) = stage.submit("nap", {"seconds": 0.0})
    stage.until_settled()
    assert [run.pid for run in stage.runs([after])] == [first.pid]
    stage.verdict(may_overlap=stage.sent)


@on("sqlite", "valkey9")
def test_a_handler_that_holds_the_gil_in_a_process_keeps_its_lease(stage: Stage) -> None:
    """No overlap: `runs_in="process"` is the answer to code that holds the GIL."""
    stage.configure(lease=1, sweep_interval=0.25)
    stage.worker()
    stage.submit("hold_gil_in_process", {"seconds": 4})
    stage.until_started(1)
    stage.worker()

    stage.until_settled()

    stage.verdict()
    assert len(stage.runs()) == 1
    assert not stage.events(EventKind.REQUEUE, EventKind.LEASE_LOST)


@on("sqlite", "valkey9")
@pytest.mark.parametrize("task", ["pass_gate", "pass_gate_in_thread"])
def test_a_short_lease_under_load_is_never_lost(stage: Stage, task: str) -> None:
    """No overlap: a hundred leases of half a second are kept by one heartbeat while others come and go."""
    stage.configure(lease=0.5, sweep_interval=0.2)
    stage.worker(concurrency=120)
    held = stage.submit_many(task, [{"gate": "open"}] * 60)
    stage.until_started(60)
    stage.worker(concurrency=20)
    stage.submit_many("nap", [{"seconds": 0.02}] * 400)

    stage.until(lambda: stage.unsettled() == len(held), "only the held ones are left")
    stage.open_gate("open")
    stage.until_settled()

    stage.verdict()
    assert len(stage.runs()) == 460
    assert not stage.events(EventKind.REQUEUE, EventKind.LEASE_LOST)
