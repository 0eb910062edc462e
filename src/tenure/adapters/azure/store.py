"""The store: one account, as one event loop uses it.

Every call to the service goes through `call`, which bounds it, counts it and translates what goes wrong. What a message
is at is read and written here (`find`, `save`); what to make of it is in the files named after the acts. What this
process holds is remembered with its version, so that the usual path reads nothing.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from azure.core.exceptions import AzureError, HttpResponseError

from tenure.adapters.azure import faults
from tenure.adapters.azure.bulk import Bulk
from tenure.adapters.azure.clients import Clients, Hook
from tenure.adapters.azure.entry import Kept, Letter, letter_key, life_row, mark_letter, read_letter, read_life
from tenure.adapters.azure.known_queues import KnownQueues
from tenure.adapters.azure.naming import part_of, queue_name, row_id
from tenure.adapters.azure.options import Options
from tenure.adapters.azure.polling import FIRST_PAUSE
from tenure.adapters.azure.rows import OF_TABLE, Change, Group, Row, Rows
from tenure.adapters.azure.shared import Shared
from tenure.adapters.azure.table_rows import TableRows
from tenure.adapters.azure.where import Where
from tenure.clock import Clock
from tenure.errors import LoginRefused, StoreMissing
from tenure.table import GroupTable

T = TypeVar("T")

#: Makes the table that the rows lie in, if they do not lie in the account.
MakeTable = Callable[[Any], GroupTable]

#: What belongs to no message: who is there, what is paused, whose turn it is.
COMMON = "common"
_SECOND, _HAIR = 1.0, 1e-6
#: So many calls about single messages are under way at once.
_AT_ONCE = 24


class Store:
    """One account on one loop."""

    def __init__(
        self,
        options: Options,
        clock: Clock,
        *,
        must_exist: bool = False,
        hook: Hook | None = None,
        make_table: MakeTable | None = None,
    ) -> None:
        """Nothing is opened yet. With `make_table` the rows lie elsewhere."""
        self.options = options
        self.clock = clock
        self.must_exist = must_exist
        self.hook = hook
        self.shared = Shared(clock)
        self.timeline = self.shared.timeline
        self.partitions = options.partitions
        self.rows: Rows | TableRows
        if make_table is None:
            bulk = Bulk(self, lambda: self.clients.blob_service.get_container_client(options.table))
            self.rows = Rows(self, lambda: self.clients.table, bulk)
        else:
            self.rows = TableRows(self, make_table(self), f"azure:{options.account}:{options.prefix}:")
        self.known_queues = KnownQueues(self.rows, self.shared, clock)
        self._make_table = make_table
        self._clients: Clients | None = None
        self._users = 0
        self._busy = 0
        self._watched = False
        self._gate: asyncio.Semaphore | None = None
        #: How long the next pause between two looks at these queues is, and what had stirred at the last one.
        self.pauses: dict[frozenset[str], tuple[float, int]] = {}
        #: When somebody last waited for several queues.
        self.waited_at = -math.inf
        self._timers: set[tuple[str, float]] = set()

    def twin(self) -> "Store":
        """The same account for another loop."""
        twin = Store(self.options, self.clock, must_exist=self.must_exist, hook=self.hook, make_table=self._make_table)
        twin.shared, twin.timeline = self.shared, self.timeline
        twin.known_queues = KnownQueues(twin.rows, self.shared, self.clock)
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

    @property
    def may_create(self) -> bool:
        """Whether what is missing is created."""
        return self.options.create and not self.must_exist

    def wall(self) -> float:
        """Wall time by the clock of whoever keeps the rows."""
        return self.timeline.wall() if isinstance(self.rows, Rows) else self.rows.wall()

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
            await self._clients.log_in(self.options.timeout_seconds)
            await self._prepare()
        except BaseException:
            await self.close()
            raise

    async def _prepare(self) -> None:
        await self.rows.open()
        if self._make_table is not None:
            # Nothing else would ask the account before the first message: who we are, and what time it is.
            await self.call("listing the queues", self._ask)
        elif self.may_create:
            await self.create(self.clients.table.create_table)
        row = await self.rows.get(COMMON, "layout")
        if row is None and not self.must_exist:
            layout = Row(COMMON, "layout", {"Version": 1, "Partitions": self.partitions})
            await self.rows.commit_one(Change("insert", layout))
        elif row is not None and int(row.fields["Partitions"]) != self.partitions:
            raise faults.other_partitions(self.options.place, int(row.fields["Partitions"]), self.partitions)

    async def _ask(self) -> None:
        pages = self.clients.queue_service.list_queues(name_starts_with=f"{self.options.prefix}-", results_per_page=1)
        async for _ in pages:
            return

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
        await self.rows.close()

    # --- calls ------------------------------------------------------------------------------------------

    async def call(self, what: str, act: Callable[[], Awaitable[T]]) -> T:
        """What the service answers. Answers that are part of the game are raised as they are.

        What it let us do before and refuses now (a key was replaced, a role taken away, a token ran out, the table is
        gone) is an outage: nobody must lose what was done because of it.
        """
        if self._clients is not None and (pause := self._clients.busy_until - self.clock.monotonic()) > 0:
            await asyncio.sleep(pause)  # as it asked for
        self._busy += 1
        try:
            async with asyncio.timeout(None if self.timeline.is_virtual else 2 * self.options.timeout_seconds):
                answer = await act()
        except (AzureError, TimeoutError, OSError) as error:
            if faults.is_an_answer(error) and not faults.is_missing(error):
                self.shared.worked.add(what)
                raise
            said = faults.translate(error, self.options.place, what)
            gone = (LoginRefused, StoreMissing) if what in OF_TABLE else LoginRefused
            is_outage = isinstance(said, gone) and what in self.shared.worked
            raise (faults.outage(said) if is_outage else said) from error
        else:
            self.shared.worked.add(what)
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

    def stir(self, queue: str, seconds: float = 0.0) -> None:
        """Wake whoever waits in this process when something is due. The timer goes with the loop: only a wake-up."""
        if seconds <= 0:
            self.shared.stir(queue)
            return
        # One timer for all that is due in the same second: a sender may delay millions of messages.
        loop = asyncio.get_running_loop()
        due = math.ceil(loop.time() + seconds - _HAIR) if seconds > _SECOND else loop.time() + seconds
        if (queue, due) not in self._timers:
            self._timers.add((queue, due))
            loop.call_at(due, self._stir_at, queue, due)

    def _stir_at(self, queue: str, due: float) -> None:
        self._timers.discard((queue, due))
        self.shared.stir(queue)

    def look_soon(self) -> None:
        """Begin with short pauses again."""
        for queues, (_, heard) in self.pauses.items():
            self.pauses[queues] = FIRST_PAUSE, heard

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
        kept, known = read_life(row), self.shared.recall(id)
        if known is not None and known.etag == kept.etag:
            # We may have shown it since, and then know a later receipt than the table.
            kept.life.message_id, kept.life.receipt = known.life.message_id, known.life.receipt
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

    async def lives(self, where: Where, *, only: Sequence[str] | None = None) -> list[Kept]:
        """Every life of which `where` is true; perhaps without the large parts (`BRIEF`), and then only to look at."""
        found = await asyncio.gather(*(self.rows.scan(part, "m:", where, only=only) for part in self.parts))
        return [read_life(row) for rows in found for row in rows]
