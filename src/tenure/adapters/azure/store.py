"""The store: one account, as one event loop uses it.

Every call to the service goes through `call`, which bounds it, counts it and translates what goes wrong. What a message
is at is read and written here (`find`, `save`); what to make of it is in the files named after the acts. What this
process holds is remembered with its version, so that the usual path reads nothing.
"""

import asyncio
import threading
from collections import OrderedDict, defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

from azure.core.exceptions import AzureError, HttpResponseError

from tenure.adapters.azure import faults
from tenure.adapters.azure.clients import Clients, Hook
from tenure.adapters.azure.entry import Kept, Letter, letter_key, life_row, mark_letter, read_letter, read_life
from tenure.adapters.azure.naming import part_of, queue_name, row_id
from tenure.adapters.azure.options import Options
from tenure.adapters.azure.rows import Change, Group, Row, Rows
from tenure.adapters.azure.timeline import Timeline
from tenure.clock import Clock
from tenure.errors import StoreMissing

T = TypeVar("T")

#: What belongs to no message: who is there, what is paused, whose turn it is.
COMMON = "common"
#: So many lives are remembered; what is forgotten is read again.
_REMEMBERED = 10_000
#: So many calls about single messages are under way at once.
_AT_ONCE = 24


class Shared:
    """What all stores of one process over one account have in common, on whatever loop they run."""

    def __init__(self, clock: Clock) -> None:
        """Nothing is known yet."""
        self.timeline = Timeline(clock)
        self._lives: OrderedDict[str, Kept] = OrderedDict()
        self._lock = threading.Lock()
        self._last = 0
        #: What was returned to a queue by us, oldest first: it is lent again before the backlog.
        self.returned: defaultdict[str, deque[str]] = defaultdict(deque)
        self._waiters: set[tuple[asyncio.AbstractEventLoop, asyncio.Event, frozenset[str]]] = set()

    def remember(self, kept: Kept) -> None:
        """The latest that is known of a life."""
        with self._lock:
            self._lives[kept.life.id] = kept
            self._lives.move_to_end(kept.life.id)
            while len(self._lives) > _REMEMBERED:
                self._lives.popitem(last=False)

    def recall(self, id: str) -> Kept | None:
        """What is remembered of a life; perhaps no longer true."""
        return self._lives.get(id)

    def forget(self, id: str) -> None:
        """Read it again next time."""
        with self._lock:
            self._lives.pop(id, None)

    def next_number(self) -> int:
        """Rises strictly here, and with the account's time: for fences and places."""
        with self._lock:
            self._last = max(self._last + 1, round(self.timeline.now() * 1e6))
            return self._last

    def add_waiter(self, event: asyncio.Event, queues: Iterable[str]) -> Any:
        """Set `event` when one of `queues` stirs; what to hand to `drop_waiter`."""
        waiter = (asyncio.get_running_loop(), event, frozenset(queues))
        with self._lock:
            self._waiters.add(waiter)
        return waiter

    def drop_waiter(self, waiter: Any) -> None:
        """It no longer waits."""
        with self._lock:
            self._waiters.discard(waiter)

    def stir(self, queue: str) -> None:
        """Something came into `queue`: whoever waits for it in this process need not wait for the next look."""
        with self._lock:
            waiters = [one for one in self._waiters if queue in one[2]]
        for loop, event, _ in waiters:
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)


