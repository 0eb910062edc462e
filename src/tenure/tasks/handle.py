"""A handle: what `submit` returns, a way to ask about one message later.

`Handle` is for async code, `SyncHandle` has the same words for code that is not. A handle is only an id and the
place to ask: make one at any time, in any process, with `app.handle(id)` or `task.handle(id)`.
"""

import contextlib
from collections.abc import AsyncGenerator, Callable, Iterator
from datetime import timedelta
from typing import Any, Generic, Protocol, TypeVar

from tenure.errors import MessageCancelled, MessageNotFound, ResultGone, ResultTimeout, TaskFailed
from tenure.message import MessageState
from tenure.record import Record
from tenure.tasks.update import Update

R_co = TypeVar("R_co", covariant=True)

#: How a result is read from JSON: into the handler's own return type where the task is known.
Read = Callable[[bytes], Any]

#: How soon to look again for a result: at first at once, later rarely.
_FIRST_PAUSE_SECONDS = 0.005
_LONGEST_PAUSE_SECONDS = 0.5
_PAUSE_GROWTH = 1.5


class Asker(Protocol):
    """The part of an app that a handle uses."""

    async def record(self, id: str, queue: str | None = None) -> Record | None:
        """Everything known about a message. `queue`: where to look first."""
        ...

    async def cancel(self, id: str, queue: str | None = None) -> bool:
        """Take the message back. `queue`: where to look first."""
        ...

    def follow(self, id: str, queue: str | None = None) -> AsyncGenerator[Record | None]:
        """Yield what is known about a message now and after each change, until it has ended."""
        ...

    async def watch_url(self, id: str, *, expires: float | timedelta, result: bool, server: str | None) -> str:
        """Make a link that opens one message for reading."""
        ...

    async def pause_until(self, deadline: float | None, seconds: float) -> bool:
        """Wait a little. False: `deadline` (monotonic) has come."""
        ...

    def deadline_in(self, timeout: float | timedelta | None) -> float | None:
        """Return the moment `timeout` from now, on the monotonic clock."""
        ...


class Handle(Generic[R_co]):
    """One message that was sent, by its id. Returned by `submit`, or made by `app.handle(id)` and `task.handle(id)`."""

    __slots__ = ("_app", "_queue", "_read", "duplicate", "id")

    def __init__(self, app: Asker, id: str, read: Read, *, duplicate: bool = False, queue: str | None = None) -> None:
        """Refer to message `id`. `queue`: where it was sent to, if that is known; it is found faster."""
        #: The message's id.
        self.id = id
        #: True: nothing new was stored; this is an earlier message with the same `id`, `key` or `unique` value.
        self.duplicate = duplicate
        self._app = app
        self._read = read
        self._queue = queue

    async def status(self) -> Record:
        """Return where the message is now: state, attempt, progress, lease, next attempt, last error.

        Raises `MessageNotFound` if no such message is known: it was never sent to this store, or its record has
        expired (7 days after its end).
        """
        record = await self._app.record(self.id, self._queue)
        if record is None:
            raise MessageNotFound(_unknown(self.id))
        return record

    async def result(self, timeout: float | timedelta | None = None) -> R_co:  # noqa: ASYNC109 - the message goes on
        """Wait until the message is completed, at most `timeout` seconds, and return what the handler returned.

        Raises `TaskFailed` (with the worker's traceback) if the message is dead, `MessageCancelled`,
        `MessageNotFound`, or `ResultTimeout`. None of them changes the message.
        """
        deadline = self._app.deadline_in(timeout)
        pause = _FIRST_PAUSE_SECONDS
        while not (record := await self.status()).is_finished:
            if not await self._app.pause_until(deadline, pause):
                msg = f"message {self.id} is {record.state} after {_spoken(timeout)}; it goes on, ask again later"
                raise ResultTimeout(msg)
            pause = min(_LONGEST_PAUSE_SECONDS, pause * _PAUSE_GROWTH)
        result: R_co = self._read(raw_result(record))
        return result

    async def updates(self) -> AsyncGenerator[Update[R_co]]:
        """Yield where the message is now, and again after each change, until it has ended: `async for …`.

        The last one has the result, or why there is none. All who wait in this process share one reading of the store;
        a slow reader gets the newest, and not each between. Raises `MessageNotFound` as `status` does.
        """
        async with contextlib.aclosing(self._app.follow(self.id, self._queue)) as records:
            async for record in records:
                if record is None:
                    raise MessageNotFound(_unknown(self.id))
                raw = record.result if record.state is MessageState.COMPLETED else None
                yield Update.of(record, None if raw is None else self._read(raw))

    async def watch_url(
        self, *, expires: float | timedelta = 3600.0, result: bool = False, server: str | None = None
    ) -> str:
        """Make a link by which a browser follows this message, without a token: `new EventSource(link)`.

        It shows state, progress and codes of errors; with `result` the result and the texts of errors too. It opens
        nothing else, changes nothing, and expires, after 30 days at the latest. Every holder of the link may use it.

        - `expires`: For so long it is good, in seconds or as a `timedelta`.
        - `server`: Where browsers reach the server; default: `TENURE_PUBLIC_URL`.
        """
        return await self._app.watch_url(self.id, expires=expires, result=result, server=server)

    async def cancel(self) -> bool:
        """Cancel the message: it will not run. If it is running, its run is cancelled and its result refused.

        Returns False if it was finished or dead already; then nothing was changed. Its key is free at once. An async
        handler is cancelled within a second or so, a thread sees `ctx.lease_lost`. The act is recorded in the journal.
        """
        return await self._app.cancel(self.id, self._queue)

    def __repr__(self) -> str:
        """Show the id."""
        return f"<Handle {self.id}{' duplicate' if self.duplicate else ''}>"


