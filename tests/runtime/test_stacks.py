"""Where a handler is: its frames, how far its message is, who hears of it. In virtual time but for the last part."""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from tenure import Context, SyncContext, Tenure
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BadArgument, MessageNotFound, NotRunning, StackUnanswered
from tenure.handler_stack import (
    ANSWER_KIND,
    FrameKind,
    FrameStack,
    HandlerStack,
    Holds,
    Place,
    RunPhase,
    StackBranch,
    StackFrame,
    bounded,
    decoded,
    encoded,
    question_name,
)
from tenure.key_value import MOST_BYTES
from tenure.lease import Lease, LeaseRequest
from tenure.notice import Post, PostKind
from tenure.record import Progress
from tenure.runtime.background.stacks.answers import MOST_ANSWERS
from tenure.runtime.background.stacks.dump import parsed
from tenure.runtime.background.stacks.frames import own_code, stack_of_task, stack_of_thread
from tenure.runtime.processes.calling import without_stop
from tenure.runtime.supervisor.silent_workers import told as told_from_outside
from tenure.testing.harness import Harness
from tenure.testing.workers import Stage


def functions(stack: FrameStack, *kinds: FrameKind) -> list[str]:
    """The names of its frames, of these kinds or of all; without the places where they are nested."""
    return [frame.function.rpartition(".")[2] for frame in stack.frames if not kinds or frame.kind in kinds]


# --- frames ---------------------------------------------------------------------------------------------


async def deep(gate: asyncio.Event) -> None:
    await gate.wait()


async def letters(gate: asyncio.Event) -> AsyncIterator[str]:
    yield "a"
    await deep(gate)
    yield "b"


async def reads(gate: asyncio.Event) -> None:
    async for _ in letters(gate):
        pass


class Awaitable:
    """As those of libraries: neither a coroutine nor a future."""

    def __init__(self, gate: asyncio.Event) -> None:
        self._gate = gate

    def __await__(self) -> Any:
        return deep(self._gate).__await__()


async def waits_otherwise(gate: asyncio.Event) -> None:
    await Awaitable(gate)


async def gathers(gate: asyncio.Event) -> None:
    await asyncio.gather(deep(gate), reads(gate))


async def groups(gate: asyncio.Event) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(deep(gate))
        group.create_task(reads(gate))


async def limits(gate: asyncio.Event) -> None:
    async with asyncio.timeout(100):
        await deep(gate)


async def stack_while_waiting(function: Any) -> FrameStack:
    gate = asyncio.Event()
    task = asyncio.create_task(function(gate))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    try:
        return stack_of_task(task, threading.get_ident(), own_code(function))
    finally:
        gate.set()
        await task


async def test_the_stack_of_a_coroutine_is_the_chain_of_what_it_awaits() -> None:
    stack = await stack_while_waiting(reads)
    assert functions(stack) == ["reads", "letters", "deep", "wait"]
    assert [frame.kind for frame in stack.frames] == [FrameKind.USER] * 3 + [FrameKind.LIBRARY]
    assert all(frame.line for frame in stack.frames)
    assert stack.frames[0].file == __file__


async def test_what_an_object_of_a_library_awaits_is_found() -> None:
    assert functions(await stack_while_waiting(waits_otherwise))[:2] == ["waits_otherwise", "deep"]


@pytest.mark.parametrize("function", [gathers, groups])
async def test_what_it_waits_for_side_by_side_is_told_one_by_one(function: Any) -> None:
    stack = await stack_while_waiting(function)
    assert functions(stack)[0] == function.__name__
    told = [[frame.function for frame in branch.frames][:2] for branch in stack.branches]
    assert sorted(told) == [["deep", "Event.wait"], ["reads", "letters"]]


async def test_what_is_waited_for_with_a_limit_is_found() -> None:
    stack = await stack_while_waiting(limits)
    assert "deep" in [*functions(stack), *(frame.function for branch in stack.branches for frame in branch.frames)]


