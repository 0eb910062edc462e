"""Workers that stand still (SIGSTOP, a swapping machine, a suspended laptop) and come back as if nothing happened."""

import time

from tenure.event import EventKind

from .stage import Stage


def test_a_worker_frozen_past_its_lease_settles_nothing_when_it_comes_back(stage: Stage) -> None:
    """Fenced: whoever has the messages by now is not disturbed, and no effect is done twice.

    All its handlers are at their end in the moment it goes on, so it tries to settle at once.
    """
    stage.configure(lease=1, sweep_interval=0.25)
    frozen = stage.worker(concurrency=40)
    ids = stage.submit_many("pass_gate", [{"gate": "open"}] * 20)
    ids += stage.submit_many("pass_gate_in_thread", [{"gate": "open"}] * 20)
    stage.until_started(40)
    second = stage.worker(concurrency=40)

    frozen.freeze()
    stage.open_gate("open")
    stage.until_settled()
    before = stage.records()
    frozen.resume()
    stage.until(lambda: all(run.how is not None for run in stage.runs()), "the frozen runs have ended")
    (after,) = stage.submit("nap", {"seconds": 0.0})
    second.freeze()  # so that only the one that was frozen can run it
    stage.until_settled()
    second.resume()

    verdict = stage.verdict(may_overlap=ids)
    assert {id: record for id, record in stage.records().items() if id != after} == before
    assert [run.pid for run in stage.runs([after])] == [frozen.pid]
    assert all(record is not None and record.counters.lost == 1 for record in before.values())
    print(f"measured: late settles that were refused: {len(verdict.refused)} of {len(ids)}")  # noqa: T201


def test_freezing_a_worker_under_load_costs_nobody_else_a_lease(stage: Stage) -> None:
    """No overlap: a frozen worker often holds the write lock, so that nobody can beat; that is nobody's fault.

    Ten freezes, each longer than the lease. Messages that the frozen worker never had are never returned.
    """
    stage.configure(lease=0.9, sweep_interval=0.15)
    frozen = stage.worker(concurrency=10)
    healthy = [stage.worker(concurrency=10), stage.worker(concurrency=10)]

    for _ in range(10):
        stage.submit_many("nap", [{"seconds": 0.1 * (n % 5)} for n in range(60)])
        stage.submit_many("nap_in_thread", [{"seconds": 0.1 * (n % 5)} for n in range(10)])
        time.sleep(0.1)  # into the middle of it; nothing waits for this
        frozen.freeze()
        time.sleep(1.3)  # the length of the freeze is the scenario, not a wait for something
        frozen.resume()
    stage.until_settled(within=40)
    stage.until(lambda: all(run.how is not None for run in stage.runs()), "every run has ended")

    held_by_frozen = {run.id for run in stage.runs() if run.pid == frozen.pid}
    verdict = stage.verdict(may_overlap=held_by_frozen)
    owners = {event.owner for event in stage.events(EventKind.LEASE_LOST, EventKind.LATE_SETTLE)}
    assert all(f":{frozen.pid}/" in (owner or "") for owner in owners)
    others = [stage.record(id) for id in stage.sent if id not in held_by_frozen]
    assert [record.id for record in others if record.counters.lost] == []
    assert all(len(stage.runs([record.id])) == 1 for record in others)
    assert {run.pid for run in stage.runs()} == {frozen.pid, *(worker.pid for worker in healthy)}
    lost = sum(stage.record(id).counters.lost for id in held_by_frozen)
    print(f"measured: returned from the frozen worker: {lost}; late settles refused: {len(verdict.refused)}")  # noqa: T201
