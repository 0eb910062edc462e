"""The program that runs in a child process.

The main thread runs handlers, one message at a time, with the app's middleware around them: sync handlers directly,
async ones on one event loop that is kept. A second thread has the socket (`ChildChannel`), so that context calls are
answered and changes of the lease arrive while a handler works. The app's lifespan is entered here too, once
(`child_lifespan.py`), so `ctx.state` belongs to this process.

It ends when its parent does: the socket closes, and on Linux the kernel kills it even if a handler holds the GIL.
Started by `child_process.py`; the parent's side is `job_channel.py`.
"""

import asyncio
import contextvars
import faulthandler
import io
import random
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine
from typing import Any

from tenure import envelope
from tenure.errors import BodyTooLarge
from tenure.message import Message
from tenure.middleware import Run, around
from tenure.runtime.background.stacks.dump import register
from tenure.runtime.processes.calling import without_stop
from tenure.runtime.processes.child_channel import ChildChannel, ParentLink
from tenure.runtime.processes.child_lifespan import Lifespans
from tenure.runtime.processes.die_with_parent import die_with
from tenure.runtime.processes.frames import (
    ChildStarted,
    Job,
    RunCompleted,
    RunDead,
    RunRetried,
    RunSnoozed,
    Unloadable,
    encode,
)
from tenure.runtime.processes.import_path import Finder
from tenure.runtime.verdicts import TRACEBACK_LIMIT, judge_error, judge_result, result_too_large
from tenure.tasks.context import Context, SyncContext
from tenure.tasks.task import Task
from tenure.verdict import Dead, Reason, Retried, Snoozed


def main(descriptor: int, dump: int, parent: int, name: str) -> None:
    """Run what the parent sends through `descriptor`, until it closes it. `dump`: where stacks go if it asks so."""
    die_with(parent)
    register(dump)
    # Ours to ignore, but not for what a handler starts: a function, unlike SIG_IGN, is not inherited.
    signal.signal(signal.SIGINT, lambda _number, _frame: None)
    faulthandler.enable()  # a crash says on stderr where it happened
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)  # what a handler printed before it crashed is not lost
    line = ChildChannel(socket.socket(fileno=descriptor), name)
    line.start()
    finder = Finder()
    with asyncio.Runner() as runner:
        lifespans = Lifespans(runner)
        while (job := line.jobs.get()) is not None:
            line.conclude(_run(job, line, finder, runner, lifespans))
        lifespans.leave()
    line.close()


def _run(job: Job, line: ChildChannel, finder: Finder, runner: asyncio.Runner, lifespans: Lifespans) -> bytes:
    message = envelope.decode(job.envelope)
    what = f"get task {message.task} from {job.locator}"
    try:
        task = finder.find(job.locator, message.task)
        what = f"enter the app's lifespan for task {message.task} from {job.locator}"
        state = lifespans.state_of(task.app)
    except BaseException as error:  # noqa: BLE001 - even sys.exit() at the top of a module
        text = f"a child process cannot {what}: {type(error).__name__}: {error}"
        return encode(Unloadable(_plain(text), _plain("".join(traceback.format_exception(error)))))
    link = ParentLink(line, job.send_id)
    line.begin(link, encode(ChildStarted(threading.get_ident())), task.function)
    return contextvars.copy_context().run(_Run(job, message, task, link, state, line).ending, runner)


