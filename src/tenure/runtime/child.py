"""The child: the program that runs in a child process.

The main thread runs handlers, one message at a time: sync ones as they are, async ones on one event loop
that is kept. A second thread has the socket (`Line`), so that the context's questions are answered and
the lease's news arrives while a handler works. `ctx.state` is None here: the app's lifespan belongs to
the worker's process.

It ends when its parent does: the socket closes, and on Linux the kernel kills it even where a handler
holds the GIL. Started by `spawning.py`; the parent's side is `conversation.py`.
"""

import asyncio
import contextvars
import faulthandler
import io
import os
import random
import signal
import socket
import sys
import traceback
from typing import Any

from tenure import envelope
from tenure.context import Context, SyncContext
from tenure.message import Message
from tenure.runtime.judging import TRACEBACK_LIMIT, judge_error
from tenure.runtime.line import Line, ParentLink
from tenure.runtime.locating import Finder
from tenure.runtime.wire import Job, RunCompleted, RunDead, RunRetried, Started, Unloadable, encode
from tenure.task import Task
from tenure.verdict import Dead, Reason

_PR_SET_PDEATHSIG = 1


def main(descriptor: int, parent: int, name: str) -> None:
    """Run what the parent sends through `descriptor`, until it closes it."""
    _die_with(parent)
    # Ours to ignore, but not for what a handler starts: a function, unlike SIG_IGN, is not inherited.
    signal.signal(signal.SIGINT, lambda _number, _frame: None)
    faulthandler.enable()  # a crash says on stderr where it happened
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)  # what a handler printed before it crashed is not lost
    line = Line(socket.socket(fileno=descriptor), name)
    line.start()
    finder = Finder()
    with asyncio.Runner() as runner:
        while (job := line.jobs.get()) is not None:
            line.conclude(_run(job, line, finder, runner))
    line.close()


def _die_with(parent: int) -> None:
    """Be killed when the parent's thread that started us ends, and check that this has not happened yet."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - only Linux has the call

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _run(job: Job, line: Line, finder: Finder, runner: asyncio.Runner) -> bytes:
    message = envelope.decode(job.envelope)
    try:
        task = finder.find(job.locator, message.task)
    except BaseException as error:  # noqa: BLE001 - even sys.exit() at the top of a module
        why = f"{type(error).__name__}: {error}"
        text = f"a child process cannot get task {message.task} from {job.locator}: {why}"
        return encode(Unloadable(_plain(text), _plain("".join(traceback.format_exception(error)))))
    link = ParentLink(line)
    line.begin(link, encode(Started()))
    if task.signature.is_async:
        return runner.run(_call_async(job, message, task, link), context=contextvars.copy_context())
    return contextvars.copy_context().run(_call, job, message, task, link)


async def _call_async(job: Job, message: Message, task: Task[..., Any], link: ParentLink) -> bytes:
    try:
        positional, keywords = task.signature.arguments(message.body)
        if task.signature.wants_context:
            positional = (Context(message, job.attempt, job.fence, link, None), *positional)
        result = await task.function(*positional, **keywords)
        return encode(RunCompleted(task.signature.encode_result(result)))
    except BaseException as error:  # noqa: BLE001 - whatever users raise is a verdict
        return _judge(error, job, message, task)


def _call(job: Job, message: Message, task: Task[..., Any], link: ParentLink) -> bytes:
    try:
        positional, keywords = task.signature.arguments(message.body)
        if task.signature.wants_context:
            context = SyncContext(message, job.attempt, job.fence, link, None, link.loop)
            positional = (context, *positional)
        result = task.function(*positional, **keywords)
        return encode(RunCompleted(task.signature.encode_result(result)))
    except BaseException as error:  # noqa: BLE001 - whatever users raise is a verdict
        return _judge(error, job, message, task)


def _judge(error: BaseException, job: Job, message: Message, task: Task[..., Any]) -> bytes:
    verdict = judge_error(error, task.policy, message, job.attempt, random.random)
    told = verdict.reason
    reason = Reason(told.code, _plain(told.text), _plain(told.traceback))
    if isinstance(verdict, Dead):
        return encode(RunDead(Dead(reason, verdict.counted)))
    return encode(RunRetried(type(verdict)(verdict.after_seconds, reason)))


def _plain(text: str) -> str:
    """Errors may carry what UTF-8 cannot say (half a surrogate pair, from a file's name), or a whole file."""
    return text[: 2 * TRACEBACK_LIMIT].encode("utf-8", "backslashreplace").decode()
