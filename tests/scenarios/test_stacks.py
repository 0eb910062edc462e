"""Where a handler is, asked of real workers whose handlers do what handlers should not."""

import os
import signal

import pytest

from tenure.clock import SYSTEM_CLOCK
from tenure.errors import StackUnanswered
from tenure.handler_stack import FrameKind, HandlerStack, Holds, Place

from .grounds import on
from .stage import Stage
from .test_supervising import supervise

#: Asked of a worker, the answer is there within this; the machine of the test may be busy.
ANSWER_SECONDS = 2.0


def look(stage: Stage, id: str) -> HandlerStack:
    """Ask, with patience for a busy machine."""
    return stage.do(stage.app.operate.stack(id, wait=10.0))


def functions(seen: HandlerStack) -> list[str]:
    """The user's own."""
    return [frame.function.rpartition(".")[2] for frame in seen.stack.frames if frame.kind is FrameKind.USER]


@on("sqlite", "valkey9")
def test_a_worker_with_a_blocked_loop_says_which_line_blocks_it_and_whom_it_holds_up(stage: Stage) -> None:
    worker = stage.worker()
    (waits,) = stage.submit("pass_gate", {"gate": "open"})
    stage.until_started(1)
    (blocks,) = stage.submit("block_loop", {"seconds": 600.0})
    stage.until_started(2)

    asked = SYSTEM_CLOCK.monotonic()
    seen = look(stage, blocks)
    stage.measured("from the question to the answer", SYSTEM_CLOCK.monotonic() - asked, at_most=ANSWER_SECONDS)
    assert (seen.runs_in, seen.holds, seen.pid) == (Place.LOOP, Holds.LOOP, worker.pid)
    assert functions(seen)[-1] == "block_loop"
    assert seen.stack.frames[-1].file.endswith("scenarios/tasks.py")
    assert (seen.memory_bytes or 0) > 10_000_000

    other = look(stage, waits)
    assert (other.held_up_by, other.holds) == (blocks, None)
    assert functions(other) == ["pass_gate"]


@on("sqlite")
def test_a_thread_that_waits_is_seen_where_it_waits(stage: Stage) -> None:
    stage.worker()
    (id,) = stage.submit("pass_gate_in_thread", {"gate": "open"})
    stage.until_started(1)
    seen = look(stage, id)
    assert (seen.runs_in, seen.holds) == (Place.THREAD, None)
    assert functions(seen)[0] == "pass_gate_in_thread"
    stage.open_gate("open")
    stage.until_settled()
    stage.verdict()


@on("sqlite", "valkey9")
def test_a_child_process_that_keeps_its_gil_is_seen_all_the_same(stage: Stage) -> None:
    """Its own line cannot answer: its stack is dumped from within a signal, which needs no GIL."""
    worker = stage.worker()
    (id,) = stage.submit("match_badly", {})
    stage.until_started(1)
    child = stage.runs()[0].pid
    assert child != worker.pid
    stage.until(lambda: look(stage, id).holds is not None, "it keeps the GIL")

    for _ in range(2):
        seen = look(stage, id)
        assert (seen.runs_in, seen.holds, seen.pid) == (Place.PROCESS, Holds.GIL, child)
        assert functions(seen)[-1] == "match_badly"
        assert seen.stack.frames[-1].function == "match"


@on("sqlite")
def test_a_child_process_is_asked_over_its_own_line_and_goes_on(stage: Stage) -> None:
    stage.worker()
    (id,) = stage.submit("keep_pages_in_process", {"gate": "open"})
    stage.until_started(1)
    stage.until(lambda: stage.record(id).progress is not None, "it says how far it is")
    for _ in range(3):
        seen = look(stage, id)
        assert (seen.runs_in, seen.holds, seen.note) == (Place.PROCESS, None, "")
        assert functions(seen)[0] == "keep_pages_elsewhere"
        assert seen.progress is not None
        assert seen.progress.note.startswith("page ")
    stage.open_gate("open")
    stage.until_settled()
    stage.verdict()


