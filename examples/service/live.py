"""What each open page is told while tasks run: one stream a page, and one look at each running task for all of them.

A page that comes back gets the whole list first, so nothing is lost with a connection. While it reads slowly, newer
news of a task replaces older news, so what waits for it is bounded.
"""

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator

from tenure import BrokerError, MessageNotFound, QueueService

from .task_list import Row, TaskList

logger = logging.getLogger("service.live")

_ENDED = ("completed", "failed", "cancelled")
_TRY_AGAIN_SECONDS = 2.0


class _Page:
    """One open page: what it has not been told yet, by task."""

    def __init__(self) -> None:
        self.news: dict[str, Row] = {}
        self.has_news = asyncio.Event()

    def tell(self, row: Row) -> None:
        id = row["task_id"]
        self.news[id] = self.news.get(id, {}) | row
        self.has_news.set()

    def take(self) -> list[Row]:
        news, self.news = list(self.news.values()), {}
        self.has_news.clear()
        return news


class Live:
    """Streams of all clients; each gets the tasks of its own."""

    def __init__(self, service: QueueService, tasks: TaskList) -> None:
        """Follow tasks by `service`."""
        self._service = service
        self._tasks = tasks
        self._pages: defaultdict[str, set[_Page]] = defaultdict(set)
        self._followers: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._is_closed = False

    async def watch(self, client: str) -> AsyncGenerator[list[Row]]:
        """Yield a client's tasks, and then what changes of them."""
        page = _Page()
        self._pages[client].add(page)
        try:
            rows = await asyncio.to_thread(self._tasks.of, client)
            yield rows
            for row in rows:
                self._follow(client, row)
            while not self._is_closed:
                await page.has_news.wait()
                yield page.take()
        finally:
            self._pages[client].discard(page)
            if not self._pages[client]:
                self._leave(client)

    def tell(self, client: str, row: Row) -> None:
        """Show a change of a task on every page of its client."""
        for page in self._pages[client]:
            page.tell(row)
        if self._pages[client]:
            self._follow(client, row)

    def close(self) -> None:
        """End every stream: a server does not stop while one goes on."""
        self._is_closed = True
        for page in [page for pages in self._pages.values() for page in pages]:
            page.has_news.set()

    def _follow(self, client: str, row: Row) -> None:
        key = (client, row["task_id"])
        if row["status"] in _ENDED or key in self._followers:
            return
        follower = asyncio.create_task(self._tell_of(*key))
        self._followers[key] = follower
        follower.add_done_callback(lambda _: self._forget(key, follower))

    async def _tell_of(self, client: str, task_id: str) -> None:
        """Pass on where a task is, until it has ended. The webhook, which may take longer, makes the ending last."""
        while True:
            try:
                async with contextlib.aclosing(self._service.updates(task_id)) as updates:
                    async for status in updates:
                        news: Row = {
                            "task_id": task_id, "status": status.status, "attempt": status.attempt,
                            "progress": status.progress, "note": status.note, "error": status.error,
                        }  # fmt: skip
                        if status.status == "completed":
                            news["result"] = await self._service.result(task_id)
                        for page in self._pages[client]:
                            page.tell(news)
            except MessageNotFound:
                return
            except BrokerError as error:
                logger.warning("cannot follow %s, trying again: %s", task_id, error)
                await asyncio.sleep(_TRY_AGAIN_SECONDS)
            else:
                return

    def _forget(self, key: tuple[str, str], follower: asyncio.Task[None]) -> None:
        if self._followers.get(key) is follower:
            del self._followers[key]

    def _leave(self, client: str) -> None:
        """No page of this client is open any more."""
        del self._pages[client]
        for key in [key for key in self._followers if key[0] == client]:
            self._followers.pop(key).cancel()
