"""A pool of child processes that run handlers.

For work that holds the GIL or may crash (`runs_in="process"`), and for messages that may have killed their workers
(`reuse=False`: each alone in a new process, so that a crash there is surely its own). A child runs one message at a
time. It is kept for the next one unless it died or had to be killed; then the next message gets a new one.

Used by `path/handling.py`. One child is `child_process.py`, one message in it `job_channel.py`, its own side
`child_main.py`. Each child enters the app's lifespan for itself, and has `GRACE_SECONDS` to leave it.
"""

import asyncio
import logging
import signal
from collections.abc import Callable
from typing import Any

from tenure import envelope
from tenure.clock import Clock
from tenure.errors import BodyTooLarge
from tenure.runtime.delivery import Delivery
from tenure.runtime.processes.child_process import ChildFailed, ChildProcess, spawn
from tenure.runtime.processes.frames import Ending, Job, RunCompleted, Unloadable, encode
from tenure.runtime.processes.import_path import Locator, refuse_while_loading
from tenure.runtime.processes.job_channel import ChildGone, JobChannel
from tenure.tasks.context import ContextLink
from tenure.tasks.task import Task
from tenure.verdict import Completed, Dead, Reason, Retried, Snoozed

__all__ = ["ChildDied", "ChildFailed", "ProcessPool"]

logger = logging.getLogger("tenure.children")

#: From the job to the first line of its handler, imports included. Beyond it something hangs.
START_SECONDS = 60.0
#: An idle child whose pipe was closed gets so long to end by itself.
GRACE_SECONDS = 2.0


class ChildDied(Exception):
    """The process died while it ran the message."""

    def __init__(self, exit_code: int, *, alone: bool) -> None:
        """`exit_code` is negative for a signal, as in `subprocess`."""
        self.exit_code = exit_code
        #: True: the process had run no other message, so nothing else can have broken it.
        self.alone = alone
        super().__init__(f"the child process {self.describe()}")

    def describe(self) -> str:
        """Goes on a sentence that begins with the process."""
        return describe_exit(self.exit_code)


def describe_exit(exit_code: int) -> str:
    """Describe it in words: "ended with exit code 3", "was killed by signal 9 (SIGKILL)"."""
    if exit_code >= 0:
        return f"ended with exit code {exit_code}"
    number = -exit_code
    names = {known.value: known.name for known in signal.Signals}
    return f"was killed by signal {number} ({names.get(number, 'a real-time signal')})"