@on("sqlite")
def test_a_child_process_is_looked_at_while_another_handler_blocks_the_workers_loop(stage: Stage) -> None:
    stage.worker()
    (id,) = stage.submit("nap_in_process", {"seconds": 0.0, "gate": "open"})
    stage.until_started(1)
    stage.submit("block_loop", {"seconds": 600.0})
    stage.until_started(2)
    seen = look(stage, id)
    assert functions(seen)[0] == "nap_in_process"
    assert "another handler blocks the worker's event loop" in seen.note


@on("sqlite")
def test_a_child_process_that_is_stopped_says_so(stage: Stage) -> None:
    stage.worker()
    (id,) = stage.submit("nap_in_process", {"seconds": 0.0, "gate": "open"})
    stage.until_started(1)
    child = stage.runs()[0].pid
    os.kill(child, signal.SIGSTOP)
    try:
        seen = look(stage, id)
        assert "is stopped" in seen.note
        assert not seen.stack.frames
    finally:
        os.kill(child, signal.SIGCONT)
    stage.open_gate("open")
    stage.until_settled()
    stage.verdict()


@on("sqlite")
def test_a_suspect_that_runs_alone_is_seen_in_its_process(stage: Stage) -> None:
    (id,) = stage.submit("crash_twice", {"gate": "open"})
    supervise(stage, 1)
    stage.until_started(3)
    seen = look(stage, id)
    assert seen.runs_in is Place.SOLO
    assert functions(seen) == ["crash_twice"]
    assert seen.stack.frames[-1].function == "sleep"
    stage.open_gate("open")
    stage.until_settled()


@on("sqlite")
@pytest.mark.parametrize("keeper", ["worker", "supervisor"])
def test_workers_under_a_supervisor_answer_for_themselves(stage: Stage, keeper: str) -> None:
    supervise(stage, 2, "--heartbeat", keeper, concurrency=1)
    ids = stage.submit("block_loop", {"seconds": 600.0}, count=2)
    stage.until_started(2)
    answers = [look(stage, id) for id in ids]
    assert len({seen.pid for seen in answers}) == 2
    assert {seen.holds for seen in answers} == {Holds.LOOP}


@on("sqlite")
def test_a_worker_that_stands_still_is_a_clear_error_and_answers_when_it_goes_on(stage: Stage) -> None:
    stage.configure(lease=60, sweep_interval=5)
    worker = stage.worker()
    (id,) = stage.submit("pass_gate", {"gate": "open"})
    stage.until_started(1)
    stage.freeze(worker)
    try:
        with pytest.raises(
            StackUnanswered, match=rf"did not report the stack of {id} within 4 s.*process {worker.pid} on"
        ):
            stage.do(stage.app.operate.stack(id, wait=4.0))
    finally:
        worker.resume()
    stage.do(stage.app.operate.stack(id))
    stage.open_gate("open")
    stage.until_settled()
    stage.verdict()


@on("sqlite")
@pytest.mark.parametrize("keeper", ["worker", "supervisor"])
def test_a_supervisor_answers_for_a_worker_whose_gil_is_held(stage: Stage, keeper: str) -> None:
    """No thread of that process can answer; its supervisor sees that it does not tick."""
    stage.configure(lease=60, sweep_interval=5)
    supervise(stage, 1, "--heartbeat", keeper)
    (id,) = stage.submit("match_badly_in_thread", {})
    stage.until_started(1)
    stage.until(lambda: look(stage, id).holds is not None, "it keeps the GIL")
    seen = look(stage, id)
    assert (seen.holds, seen.pid, seen.task) == (Holds.GIL, stage.runs()[0].pid, "match_badly_in_thread")
    assert functions(seen)[-1] == "match_badly"
    assert seen.stack.frames[-1].function == "match"