class _Run:
    """One message in this process. Every exception of user code becomes a verdict."""

    def __init__(
        self, job: Job, message: Message, task: Task[..., Any], link: ParentLink, state: Any, line: ChildChannel
    ) -> None:
        self._job = job
        self._line = line
        self._message = message
        self._task = task
        self._link = link
        self._about = (message, job.attempt, job.fence, link, state)

    def ending(self, runner: asyncio.Runner) -> bytes:
        """Run it, and say how it ended."""
        task = self._task
        try:
            positional, keywords = task.signature.arguments(self._message.body)
            if task.signature.is_async:
                return runner.run(self._call_async(positional, keywords), context=contextvars.copy_context())
            if task.signature.wants_context:
                positional = (SyncContext(*self._about, self._link.loop), *positional)
            if task.app.middleware:
                return self._call_around(lambda: task.function(*positional, **keywords), runner)
            return self._completed(task.function(*positional, **keywords))
        except BaseException as error:  # noqa: BLE001 - whatever users raise is a verdict
            return self._failed(error)

    async def _call_async(self, positional: tuple[Any, ...], keywords: dict[str, Any]) -> bytes:
        self._line.running = asyncio.current_task()
        task, context = self._task, Context(*self._about)
        if task.signature.wants_context:
            positional = (context, *positional)
        run = lambda: task.function(*positional, **keywords)  # noqa: E731
        return await self._settled(around(task.app.middleware, context, run) if task.app.middleware else run)

    def _call_around(self, call: Callable[[], Any], runner: asyncio.Runner) -> bytes:
        """A plain function within middleware: the loop rests while it runs, so that it may have one of its own."""
        middle = _Middle()
        begun = runner.run(middle.begin(self._through(middle)), context=contextvars.copy_context())
        if begun is not None:
            middle.answer(begun, call)
        return runner.run(middle.finish())

    def _through(self, middle: "_Middle") -> Coroutine[Any, Any, bytes]:
        return self._settled(around(self._task.app.middleware, Context(*self._about), middle.ask))

    async def _settled(self, run: Run) -> bytes:
        """Run it within the loop: an error that ends programs must not leave the loop by way of a task."""
        try:
            return self._completed(await run())
        except BaseException as error:  # noqa: BLE001 - as above
            return self._failed(error)

    def _completed(self, result: Any) -> bytes:
        kept = judge_result(result, self._task)
        if isinstance(kept, Dead):
            return self._told(kept)
        try:
            return encode(RunCompleted(kept))
        except BodyTooLarge as error:
            return self._told(result_too_large(str(error)))

    def _failed(self, error: BaseException) -> bytes:
        job, message, task = self._job, self._message, self._task
        return self._told(judge_error(error, task.policy, message, job.attempt, random.random))

    def _told(self, verdict: Dead | Retried | Snoozed) -> bytes:
        told = verdict.reason
        reason = Reason(told.code, _plain(told.text), _plain(told.traceback), _plain(told.error))
        if isinstance(verdict, Dead):
            return encode(RunDead(Dead(reason, verdict.counted)))
        if isinstance(verdict, Snoozed):
            return encode(RunSnoozed(Snoozed(verdict.after_seconds, reason)))
        return encode(RunRetried(Retried(verdict.after_seconds, reason)))


class _Middle:
    """The point at which middleware, in the loop, waits for a plain function that runs outside of it."""

    async def begin(self, ending: Coroutine[Any, Any, bytes]) -> contextvars.Context | None:
        """Go as far as the handler; the context to call it in. None: middleware ended without it."""
        loop = asyncio.get_running_loop()
        self._asked: asyncio.Future[contextvars.Context] = loop.create_future()
        self._answered: asyncio.Future[Any] = loop.create_future()
        self._ending = loop.create_task(ending)
        either: list[asyncio.Future[Any]] = [self._asked, self._ending]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return self._asked.result() if self._asked.done() else None

    async def ask(self) -> Any:
        """Wait for the plain function's result; middleware awaits this."""
        self._asked.set_result(contextvars.copy_context())
        return await self._answered

    def answer(self, context: contextvars.Context, call: Callable[[], Any]) -> None:
        """Call the handler, in the context that middleware has made."""
        try:
            result = context.run(without_stop, call, (), {})
        except BaseException as error:  # noqa: BLE001 - for middleware to see
            self._answered.set_exception(error)
        else:
            self._answered.set_result(result)

    async def finish(self) -> bytes:
        """The rest of the way."""
        return await self._ending


def _plain(text: str) -> str:
    """Errors may carry what UTF-8 cannot say (half a surrogate pair, from a file's name), or a whole file."""
    return text[: 2 * TRACEBACK_LIMIT].encode("utf-8", "backslashreplace").decode()
