"""Handling: runs one message, wherever its handler belongs, and catches the verdict.

The only stage that is per message. A handler runs in the worker's loop (async), in a thread (plain
functions), in a child process (`runs_in="process"`), or, when its message is suspected of killing its
workers (`rules/lapse.py`), alone in the solo child; the app's middleware stands around it there. After it: `settling`.
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
from tenure.context import Context, SyncContext
from tenure.errors import BrokerUnavailable, ConfigurationError
from tenure.message import Message
from tenure.middleware import around
from tenure.plural import plural
from tenure.record import Ending
from tenure.rules.lapse import must_run_alone
from tenure.runtime.calling import without_stop
from tenure.runtime.children import ChildDied, Children
from tenure.runtime.conversation import Conversation
from tenure.runtime.delivery import Delivery
from tenure.runtime.fetching import Fetching
from tenure.runtime.judging import judge_error, judge_failure, judge_result, judge_snooze
from tenure.runtime.link import WorkerLink
from tenure.runtime.patience import GIVE_UP_SECONDS, given_back_for, snoozes_in
from tenure.runtime.room import Room
from tenure.runtime.slots import Slots
from tenure.state import Records
from tenure.task import RunsIn, Task
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

Conclude = Callable[[Delivery, Verdict], None]


class Handling:
    """Runs messages and concludes them."""

    def __init__(  # noqa: PLR0913 - made in one place, by the path
        self, clock: Clock, slots: Slots, room: Room, conclude: Conclude, *,
        make_link: Callable[[Delivery], WorkerLink], children: Children, solo: Children,
        fetching: Fetching | None = None, records: Records | None = None,
    ) -> None:  # fmt: skip
        """`conclude` takes every verdict; `children` run process handlers, `solo` suspects; `fetching` gets bodies.

        `records` tell how often a suspect could not be run alone.
        """
        self._clock = clock
        self._slots = slots
        self._room = room
        self._conclude = conclude
        self._make_link = make_link
        self._children = children
        self._solo = solo
        self._fetching = fetching or Fetching(None, None, clock)
        self._records = records
        #: Told of a message whose body came only now, before its handler begins.
        self.on_fetched: Callable[[Delivery], Awaitable[None]] | None = None
        #: Called with a part's name and what it died of. A run that cannot be concluded would hold its slot and its
        #: lease for ever, so the worker ends.
        self.on_failure: Callable[[str, Exception], None] = _raise
        self._threads = ThreadPoolExecutor(max_workers=slots.total, thread_name_prefix="tenure-handler")
        self._loop = asyncio.get_running_loop()
        #: What the app's lifespan yielded.
        self.state: Any = None
        self.running: set[Delivery] = set()
        #: Messages whose code has not ended, threads that were left included.
        self.running_ids: set[str] = set()

    def start(self, deliveries: Sequence[Delivery]) -> None:
        """Run each in a task of its own, so that context variables and cancellation stay apart."""
        create_task = self._loop.create_task
        for delivery in deliveries:
            self.running.add(delivery)
            self.running_ids.add(delivery.id)
            delivery.runner = create_task(self._run(delivery))

    def end(self, delivery: Delivery, verdict: Verdict) -> None:
        """End a run from outside; it gets `verdict` unless it returned before it noticed."""
        if delivery in self.running and delivery.runner is not None and delivery.ending is None:
            delivery.ending = verdict
            if delivery.started is not None:  # a task that is cancelled before its first step never runs at all
                delivery.runner.cancel()
                self._loop.call_later(PATIENCE_SECONDS, self._leave, delivery, verdict)

    def _leave(self, delivery: Delivery, verdict: Verdict) -> None:
        """It swallows its cancellation, and code cannot be ended from outside: it is left, and its slot stays taken."""
        if delivery not in self.running:
            return
        task = delivery.task.name if delivery.task is not None else "a handler"
        logger.error(
            "%s %s does not end though it was cancelled: does it swallow CancelledError? It is told (ctx.lease_lost), "
            "whatever it does from here on is refused, and its slot is free when it ends", task, delivery.id,
        )  # fmt: skip
        self.running.discard(delivery)
        delivery.left = True
        delivery.finished = self._clock.monotonic()
        self._conclude(delivery, Lost() if delivery.lease_lost else verdict)

    def end_overheld(self, delivery: Delivery) -> None:
        """End a run that took longer than `max_hold`: a failed attempt like any other."""
        if delivery.message is not None and delivery.task is not None:
            how = "a thread cannot be ended, its result is refused" if delivery.thread is not None else "it was ended"
            reason = Reason("max_hold", f"it ran longer than max_hold allows; {how}")
            policy = delivery.task.policy
            self.end(delivery, judge_failure(reason, policy, delivery.message, delivery.attempt, random.random))

    def conversation(self, delivery: Delivery) -> Conversation | None:
        """With the child process that runs it, or begins to. None: no process was found for it yet."""
        return self._children.conversations.get(delivery) or self._solo.conversations.get(delivery)

    async def close(self) -> None:
        """End the children, let the threads go; a thread that hangs cannot be ended, only left."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        await self._children.close()
        await self._solo.close()

    async def _run(self, delivery: Delivery) -> None:
        message, task = delivery.message, delivery.task
        if message is None or task is None:
            msg = "only a message that was read, for a task that is known, can be run"
            raise RuntimeError(msg)
        delivery.started = self._clock.monotonic()
        try:
            verdict = delivery.ending
            if verdict is None and message.ticket is not None:
                verdict = await self._fetching.bring(delivery, message)
                message = delivery.message or message
                if verdict is None and self.on_fetched is not None:
                    await self.on_fetched(delivery)
            verdict = verdict or await self._call(delivery, message, task)
            if isinstance(verdict, Completed) and verdict.handoffs:
                verdict = await self._fetching.check_in(verdict)
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

    def _end_run(self, delivery: Delivery, verdict: Verdict) -> None:
        if delivery.left:  # its verdict was given when it was left
            self._finish(delivery)
            return
        delivery.finished = self._clock.monotonic()
        self.running.discard(delivery)
        if not self._thread_goes_on(delivery):
            self._finish(delivery)
        self._conclude(delivery, Lost() if delivery.lease_lost else verdict)

    async def _call(self, delivery: Delivery, message: Message, task: Task[..., Any]) -> Verdict:
        if must_run_alone(delivery.lease.counters):
            return await self._run_alone(delivery)
        if task.runs_in is _PROCESS:
            return await self._run_in_child(delivery, message, task)
        positional, keywords = task.signature.arguments(message.body)
        if task.app.middleware:
            result = await self._run_around(delivery, message, task, positional, keywords)
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
        self, delivery: Delivery, message: Message, task: Task[..., Any],
        positional: tuple[Any, ...], keywords: dict[str, Any],
    ) -> Any:  # fmt: skip
        """Through the app's middleware, which runs in the loop wherever the handler does."""
        context = self._context(delivery, message)

        async def run() -> Any:
            if task.runs_in is RunsIn.THREAD:
                return await self._run_in_thread(delivery, message, task, task.function, positional, keywords)
            first = (context,) if task.signature.wants_context else ()
            return await task.function(*first, *positional, **keywords)

        return await around(task.app.middleware, context, run)()

    def _context(self, delivery: Delivery, message: Message) -> Context:
        return Context(message, delivery.attempt, delivery.fence, self._make_link(delivery), self.state)

    async def _run_in_thread(
        self, delivery: Delivery, message: Message, task: Task[..., Any], function: Callable[..., Any],
        positional: tuple[Any, ...], keywords: dict[str, Any],
    ) -> Any:  # fmt: skip
        if task.signature.wants_context:
            link = self._make_link(delivery)
            context = SyncContext(message, delivery.attempt, delivery.fence, link, self.state, self._loop)
            positional = (context, *positional)
        # What middleware set in context variables is seen there, and what the handler sets ends with it.
        run = contextvars.copy_context().run
        thread = self._loop.run_in_executor(self._threads, run, _in_thread, delivery, function, positional, keywords)
        delivery.thread = thread
        # A thread cannot be ended. It is told (ctx.lease_lost, ctx.stopping), and its slot stays taken.
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
        self._room.leave(delivery)

    def _thread_over(self, delivery: Delivery, thread: "asyncio.Future[Any]") -> None:
        if not thread.cancelled():
            thread.exception()  # its verdict was given when it was left; nobody else will look at this
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
        """Nobody else is in that process: if it dies, this message did it."""
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

    async def _snooze(
        self, snoozed: Snoozed, delivery: Delivery, message: Message, task: Task[..., Any]
    ) -> Verdict:  # fmt: skip
        """Count it, by the message's history. A worker that goes on does not get the message back at once."""
        if not self._make_link(delivery).stopping:
            snoozed = Snoozed(max(snoozed.after_seconds, LEAST_SNOOZE_SECONDS), snoozed.reason)
        try:
            before = snoozes_in(await self._history(delivery))
        except asyncio.CancelledError:  # the worker stops, or the lease is lost, and nobody waits for the count
            return delivery.ending or snoozed
        return judge_snooze(snoozed, before, task.policy, message, delivery.attempt, random.random)

    async def _history(self, delivery: Delivery) -> tuple[Ending, ...]:
        """How earlier runs ended; nothing, where that cannot be read now."""
        try:
            record = None if self._records is None else await self._records.get(delivery.id)
        except BrokerUnavailable:
            return ()
        return () if record is None else record.history

    async def _not_isolated(self, delivery: Delivery, error: ConfigurationError) -> Verdict:
        """No process of its own could be started: it goes back, and is put aside when that has been so for long."""
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
    """No child could be started for it. That is not the message's fault, and people must mend it."""
    notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
    logger.error("a message is given back: %s%s", error, notes)
    return Returned(CHILD_FAILED_SECONDS, Reason(error.code, str(error)))