class Store:
    """One account on one loop."""

    def __init__(self, options: Options, clock: Clock, *, must_exist: bool = False, hook: Hook | None = None) -> None:
        """Nothing is opened yet."""
        self.options = options
        self.clock = clock
        self.must_exist = must_exist
        self.hook = hook
        self.shared = Shared(clock)
        self.timeline = self.shared.timeline
        self.partitions = options.partitions
        self.rows = Rows(self, lambda: self.clients.table)
        self._clients: Clients | None = None
        self._users = 0
        self._busy = 0
        self._watched = False
        self._gate: asyncio.Semaphore | None = None
        self._known: set[str] = set()

    def twin(self) -> "Store":
        """The same account for another loop."""
        twin = Store(self.options, self.clock, must_exist=self.must_exist, hook=self.hook)
        twin.shared, twin.timeline = self.shared, self.timeline
        return twin

    @property
    def clients(self) -> Clients:
        """The SDK's clients; raises if the store is not open."""
        if self._clients is None:
            raise faults.closed(self.options.place)
        return self._clients

    @property
    def parts(self) -> list[str]:
        """Every part of the table that has messages in it."""
        return [f"{number:02d}" for number in range(self.partitions)]

    def busy(self) -> bool:
        """Whether the service is at work for us."""
        return self._busy > 0

    # --- its life ---------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Connect. Broker and state share one store: the last to close it closes it."""
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
            await self._prepare()
        except BaseException:
            await self.close()
            raise

    async def _prepare(self) -> None:
        if self.options.create and not self.must_exist:
            await self.create(self.clients.table.create_table)
        row = await self.rows.get(COMMON, "layout")
        if row is None and not self.must_exist:
            layout = Row(COMMON, "layout", {"Version": 1, "Partitions": self.partitions})
            await self.rows.commit_one(Change("insert", layout))
        elif row is not None and int(row.fields["Partitions"]) != self.partitions:
            raise faults.other_partitions(self.options.place, int(row.fields["Partitions"]), self.partitions)

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

    # --- calls ------------------------------------------------------------------------------------------

    async def call(self, what: str, act: Callable[[], Awaitable[T]]) -> T:
        """What the service answers. Answers that are part of the game are raised as they are."""
        self._busy += 1
        try:
            if self.timeline.is_virtual:
                return await act()
            async with asyncio.timeout(2 * self.options.timeout_seconds):
                return await act()
        except (AzureError, TimeoutError, OSError) as error:
            if faults.is_an_answer(error) and not faults.is_missing(error):
                raise
            raise faults.translate(error, self.options.place, what) from error
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
            if not self.options.create or self.must_exist:
                raise
        await self.create(client.create_queue)
        return await self.call(what, lambda: act(client))

    # --- messages ---------------------------------------------------------------------------------------

    def part(self, id: str) -> str:
        """The part of the table that a message is in."""
        return part_of(id, self.partitions)

    async def find(self, id: str) -> Kept | None:
        """What a message is at, read anew. None: it has no life (yet, or any more)."""
        row = await self.rows.get(self.part(id), f"m:{row_id(id)}")
        if row is None:
            self.shared.forget(id)
            return None
        kept = read_life(row)
        self.shared.remember(kept)
        return kept

    async def letter(self, id: str) -> Letter | None:
        """What was sent. None: it is not one of ours, or was forgotten."""
        row = await self.rows.get(self.part(id), letter_key(id))
        return None if row is None else read_letter(row)

    async def envelope(self, kept: Kept) -> bytes:
        """The bytes of a message that has a life."""
        if kept.envelope is not None:
            return kept.envelope
        letter = await self.letter(kept.life.id)
        return b"" if letter is None else letter.envelope

    def group(self, kept: Kept, act: str = "replace", **letter: Any) -> Group:
        """Write a life back if nobody else did; with it, perhaps, some fields of its letter."""
        change = Change(act, life_row(kept, self.partitions))
        return [change, mark_letter(kept.life.id, self.partitions, **letter)] if letter else [change]

    async def save(self, lives: Sequence[Kept], act: str = "replace") -> list[bool]:
        """Write lives back, each if nobody else did."""
        answers = await self.rows.commit([self.group(kept, act) for kept in lives])
        for kept, rows in zip(lives, answers, strict=True):
            self.note(kept, rows)
        return [rows is not None for rows in answers]

    def note(self, kept: Kept, rows: list[Row] | None) -> None:
        """Remember what was written, or that somebody else has written."""
        if rows is None:
            self.shared.forget(kept.life.id)
        else:
            kept.etag = rows[0].etag
            self.shared.remember(kept)

    async def lives(self, where: str, **values: Any) -> list[Kept]:
        """Every life of which `where` is true."""
        found = await asyncio.gather(*(self.rows.scan(part, "m:", where, **values) for part in self.parts))
        return [read_life(row) for rows in found for row in rows]
