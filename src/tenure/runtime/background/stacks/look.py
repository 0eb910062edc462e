"""A look at one run: how far the message is in this worker, where its handler is, and what stands still with it.

It runs on the loop beside the path (`side_thread.py`), so that a handler that blocks the worker's loop can be seen
doing so. A loop that moves is asked to look for itself: what it awaits cannot change meanwhile. A child process is
asked over its own line; one that does not answer is made to dump its stacks (`dump.py`).
"""

import asyncio
import concurrent.futures
import contextlib
import os
import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

from tenure.clock import Clock
from tenure.handler_stack import (
    FrameStack,
    HandlerStack,
    Holds,
    Place,
    RunPhase,
    StackFrame,
    bounded,
)
from tenure.probe import SYSTEM_PROBE, resident_bytes
from tenure.runtime.background.stacks.frames import marked, own_code, stack_of_task, stack_of_thread
from tenure.runtime.delivery import Delivery
from tenure.tasks.task import RunsIn

T = TypeVar("T")

#: A loop that moves answers within so long, and so does a child process. All of a look takes less than a second.
_LOOP_SECONDS = 0.25
_CHILD_SECONDS = 0.35
_GIL_SECONDS = 0.15


class Child(Protocol):
    """A child process."""

    @property
    def pid(self) -> int:
        """Its process id."""
        ...

    async def dump(self) -> dict[int, list[StackFrame]]:
        """The stacks of its threads, as seen from outside."""
        ...


class Channel(Protocol):
    """The line to the child process that runs a message: `processes/job_channel.py`."""

    @property
    def child(self) -> Child:
        """The child process."""
        ...

    @property
    def thread(self) -> int | None:
        """The ident of the thread in which the handler runs there. None: it has not begun."""
        ...

    async def stack(self) -> FrameStack:
        """Ask the child for the stack of its handler."""
        ...


class RunningHandlers(Protocol):
    """What is looked at: `path/handling.py`."""

    @property
    def running(self) -> set[Delivery]:
        """The deliveries that run now."""
        ...

    def conversation(self, delivery: Delivery) -> Channel | None:
        """Return the channel to the child process that runs it."""
        ...


class _Seen:
    """The findings of one look so far."""

    def __init__(self) -> None:
        self.stack = FrameStack()
        self.pid: int | None = os.getpid()
        self.holds: Holds | None = None
        self.holds_seconds: float | None = None
        self.held_up_by: str | None = None
        self.note = ""


