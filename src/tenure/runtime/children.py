"""Children: handlers in processes of their own.

For work that holds the GIL or may crash (`runs_in="process"`), and for messages that are suspected of
killing their workers (`reuse=False`: each alone in a new process, so that a crash there is its own
doing). A child runs one message at a time. It is kept for the next one unless it died or had to be
killed; then the next message gets a new one.

Used by `handling.py`. One child is `spawning.py`, one message in it `conversation.py`, its own side
`child.py`. `ctx.state` is None in a child: the app's lifespan belongs to the worker's process.
"""

import asyncio
import logging
import signal
from collections.abc import Callable
from typing import Any

from tenure import envelope
from tenure.clock import Clock
from tenure.context import Link
from tenure.errors import BodyTooLarge
from tenure.runtime.conversation import Conversation, Gone
from tenure.runtime.delivery import Delivery
from tenure.runtime.locating import Locator, refuse_while_loading
from tenure.runtime.spawning import Child, ChildFailed, spawn
from tenure.runtime.wire import Ending, RunCompleted, Unloadable
from tenure.task import Task
from tenure.verdict import Completed, Dead, Reason, Retried

__all__ = ["ChildDied", "ChildFailed", "Children"]

logger = logging.getLogger("tenure.children")

#: From the job to the first line of its handler, imports included. Beyond it something hangs.
START_SECONDS = 60.0
#: An idle child whose pipe was closed gets so long to end by itself.
GRACE_SECONDS = 2.0


class ChildDied(Exception):  # noqa: N818 - says what is the case
    """The process died while it ran the message."""

    def __init__(self, exit_code: int, *, alone: bool) -> None:
        """`exit_code` is negative for a signal, as in `subprocess`."""
        self.exit_code = exit_code
        #: True: the process had run no other message, so nothing else can have broken it.
        self.alone = alone
        super().__init__(f"the child process {self.describe()}")

    def describe(self) -> str:
        """Goes on a sentence that begins with the process."""
        if self.exit_code >= 0:
            return f"ended with exit code {self.exit_code}"
        number = -self.exit_code
        name = signal.Signals(number).name if number in set(signal.Signals) else "no name"
        return f"was killed by signal {number} ({name})"


class Children:
    """A pool of child processes, started when they are needed."""

    def __init__(
        self, locate: Callable[[Task[..., Any]], Locator], *, most: int, clock: Clock, name: str, reuse: bool = True
    ) -> None:
        """At most `most` at a time; `locate` says where a child finds a task."""
        refuse_while_loading()
        self._locate = locate
        self._clock = clock
        self._name = name
        self._reuse = reuse
        self._slots = asyncio.Semaphore(most)
        self._idle: list[Child] = []
        self._all: set[Child] = set()
        self._farewells: set[asyncio.Task[int | None]] = set()
        self._closed = False

    async def run(self, delivery: Delivery, link: Link) -> Completed | Retried | Dead:
        """Run one message; waits for a free place.

        Raises `ChildDied`, and where the handler could not even begin `ConfigurationError` (a `ChildFailed`,
        unless `locate` raised it): then the message is not to blame. Cancelled, it kills the child first.
        """
        message, task = delivery.message, delivery.task
        if message is None or task is None:
            msg = "only a message that was read, for a task that is known, can be run"
            raise RuntimeError(msg)
        locator = self._locate(task)
        raw = envelope.encode(message)
        async with self._slots:
            while True:
                child = await self._take()
                try:
                    ending = await self._converse(child, delivery, link, locator, raw)
                except BodyTooLarge as error:
                    self._put_back(child)
                    return Dead(Reason("body_too_large", str(error)))
                except BaseException:
                    await self._discard(child)
                    raise
                if ending is None:  # it died between two messages: this one takes the next
                    continue
                self._put_back(child)
                return _verdict(ending, delivery)

    async def close(self) -> None:
        """End every child; those at work are killed. Afterwards no process is left."""
        self._closed = True
        self._idle.clear()
        children = list(self._all)
        await asyncio.gather(*(child.end(GRACE_SECONDS if child.is_idle else 0.0) for child in children))
        await asyncio.gather(*self._farewells)
