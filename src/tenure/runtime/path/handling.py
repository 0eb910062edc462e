"""Handling: runs one message where its handler belongs, and turns the end of the run into a verdict.

The only stage that works on one message at a time. A handler runs in the worker's loop (async functions), in a thread
(plain functions), or in a child process (`runs_in="process"`). A message that may have killed its workers
(`rules/lapse.py`) runs alone in a child process of its own. The app's middleware surrounds each of them. After:
`outbox.py`.
"""

import asyncio
import contextvars
import functools
import logging
import random
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tenure.clock import Clock
from tenure.errors import BrokerUnavailable, ConfigurationError
from tenure.message import Message
from tenure.middleware import Middleware, around
from tenure.monitoring.telemetry import Telemetry
from tenure.record import Ending
from tenure.runtime.delivery import Delivery
from tenure.runtime.event_loop import start_eagerly
from tenure.runtime.ownership.blob_fetch import BlobFetch
from tenure.runtime.path.context_link import WorkerLink
from tenure.runtime.path.group_fetch import GroupFetch, has_group
from tenure.runtime.path.handing_on import HandingOn, Resolve
from tenure.runtime.path.repeated_returns import GIVE_UP_SECONDS, given_back_for, snoozes_in
from tenure.runtime.path.slots import Slots
from tenure.runtime.path.stages import OutboxStage
from tenure.runtime.processes.calling import without_stop
from tenure.runtime.processes.job_channel import JobChannel
from tenure.runtime.processes.pool import ChildDied, ProcessPool
from tenure.runtime.verdicts import judge_error, judge_failure, judge_result, judge_snooze
from tenure.state import Records
from tenure.tasks.context import Context, SyncContext
from tenure.tasks.task import RunsIn, Task
from tenure.text.plural import plural
from tenure.verdict import Completed, Dead, Lost, Reason, Returned, Snoozed, Verdict

logger = logging.getLogger("tenure.handling")

#: How long a handler that was cancelled may take to end, before it is left to itself.
PATIENCE_SECONDS = 3.0

#: A snoozed message comes back to a worker that goes on after so long at least.
LEAST_SNOOZE_SECONDS = 1.0

#: How long a message waits after no child process could be started for it.
CHILD_FAILED_SECONDS = 30.0

#: Looked at for every message: to look up a member of an enum takes longer than a name of this module.
_PROCESS, _LOOP = RunsIn.PROCESS, RunsIn.LOOP


async def _nothing_more(_delivery: Delivery) -> None: ...


