"""Two clients, one installation: each has its queue, its worker and its webhooks, on every kind of store.

As seed services do it: one queue for each client, a worker that serves one of them, another that serves all, and a
receiver that is told how each task ended.
"""

import pytest

from tenure.message import MessageState

from .grounds import on, on_each
from .notified import SETTINGS, notified
from .process import Process
from .stage import Stage

_WORDS = ("-m", "tenure", "worker", "scenarios.served:app", "--verbose", "--concurrency")
ONE, OTHER = "southhaven", "demo"


def _worker(stage: Stage, clients: str, concurrency: int = 10) -> Process:
    """A worker that serves these clients, once it is on the roster."""
    worker = stage.start(*_WORDS, str(concurrency), "--clients", clients)
    stage.until(lambda: worker.pid in stage.alive() or worker.exit_code is not None, "a worker joins")
    assert worker.exit_code is None, worker.said
    return worker


@on_each("lease", {"sqlite": [600.0], "valkey9": [600.0], "sqs": [30.0], "azurite": [30.0]})
@pytest.mark.timeout(300)
def test_each_client_has_its_queue_its_worker_and_its_endings(stage: Stage, lease: float) -> None:
    stage.configure(lease=lease, sweep_interval=1, **SETTINGS)
    with notified(stage) as endings:
        wanted: dict[str, str] = {}
        ids: dict[str, list[str]] = {}
        for client in (ONE, OTHER):
            done = stage.submit("nap", {"seconds": 0.0}, client=client, webhook=endings.name, count=2)
            (failed,) = stage.submit("fail", {}, client=client, webhook=endings.name)
            ids[client] = [*done, failed]
            wanted |= dict.fromkeys(done, "completed") | {failed: "failed"}
        queues = {stage.record(id).queue for id in ids[ONE]}
        assert queues == {f"{ONE}-tasks"}

        first = _worker(stage, ONE)
        own = {id: wanted[id] for id in ids[ONE]}
        endings.until_told(own, within=120)
        endings.check(own)
        assert set(stage.states(ids[OTHER])) <= {MessageState.READY}, "the worker of one client ran another's task"

        # What a killed worker held goes to the worker of all clients, and still to nobody else's queue.
        (held,) = stage.submit("pass_gate", {"gate": "open"}, client=ONE, webhook=endings.name)
        stage.until_started(1, [held])
        first.kill()
        stage.open_gate("open")
        wanted[held] = "completed"
        _worker(stage, "all")
        endings.until_told(wanted, within=200)
        endings.check(wanted)
        stage.verdict(dead=[id for id, status in wanted.items() if status == "failed"])


@on("sqlite", "valkey9")
def test_slow_tasks_of_one_client_do_not_hold_up_the_quick_ones_of_another(stage: Stage) -> None:
    """One slot. Taken in turn, each of 60 quick tasks would wait for one that takes ten times as long."""
    stage.configure(lease=600, sweep_interval=1)
    slow = stage.submit_many("nap", [{"seconds": 0.3}] * 200, client=ONE)
    worker = _worker(stage, "all", concurrency=1)
    stage.until_started(3, slow)
    quick = stage.submit_many("nap", [{"seconds": 0.02}] * 60, client=OTHER)
    before = stage.states(slow).count(MessageState.COMPLETED)
    stage.until(lambda: set(stage.states(quick)) == {MessageState.COMPLETED}, "the quick tasks are done")
    done = stage.states(slow).count(MessageState.COMPLETED) - before
    worker.kill()
    assert done < 45, f"{done} slow tasks ran meanwhile"