class ProcessPool:
    """A pool of child processes, started when they are needed."""

    def __init__(
        self,
        locate: Callable[[Task[..., Any]], Locator],
        *,
        most: int,
        clock: Clock,
        name: str,
        reuse: bool = True,
    ) -> None:
        """Start at most `most` processes; `locate` says where a child finds a task."""
        refuse_while_loading()
        self._locate = locate
        self._clock = clock
        self._name = name
        self._reuse = reuse
        self._slots = asyncio.Semaphore(most)
        self._located: dict[str, Locator] = {}
        self._idle: list[ChildProcess] = []
        self._busy: set[ChildProcess] = set()
        #: What runs, or begins to; looked at by `background/stacks/look.py`.
        self.conversations: dict[Delivery, JobChannel] = {}
        self._farewells: set[asyncio.Task[int | None]] = set()
        self._closed = False

    async def run(self, delivery: Delivery, link: ContextLink) -> Completed | Retried | Snoozed | Dead:
        """Run one message; waits for a free place.

        Raises `ChildDied`, and where the handler could not even begin `ConfigurationError` (a `ChildFailed`,
        unless `locate` raised it): then the message is not to blame. Cancelled, it kills the child first.
        """
        message, task = delivery.whole, delivery.task
        if message is None or task is None:
            msg = "only a message that was read, for a task that is known, can be run"
            raise RuntimeError(msg)
        locator = self._located.get(task.name) or self._located.setdefault(task.name, self._locate(task))
        try:
            job = encode(Job(locator, envelope.encode(message), delivery.attempt, delivery.fence, delivery.send_id))
        except BodyTooLarge as error:
            return Dead(Reason("body_too_large", f"it cannot run in a child process: {error}"))
        async with self._slots:
            while True:
                child = await self._take()
                try:
                    self.conversations[delivery] = conversation = JobChannel(child, link)
                    ending = await self._converse(conversation, job, f"task {task.name} from {locator}")
                except BaseException:
                    await self._discard(child)
                    raise
                finally:
                    self.conversations.pop(delivery, None)
                self._put_back(child)
                if ending is not None:
                    return _verdict(ending, delivery)

    async def close(self) -> None:
        """End every child; those at work are killed. Afterwards no process is left."""
        self._closed = True
        idle, self._idle = self._idle, []
        for child in idle:
            self._bid_farewell(child, GRACE_SECONDS)
        for child in self._busy:
            self._bid_farewell(child, 0.0)
        while self._farewells:
            await asyncio.wait(self._farewells)

    async def _converse(self, conversation: JobChannel, job: bytes, what: str) -> Ending | None:
        """The end of the run. None: a child that was kept had died since, and the message was not begun."""
        child = conversation.child
        fresh = child.runs == 0
        began = self._clock.monotonic()
        try:
            async with asyncio.timeout(START_SECONDS):
                unloadable = await conversation.open(job)
        except (ChildGone, TimeoutError) as error:
            hung = isinstance(error, TimeoutError)
            exit_code = await child.end(0.0 if hung else GRACE_SECONDS)
            if not fresh and not self._closed:
                return None
            raise self._not_begun(what, None if hung else exit_code) from error
        if unloadable is not None:
            raise _not_loaded(unloadable)
        if fresh:
            seconds = self._clock.monotonic() - began
            logger.debug("child process %d (%s) began %s after %.3f s", child.pid, self._name, what, seconds)
        try:
            return await conversation.finish()
        except ChildGone as error:
            exit_code = await child.end(GRACE_SECONDS)
            if self._closed:
                raise self._not_begun(what, exit_code) from error
            raise ChildDied(-signal.SIGKILL if exit_code is None else exit_code, alone=fresh) from error

    # -- the children ------------------------------------------------------------------------------

    async def _take(self) -> ChildProcess:
        child = None
        while self._idle and child is None:
            child = self._idle.pop()
            if not child.is_usable:
                self._bid_farewell(child, 0.0)
                child = None
        if child is None and not self._closed:
            child = await spawn(self._name)
        if child is None or self._closed:
            if child is not None:
                self._bid_farewell(child, 0.0)
            msg = "the worker's child processes are closed; the message was not run"
            raise ChildFailed(msg)
        self._busy.add(child)
        return child

    def _put_back(self, child: ChildProcess) -> None:
        self._busy.discard(child)
        if self._reuse and child.is_usable and not self._closed:
            self._idle.append(child)
        else:
            self._bid_farewell(child, GRACE_SECONDS)

    async def _discard(self, child: ChildProcess) -> None:
        """Kill it, and wait until it is gone: only then can it do nothing more for the message."""
        self._busy.discard(child)
        child.kill()
        await asyncio.shield(self._bid_farewell(child, 0.0))

    def _bid_farewell(self, child: ChildProcess, grace_seconds: float) -> "asyncio.Task[int | None]":
        """End it in a task of its own, which `close` waits for."""
        task = asyncio.create_task(child.end(grace_seconds))
        self._farewells.add(task)
        task.add_done_callback(self._farewells.discard)
        return task

    def _not_begun(self, what: str, exit_code: int | None) -> ChildFailed:
        if self._closed:
            return ChildFailed(f"the worker closed its child processes while one ran {what}")
        how = f"took more than {START_SECONDS:g} s" if exit_code is None else describe_exit(exit_code)
        return ChildFailed(
            f"a child process {how} before it could begin {what}; the message was not run. "
            'Import the module by hand to see why; work at its top belongs under `if __name__ == "__main__":`'
        )


def _not_loaded(unloadable: Unloadable) -> ChildFailed:
    error = ChildFailed(unloadable.text)
    error.add_note(unloadable.traceback)
    return error


def _verdict(ending: Ending, delivery: Delivery) -> Completed | Retried | Snoozed | Dead:
    if isinstance(ending, RunCompleted):
        return Completed(ending.result, tuple(delivery.handoffs))
    return ending.verdict