async def test_a_task_that_runs_now_is_seen_by_its_thread() -> None:
    seen: list[FrameStack] = []

    def look(task: "asyncio.Task[Any]") -> None:
        seen.append(stack_of_task(task, threading.get_ident(), own_code(run)))

    async def run() -> None:
        task = asyncio.current_task()
        assert task is not None
        look(task)

    await asyncio.create_task(run())
    assert "look" in functions(seen[0], FrameKind.USER)


def test_the_stack_of_a_thread_that_has_ended_is_empty() -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    assert stack_of_thread(thread.ident or 0, "") == FrameStack()


def test_no_value_of_a_variable_is_in_a_stack() -> None:
    secret, seen = "hunter2", list[FrameStack]()

    def handler(password: str) -> None:
        copy = password * 2
        seen.append(stack_of_thread(threading.get_ident(), own_code(handler)))
        assert copy

    handler(secret)
    assert secret.encode() not in msgspec.json.encode(seen)


# --- what comes from outside ----------------------------------------------------------------------------

DUMP = """\
Thread 0x00007f11 (most recent call first):
  File "/usr/lib/python3.11/selectors.py", line 468 in select
  File "/app/with "quotes" in it.py", line 3 in run

Current thread 0x00007f22 (most recent call first):
  File "/app/jobs.py", line 7 in inner
  File "/app/jobs.py", line ??? in outer
  ...
"""


def test_a_dump_is_read_thread_by_thread_the_outermost_first() -> None:
    threads = parsed(DUMP)
    assert [frame.function for frame in threads[0x7F11]] == ["run", "select"]
    assert threads[0x7F11][0].file == '/app/with "quotes" in it.py'
    assert threads[0x7F22] == [StackFrame("/app/jobs.py", None, "outer"), StackFrame("/app/jobs.py", 7, "inner")]


@pytest.mark.parametrize("text", ["", "Thread 0x", '  File "cut off", line', "\x00" * 100])
def test_a_dump_that_is_cut_off_is_no_error(text: str) -> None:
    assert parsed(text) == {}


def handler_in(file: str, *functions: str) -> list[StackFrame]:
    return [
        StackFrame(without_stop.__code__.co_filename, 10, "without_stop"),
        *(StackFrame(file, 1, f) for f in functions),
    ]


def test_a_supervisor_tells_the_thread_of_the_only_handler_from_those_that_wait() -> None:
    asyncios = asyncio.__file__
    threads = {
        1: [StackFrame(asyncios, 1, "run")],
        2: handler_in(asyncios, "start"),
        3: handler_in("/app/jobs.py", "work"),
    }
    stack, _ = told_from_outside(threads)
    assert functions(stack, FrameKind.USER) == ["work"]
    stack, note = told_from_outside({**threads, 4: handler_in("/app/jobs.py", "other")})
    assert not stack.frames
    assert [branch.frames[-1].function for branch in stack.branches] == ["work", "other"]
    assert "it cannot be seen which handler holds the GIL" in note


# --- bounds ---------------------------------------------------------------------------------------------


def answer(stack: FrameStack, **more: Any) -> HandlerStack:
    return HandlerStack(
        id="1", queue="q", task="t", owner="w/1", taken_at=0.0, phase=RunPhase.RUNNING, stack=stack, **more
    )


def test_a_deep_stack_keeps_both_ends() -> None:
    stack = bounded([StackFrame("f", number, "g") for number in range(1_000)])
    assert (stack.frames[0].line, stack.frames[-1].line) == (0, 999)
    assert stack.left_out == 1_000 - len(stack.frames)


def test_an_answer_fits_into_a_key_value_whatever_the_names() -> None:
    frames = [StackFrame("é" * 5_000, 1, "ü" * 5_000) for _ in range(1_000)]
    branches = tuple(StackBranch("b" * 100, bounded(frames).frames) for _ in range(50))
    whole = answer(bounded(frames, branches), progress=Progress(0.5, "n" * 100_000))
    data = encoded(whole)
    assert len(data) <= MOST_BYTES
    kept = decoded(data)
    assert kept is not None
    assert kept.stack.frames[-1] == whole.stack.frames[-1], "where it is now goes last"


