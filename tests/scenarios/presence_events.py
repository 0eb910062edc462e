"""What can happen to a worker that holds a message, played on any store: cut off, silent, killed, stopped, suspended.

Each function plays one event from the start to the end of the message, asserts what must be true on every store, and
leaves to its caller only what differs between stores: how soon a proof brings a message back.
"""

import os
import re
import signal
import time

from tenure.clock import SYSTEM_CLOCK
from tenure.event import EventKind

from .namespaces import THROUGH, TIME_THROUGH, need_namespaces
from .presence import (
    CUT_SECONDS,
    FENCED_SECONDS,
    FETCH_SECONDS,
    PROVED_SECONDS,
    Scene,
    assert_kept,
    assert_lapsed,
    assert_proved,
)
from .stage import Stage
from .ways import way_of_workers

#: A lease that only a proof can end within a test.
LONG_LEASE = 600.0
#: One whose end a test can wait for.
SHORT_LEASE = 4.0


def play_cut(stage: Stage, *, witness: bool) -> None:
    """The holder's connections are reset, and it finds no way to the store for 3 s. Its lease is 30 s."""
    stage.configure(lease=30, sweep_interval=1)
    scene = Scene(stage, "cut", witness=witness)
    with way_of_workers(stage.ground) as way:
        holder = scene.start()
        scene.until_they_work(holder)
        id = scene.hold(holder)
        way.others_go_straight()
        scene.onlooker()

        cut_at = scene.note_lease(id)
        way.cut()
        time.sleep(CUT_SECONDS)  # the length of the cut is the scenario
        way.pass_on()
        time.sleep(1.0)  # whatever is done because of the cut, is done by then
        scene.finish()
        outcome = scene.outcome(id, cut_at)

    assert_kept(outcome)
    stage.verdict()
    assert not stage.events(EventKind.LEASE_LOST, EventKind.REQUEUE)


def play_silence(stage: Stage, seconds: int, *, witness: bool) -> None:
    """One worker holds the GIL, one is stopped (SIGSTOP): neither says a word, for less than the lease.

    They cannot look for the dead meanwhile, so neither is a witness of the other.
    """
    stage.configure(lease=seconds + 40, sweep_interval=1)
    scene = Scene(stage, f"silent for {seconds} s", witness=witness)
    workers = [scene.start(), scene.start()]
    scene.until_they_work(*workers)
    id_stopped, stopped = scene.hold_anywhere(*workers)
    (blocked,) = (worker for worker in workers if worker is not stopped)
    id_blocked = scene.hold(blocked, "hold_gil", seconds=seconds, gate="released", later="open")
    stage.open_gate("released")  # whoever ran it next would not hold the GIL
    silent_at = scene.note_lease(id_blocked)
    scene.note_lease(id_stopped)
    stage.freeze(stopped)
    scene.onlooker()

    stage.until(lambda: stage.runs([id_blocked])[0].how is not None, "the GIL is free again")
    scene.resume(stopped)
    time.sleep(1.0)  # whatever is done because of the silence, is done by then
    scene.finish()
    outcomes = [scene.outcome(id_blocked, silent_at, "GIL held"), scene.outcome(id_stopped, silent_at, "SIGSTOP")]

    for outcome in outcomes:
        assert_kept(outcome)
    stage.verdict()


def play_kill(stage: Stage, *, witness: bool, proved_within: float | None) -> None:
    """`kill -9`. `proved_within`: the seconds in which a proof brings the message back; None: there is no proof."""
    stage.configure(lease=SHORT_LEASE if proved_within is None else LONG_LEASE, sweep_interval=1)
    scene = Scene(stage, "kill -9", witness=witness)
    holder = scene.start()
    scene.until_they_work(holder)
    id = scene.hold(holder)
    scene.onlooker()

    scene.note_lease(id)
    killed_at = holder.kill()
    scene.until_free(id)
    scene.finish()
    outcome = scene.outcome(id, killed_at)

    if proved_within is None:
        assert_lapsed(stage, outcome, SHORT_LEASE + _until_swept(stage))
    else:
        assert_proved(stage, outcome, proved_within)
    stage.verdict()


def play_long_stop(stage: Stage, *, witness: bool, suspended: bool = False) -> None:
    """The holder is stopped for longer than its lease, and goes on.

    `suspended`: with its machine, whose clocks have gone on meanwhile.
    """
    stage.configure(lease=SHORT_LEASE, sweep_interval=1)
    scene = Scene(stage, "suspended past the lease" if suspended else "stopped past the lease", witness=witness)
    holder = scene.start(module="scenarios.suspending" if suspended else "tenure")
    scene.until_they_work(holder)
    id = scene.hold(holder)
    scene.onlooker()

    stopped_at = scene.note_lease(id)
    stage.freeze(holder)
    scene.until_free(id)
    asleep = SHORT_LEASE + FETCH_SECONDS if suspended else 0.0
    if suspended:
        (stage.folder / "asleep").write_text(str(asleep))
    resumed_at = scene.resume(holder)
    stage.until(lambda: stage.runs([id])[0].how is not None, "the run that was lost has ended")
    scene.finish()
    outcome = scene.outcome(id, stopped_at)

    assert_lapsed(stage, outcome, SHORT_LEASE + _until_swept(stage))
    assert [run.how for run in outcome.runs] == ["CancelledError", "returned"]
    fenced = outcome.runs[0].last - resumed_at - asleep  # its own clock counts the time asleep
    stage.measured("from SIGCONT to the end of the run that was lost", fenced, at_most=FENCED_SECONDS)
    stage.verdict(may_overlap=[id])  # by the clock: it stood still meanwhile


