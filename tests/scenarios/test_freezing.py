"""Workers that stand still (SIGSTOP, a swapping machine, a suspended laptop) and come back as if nothing happened."""

import asyncio
import time

import pytest

from tenure.clock import SYSTEM_CLOCK
from tenure.event import EventKind
from tenure.lease import Lease, LeaseRequest, LeaseState
from tenure.message import MessageState
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.verdict import Reason

from .grounds import EVERYWHERE, SERVERS, on
from .process import Process
from .stage import Stage
from .traces import Run


@on(*EVERYWHERE)
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

    stage.freeze(frozen)
    stage.open_gate("open")
    stage.until_settled()
    before = stage.records()
    frozen.resume()
    stage.until(lambda: all(run.how is not None for run in stage.runs()), "the frozen runs have ended")
    stage.freeze(second)  # so that only the one that was frozen can run the next
    (after,) = stage.submit("nap", {"seconds": 0.0})
    stage.until_settled()
    second.resume()

    verdict = stage.verdict(may_overlap=ids)
    assert {id: record for id, record in stage.records().items() if id != after} == before
    assert [run.pid for run in stage.runs([after])] == [frozen.pid]
    assert all(record is not None and record.counters.lost == 1 for record in before.values())
    print(f"measured: late settles that were refused: {len(verdict.refused)} of {len(ids)}")  # noqa: T201


@on("sqlite", "valkey9")
def test_a_worker_frozen_past_its_lease_cannot_settle_what_another_runs(stage: Stage) -> None:
    """Fenced: as above, but the new owner is still at work when the frozen worker comes back and wants to settle.

    A third holder, which the test plays itself, lost its lease likewise and tries every way to settle.
    """
    stage.configure(lease=1, sweep_interval=0.25)
    request = LeaseRequest("holder", "request", (stage.app.queue,), 5, 2.0)
    played = stage.submit_many("nap", [{"seconds": 2.0}] * 5)
    leases = stage.do(stage.app.broker.lease(request))
    ids = stage.submit_many("nap", [{"seconds": 2.0}] * 20)
    ids += stage.submit_many("nap_in_thread", [{"seconds": 2.0}] * 20)
    frozen = stage.worker(concurrency=40)  # full with these
    stage.until_started(40, ids)
    second = stage.worker(concurrency=50)

    stage.freeze(frozen)
    done_at = max(run.start for run in stage.runs(ids)) + 2.0
    stage.until(lambda: len(runs_of(stage, second)) == 45, "the second worker runs them all")
    stage.until(lambda: SYSTEM_CLOCK.monotonic() > done_at, "the frozen worker's handlers are due to end")
    frozen.resume()
    outcomes = stage.do(settle_in_every_way(stage, leases))
    stage.until_settled()
    stage.until(lambda: all(run.how is not None for run in stage.runs()), "every run has ended")

    assert outcomes == {Outcome.TAKEN_OVER}
    verdict = stage.verdict(may_overlap=ids)
    assert len(runs_of(stage, second)) == 45
    assert {stage.record(id).counters.lost for id in ids} == {1}
    assert {stage.record(id).counters.attempts for id in ids} == {0}
    assert {stage.record(id).counters.attempts for id in played} == {1}, "a holder without presence has used one"
    print(f"measured: late settles that were refused: {len(verdict.refused)} of {len(ids)}")  # noqa: T201


def runs_of(stage: Stage, process: Process) -> list[Run]:
    """The runs of one worker."""
    return [run for run in stage.runs() if run.pid == process.pid]


async def settle_in_every_way(stage: Stage, leases: list[Lease]) -> set[Outcome]:
    """What becomes of a stale holder's ack, nack, give-back and dead letter."""
    broker, reason = stage.app.broker, Reason("error", "too late")
    settlements = [
        *await broker.ack([Ack(lease, b"null") for lease in leases]),
        *await broker.nack([Nack(lease, 0.0, reason) for lease in leases]),
        *await broker.give_back([GiveBack(lease) for lease in leases]),
        *await broker.dead_letter([DeadLetter(lease, reason) for lease in leases]),
    ]
    assert {lease.state for lease in await broker.touch(leases)} == {LeaseState.LOST}
    return {settlement.outcome for settlement in settlements}


