"""Handlers in child processes: ended with their lease, with their time, and with their worker."""

import subprocess

from .grounds import on
from .stage import Stage


def is_running(pid: int) -> bool:
    """Whether a process is there, and is no zombie that its new parent has not looked after yet."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


@on("sqlite", "valkey9")
def test_a_lost_lease_kills_the_child_process(stage: Stage) -> None:
    """Fenced: while its worker was frozen the child went on; once the worker knows, it is ended."""
    stage.configure(lease=1, sweep_interval=0.25)
    first = stage.worker()
    (id,) = stage.submit("nap_in_process", {"seconds": 0.0, "gate": "open"})
    stage.until_started(1)
    child = stage.runs()[0].pid
    second = stage.worker()

    stage.freeze(first)
    stage.until_started(2)
    resumed_at = first.resume()
    gone_at = stage.until(lambda: not is_running(child), "the first child is gone")

    stage.measured("from the worker's return to the child's end", gone_at - resumed_at, at_most=2.0)
    stage.open_gate("open")
    stage.until_settled()
    stage.verdict(may_overlap=[id])
    assert stage.runs()[0].how is None, "the first run was ended, not finished"
    assert child not in (first.pid, second.pid)


@on("sqlite", "valkey9")
def test_max_hold_kills_a_hung_process(stage: Stage) -> None:
    """Bounded: after `max_hold` the process is gone, and the attempt is used."""
    stage.worker()
    # Its time counts from the moment that the message is given to a process: one is there, however slowly it starts.
    stage.submit("nap_in_process", {"seconds": 0.0})
    stage.until_settled()
    (id,) = stage.submit("hang_in_process", {})
    stage.until_started(1, [id])

    stage.until_settled()

    (run,) = stage.runs([id])
    stage.until(lambda: not is_running(run.pid), "the process is gone")
    stage.measured("the hung run, at a max_hold of 2 s", run.last - run.start, at_most=3.5)
    stage.verdict(dead=[id])
    record = stage.record(id)
    assert record.reason is not None
    assert "max_hold" in record.reason.text
    assert record.counters.attempts == 1


@on("sqlite", "valkey9")
def test_children_die_with_their_worker(stage: Stage) -> None:
    """No overlap: when the message is lent again, the child of a killed worker is gone."""
    stage.configure(lease=600, sweep_interval=5)
    first = stage.worker()
    ids = stage.submit_many("nap_in_process", [{"seconds": 0.0, "gate": "open"}] * 3)
    stage.until_started(3)
    children = [run.pid for run in stage.runs()]
    stage.worker()

    killed_at = first.kill()
    gone_at = stage.until(lambda: not any(map(is_running, children)), "the children are gone")
    free_at = stage.until(lambda: not stage.holders()[first.pid], "the dead holds nothing")
    stage.until_started(6, ids)

    stage.measured("from the worker's end to its children's", gone_at - killed_at)
    stage.measured("to the start of others, which takes new processes", stage.runs()[-1].start - killed_at)
    stage.measured_return("run in children", free_at - killed_at, at_most=4.0)
    stage.open_gate("open")
    stage.until_settled()
    stage.verdict()
