"""Worker processes under a supervisor: the dead are replaced, and what they ran is back before anybody else knows."""

import os
import re
import signal
import time

import pytest

from tenure.event import EventKind
from tenure.message import MessageState

from .grounds import SERVERS, on
from .process import Process
from .stage import Stage
from .test_children import is_running

#: DESIGN §1, "fast recovery". Under a supervisor nobody needs to find out: `waitpid` tells, and the journal says so.
RECOVERY_SECONDS = 3.0


def supervise(stage: Stage, processes: int, *words: str, concurrency: int = 10) -> Process:
    """Start `tenure worker --processes`, and wait until all of them work."""
    process = stage.start(
        "-m", "tenure", "worker", "scenarios.served:app", "--verbose", "--processes", str(processes),
        "--concurrency", str(concurrency), *words,
    )  # fmt: skip
    works = re.compile(r"\[\d+\] \S+ runs ")
    stage.until(
        lambda: len(works.findall(process.said)) == processes or process.exit_code is not None, "all processes work"
    )
    assert process.exit_code is None, process.said
    return process


@on("sqlite", "valkey9")
def test_a_killed_childs_message_runs_elsewhere_at_once_and_the_child_is_replaced(stage: Stage) -> None:
    """Fast recovery: the lease is 600 s, and nobody has to look for the dead."""
    stage.configure(lease=600, sweep_interval=5)
    parent = supervise(stage, 2, concurrency=1)
    children = stage.alive()
    (id,) = stage.submit("pass_gate", {"gate": "open"})
    stage.until_started(1)
    victim = stage.runs()[0].pid
    assert victim in children

    killed_at = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    stage.until_started(2)
    again = stage.runs()[1]

    stage.measured_return("told by waitpid", again.start - killed_at, at_most=RECOVERY_SECONDS)
    assert again.pid != victim
    stage.until(lambda: len(stage.alive() - {victim}) == 2, "the child is replaced")
    stage.open_gate("open")
    stage.until_settled()
    stage.verdict()
    counters = stage.record(id).counters
    assert (counters.crashes, counters.attempts, counters.lost) == (1, 0, 0)
    line = rf"process \d \(pid {victim}\) was killed by signal 9 \(SIGKILL\) while it ran {id}; 1 message returned"
    assert len(re.findall(line, parent.said)) == 1
    assert [event.data["triggered_by"] for event in stage.events(EventKind.REQUEUE)] == ["supervisor"]
    (retired,) = stage.events(EventKind.OWNER_RETIRED)[:1]
    assert "SIGKILL" in retired.data["proof"]


@on("sqlite", soak=SERVERS)
def test_a_task_that_kills_its_process_takes_no_bystander_with_it(stage: Stage) -> None:
    """No innocent victims: the supervisor starts the next process, and only the killer is put aside."""
    stage.configure(lease=600, sweep_interval=5)
    parent = supervise(stage, 1, concurrency=120)
    bystanders = stage.submit_many("stand_by", [{"seconds": 0.6}] * 50)
    (killer,) = stage.submit("kill_worker", {"seconds": 0.3})
    bystanders += stage.submit_many("stand_by", [{"seconds": 0.6}] * 50)

    stage.until_settled(within=60)

    verdict = stage.verdict(dead=[killer])
    record = stage.record(killer)
    assert record.reason is not None
    assert record.reason.code == "crashed_alone"
    assert sorted(verdict.completed) == sorted(bystanders)
    assert parent.said.count("was killed by signal 9 (SIGKILL) while it ran") == 2, "twice in company, then alone"
    assert "more; " in parent.said, "not all of a hundred are named"
    assert sum(stage.record(id).counters.crashes > 0 for id in bystanders) >= 50


@on("sqlite", "valkey9")
def test_sigterm_ends_every_process_and_handlers_finish(stage: Stage) -> None:
    stage.configure(lease=30, sweep_interval=1)
    parent = supervise(stage, 2, concurrency=2)
    children = stage.alive()
    ids = stage.submit_many("nap", [{"seconds": 1.0}] * 4)
    stage.until_started(4)

    parent.terminate()

    assert parent.wait() == 0
    assert not any(map(is_running, children))
    assert set(stage.states(ids)) == {MessageState.COMPLETED}
    assert stage.alive() == set()
    stage.verdict()


@on("sqlite", "valkey9")
def test_a_second_sigterm_gives_everything_back_now(stage: Stage) -> None:
    stage.configure(lease=600, sweep_interval=5, grace=600)
    parent = supervise(stage, 2, concurrency=3)
    ids = stage.submit_many("pass_gate", [{"gate": "open"}] * 3)
    ids += stage.submit_many("pass_gate_in_thread", [{"gate": "open"}] * 3)
    stage.until_started(6)

    parent.terminate()
    stage.until(lambda: parent.said.count("in flight, up to") == 2, "every child has heard the first signal")
    time.sleep(0.2)  # two signals at once would count as one
    told_at = parent.terminate()

    assert parent.wait() == 0
    stage.measured("from the second SIGTERM to the end", time.monotonic() - told_at, at_most=3.0)
    assert set(stage.states(ids)) == {MessageState.READY}
    assert all(stage.record(id).counters.attempts == 0 for id in ids)
    stage.verdict(unfinished=ids)


