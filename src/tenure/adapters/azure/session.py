"""The way to an account, for one event loop: every call bounded, counted and translated.

What the account let us do before (a queue answered, a key was taken) and refuses now is an outage: a worker goes on and
tries again. What it refused from the beginning is a mistake. Which of the two it is, all sessions of a process share
(`Heard`), and with it the time of the account. Used by `queue.py`, `table.py`, `log.py` and `posting.py`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from azure.core.exceptions import AzureError, HttpResponseError

from tenure.adapters.azure import faults
from tenure.adapters.azure.clients import Clients, Hook
from tenure.adapters.azure.naming import queue_name
from tenure.adapters.azure.options import Options
from tenure.adapters.azure.rows import OF_TABLE
from tenure.adapters.azure.timeline import Timeline
from tenure.clock import Clock
from tenure.errors import LoginRefused, StoreMissing

T = TypeVar("T")

#: So many calls about single messages are under way at once.
_AT_ONCE = 24


class Heard:
    """What all sessions of one process know of one account."""

    def __init__(self, clock: Clock) -> None:
        """Nothing is known yet."""
        self.timeline = Timeline(clock)
        #: What the account let us do before, by its name.
        self.worked: set[str] = set()
        #: Queues that answered before.
        self.served: set[str] = set()


class Session:
    """One account on one event loop."""

    def __init__(
        self, options: Options, clock: Clock, *, must_exist: bool = False, hook: Hook | None = None,
        heard: Heard | None = None,
    ) -> None:  # fmt: skip
        """Nothing is opened yet. `must_exist`: nothing is created, whatever the options say."""
        self.options = options
        self.clock = clock
        self.must_exist = must_exist
        self.hook = hook
        self.heard = Heard(clock) if heard is None else heard
        self.timeline = self.heard.timeline
        self._clients: Clients | None = None
        self._users = 0
        self._busy = 0
        self._watched = False
        self._gate: asyncio.Semaphore | None = None

    def twin(self) -> "Session":
        """The same account for another loop."""
        return Session(self.options, self.clock, must_exist=self.must_exist, hook=self.hook, heard=self.heard)

    @property
    def clients(self) -> Clients:
        """The SDK's clients; raises if the session is not open."""
        if self._clients is None:
            raise faults.closed(self.options.place)
        return self._clients

    @property
    def may_create(self) -> bool:
        """Whether what is missing is created."""
        return self.options.create and not self.must_exist

    def wall(self) -> float:
        """Wall time by the account's clock."""
        return self.timeline.wall()

    def busy(self) -> bool:
        """Whether the service is at work for us."""
        return self._busy > 0

    async def open(self) -> None:
        """Connect. Queue and table share one session: the last to close it closes it."""
        self._users += 1
        if self._clients is not None:
            return
        self._clients = Clients(self.options, self.timeline, self.clock.monotonic, self.hook)
        self._gate = asyncio.Semaphore(_AT_ONCE)
        watch = getattr(asyncio.get_running_loop(), "watch", None)
        if watch is not None and not self._watched:
            # A loop in virtual time must not let time pass while the service is at work.
            watch(self.busy)
            self._watched = True
        try:
            await self._clients.log_in(self.options.timeout_seconds)
            await self._prepare()
        except BaseException:
            await self.close()
            raise

    async def _prepare(self) -> None:
        """Nothing more is needed."""

    async def ask(self) -> None:
        """Ask the account something: who we are, and what time it is."""
        pages = self.clients.queue_service.list_queues(name_starts_with=f"{self.options.prefix}-", results_per_page=1)

        async def act() -> None:
            async for _ in pages:
                return

        await self.call("listing the queues", act)

    async def create(self, make: Callable[[], Awaitable[Any]]) -> None:
        """Create something; it may be there already."""
        try:
            await self.call("creating what is missing", make)
        except HttpResponseError as error:
            if not faults.is_there(error):
                raise

    async def close(self) -> None:
        """Let go of every connection, once nobody uses it."""
        self._users -= 1
        if self._users > 0 or self._clients is None:
            return
        clients, self._clients = self._clients, None
        await clients.close()

    async def call(self, what: str, act: Callable[[], Awaitable[T]]) -> T:
        """What the service answers. Answers that are part of the game are raised as they are.

        What it let us do before and refuses now (a key was replaced, a role taken away, a token ran out, the table is
        gone) is an outage: nobody must lose what was done because of it.
        """
        if self._clients is not None and (pause := self._clients.busy_until - self.clock.monotonic()) > 0:
            await asyncio.sleep(pause)  # as it asked for
        worked = self.heard.worked
        self._busy += 1
        try:
            async with asyncio.timeout(None if self.timeline.is_virtual else 2 * self.options.timeout_seconds):
                answer = await act()
        except (AzureError, TimeoutError, OSError) as error:
            if faults.is_an_answer(error) and not faults.is_missing(error):
                worked.add(what)
                raise
            said = faults.translate(error, self.options.place, what)
            gone = (LoginRefused, StoreMissing) if what in OF_TABLE else LoginRefused
            is_outage = isinstance(said, gone) and what in worked
            raise (faults.outage(said) if is_outage else said) from error
        else:
            worked.add(what)
            return answer
        finally:
            self._busy -= 1

    async def each(self, acts: Sequence[Callable[[], Awaitable[T]]]) -> list[T | BaseException]:
        """Several calls side by side; what one raises is its answer."""
        gate = self._gate or asyncio.Semaphore(_AT_ONCE)

        async def one(act: Callable[[], Awaitable[T]]) -> T:
            async with gate:
                return await act()

        return await asyncio.gather(*(one(act) for act in acts), return_exceptions=True)

    def queue(self, queue: str, ending: str = "") -> Any:
        """The client of a queue, by Tenure's name for it."""
        return self.clients.queue(queue_name(self.options.prefix, queue) + ending)

    async def on_queue(self, what: str, queue: str, act: Callable[[Any], Awaitable[T]], ending: str = "") -> T:
        """A call about one queue, which is created where that was asked for."""
        client = self.queue(queue, ending)
        try:
            return await self.call(what, lambda: act(client))
        except StoreMissing:
            if not self.may_create:
                raise
        await self.create(client.create_queue)
        return await self.call(what, lambda: act(client))