def test_names_of_files_that_are_no_text_are_told_all_the_same() -> None:
    assert decoded(encoded(answer(bounded([StackFrame("\udcff.py", 1, "f")])))) is not None


def test_an_answer_of_another_kind_is_none() -> None:
    assert decoded(b'{"id": 1}') is None


def test_a_long_id_is_asked_about_by_its_hash() -> None:
    assert question_name("short") == "short"
    assert len(question_name("x" * 10_000)) < 200
    assert question_name("x" * 10_000) != question_name("x" * 10_001)


# --- a worker that answers, in virtual time -------------------------------------------------------------


async def ask(harness: Harness, id: str, *, by: str = "ada") -> None:
    now = harness.state.wall()
    post = Post(kind=PostKind.STACK, name=question_name(id), at=now, by=by, until=now + 10)
    await harness.state.board.post(post)


async def answered(harness: Harness, id: str) -> HandlerStack | None:
    kept = await harness.state.key_values.get(ANSWER_KIND, question_name(id))
    return None if kept is None else decoded(kept.data)


async def test_an_async_handler_is_seen_where_it_waits(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def report(ctx: Context) -> None:
            ctx.progress(0.25, "page 1")
            await asyncio.sleep(600)

        id = await stage.submit(report.bind())
        actor = await stage.start()
        await stage.until(lambda: actor.worker.in_flight == 1)
        await asyncio.sleep(5)
        await ask(harness, id)
        await asyncio.sleep(2)
        seen = await answered(harness, id)
    assert seen is not None
    assert (seen.id, seen.task, seen.owner) == (id, "report", actor.worker.owner_id)
    assert (seen.phase, seen.runs_in, seen.holds) == (RunPhase.RUNNING, Place.LOOP, None)
    assert functions(seen.stack, FrameKind.USER) == ["report"]
    assert functions(seen.stack)[-1] == "sleep"
    assert seen.running_seconds == pytest.approx(6.0, abs=1.5)
    assert seen.progress == Progress(0.25, "page 1")
    assert seen.progress_age_seconds == pytest.approx(seen.running_seconds or 0.0, abs=0.1)
    assert seen.memory_bytes is None or seen.memory_bytes > 1_000_000


async def test_a_message_that_waits_for_its_turn_says_so(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task(concurrency=1)
        async def one_at_a_time() -> None:
            await asyncio.sleep(600)

        ids = [await stage.submit(one_at_a_time.bind()) for _ in range(2)]
        actor = await stage.start()
        await stage.until(lambda: actor.worker.in_flight == 2)
        for id in ids:
            await ask(harness, id)
        await asyncio.sleep(2)
        phases = {seen.phase: seen for id in ids if (seen := await answered(harness, id)) is not None}
    assert phases.keys() == {RunPhase.RUNNING, RunPhase.WAITING}
    waiting = phases[RunPhase.WAITING]
    assert (waiting.stack, waiting.running_seconds, waiting.pid) == (FrameStack(), None, None)


async def test_a_run_that_waits_for_its_settle_says_so(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        wire = stage.wire()
        id = await stage.submit(work.bind())
        wire.away("broker.ack")
        await stage.start(wire=wire)
        await asyncio.sleep(5)
        await ask(harness, id)
        await asyncio.sleep(2)
        seen = await answered(harness, id)
        wire.back()
    assert seen is not None
    assert seen.phase is RunPhase.SETTLING


async def test_a_message_of_another_worker_is_left_to_that_one(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None:
            await asyncio.sleep(600)

        id = await stage.submit(work.bind())
        first = await stage.start()
        await stage.until(lambda: first.worker.in_flight == 1)
        second = await stage.start()
        await ask(harness, id)
        await asyncio.sleep(3)
        seen = await answered(harness, id)
        assert seen is not None
        assert seen.owner == first.worker.owner_id
        assert "key_values.get" not in second.wire.said  # its reports are only put


async def test_while_nothing_is_asked_nothing_is_done(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None:
            await asyncio.sleep(60)

        await stage.submit(work.bind())
        actor = await stage.start()
        await asyncio.sleep(30)
        assert "key_values.get" not in actor.wire.said  # its reports are only put


async def test_a_few_answers_are_given_a_second_and_everybody_gets_one(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None:
            await asyncio.sleep(600)

        ids = [await stage.submit(work.bind()) for _ in range(3 * MOST_ANSWERS)]
        actor = await stage.start(concurrency=len(ids))
        await stage.until(lambda: actor.worker.in_flight == len(ids))
        for id in ids:
            await ask(harness, id)
        await asyncio.sleep(1.5)
        assert 0 < actor.wire.said.count("key_values.get") <= 2 * MOST_ANSWERS
        await asyncio.sleep(3)
        assert all([await answered(harness, id) for id in ids])
        await asyncio.sleep(30)
        count = actor.wire.said.count("key_values.get")
        await asyncio.sleep(30)
        assert actor.wire.said.count("key_values.get") == count, "the questions have lapsed"


async def test_an_answer_that_cannot_be_written_harms_nothing_and_is_given_later(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None:
            await asyncio.sleep(60)

        wire = stage.wire()
        id = await stage.submit(work.bind())
        actor = await stage.start(wire=wire)
        await stage.until(lambda: actor.worker.in_flight == 1)
        wire.away("key_values.*")
        await ask(harness, id)
        await asyncio.sleep(3)
        assert await answered(harness, id) is None
        assert f"could not report the stack of {id}" in caplog.text
        wire.back()
        await asyncio.sleep(2)
        assert await answered(harness, id) is not None
        await stage.ended(id)
        assert actor.counts["completed"] == 1


# --- asking, in real time -------------------------------------------------------------------------------


@pytest.fixture
def app() -> Tenure:
    app = Tenure("memory://")

    @app.task
    def spins(ctx: SyncContext, seconds: float) -> None:
        until = SYSTEM_CLOCK.monotonic() + seconds
        while SYSTEM_CLOCK.monotonic() < until and not ctx.stopping:
            pass

    return app


async def held(app: Tenure, id: str) -> None:
    async with asyncio.timeout(30):
        while (await app.handle(id).status()).state != "leased":  # noqa: ASYNC110 - a store
            await asyncio.sleep(0.02)


async def taken(app: Tenure, id: str) -> Lease:
    """By a consumer that is no worker."""
    record = await app.record(id)
    assert record is not None
    (lease,) = await app.broker.lease(LeaseRequest("nobody/1", "r", (record.queue,), 1, 60.0))
    assert lease.id == id
    return lease


@pytest.mark.real_time
async def test_a_thread_that_never_rests_is_seen_at_its_line(app: Tenure) -> None:
    async with app:
        async with app.worker():
            handle = await app.submit("spins", {"seconds": 30})
            await held(app, handle.id)
            both = await asyncio.gather(app.operate.stack(handle.id), app.operate.stack(handle.id[:20]))
        for seen in both:
            assert (seen.id, seen.runs_in, seen.holds) == (handle.id, Place.THREAD, None)
            assert functions(seen.stack, FrameKind.USER)[0] == "spins"
        assert not [post for post in (await app.state.board.read()).posts if post.kind is PostKind.STACK], "withdrawn"


@pytest.mark.real_time
async def test_looks_of_one_person_in_a_row_are_one_act(app: Tenure) -> None:
    async with app:
        async with app.worker():
            handle = await app.submit("spins", {"seconds": 30})
            await held(app, handle.id)
            ada = app.operate.bound(by="ada", triggered_by="http", source="203.0.113.7")
            for _ in range(2):
                await ada.stack(handle.id)
        acts = [stored.act for stored in await app.state.acts.read() if stored.act.kind == "stack_read"]
        assert [(act.by, act.triggered_by, act.source, act.ids) for act in acts] == [
            ("ada", "http", "203.0.113.7", (handle.id,))
        ]


@pytest.mark.real_time
async def test_who_may_not_see_payloads_sees_no_text_of_the_handler(app: Tenure) -> None:
    async with app:

        @app.task
        async def tells(ctx: Context) -> None:
            ctx.progress(0.5, "customer 4711")
            await asyncio.sleep(30)

        async with app.worker(grace=0.1):
            handle = await app.submit("tells")
            await held(app, handle.id)
            seen = await app.operate.bound(by="bob", sees_payload=False).stack(handle.id)
        assert (seen.progress, seen.redacted) == (Progress(0.5), True)


@pytest.mark.real_time
async def test_a_message_of_a_queue_that_is_not_theirs_is_unknown(app: Tenure) -> None:
    async with app:
        handle = await app.submit("spins", {"seconds": 0})
        with pytest.raises(MessageNotFound):
            await app.operate.bound(by="bob", queues=("acme-*",)).stack(handle.id)


@pytest.mark.real_time
async def test_what_does_not_run_is_a_clear_error(app: Tenure) -> None:
    async with app:
        handle = await app.submit("spins", {"seconds": 0})
        with pytest.raises(NotRunning, match="is ready: no worker holds it; nothing was asked"):
            await app.operate.stack(handle.id)
        with pytest.raises(MessageNotFound):
            await app.operate.stack("nobody-knows-this")
        with pytest.raises(BadArgument):
            await app.operate.stack(handle.id, wait=0)
        assert not await app.state.acts.read(), "nothing was read"


@pytest.mark.real_time
async def test_a_worker_that_says_nothing_is_a_clear_error_and_the_question_is_withdrawn(app: Tenure) -> None:
    async with app:
        handle = await app.submit("spins", {"seconds": 0})
        await taken(app, handle.id)
        with pytest.raises(
            StackUnanswered, match=r"nobody/1 did not report the stack of .* within 0.5 s: .* not on the roster"
        ):
            await app.operate.stack(handle.id, wait=0.5)
        assert not (await app.state.board.read()).posts


@pytest.mark.real_time
async def test_a_run_that_ends_while_it_is_asked_about_is_a_clear_error(app: Tenure) -> None:
    async with app:
        handle = await app.submit("spins", {"seconds": 0})
        lease = await taken(app, handle.id)
        asking = asyncio.create_task(app.operate.stack(handle.id))
        await asyncio.sleep(0.3)
        await app.broker.cancel([lease.id])
        with pytest.raises(
            NotRunning, match="is cancelled: no worker holds it; its run ended before its worker answered"
        ):
            await asking


@pytest.mark.real_time
async def test_a_handler_that_blocks_the_loop_is_seen_doing_so(app: Tenure) -> None:
    """The worker's loop is this test's own, so the handler puts the question, and blocks the loop in the same step."""

    @app.task
    async def asks_and_blocks(ctx: Context) -> None:
        now = app.state.wall()
        await app.state.board.post(Post(kind=PostKind.STACK, name=ctx.message.id, at=now, until=now + 30))
        time.sleep(3)  # noqa: ASYNC251 - the very mistake under test

    async with app:
        seen: list[HandlerStack] = []
        async with app.worker():
            handle = await app.submit("asks_and_blocks", {})
            await handle.result(timeout=30)
            kept = await app.state.key_values.get(ANSWER_KIND, handle.id)
            assert kept is not None
            seen.append(msgspec.json.decode(kept.data, type=HandlerStack))
        assert seen[0].holds is Holds.LOOP
        assert functions(seen[0].stack, FrameKind.USER) == ["asks_and_blocks"]
        assert (seen[0].holds_seconds or 0.0) > 0.2


@pytest.mark.real_time
async def test_an_answer_to_an_earlier_question_is_not_taken_for_one(app: Tenure) -> None:
    async with app:
        handle = await app.submit("spins", {"seconds": 0})
        await taken(app, handle.id)
        old = msgspec.structs.replace(answer(FrameStack()), id=handle.id, taken_at=app.state.wall() - 30)
        await app.state.key_values.put(ANSWER_KIND, handle.id, encoded(old), expect=None)
        with pytest.raises(StackUnanswered):
            await app.operate.stack(handle.id, wait=0.5)