class Blocking(Protocol):
    """Runs async words for code that is not async."""

    def __call__(self, work: Callable[[], Any]) -> Any:
        """Wait for what `work` returns, on a loop elsewhere."""
        ...


class SyncHandle(Generic[R_co]):
    """As `Handle`, for code that is not async. Returned by `submit_sync`, or made by `app.handle_sync(id)`."""

    __slots__ = ("_handle", "_wait")

    def __init__(self, handle: Handle[R_co], wait: Blocking) -> None:
        """Ask as `handle` does, and wait for the answer."""
        self._handle = handle
        self._wait = wait

    @property
    def id(self) -> str:
        """The message's id."""
        return self._handle.id

    @property
    def duplicate(self) -> bool:
        """As `Handle.duplicate`."""
        return self._handle.duplicate

    def status(self) -> Record:
        """As `Handle.status`."""
        record: Record = self._wait(self._handle.status)
        return record

    def result(self, timeout: float | timedelta | None = None) -> R_co:
        """As `Handle.result`; blocks."""
        result: R_co = self._wait(lambda: self._handle.result(timeout))
        return result

    def updates(self) -> Iterator[Update[R_co]]:
        """As `Handle.updates`; blocks between two."""
        updates = self._handle.updates()
        try:
            while (update := self._wait(lambda: anext(updates, None))) is not None:
                yield update
        finally:
            self._wait(updates.aclose)

    def watch_url(self, *, expires: float | timedelta = 3600.0, result: bool = False, server: str | None = None) -> str:
        """As `Handle.watch_url`."""
        link: str = self._wait(lambda: self._handle.watch_url(expires=expires, result=result, server=server))
        return link

    def cancel(self) -> bool:
        """As `Handle.cancel`."""
        changed: bool = self._wait(self._handle.cancel)
        return changed

    def __repr__(self) -> str:
        """Show the id."""
        return f"<SyncHandle {self.id}{' duplicate' if self.duplicate else ''}>"


def _unknown(id: str) -> str:
    return f"no message {id} is known here: it was never sent to this place, or its record has expired"


def _spoken(timeout: float | timedelta | None) -> str:
    return f"{timeout:g} s" if isinstance(timeout, int | float) else str(timeout)


def raw_result(record: Record) -> bytes:
    """The result of a finished message, or why there is none."""
    if record.state is MessageState.CANCELLED:
        msg = f"message {record.id} was cancelled, deleted or purged: it has no result; submit it again if need be"
        raise MessageCancelled(msg)
    if record.state is MessageState.DEAD:
        reason = record.reason
        if reason is None:
            msg = f"message {record.id} is dead; its reason was not recorded"
            raise TaskFailed(msg)
        msg = f"message {record.id} ({record.task}) is dead: {reason.text}"
        raise TaskFailed(msg, reason_code=reason.code, error=reason.error, remote_traceback=reason.traceback)
    if record.result is None:
        msg = f"message {record.id} is completed, but its result was not kept"
        raise ResultGone(msg)
    return record.result