class Handling:
    """Runs messages and concludes them."""

    def __init__(  # noqa: PLR0913 - made in one place, by the path
        self,
        clock: Clock,
        slots: Slots,
        outbox: OutboxStage,
        *,
        make_link: Callable[[Delivery], WorkerLink],
        children: ProcessPool,
        solo: ProcessPool,
        bodies: BlobFetch | None = None,
        groups: GroupFetch | None = None,
        resolve: Resolve | None = None,
        records: Records | None = None,
        on_fetched: Callable[[Delivery], Awaitable[None]] = _nothing_more,
        on_ended: Callable[[Delivery], None] = lambda _: None,
    ) -> None:
        """`outbox` takes every verdict; `children` run process handlers, `solo` suspects; `bodies` fetches large ones.

        `groups` reads the results of groups, for the messages at their end. `resolve` finds the webhooks of messages
        that are handed on.

        `records` know how often a suspect could not be run alone. `on_fetched` is called with a message whose body came
        only now, before its handler begins; `on_ended` of each whose code has ended, so that its place is free.
        """
        self._clock = clock
        self._slots = slots
        self._outbox = outbox
        self._make_link = make_link
        self._children = children
        self._solo = solo
        self._bodies = bodies or BlobFetch(None, None, clock)
        self._groups = groups
        self._handing_on = HandingOn(self._bodies, clock, resolve)
        self._records = records
        self._on_fetched = on_fetched
        self._on_ended = on_ended
        #: Called with a part's name and what it died of. A run that cannot be concluded would hold its slot and its
        #: lease for ever, so the worker ends.
        self.on_failure: Callable[[str, Exception], None] = _raise
        self._threads = ThreadPoolExecutor(max_workers=slots.total, thread_name_prefix="tenure-handler")
        self._loop = asyncio.get_running_loop()
        #: What follows messages, if a program asked for it.
        self.telemetry: Telemetry | None = None
        #: What the app's lifespan yielded.
        self.state: Any = None
        self.running: set[Delivery] = set()
        #: Messages whose code has not ended, threads that were left included.
        self.running_ids: set[str] = set()

    def start(self, deliveries: Sequence[Delivery]) -> None:
        """Run each in a task of its own, so that context variables and cancellation stay apart.

        From Python 3.12 on each takes its first step here. The heartbeat has their leases by then (`holding.py`).
        """
        loop = self._loop
        self.running.update(deliveries)
        self.running_ids.update([delivery.id for delivery in deliveries])
        for delivery in deliveries:
            delivery.runner = start_eagerly(loop, self._run(delivery))

    def start_soon(self, delivery: Delivery) -> None:
        """Run it from the loop's next turn on: a run that ends at once must not start the next within its own end."""
        self.running.add(delivery)
        self.running_ids.add(delivery.id)
        delivery.runner = self._loop.create_task(self._run(delivery))

    def end(self, delivery: Delivery, verdict: Verdict) -> None:
        """End a run from outside. It gets `verdict`, unless its handler returned first."""
        if delivery in self.running and delivery.runner is not None and delivery.ending is None:
            delivery.ending = verdict
            if delivery.started is not None:  # a task that is cancelled before its first step never runs at all
                delivery.runner.cancel()
                self._loop.call_later(PATIENCE_SECONDS, self._leave, delivery, verdict)

    def _leave(self, delivery: Delivery, verdict: Verdict) -> None:
        """Give up on a run that swallows its cancellation.

        It cannot be ended from outside, and its slot stays taken.
        """
        if delivery not in self.running:
            return
        task = delivery.task.name if delivery.task is not None else "a handler"
        logger.error(
            "%s %s was cancelled and has not ended; it may catch CancelledError. ctx.lease_lost is set, its result "
            "will be refused, and its slot is free when it ends",
            task,
            delivery.id,
        )
        self.running.discard(delivery)
        delivery.left = True
        delivery.finished = self._clock.monotonic()
        self._outbox.put(delivery, Lost() if delivery.lease_lost else verdict)

    def end_overheld(self, delivery: Delivery) -> None:
        """End a run that took longer than `max_hold`. It is a failed attempt."""
        if delivery.message is not None and delivery.task is not None:
            how = (
                "a thread cannot be killed; its result will be refused"
                if delivery.thread is not None
                else "it was ended"
            )
            reason = Reason("max_hold", f"it ran longer than max_hold allows; {how}")
            policy = delivery.task.policy
            self.end(delivery, judge_failure(reason, policy, delivery.message, delivery.attempt, random.random))

    def conversation(self, delivery: Delivery) -> JobChannel | None:
        """Return the channel to the child process that runs it, or begins to. None: no process was found for it yet."""
        return self._children.conversations.get(delivery) or self._solo.conversations.get(delivery)

    async def close(self) -> None:
        """End the child processes and leave the threads: a thread that hangs cannot be ended."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        await self._children.close()
        await self._solo.close()

    async def _run(self, delivery: Delivery) -> None:
        message, task = delivery.message, delivery.task
        if message is None or task is None:
            msg = "only a message that was read, for a task that is known, can be run"
            raise RuntimeError(msg)
        delivery.started = self._clock.monotonic()
        if delivery.runner is None:  # started eagerly: a stack may be asked for before `start` has the task
            delivery.runner = asyncio.current_task(self._loop)
        try:
            verdict = delivery.ending
            if verdict is None and message.ticket is not None:
                verdict = await self._fetch(delivery)
                message = delivery.whole or message
            if verdict is None and message.headers and self._groups is not None and has_group(message):
                verdict = await self._groups.bring(delivery, message)
                message = delivery.whole or message
            verdict = verdict or await self._call(delivery, message, task)
            if isinstance(verdict, Completed) and verdict.handoffs:
                verdict = await self._handing_on.prepare(verdict)
        except asyncio.CancelledError:
            verdict = delivery.ending or self._cancelled_itself(delivery, message, task)
        except BaseException as error:  # noqa: BLE001 - whatever users raise is a verdict
            # An error on the way out of a run that was ended from outside is not the message's fault.
            verdict = delivery.ending or judge_error(error, task.policy, message, delivery.attempt, random.random)
        try:
            if isinstance(verdict, Snoozed):
                verdict = await self._snooze(verdict, delivery, message, task)
            self._end_run(delivery, verdict)
        except Exception as error:  # noqa: BLE001 - this task is awaited by no one, so the worker must hear of it
            self.on_failure("handling", error)

    async def _fetch(self, delivery: Delivery) -> Verdict | None:
        verdict = await self._bodies.bring(delivery)
        if verdict is None:
            delivery.started = self._clock.monotonic()  # the handler has not had this time
            await self._on_fetched(delivery)
        return verdict

    def _end_run(self, delivery: Delivery, verdict: Verdict) -> None:
        if delivery.left:  # its verdict was given when it was left
            self._finish(delivery)
            return
        delivery.finished = self._clock.monotonic()
        self.running.discard(delivery)
        if delivery.thread is None or not self._thread_goes_on(delivery):
            self._finish(delivery)
        self._outbox.put(delivery, Lost() if delivery.lease_lost else verdict)

    async def _call(self, delivery: Delivery, message: Message, task: Task[..., Any]) -> Verdict:
        if delivery.must_run_alone:
            return await self._run_alone(delivery)
        if task.runs_in is _PROCESS:
            return await self._run_in_child(delivery, message, task)
        positional, keywords = task.signature.arguments(message.body)
        middleware: Sequence[Middleware] = task.app.middleware
        if middleware and self.telemetry is not None:
            middleware = self.telemetry.middleware_for(message, middleware)
        if middleware:
            result = await self._run_around(delivery, message, task, middleware, positional, keywords)
        elif task.runs_in is _LOOP:
            if task.signature.wants_context:
                positional = (self._context(delivery, message), *positional)
            result = await task.function(*positional, **keywords)
        else:
            # In the thread, its result becomes JSON there too: a large one must not hold up the loop.
            function = functools.partial(_encoded, task, task.function)
            return _completed(
                await self._run_in_thread(delivery, message, task, function, positional, keywords), delivery
            )
        return _completed(judge_result(result, task), delivery)

    async def _run_around(
        self,
        delivery: Delivery,
        message: Message,
        task: Task[..., Any],
        middleware: Sequence[Middleware],
        positional: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        """Run the handler within the app's middleware. Middleware always runs in the loop."""
        context = self._context(delivery, message)

        async def run() -> Any:
            if task.runs_in is RunsIn.THREAD:
                return await self._run_in_thread(delivery, message, task, task.function, positional, keywords)
            first = (context,) if task.signature.wants_context else ()
            return await task.function(*first, *positional, **keywords)

        return await around(middleware, context, run)()

    def _context(self, delivery: Delivery, message: Message) -> Context:
        return Context(message, delivery.attempt, delivery.fence, self._make_link(delivery), self.state)

    async def _run_in_thread(
        self,
        delivery: Delivery,
        message: Message,
        task: Task[..., Any],
        function: Callable[..., Any],
        positional: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        if task.signature.wants_context:
            link = self._make_link(delivery)
            context = SyncContext(message, delivery.attempt, delivery.fence, link, self.state, self._loop)
            positional = (context, *positional)
        # What middleware set in context variables is seen there, and what the handler sets ends with it.
        run = contextvars.copy_context().run
        thread = self._loop.run_in_executor(self._threads, run, _in_thread, delivery, function, positional, keywords)
        delivery.thread = thread
        # A thread cannot be ended. It can read ctx.lease_lost and ctx.stopping, and its slot stays taken.
        return await asyncio.shield(thread)

    def _thread_goes_on(self, delivery: Delivery) -> bool:
        thread = delivery.thread
        if thread is None or thread.done():
            return False
        thread.add_done_callback(functools.partial(self._thread_over, delivery))
        return True

    def _finish(self, delivery: Delivery) -> None:
        self.running_ids.discard(delivery.id)
        self._slots.finish()
        self._on_ended(delivery)

    def _thread_over(self, delivery: Delivery, thread: "asyncio.Future[Any]") -> None:
        if not thread.cancelled():
            thread.exception()  # its verdict was given when it was left; read it to keep asyncio quiet
        self._finish(delivery)

    async def _run_in_child(self, delivery: Delivery, message: Message, task: Task[..., Any]) -> Verdict:
        try:
            return await self._children.run(delivery, self._make_link(delivery))
        except ConfigurationError as error:
            return _never_began(error)
        except ChildDied as death:
            reason = Reason("process_died", f"its process {death.describe()}")
            return judge_failure(reason, task.policy, message, delivery.attempt, random.random)

    async def _run_alone(self, delivery: Delivery) -> Verdict:
        """Run it alone in a process: if that process dies, this message did it."""
        try:
            return await self._solo.run(delivery, self._make_link(delivery))
        except ConfigurationError as error:
            return await self._not_isolated(delivery, error)
        except ChildDied as death:
            counters = delivery.lease.counters
            text = (
                f"its worker died {plural(counters.crashes, 'time')} and its lease ended unseen "
                f"{plural(counters.lost, 'time')} while it "
                f"ran; run alone, its process {death.describe()}"
            )
            return Dead(Reason("crashed_alone", text))

    async def _snooze(self, snoozed: Snoozed, delivery: Delivery, message: Message, task: Task[..., Any]) -> Verdict:
        """Count the snooze by the message's history. A worker that continues does not get the message back at once."""
        if not self._make_link(delivery).stopping:
            snoozed = Snoozed(max(snoozed.after_seconds, LEAST_SNOOZE_SECONDS), snoozed.reason)
        try:
            before = snoozes_in(await self._history(delivery))
        except asyncio.CancelledError:  # the worker stops, or the lease is lost: do not wait for the count
            return delivery.ending or snoozed
        return judge_snooze(snoozed, before, task.policy, message, delivery.attempt, random.random)

    async def _history(self, delivery: Delivery) -> tuple[Ending, ...]:
        """Return how earlier runs ended; empty where that cannot be read now."""
        try:
            record = None if self._records is None else await self._records.get(delivery.id)
        except BrokerUnavailable:
            return ()
        return () if record is None else record.history

    async def _not_isolated(self, delivery: Delivery, error: ConfigurationError) -> Verdict:
        """Give the message back: no process of its own could be started. After long enough, make it a dead letter."""
        returned = _never_began(error)
        _, seconds = given_back_for(await self._history(delivery), returned.reason.code, self._clock.wall())
        if seconds < GIVE_UP_SECONDS:
            return returned
        text = (
            "its workers died while it ran, and no process could be started to run it alone "
            f"({error}). Name the app with `reference=`, then redrive it"
        )
        return Dead(Reason("cannot_run_alone", text))

    def _cancelled_itself(self, delivery: Delivery, message: Message, task: Task[..., Any]) -> Verdict:
        reason = Reason("error", "the handler was cancelled by its own code")
        return judge_failure(reason, task.policy, message, delivery.attempt, random.random)


def _raise(_part: str, error: Exception) -> None:
    raise error


def _in_thread(
    delivery: Delivery, function: Callable[..., Any], positional: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    delivery.thread_id = threading.get_ident()  # for who asks where it is
    return without_stop(function, positional, keywords)


def _encoded(task: Task[..., Any], function: Callable[..., Any], *positional: Any, **keywords: Any) -> bytes | Dead:
    return judge_result(function(*positional, **keywords), task)


def _completed(result: bytes | Dead, delivery: Delivery) -> Verdict:
    return result if isinstance(result, Dead) else Completed(result, tuple(delivery.handoffs))


def _never_began(error: ConfigurationError) -> Returned:
    """Return a message for which no child process could be started; log it, because people must fix that."""
    notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
    logger.error("a message was returned to its queue: %s%s", error, notes)
    return Returned(CHILD_FAILED_SECONDS, Reason(error.code, str(error)))