@on("sqlite", "valkey9")
def test_a_signal_to_the_whole_group_asks_once(stage: Stage) -> None:
    """As systemd sends it: each child hears it twice, by itself and from its parent, and still finishes its work."""
    stage.configure(lease=30, sweep_interval=1)
    parent = supervise(stage, 2, concurrency=1)
    ids = stage.submit_many("nap", [{"seconds": 1.5}] * 2)
    stage.until_started(2)

    for pid in stage.alive():
        os.kill(pid, signal.SIGTERM)
    time.sleep(0.3)
    parent.terminate()

    assert parent.wait() == 0
    assert set(stage.states(ids)) == {MessageState.COMPLETED}
    stage.verdict()


@on("sqlite", "valkey9")
def test_no_child_outlives_a_supervisor_that_was_killed(stage: Stage) -> None:
    stage.configure(lease=600, sweep_interval=5)
    parent = supervise(stage, 2, concurrency=1)
    children = stage.alive()
    stage.submit_many("pass_gate", [{"gate": "open"}] * 2)
    stage.until_started(2)

    killed_at = parent.kill()

    gone_at = stage.until(lambda: not any(map(is_running, children)), "the children are gone")
    stage.measured("from the supervisor's end to its children's", gone_at - killed_at)
    stage.open_gate("open")
    supervise(stage, 2)
    stage.until_settled()
    stage.verdict()


@on("sqlite", "valkey9")
def test_a_child_that_ends_well_is_replaced_and_nothing_is_counted(stage: Stage) -> None:
    parent = supervise(stage, 2, concurrency=1)
    told = min(stage.alive())
    os.kill(told, signal.SIGTERM)

    stage.until(lambda: len(stage.alive() - {told}) == 2, "another takes its place")

    assert f"(pid {told}) ended by itself" in parent.said
    assert all(event.data["left"] for event in stage.events(EventKind.OWNER_RETIRED)), (
        "it was seen to leave, not to die"
    )
    parent.terminate()
    assert parent.wait() == 0
    stage.verdict()


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("raise", "error[import_failed]: module 'scenarios.falling' cannot be imported"),
        ("exit", "error[child_failed]: worker processes die before they can work; the last one ended with exit code 3"),
        ("kill", "error[child_failed]: worker processes die before they can work; the last one was killed by signal 9"),
    ],
)
def test_children_that_cannot_start_end_the_supervisor(stage: Stage, how: str, says: str) -> None:
    """No restart loop: what is told once ends it at once, and what dies without a word after a few times."""
    (stage.folder / "fall").write_text(how)
    parent = stage.start("-m", "tenure", "worker", "scenarios.falling:app", "--processes", "3")

    assert parent.wait() == 2
    assert parent.said.count(says) == 1
    assert parent.said.count("before it could lease anything") == {"raise": 1}.get(how, 5)


@on("sqlite", "valkey9")
def test_supervisor_beats_keep_a_handler_that_holds_the_gil(stage: Stage) -> None:
    """No overlap: the child cannot beat for three leases, an idle one waits beside it, and the message runs once."""
    stage.configure(lease=1, sweep_interval=1)
    parent = supervise(stage, 2, "--heartbeat", "supervisor", concurrency=1)
    ids = stage.submit("hold_gil", {"seconds": 4})
    stage.until_started(1)
    stage.submit("nap", {"seconds": 0.1}, count=20)

    stage.until_settled()

    (run,) = stage.runs(ids)
    assert run.last - run.start >= 4
    stage.verdict()
    assert stage.record(ids[0]).counters.lost == 0
    parent.terminate()
    assert parent.wait() == 0


@on("sqlite", "valkey9")
def test_without_them_it_is_lost(stage: Stage) -> None:
    """The scenario above is about something."""
    stage.configure(lease=1, sweep_interval=1)
    supervise(stage, 2, concurrency=1)
    (id,) = stage.submit("hold_gil", {"seconds": 4, "gate": "open"})
    stage.until_started(1)
    stage.open_gate("open")

    stage.until_settled()

    stage.verdict(may_overlap=[id])
    assert len(stage.runs()) == 2
    assert stage.record(id).counters.lost == 1


@on("sqlite", "valkey9")
def test_a_frozen_child_loses_its_lease_though_its_supervisor_beats(stage: Stage) -> None:
    """Fenced: the supervisor sees that it stands still, and lets go. Woken, the child settles nothing."""
    stage.configure(lease=1, sweep_interval=1)
    supervise(stage, 2, "--heartbeat", "supervisor", concurrency=1)
    (id,) = stage.submit("pass_gate", {"gate": "open"})
    stage.until_started(1)
    frozen = stage.runs()[0].pid

    os.kill(frozen, signal.SIGSTOP)
    stage.until_started(2)
    os.kill(frozen, signal.SIGCONT)
    stage.until(lambda: stage.runs()[0].how == "CancelledError", "the first run is ended")
    stage.open_gate("open")

    stage.until_settled()
    stage.verdict(may_overlap=[id])
    assert stage.runs()[1].how == "returned"
