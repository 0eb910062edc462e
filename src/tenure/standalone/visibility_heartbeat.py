"""A heartbeat for one message of a bare client: hides the message again and again while it is worked on.

    with VisibilityHeartbeat(sqs, message, queue_url=url, visibility_timeout=30) as heartbeat:   # in a thread
        work()
    async with VisibilityHeartbeat(queue_client, message, visibility_timeout=30) as heartbeat:   # in the event loop
        await work()
    # then delete `heartbeat.receipt`, never the message: a beat may have replaced its receipt

A heartbeat is short-lived: one message, one begin, one end. Its end waits for a beat that is under way, so that nobody
deletes with a receipt that is being replaced.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any, Self

from tenure.clock import SYSTEM_CLOCK, Clock
from tenure.errors import BadArgument
from tenure.standalone.beating import Beating
from tenure.standalone.queue import queue_of
from tenure.standalone.receipt import Receipt
from tenure.standalone.steps import run, run_async


class VisibilityHeartbeat:
    """Keeps the lease on one message.

    `visibility_timeout` is what the message was received with; without it the first beat comes at once. Every
    `heartbeat_interval` (a third of it) the message is hidden for `extension_seconds` (as long as at first) from then
    on. `received_at` (of `time.monotonic()`) is when it was received, if not just now. It is never held for longer than
    the service allows, nor than `max_hold_seconds`. `on_lost` is called, by the heartbeat, when the lease is lost.
    """

    def __init__(  # noqa: PLR0913 - named settings, each with a default
        self,
        queue_client: Any,
        message: Any,
        *,
        queue_url: str | None = None,
        visibility_timeout: float | None = None,
        extension_seconds: float | None = None,
        heartbeat_interval: float | None = None,
        max_hold_seconds: float | None = None,
        received_at: float | None = None,
        job_id: str | None = None,
        on_lost: Callable[[], object] | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """For a message as it was received; `queue_url` is for clients of SQS."""
        self._queue = queue_of(queue_client, queue_url)
        self._beating = Beating(
            self._queue, message, clock,
            visibility_timeout=visibility_timeout, extension_seconds=extension_seconds,
            heartbeat_interval=heartbeat_interval, max_hold_seconds=max_hold_seconds,
            received_at=received_at, job_id=job_id,
        )  # fmt: skip
        self._beating.on_lost = on_lost
        self._thread: threading.Thread | None = None
        self._halted = threading.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._body: asyncio.Task[Any] | None = None
        self._cancelling = 0
        self._ended_by_us = False

    # -- what it knows -----------------------------------------------------------------------------

    @property
    def receipt(self) -> Receipt:
        """The newest one: good for renewing and deleting the message."""
        return self._beating.receipt

    @property
    def extension_count(self) -> int:
        """Beats that got through."""
        return self._beating.extension_count

    @property
    def total_extended_seconds(self) -> float:
        """What these beats asked for, in all."""
        return self._beating.total_extended_seconds

    @property
    def last_error(self) -> str | None:
        """Of the last beat, if it failed."""
        return self._beating.last_error

    @property
    def is_running(self) -> bool:
        """Whether it beats."""
        thread, task = self._thread, self._task
        return (thread is not None and thread.is_alive()) or (task is not None and not task.done())

    @property
    def is_lost(self) -> bool:
        """Whether the lease is lost: somebody else may be running the message."""
        return self._beating.lost_because is not None

    def check(self) -> None:
        """Raise `LeaseLost` if it is: for long work in a thread, between its parts."""
        self._beating.check()

    def get_stats(self) -> dict[str, Any]:
        """extension_count, total_extended_seconds, is_running, last_error, is_lost."""
        return self._beating.stats(is_running=self.is_running)

    # -- in a thread -------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to beat, in a thread of its own."""
        if self._queue.is_async:
            raise BadArgument("this client is async: use `async with`; no beat was sent")
        self._refuse_second_begin()
        self._thread = threading.Thread(target=self._run, name="tenure-visibility-heartbeat", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        run(self._beating.live(), self._halted.wait)

    def stop(self) -> Receipt:
        """End it, after the beat that is under way; the newest receipt."""
        if self._thread is not None and not self._halted.is_set():
            self._halted.set()
            self._thread.join()
            self._beating.tell_end()
        return self.receipt

    def __enter__(self) -> Self:
        """Begin."""
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End; raises `LeaseLost` if work that went well must not be settled."""
        self.stop()
        if kind is None:
            self.check()

    # -- in an event loop --------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Begin to beat, in this loop. If the lease is lost, the block is cancelled, and `LeaseLost` raised."""
        self._refuse_second_begin()
        self._body = asyncio.current_task()
        self._cancelling = self._body.cancelling() if self._body is not None else 0
        notify = self._beating.on_lost
        self._beating.on_lost = lambda: self._cancel_body(notify)
        self._task = asyncio.get_running_loop().create_task(run_async(self._beating.live(), self._pause))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End, after the beat that is under way; raises `LeaseLost` instead of the cancellation that it caused."""
        body, self._body = self._body, None
        task = self._task
        if task is None or body is None:
            return
        was_ours = self._ended_by_us and body.uncancel() <= self._cancelling
        self._stopping.set()
        await asyncio.wait([task])
        self._beating.tell_end()
        if not task.cancelled():
            task.result()  # our own mistakes are not hidden
        if kind is None or (was_ours and issubclass(kind, asyncio.CancelledError)):
            self.check()

    async def _pause(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        return self._stopping.is_set()

    def _cancel_body(self, notify: Callable[[], object] | None) -> None:
        if self._body is not None:  # else it has ended already
            self._ended_by_us = True
            self._body.cancel("the lease is lost")
        if notify is not None:
            notify()

    def _refuse_second_begin(self) -> None:
        if self._thread is not None or self._task is not None:
            raise BadArgument("a heartbeat begins once: make another one; this one is as it was")