class Look:
    """Looks at the runs of one worker."""

    def __init__(
        self, runs: RunningHandlers, clock: Clock, *, own_thread: bool, silent_seconds: Callable[[], float]
    ) -> None:
        """Made on the worker's loop. `own_thread`: looks come from another; `silent_seconds`: since it moved last."""
        self._runs = runs
        self._clock = clock
        self._own_thread = own_thread
        self._silent_seconds = silent_seconds
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    async def at(self, delivery: Delivery, *, owner: str, wall: float) -> HandlerStack:
        """Look where the handler of this delivery is now."""
        phase, place, seen = self._phase(delivery), None, _Seen()
        if phase in (RunPhase.RUNNING, RunPhase.ENDING, RunPhase.STARTING):
            place = _place(delivery)
            if place in (Place.PROCESS, Place.SOLO):
                await self._look_at_child(delivery, seen)
            else:
                await self._look_here(delivery, seen)
        now, said = self._clock.monotonic(), delivery.progress
        began = delivery.started if phase in (RunPhase.RUNNING, RunPhase.ENDING) else None
        return HandlerStack(
            id=delivery.id,
            queue=delivery.queue,
            owner=owner,
            taken_at=wall,
            phase=phase,
            runs_in=place,
            task=None if delivery.message is None else delivery.message.task,
            pid=None if place is None else seen.pid,
            running_seconds=None if began is None else now - began,
            stack=seen.stack,
            holds=seen.holds,
            holds_seconds=seen.holds_seconds,
            held_up_by=seen.held_up_by,
            note=seen.note,
            memory_bytes=None if place is None or seen.pid is None else resident_bytes(seen.pid),
            progress=None if said is None else said[0],
            progress_age_seconds=None if said is None else now - said[1],
        )

    def _phase(self, delivery: Delivery) -> RunPhase:
        phase = RunPhase.RUNNING
        if delivery.verdict is not None:
            phase = RunPhase.SETTLING
        elif delivery.started is None:
            phase = RunPhase.WAITING
        elif delivery.ending is not None:
            phase = RunPhase.ENDING
        elif delivery.whole is not None and delivery.whole.ticket is not None:
            phase = RunPhase.FETCHING
        elif _place(delivery) in (Place.PROCESS, Place.SOLO):
            conversation = self._runs.conversation(delivery)
            if conversation is None:
                phase = RunPhase.WAITING
            elif conversation.thread is None:
                phase = RunPhase.STARTING
        return phase

    # -- in this process ---------------------------------------------------------------------------

    async def _look_here(self, delivery: Delivery, seen: _Seen) -> None:
        own = _own(delivery)
        is_in_thread = delivery.thread is not None and not delivery.thread.done()
        if is_in_thread and delivery.thread_id is not None:
            seen.stack = stack_of_thread(delivery.thread_id, own)
            return
        runner = delivery.runner
        if runner is None:
            return
        try:
            seen.stack = await self._on_loop(lambda: stack_of_task(runner, self._thread, own))
        except TimeoutError:
            current = asyncio.current_task(self._loop)
            seen.stack = stack_of_task(runner, self._thread, own)
            seen.holds_seconds = self._silent_seconds()
            if current is runner:
                seen.holds = Holds.LOOP
            else:
                self._name_who_blocks(current, seen)

    def _name_who_blocks(self, current: "asyncio.Task[object] | None", seen: _Seen) -> None:
        for other in list(self._runs.running):
            if other.runner is current:
                task = "" if other.message is None else f" of {other.message.task}"
                seen.held_up_by = other.id
                seen.note = f"the handler{task} blocks the worker's event loop, so this one does not move"
                return
        seen.note = "something else blocks the worker's event loop, so this one does not move"

    async def _on_loop(self, function: Callable[[], T]) -> T:
        """Call it on the worker's own loop. Raises `TimeoutError` where that loop does not move."""
        if not self._own_thread:
            return function()
        answered: concurrent.futures.Future[T] = concurrent.futures.Future()

        def answer() -> None:
            if answered.set_running_or_notify_cancel():
                try:
                    answered.set_result(function())
                except Exception as error:  # noqa: BLE001 - raised where it is waited for
                    answered.set_exception(error)

        self._loop.call_soon_threadsafe(answer)
        async with asyncio.timeout(_LOOP_SECONDS):
            return await asyncio.wrap_future(answered)

    # -- in a child process ------------------------------------------------------------------------

    async def _look_at_child(self, delivery: Delivery, seen: _Seen) -> None:
        conversation = self._runs.conversation(delivery)
        seen.pid = None if conversation is None else conversation.child.pid
        if conversation is None or conversation.thread is None:
            return
        if SYSTEM_PROBE.look(conversation.child.pid).is_stopped:
            seen.note = "its child process is stopped (SIGSTOP, or a debugger): nothing runs until it is continued"
            return
        try:
            asked = await self._on_loop(lambda: self._loop.create_task(conversation.stack()))
        except TimeoutError:
            # Its own process goes on meanwhile; what it asks of its context waits.
            seen.note = "another handler blocks the worker's event loop; its process was looked at from outside"
            seen.stack = await _dumped(conversation, delivery)
            return
        try:
            await self._look_by_line(asked, conversation, delivery, seen)
        except asyncio.CancelledError:
            if not asked.cancelled():  # by the end of its run, that is; else the worker stops
                raise
            seen.note = "its run ended while it was looked at"
        finally:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nothing waits any more
                self._loop.call_soon_threadsafe(asked.cancel)

    async def _look_by_line(
        self, asked: "asyncio.Task[FrameStack]", conversation: Channel, delivery: Delivery, seen: _Seen
    ) -> None:
        if await self._answers(asked, _CHILD_SECONDS):
            seen.stack = asked.result()
            return
        dumped = await _dumped(conversation, delivery)
        if await self._answers(asked, _GIL_SECONDS):  # it was only slow
            seen.stack = asked.result()
            return
        seen.stack, seen.holds = dumped, Holds.GIL
        if not dumped.frames:
            seen.note = "its child process does not answer, and its stack cannot be read from outside on this system"

    async def _answers(self, asked: "asyncio.Task[FrameStack]", seconds: float) -> bool:
        """Whether the child answered in time; asked of a task of another loop, so it is looked at again and again."""
        step = 0.01
        for _ in range(round(seconds / step)):
            if asked.done():
                return True
            await asyncio.sleep(step)
        return asked.done()


async def _dumped(conversation: Channel, delivery: Delivery) -> FrameStack:
    threads = await conversation.child.dump()
    return bounded(marked(threads.get(conversation.thread or 0, []), _own(delivery)))


def _place(delivery: Delivery) -> Place:
    if delivery.must_run_alone:
        return Place.SOLO
    match None if delivery.task is None else delivery.task.runs_in:
        case RunsIn.PROCESS:
            return Place.PROCESS
        case RunsIn.THREAD:
            return Place.THREAD
        case _:
            return Place.LOOP


def _own(delivery: Delivery) -> str:
    return "" if delivery.task is None else own_code(delivery.task.function)
