"""The store: one account, as one event loop uses it.

Every call to the service goes through `call`, which bounds it, counts it and translates what goes wrong. What a message
is at is read and written here (`find`, `save`); what to make of it is in the files named after the acts. What this
process holds is remembered with its version, so that the usual path reads nothing.
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Any

from tenure.adapters.azure import faults
from tenure.adapters.azure.bulk import Bulk
from tenure.adapters.azure.clients import Hook
from tenure.adapters.azure.entry import Kept, Letter, letter_key, life_row, mark_letter, read_letter, read_life
from tenure.adapters.azure.known_queues import KnownQueues
from tenure.adapters.azure.naming import part_of, row_id
from tenure.adapters.azure.options import Options
from tenure.adapters.azure.polling import FIRST_PAUSE
from tenure.adapters.azure.rows import Change, Group, Row, Rows
from tenure.adapters.azure.session import Session
from tenure.adapters.azure.shared import Shared
from tenure.adapters.azure.table_rows import TableRows
from tenure.adapters.azure.where import Where
from tenure.clock import Clock
from tenure.table import GroupTable

#: Makes the table that the rows lie in, if they do not lie in the account.
MakeTable = Callable[[Any], GroupTable]

#: What belongs to no message: who is there, what is paused, whose turn it is.
COMMON = "common"
_SECOND, _HAIR = 1.0, 1e-6


class Store(Session):
    """One account on one loop, with what is remembered of its messages."""

    def __init__(
        self,
        options: Options,
        clock: Clock,
        *,
        must_exist: bool = False,
        hook: Hook | None = None,
        make_table: MakeTable | None = None,
        shared: Shared | None = None,
    ) -> None:
        """Nothing is opened yet. With `make_table` the rows lie elsewhere."""
        shared = Shared(clock) if shared is None else shared
        super().__init__(options, clock, must_exist=must_exist, hook=hook, heard=shared)
        self.shared = shared
        self.partitions = options.partitions
        self.rows: Rows | TableRows
        if make_table is None:
            bulk = Bulk(self, lambda: self.clients.blob_service.get_container_client(options.table))
            self.rows = Rows(self, lambda: self.clients.table, bulk)
        else:
            self.rows = TableRows(self, make_table(self), f"azure:{options.account}:{options.prefix}:")
        self.known_queues = KnownQueues(self.rows, self.shared, clock)
        self._make_table = make_table
        #: How long the next pause between two looks at these queues is, and what had stirred at the last one.
        self.pauses: dict[frozenset[str], tuple[float, int]] = {}
        #: When somebody last waited for several queues.
        self.waited_at = -math.inf
        self._timers: set[tuple[str, float]] = set()

    def twin(self) -> "Store":
        """The same account for another loop."""
        return Store(
            self.options, self.clock, must_exist=self.must_exist, hook=self.hook, make_table=self._make_table,
            shared=self.shared,
        )  # fmt: skip

    @property
    def parts(self) -> list[str]:
        """Every part of the table that has messages in it."""
        return [f"{number:02d}" for number in range(self.partitions)]

    def wall(self) -> float:
        """Wall time by the clock of whoever keeps the rows."""
        return self.timeline.wall() if isinstance(self.rows, Rows) else self.rows.wall()

    # --- its life ---------------------------------------------------------------------------------------

    async def _prepare(self) -> None:
        await self.rows.open()
        if self._make_table is not None:
            # Nothing else would ask the account before the first message: who we are, and what time it is.
            await self.ask()
        elif self.may_create:
            await self.create(self.clients.table.create_table)
        row = await self.rows.get(COMMON, "layout")
        if row is None and not self.must_exist:
            layout = Row(COMMON, "layout", {"Version": 1, "Partitions": self.partitions})
            await self.rows.commit_one(Change("insert", layout))
        elif row is not None and int(row.fields["Partitions"]) != self.partitions:
            raise faults.other_partitions(self.options.place, int(row.fields["Partitions"]), self.partitions)

    async def close(self) -> None:
        """Let go of every connection, once nobody uses it."""
        was_open = self._clients is not None
        await super().close()
        if was_open and self._clients is None:
            await self.rows.close()

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
