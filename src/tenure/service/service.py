"""`QueueService`: four verbs of a task service over an app, for async code; `SyncQueueService` for code that is not."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, Self, TypeVar, Unpack, cast

import msgspec

from tenure.app import Tenure
from tenure.client.client import Client
from tenure.errors import TenureError
from tenure.foreign import Foreign, read_task
from tenure.service.status import TaskStatus, status_of
from tenure.service.task_book import KIND, NotedTask, TaskBook, name_in, raw_of
from tenure.tasks.call import Call, Options
from tenure.tasks.handle import Handle
from tenure.tasks.task_address import TaskAddress

T = TypeVar("T")

#: Records of finished messages are kept for 7 days by default.
_KEEP_SECONDS = 8 * 86_400.0


class QueueService:
    """Submits tasks by type, and answers for them by their ids."""

    def __init__(self, app: Tenure | str | None = None, *, client: str | None = None, plain: bool = True) -> None:
        """Work over `app`, or over an app that is made for a URL, by default for the environment.

        - `client`: For whom tasks are submitted; default: the app's (`CLIENT_ID`).
        - `plain`: Consumers that do not know Tenure can read what is sent; it takes the payload twice.

        Workers of this app also run what plain producers have put into the queue, unless the app says itself what
        foreign messages are (`@app.on_foreign`).
        """
        #: The app below.
        self.app = app if isinstance(app, Tenure) else Tenure(app)
        self._client_name = client
        self._plain = plain
        self._noting: set[asyncio.Task[None]] = set()
        if not self.app._router.has_default:
            self.app.on_foreign(self._route)

    # -- the verbs ---------------------------------------------------------------------------------

    async def submit_task(
        self,
        task_type: str,
        payload: Mapping[str, Any] | None = None,
        *,
        task_id: str | None = None,
        webhook_url: str | None = None,
        **options: Unpack[Options],
    ) -> str:
        """Store a task and return its id, once it cannot be lost any more.

        - `task_id`: Its id; default: a new UUID. A submit that is repeated with it stores nothing new.
        - `webhook_url`: What is called when it has completed or failed; an endpoint must allow it.

        The other options are those of `app.submit`. Raises `UnknownTask` and `PayloadInvalid` where this app has tasks.
        """
        return await self._book().submit(task_type, payload, task_id, webhook_url, options)

    async def status(self, task_id: str) -> TaskStatus:
        """Return where a task is. Raises `MessageNotFound`."""
        return status_of(task_id, await self._book().record(task_id))

    async def result(self, task_id: str, timeout: float | timedelta | None = None) -> Any:  # noqa: ASYNC109 - as `Handle.result`
        """Wait until a task is completed and return what its handler returned. Raises what `Handle.result` raises."""
        return await (await self.handle(task_id)).result(timeout)

    async def updates(self, task_id: str) -> AsyncGenerator[TaskStatus]:
        """Yield where a task is now, and again after each change, until it has ended. Raises `MessageNotFound`."""
        async with contextlib.aclosing(self._book().updates(task_id)) as updates:
            async for status in updates:
                yield status

    async def cancel(self, task_id: str) -> bool:
        """Cancel a task, also while it runs. False: it had ended already; nothing was changed."""
        return await (await self.handle(task_id)).cancel()

    async def handle(self, task_id: str) -> Handle[Any]:
        """The handle of a task, for what else there is, such as `watch_url`. Raises `MessageNotFound`."""
        return await self._book().handle(task_id)

    # -- what plain producers sent -----------------------------------------------------------------

    async def accept(self, raw: bytes | str) -> str:
        """Submit one task as a plain producer wrote it, and return its id; for queues that Tenure does not read.

        With a `task_id` it may be repeated: first accept, then delete there. Without one it gets a new id each time.
        Raises `BadArgument` for what is no task.
        """
        return await self._book().accept(raw)

    def _route(self, foreign: Foreign) -> Call[Any] | None:
        """Read a message that a plain producer has put into a queue of this app."""
        task = read_task(foreign)
        if task is None:
            return None
        if task.id is not None:
            self._note(task.id, NotedTask(foreign.id, task.type))
        known = self.app.tasks.get(task.type)
        if known is not None:
            return task.call(known)
        # A worker of a newer version may know it: it is returned, as other unknown tasks are.
        address = TaskAddress(task.type, foreign.queue)
        return Call(address, raw_of(task.payload), task.options)

    def _note(self, task_id: str, noted: NotedTask) -> None:
        """Keep which message this task is. The route must not wait, so it is written beside it."""

        async def write() -> None:
            state = self.app.state
            data, until = msgspec.json.encode(noted), state.wall() + _KEEP_SECONDS
            try:
                await state.key_values.put(KIND, name_in(self.app, task_id), data, expect=None, expires_at=until)
            except TenureError:
                return  # the next delivery writes it
            finally:
                self._noting.discard(cast("asyncio.Task[None]", asyncio.current_task()))

        self._noting.add(asyncio.get_running_loop().create_task(write()))

    # -- for both kinds of code --------------------------------------------------------------------

    @property
    def sync(self) -> "SyncQueueService":
        """The same for code that is not async."""
        return SyncQueueService(self.app, self._book_of)

    def _book(self) -> TaskBook:
        return self._book_of(self.app._client)  # noqa: SLF001 - a part of the app, for its own loop

    def _book_of(self, client: Client) -> TaskBook:
        return TaskBook(self.app, client, sender=self._client_name, plain=self._plain)

    # -- opening and closing -----------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Open the app."""
        await self.app.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the app."""
        await self.app.close()


class SyncQueueService:
    """As `QueueService`, for code that is not async: `QueueService().sync`."""

    def __init__(self, app: Tenure, book_of: Callable[[Client], TaskBook]) -> None:
        """Ask as the service does, and wait for the answer."""
        self._app = app
        self._book_of = book_of

    def submit_task(
        self,
        task_type: str,
        payload: Mapping[str, Any] | None = None,
        *,
        task_id: str | None = None,
        webhook_url: str | None = None,
        **options: Unpack[Options],
    ) -> str:
        """As `QueueService.submit_task`."""
        return self._ask(lambda book: book.submit(task_type, payload, task_id, webhook_url, options))

    def status(self, task_id: str) -> TaskStatus:
        """As `QueueService.status`."""
        return status_of(task_id, self._ask(lambda book: book.record(task_id)))

    def result(self, task_id: str, timeout: float | timedelta | None = None) -> Any:
        """As `QueueService.result`; blocks."""

        async def wait(book: TaskBook) -> Any:
            return await (await book.handle(task_id)).result(timeout)

        return self._ask(wait)

    def updates(self, task_id: str) -> Iterator[TaskStatus]:
        """As `QueueService.updates`; blocks between two."""

        async def begun(book: TaskBook) -> AsyncGenerator[TaskStatus]:
            return book.updates(task_id)

        updates = self._ask(begun)
        try:
            while (status := self._ask(lambda _: anext(updates, None))) is not None:
                yield status
        finally:
            self._ask(lambda _: updates.aclose())

    def cancel(self, task_id: str) -> bool:
        """As `QueueService.cancel`."""

        async def cancel(book: TaskBook) -> bool:
            return await (await book.handle(task_id)).cancel()

        return self._ask(cancel)

    def accept(self, raw: bytes | str) -> str:
        """As `QueueService.accept`."""
        return self._ask(lambda book: book.accept(raw))

    def close(self) -> None:
        """Disconnect."""
        self._app.close_sync()

    def _ask(self, work: Callable[[TaskBook], Awaitable[T]]) -> T:
        return self._app._wait_for(lambda client: work(self._book_of(client)))