@on("sqlite", soak=SERVERS)
def test_freezing_a_worker_under_load_costs_nobody_else_a_lease(stage: Stage) -> None:
    """No overlap: a frozen worker often holds SQLite's write lock, so that nobody can beat; that is nobody's fault.

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
    stage.until_settled(within=90)
    stage.until(lambda: all(run.how is not None for run in stage.runs()), "every run has ended")

    held_by_frozen = {run.id for run in stage.runs() if run.pid == frozen.pid}
    verdict = stage.verdict(may_overlap=held_by_frozen)
    owners = {event.owner for event in stage.events(EventKind.LEASE_LOST, EventKind.LATE_SETTLE)}
    assert all(f":{frozen.pid}/" in (owner or "") for owner in owners)
    others = [stage.record(id) for id in stage.sent if id not in held_by_frozen]
    # One run each: whoever ran it kept it. A loss beside that was of the frozen worker, which had not begun it.
    assert all(len(stage.runs([record.id])) == 1 for record in others)
    assert sum(record.counters.lost for record in others) <= 10, "one freeze meets one message between lease and start"
    assert {run.pid for run in stage.runs()} == {frozen.pid, *(worker.pid for worker in healthy)}
    lost = sum(stage.record(id).counters.lost for id in held_by_frozen)
    print(f"measured: returned from the frozen worker: {lost}; late settles refused: {len(verdict.refused)}")  # noqa: T201


@pytest.mark.parametrize(
    ("moment", "sweep_interval"),
    [
        (["BEGIN IMMEDIATE"], 0.25),
        (["UPDATE message"], 0.25),
        (["UPDATE message"], 2.0),
        (["UPDATE message", "COMMIT"], 2.0),
        (["INTO turn"], 2.0),
    ],
    ids=["before-the-lock", "in-the-middle", "sweeps-are-rare", "before-the-commit", "asking-whose-turn-it-is"],
)
def test_a_worker_frozen_with_the_write_lock_costs_nobody_else_a_lease(
    stage: Stage, moment: list[str], sweep_interval: float
) -> None:
    """No overlap: as above, but frozen in the worst moments on purpose, for more than two leases."""
    stage.configure(lease=1, sweep_interval=sweep_interval)
    healthy = stage.worker(concurrency=20)
    held = stage.submit_many("pass_gate", [{"gate": "open"}] * 10)
    held += stage.submit_many("pass_gate_in_thread", [{"gate": "open"}] * 10)
    stage.until_started(20)
    frozen = stage.worker(concurrency=1, module="scenarios.halting")
    stage.submit_many("nap", [{"seconds": 0.1}] * 5)

    stage.order_halt(moment)
    frozen.wait_until_frozen()
    time.sleep(2.2)  # the length of the freeze is the scenario
    frozen.resume()
    stage.open_gate("open")
    stage.until_settled()
    stage.until(lambda: all(run.how is not None for run in stage.runs()), "every run has ended")

    stage.verdict(may_overlap={run.id for run in stage.runs() if run.pid == frozen.pid})
    assert [run.pid for run in stage.runs(held)] == [healthy.pid] * 20
    assert [stage.record(id).counters.lost for id in held] == [0] * 20


@pytest.mark.parametrize(
    "moment",
    [
        ["BEGIN IMMEDIATE"],
        ["SET attempts"],
        ["SET attempts"] * 2,  # twenty moves are two statements
        ["SET attempts", "COMMIT"],
    ],
    ids=["before-the-lock", "after-the-check", "among-the-moves", "before-the-commit"],
)
def test_two_sweepers_revive_nothing_and_return_nothing_twice(stage: Stage, moment: list[str]) -> None:
    """No message is returned twice, and none that was acked: one sweeper is frozen around check and move.

    Twenty leases of a holder without presence end unseen. While the first sweeper stands still, the holder
    acks them all, late, and a second sweeper sweeps. Whoever is first in the store is right.
    """
    stage.configure(lease=1, sweep_interval=1.2, max_attempts=3)
    ids = stage.submit_many("nap", [{"seconds": 0.0}] * 20)
    sweeper = stage.worker(queue="nothing", module="scenarios.halting")
    stage.until_swept()
    request = LeaseRequest("holder", "request", (stage.app.queue,), 20, 0.3)
    leases = stage.do(stage.app.broker.lease(request))
    stage.until(lambda: (stage.record(ids[-1]).deadline_in or 0.0) < 0, "the leases are overdue")

    stage.order_halt(moment)
    sweeper.wait_until_frozen()  # in its next sweep
    outcomes = stage.do(ack_and_sweep(stage, leases, sweeper))

    was_acked = moment == ["BEGIN IMMEDIATE"]  # in time, before the sweeper had the lock
    assert outcomes == {Outcome.DELETED if was_acked else Outcome.ALREADY_GONE}
    stage.until_swept()
    assert set(stage.states(ids)) == {MessageState.COMPLETED if was_acked else MessageState.READY}
    assert {stage.record(id).counters.attempts for id in ids} == {0 if was_acked else 1}
    assert {stage.record(id).counters.lost for id in ids} == {0}

    stage.worker()
    stage.until_settled()
    assert len(stage.runs()) == (0 if was_acked else 20)
    assert set(stage.states(ids)) == {MessageState.COMPLETED}


async def ack_and_sweep(stage: Stage, leases: list[Lease], sweeper: Process) -> set[Outcome]:
    """Ack late and sweep at the same time, and let the frozen sweeper go on while both are under way."""
    broker = stage.app.broker
    acking = asyncio.ensure_future(broker.ack([Ack(lease, b"null") for lease in leases]))
    sweeping = asyncio.ensure_future(broker.sweep(stage.app.sweep_request()))
    await asyncio.sleep(0.3)
    sweeper.resume()
    await sweeping
    return {settlement.outcome for settlement in await acking}
