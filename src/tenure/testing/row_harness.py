"""What a table or a delivery queue brings along to its own conformance suite.

Two small ports make a broker (`tenure.rowstore`): a table that decides and a queue that delivers. Each has a suite, so
that a fault is found in the part that has it. One harness is one empty table, or one queue of its own, from
`async with` to its end. Used by `tenure.testing.conformance.tables` and `.delivery_queues`.
"""

import asyncio
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from tenure.clock import Clock
from tenure.delivery_queue import DeliveryQueue, OutgoingCopy, PhysicalQueue, ReceivedCopy
from tenure.table import RowKey, Table
from tenure.testing.virtual import VirtualClock

#: The queue that most tests use.
QUEUE = "mail"


class TableHarness(ABC):
    """An empty table under test."""

    def __init__(self) -> None:
        """Run on a clock of its own."""
        self.clock: Clock = VirtualClock()

    @abstractmethod
    async def connect(self) -> Table:
        """Open an empty table."""

    async def clean_up(self) -> None:
        """Remove what `connect` made."""
        return

    async def __aenter__(self) -> Self:
        """Open it."""
        self.table = await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it, and remove it."""
        try:
            await self.table.close()
        finally:
            await self.clean_up()

    async def texts(self, *places: RowKey) -> list[str | None]:
        """What rows say."""
        return [None if row is None else row.text for row in await self.table.get(places)]


class QueueHarness(ABC):
    """A delivery queue under test, with queues that no other test uses."""

    def __init__(self) -> None:
        """Run on a clock of its own."""
        self.clock: Clock = VirtualClock()

    @abstractmethod
    async def connect(self) -> DeliveryQueue:
        """Open the queue; physical queues must come into being when they are first used."""

    async def clean_up(self) -> None:
        """Remove what `connect` made."""
        return

    async def advance(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)

    async def __aenter__(self) -> Self:
        """Open it."""
        self.queue = await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it, and remove its queues."""
        try:
            await self.queue.close()
        finally:
            await self.clean_up()

    def physical(self, queue: str = QUEUE) -> PhysicalQueue:
        """The physical queue of the highest priority."""
        return self.queue.physical(queue)[0]

    async def send(self, *ids: str, queue: str = QUEUE, delay: int = 0) -> None:
        """Send copies that say their id."""
        copies = [OutgoingCopy(self.physical(queue), id, f'"{id}"', delay=delay) for id in ids]
        assert await self.queue.send(copies) == [""] * len(ids)

    async def receive(self, want: int = 10, *, queue: str = QUEUE, visibility: int = 30) -> list[ReceivedCopy]:
        """Up to `want` copies, in as many receives as that takes."""
        found: list[ReceivedCopy] = []
        while len(found) < want:
            some = await self.queue.receive(self.physical(queue), want - len(found), visibility)
            found += some
            if not some:
                break
        return found

    async def ids(self, want: int = 10, *, queue: str = QUEUE, visibility: int = 30) -> list[str]:
        """The ids of the copies that can be received now."""
        return sorted(copy.id or "" for copy in await self.receive(want, queue=queue, visibility=visibility))
