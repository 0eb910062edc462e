"""What people do from outside while real workers run: cancel, pause, wait for results; and schedules."""

import pytest

from tenure.event import EventKind
from tenure.message import MessageState

from .grounds import on
from .stage import Stage

#: "within a second or so": the workers look once a second.
TOLD_SECONDS = 3.0


@on("sqlite", "valkey9")
@pytest.mark.parametrize("task", ["pass_gate", "nap_in_process"])
def test_a_running_message_that_is_cancelled_ends_within_seconds_though_its_lease_is_long(
    stage: Stage, task: str
) -> None:
    stage.configure(lease=600, sweep_interval=5)
    stage.worker()
    payload = {"gate": "never"} if task == "pass_gate" else {"seconds": 0.1, "gate": "never"}
    (id,) = stage.submit(task, payload)
    stage.until_started(1)

    assert stage.do(stage.app.handle(id).cancel()) is True
    cancelled_at = stage.until(lambda: stage.record(id).state is MessageState.CANCELLED, "it is cancelled")
    ended = stage.until(lambda: stage.events(EventKind.LEASE_LOST), "its worker was told", TOLD_SECONDS)
    stage.measured("from cancel to the end of the handler", ended - cancelled_at)

    stage.open_gate("never")
    (other,) = stage.submit("nap", {"seconds": 0})
    stage.until(lambda: stage.record(other).state is MessageState.COMPLETED, "the worker works on")
    assert stage.traces.effects().keys() == {other}, "the cancelled one left no effect"
    assert stage.record(id).state is MessageState.CANCELLED


@on("sqlite", "valkey9")
def test_a_thread_that_is_cancelled_ends_when_it_ends_and_its_result_is_refused(stage: Stage) -> None:
    stage.worker()
    (id,) = stage.submit("pass_gate_in_thread", {"gate": "open"})
    stage.until_started(1)
    assert stage.do(stage.app.handle(id).cancel()) is True
    stage.until(lambda: stage.events(EventKind.LEASE_LOST), "its worker was told", TOLD_SECONDS)
    stage.open_gate("open")
    (other,) = stage.submit("nap", {"seconds": 0})
    stage.until(lambda: stage.record(other).state is MessageState.COMPLETED, "the worker works on")
    record = stage.record(id)
    assert (record.state, record.result) == (MessageState.CANCELLED, None)


@on("sqlite", "valkey9")
def test_a_paused_queue_is_left_alone_by_every_worker_until_it_is_resumed(stage: Stage) -> None:
    first = stage.worker()
    operator = stage.app._client.operator(by="test")
    assert stage.do(operator.pause(stage.app.queue)) is True
    stage.until(lambda: " was paused" in first.said, "the worker says so")
    ids = stage.submit("nap", {"seconds": 0}, count=20)
    second = stage.worker()
    stage.until_swept()
    stage.until_swept()
    assert stage.runs() == []
    assert stage.do(operator.resume(stage.app.queue)) is True
    stage.until_settled()
    assert {run.pid for run in stage.runs(ids)} <= {first.pid, second.pid}
    stage.verdict()


@on("sqlite", "valkey9")
def test_a_result_comes_from_another_process(stage: Stage) -> None:
    stage.worker()
    (id,) = stage.submit("nap", {"seconds": 0.2})
    result = stage.do(stage.app.handle(id).result(timeout=60))
    assert result["pid"] in {process.pid for process in stage.processes}


@on("sqlite", "valkey9")
def test_many_workers_send_each_tick_once_though_one_of_them_is_killed(stage: Stage) -> None:
    stage.do(stage.app.open())
    words = ["-m", "tenure", "worker", "scenarios.ticking:app", "--verbose"]
    workers = [stage.start(*words) for _ in range(3)]
    stage.until(lambda: len(stage.runs()) >= 2, "two ticks have run")
    workers[0].kill()
    before = len(stage.runs())
    stage.until(lambda: len(stage.runs()) >= before + 4, "four more ticks have run")
    for worker in workers[1:]:
        worker.terminate()
        worker.wait()
    stage.do(stage.app.open())
    told = [event.data["scheduled_for"] for event in stage.events(EventKind.TICKED)]
    assert len(told) == len(set(told)), "a tick was told twice"
    # Asked of the messages that ran, not of events: what the killed worker had not told yet, nobody tells.
    ran = {run.id for run in stage.runs()}
    moments = [stage.do(stage.app.handle(id).result()) for id in ran]
    assert len(moments) == len(set(moments)), "two messages for one moment"
    assert len(moments) >= 5, "one of six runs at most was the second of its message"