def play_suspend_of_all(stage: Stage, *, store_sleeps: bool) -> None:
    """The machine is suspended with every worker on it, for longer than the lease; then all go on.

    `store_sleeps`: the store lies on that machine, so its time is that of the clocks, and nobody needs to wait.
    """
    stage.configure(lease=SHORT_LEASE, sweep_interval=1)
    scene = Scene(stage, "everybody suspended", witness=True)
    holder = scene.start(module="scenarios.suspending")
    scene.until_they_work(holder)
    id = scene.hold(holder)
    other = scene.onlooker(module="scenarios.suspending")
    stage.until_swept()

    asleep_at = scene.note_lease(id)
    stage.freeze(other)
    stage.freeze(holder)
    if not store_sleeps:
        time.sleep(1.5 * SHORT_LEASE)  # the length of the sleep is the scenario
    (stage.folder / "asleep").write_text(str(3 * SHORT_LEASE if store_sleeps else 1.5 * SHORT_LEASE))
    other.resume()  # first the one that would take it away
    time.sleep(0.5)
    scene.resume(holder)
    time.sleep(2.0)  # sweeps that could return it
    scene.finish()
    outcome = scene.outcome(id, asleep_at)

    assert_kept(outcome)
    stage.verdict()


def play_slot(stage: Stage, *, proved_within: float) -> None:
    """The holder is killed, and its manager starts the next process in the same slot, in a namespace of its own."""
    need_namespaces()
    stage.configure(lease=LONG_LEASE, sweep_interval=1)
    scene = Scene(stage, "kill -9, the slot is taken again", witness=False)
    slot = ("env", "TENURE_SLOT=pod-7f3a/worker")
    holder = scene.start(through=slot)  # `env` becomes the worker: the pid is the same
    scene.until_they_work(holder)
    id = scene.hold(holder)

    scene.note_lease(id)
    holder.kill()
    successor = scene.start(through=(*slot, *THROUGH))
    started_at = scene.until_they_work(successor)
    scene.until_free(id)
    scene.finish()
    outcome = scene.outcome(id, started_at)

    assert_proved(stage, outcome, proved_within)
    stage.verdict()


def play_two_slots(stage: Stage) -> None:
    """Another worker with another slot, or with the same name, proves nothing."""
    need_namespaces()
    stage.configure(lease=30, sweep_interval=1)
    scene = Scene(stage, "same name, other slot", witness=False)
    holder = scene.start("--name", "thumbnails", through=("env", "TENURE_SLOT=pod-7f3a/worker"))
    scene.until_they_work(holder)
    id = scene.hold(holder)

    harmed_at = scene.note_lease(id)
    stage.freeze(holder)
    scene.onlooker("--name", "thumbnails")
    time.sleep(3.0)  # more than a proof would take
    scene.resume(holder)
    scene.finish()
    outcome = scene.outcome(id, harmed_at)

    assert_kept(outcome)
    stage.verdict()


def play_other_time(stage: Stage) -> None:
    """The onlooker shares the PID namespace, but its clocks began an hour earlier, as in a time namespace.

    So it reads another start time of the same process. That is no proof of anything.
    """
    need_namespaces()
    stage.configure(lease=30, sweep_interval=1)
    scene = Scene(stage, "another time namespace", witness=True)
    holder = scene.start()
    scene.until_they_work(holder)
    id = scene.hold(holder)

    harmed_at = scene.note_lease(id)
    scene.until_they_work(scene.start(through=TIME_THROUGH))
    time.sleep(PROVED_SECONDS)
    scene.finish()
    outcome = scene.outcome(id, harmed_at)

    assert_kept(outcome)
    stage.verdict()


def play_restart(stage: Stage, *, within: float) -> None:
    """The only worker is killed; nobody works for two sweeps; then another starts elsewhere, and knows nothing.

    `within`: seconds after its start.
    """
    need_namespaces()
    stage.configure(lease=SHORT_LEASE, sweep_interval=1)
    scene = Scene(stage, "kill -9, nobody else works", witness=False)
    holder = scene.start()
    scene.until_they_work(holder)
    id = scene.hold(holder)

    scene.note_lease(id)
    holder.kill()
    time.sleep(2.5)  # that nobody works for so long is the scenario
    successor = scene.start(through=THROUGH)
    started_at = scene.until_they_work(successor)
    scene.until_free(id)
    scene.finish()
    outcome = scene.outcome(id, started_at)

    assert_lapsed(stage, outcome, within)
    stage.verdict()


def play_supervised(stage: Stage) -> None:
    """A process of a supervisor is killed: `waitpid` proves it, on every store."""
    stage.configure(lease=LONG_LEASE, sweep_interval=1)
    scene = Scene(stage, "kill -9 under a supervisor", witness=False)
    parent = scene.start("--processes", "2")
    works = re.compile(r"\[\d+\] (\S+:(\d+)/\w+) runs ")
    stage.until(lambda: len(works.findall(parent.said)) == 2, "both processes work")
    (id,) = stage.submit("pass_gate", {"gate": "open"})
    stage.until_started(1)
    (run,) = stage.runs()

    scene.note_lease(id)
    killed_at = SYSTEM_CLOCK.monotonic()
    os.kill(run.pid, signal.SIGKILL)
    scene.until_free(id)
    again = stage.runs([id])[1]
    counters = stage.record(id).counters
    stage.open_gate("open")
    stage.until(lambda: stage.record(id).finished_at is not None, "it is done")

    stage.measured_return("told by the supervisor", again.start - killed_at, at_most=PROVED_SECONDS)
    assert (counters.crashes, counters.lost, counters.attempts) == (1, 0, 0)


def _until_swept(stage: Stage) -> float:
    """How long after its end a lease may be found: the turn to sweep lapses, somebody takes it, and fetches."""
    return 2 * stage.app.sweep_request().interval_seconds + FETCH_SECONDS
