"""Workers that are told to stop."""

import time

from tenure.clock import SYSTEM_CLOCK
from tenure.message import MessageState

from .grounds import on
from .stage import Stage


@on("sqlite", "valkey9")
def test_sigterm_under_load_finishes_what_it_can_and_gives_back_the_rest_uncounted(stage: Stage) -> None:
    """No loss: leasing stops, handlers have the grace, what is left is given back with its attempts unchanged."""
    stage.configure(lease=30, sweep_interval=1, grace=2)
    worker = stage.worker(concurrency=20)
    short = stage.submit_many("nap", [{"seconds": 1.0}] * 10)
    endless = stage.submit_many("pass_gate", [{"gate": "open"}] * 8)
    endless += stage.submit_many("pass_gate_in_thread", [{"gate": "open"}] * 2)
    backlog = stage.submit_many("nap", [{"seconds": 0.0}] * 40)
    stage.until_started(20)

    told_at = worker.terminate()
    assert worker.wait() == 0
    ended_at = SYSTEM_CLOCK.monotonic()

    stage.measured("from SIGTERM to the end, at a grace of 2 s", ended_at - told_at, at_most=4.0)
    assert set(stage.states(short)) == {MessageState.COMPLETED}
    assert set(stage.states(endless)) == set(stage.states(backlog)) == {MessageState.READY}
    assert all(stage.record(id).counters.attempts == 0 for id in endless)
    assert stage.runs(backlog) == []
    stage.verdict(unfinished=[*endless, *backlog])

    stage.open_gate("open")
    stage.worker(concurrency=20)
    stage.until_settled()
    stage.verdict()
    assert all(stage.record(id).counters.attempts == 0 for id in stage.sent)


@on("sqlite", "valkey9")
def test_a_second_sigterm_gives_everything_back_now(stage: Stage) -> None:
    """No loss: however long the grace, a second SIGTERM ends it."""
    stage.configure(lease=600, sweep_interval=5, grace=600)
    worker = stage.worker(concurrency=20)
    ids = stage.submit_many("pass_gate", [{"gate": "open"}] * 10)
    ids += stage.submit_many("pass_gate_in_thread", [{"gate": "open"}] * 5)
    ids += stage.submit_many("nap_in_process", [{"seconds": 0.0, "gate": "open"}] * 2)
    stage.until_started(17)

    worker.terminate()
    stage.until(lambda: "stopping" in worker.said, "the first signal was heard")
    time.sleep(0.2)  # two signals at once would count as one
    told_at = worker.terminate()
    assert worker.wait() == 0
    ended_at = SYSTEM_CLOCK.monotonic()

    stage.measured("from the second SIGTERM to the end", ended_at - told_at, at_most=3.0)
    assert set(stage.states(ids)) == {MessageState.READY}
    assert all(stage.record(id).counters.attempts == 0 for id in ids)
    stage.verdict(unfinished=ids)

    stage.open_gate("open")
    stage.worker(concurrency=20)
    stage.until_settled()
    stage.verdict()
