"""A heartbeat for one message of a bare client: hides the message again and again while it is worked on.

    with VisibilityHeartbeat(sqs, message, queue_url=url, visibility_timeout=30) as heartbeat:   # in a thread
        work()
        heartbeat.delete()
    async with VisibilityHeartbeat(queue_client, message, visibility_timeout=30) as heartbeat:   # in the event loop
        await work()
        await heartbeat.delete()

A heartbeat is short-lived: one message, one begin, one end. `delete()`, `release()` and `stop()` end it, and so does
the end of the block. Each of them waits for a beat that is under way, so that no receipt is used while it is replaced.
What was begun by `async with` (or has an async client) is awaited; the rest is called.
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
from tenure.standalone.steps import Steps, run, run_async
from tenure.standalone.trying import DEFAULT_DELAY_SECONDS, DEFAULT_TRIES


class VisibilityHeartbeat:
    """Keeps the lease on one message.

    `visibility_timeout` is what the message was received with; without it the first beat comes at once. Every
    `heartbeat_interval` (a third of it) the message is hidden for `extension_seconds` (as long as at first) from then
    on. `received_at` (of `time.monotonic()`) is when it was received, if not just now. It is never held for longer than
    the service allows, nor than `max_hold_seconds`. `on_lost` is called, by the heartbeat, when the lease is lost, and
    `on_failure` with the exception of each beat that failed. `job_id`, `correlation_id` and `payload_hash` are fields
    of every log line.

    `sqs_client` and `receipt_handle` are other names for `queue_client` and `message`.
    """

    def __init__(  # noqa: PLR0913 - named settings, each with a default
        self,
        queue_client: Any = None,
        message: Any = None,
        *,
        queue_url: str | None = None,
        visibility_timeout: float | None = None,
        extension_seconds: float | None = None,
        heartbeat_interval: float | None = None,
        max_hold_seconds: float | None = None,
        received_at: float | None = None,
        job_id: str | None = None,
        correlation_id: str | None = None,
        payload_hash: str | None = None,
        on_lost: Callable[[], object] | None = None,
        on_failure: Callable[[Exception], object] | None = None,
        sqs_client: Any = None,
        receipt_handle: Any = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Take a message as it was received; `queue_url` is for clients of SQS."""
        self._queue = queue_of(_one_of(queue_client=queue_client, sqs_client=sqs_client), queue_url)
        self._beating = Beating(
            self._queue,
            _one_of(message=message, receipt_handle=receipt_handle),
            clock,
            visibility_timeout=visibility_timeout,
            extension_seconds=extension_seconds,
            heartbeat_interval=heartbeat_interval,
            max_hold_seconds=max_hold_seconds,
            received_at=received_at,
            job_id=job_id,
            correlation_id=correlation_id,
            payload_hash=payload_hash,
        )
        self._beating.on_lost = on_lost
        self._beating.on_failure = on_failure
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
        """The newest one. While it beats, a beat may replace it at any moment: use `delete()` and `release()`."""
        return self._beating.receipt

    @property
    def extension_count(self) -> int:
        """The number of beats that got through."""
        return self._beating.extension_count

    @property
    def total_extended_seconds(self) -> float:
        """The seconds that these beats asked for, in all."""
        return self._beating.total_extended_seconds

    @property
    def last_error(self) -> str | None:
        """The error of the last beat, if it failed."""
        return self._beating.last_error

    @property
    def is_running(self) -> bool:
        """Whether it beats."""
        thread, task = self._thread, self._task
        return (thread is not None and thread.is_alive()) or (task is not None and not task.done())

    @property
    def is_lost(self) -> bool:
        """Whether the lease is lost: another worker may be running the message."""
        return self._beating.lost_because is not None

    def check(self) -> None:
        """Raise `LeaseLost` if it is: for long work in a thread, between its parts."""
        self._beating.check()

    def get_stats(self) -> dict[str, Any]:
        """extension_count, total_extended_seconds, is_running, last_error, is_lost."""
        return self._beating.stats(is_running=self.is_running)

    # -- its end; awaited in an event loop ---------------------------------------------------------

    def delete(self, max_retries: int = DEFAULT_TRIES, retry_delay: float = DEFAULT_DELAY_SECONDS) -> Any:
        """End the heartbeat, then delete the message: a `Deletion`. Within `async with` it is awaited.

        Raises `LeaseLost` if the lease is lost; nothing was sent then.
        """
        return self._end_with(lambda: self._beating.delete_steps(max_retries, retry_delay))

    def release(
        self, after: float = 0.0, max_retries: int = DEFAULT_TRIES, retry_delay: float = DEFAULT_DELAY_SECONDS
    ) -> Any:
        """End the heartbeat, then give the message back, to be received `after` seconds from now: a `Release`.

        Within `async with` it is awaited. Raises `LeaseLost` if the lease is lost; nothing was sent then.
        """
        return self._end_with(lambda: self._beating.release_steps(after, max_retries, retry_delay))

    def stop(self, timeout: float | None = None) -> Any:
        """End the heartbeat, after the beat that is under way: the newest `Receipt`. Within `async with` it is awaited.

        With `timeout`, wait no longer than this many seconds. A beat that is still under way then may replace the
        receipt that is returned; a warning says so.
        """
        return self._stop_in_loop(timeout) if self._is_in_loop else self._stop_thread(timeout)

    @property
    def _is_in_loop(self) -> bool:
        return self._task is not None or (self._thread is None and self._queue.is_async)

    def _end_with(self, make: Callable[[], Steps[Any]]) -> Any:
        if self._is_in_loop:
            return self._end_with_in_loop(make)
        self._stop_thread(None)
        return run(make())

    async def _end_with_in_loop(self, make: Callable[[], Steps[Any]]) -> Any:
        await self._stop_in_loop(None)
        return await run_async(make())

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

    def _stop_thread(self, timeout: float | None) -> Receipt:
        self._halted.set()
        thread = self._thread
        if thread is None or thread is threading.current_thread():  # the latter: called by on_lost or on_failure
            return self.receipt
        thread.join(timeout)
        if thread.is_alive():
            self._beating.tell_unfinished(timeout or 0.0)
        else:
            self._beating.tell_end()
        return self.receipt

    def __enter__(self) -> Self:
        """Begin."""
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End; raises `LeaseLost` if work that went well must not be settled."""
        self._stop_thread(None)
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
        await self._stop_in_loop(None)
        if not task.cancelled():
            task.result()  # our own mistakes are not hidden
        if kind is None or (was_ours and issubclass(kind, asyncio.CancelledError)):
            self.check()

    async def _stop_in_loop(self, timeout: float | None) -> Receipt:  # noqa: ASYNC109 - of `stop`
        self._stopping.set()
        task = self._task
        if task is None or task is asyncio.current_task():
            return self.receipt
        await asyncio.wait([task], timeout=timeout)
        if task.done():
            self._beating.tell_end()
        else:
            self._beating.tell_unfinished(timeout or 0.0)
        return self.receipt

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


def _one_of(**given: Any) -> Any:
    """The one that was given, of two names for the same."""
    first, second = given
    found = [name for name, value in given.items() if value is not None]
    if len(found) != 1:
        what = f"both {first}= and {second}= were given" if found else f"neither {first}= nor {second}= was given"
        msg = f"{what}: pass one of them; no beat was sent"
        raise BadArgument(msg)
    return given[found[0]]
