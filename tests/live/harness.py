"""What live accounts bring along to the conformance suites: real time, random names, and removal of everything.

A short poll of SQS may see nothing though something is there, so a lease that brings nothing is asked for once more.
What must be done behind the adapter's back (damage, proofs of death on Azure) is left to the stand-ins. Nothing of
theirs is imported: they come with credentials of their own, which would be found before yours.
"""

import contextlib
import functools
from collections.abc import Sequence
from typing import Any, ClassVar
from urllib.parse import urlsplit

import msgspec
from azure.core.exceptions import ResourceNotFoundError
from tests.live.names import new_name
from tests.live.sweeping import remove_queue

from tenure.adapters import aws, azure
from tenure.adapters.aws.options import ATTRIBUTES
from tenure.adapters.aws.session import Session
from tenure.adapters.azure.clients import Clients
from tenure.adapters.azure.timeline import Timeline
from tenure.broker import Broker, Swept
from tenure.clock import SYSTEM_CLOCK
from tenure.delivery_queue import PhysicalQueue
from tenure.errors import StoreMissing
from tenure.lease import Lease
from tenure.owner import Owner
from tenure.record import Record
from tenure.state import State
from tenure.table import Row, RowKey, Write
from tenure.testing.harness import QUEUE, Harness, NotApplicable
from tenure.testing.virtual import VirtualClock

#: Longer waits cost too much real time.
MOST_SECONDS = 20.0
_PATIENCE = 2.0


class RealClock(VirtualClock):
    """The machine's clock, where a harness has a virtual one."""

    def monotonic(self) -> float:
        """Real seconds."""
        return SYSTEM_CLOCK.monotonic()

    def wall(self) -> float:
        """Real Unix seconds, whole ones: so a message is as long as another, however many digits the moment has."""
        return float(int(SYSTEM_CLOCK.wall()))

    def boot_id(self) -> str:
        """Of this machine."""
        return SYSTEM_CLOCK.boot_id()

    def move_wall(self, seconds: float) -> None:
        """The machine's clock is nobody's to move."""
        raise NotApplicable(f"in real time the clock cannot jump by {seconds:g} s")

    def suspend(self, seconds: float) -> None:
        """The machine is nobody's to suspend."""
        raise NotApplicable(f"in real time the machine cannot sleep for {seconds:g} s")


class LiveHarness(Harness):
    """One test on a live account."""

    #: Short, so that it does not take long until it has ended; but longer than some looks at an empty queue.
    lease_seconds = 12.0

    def __init__(self) -> None:
        """A name that nobody else has."""
        super().__init__()
        self.clock = RealClock()
        self.name = new_name()

    async def advance(self, seconds: float, *, sweeping: bool = True) -> Swept:
        """Let real time pass."""
        if seconds > MOST_SECONDS:
            raise NotApplicable(f"it would take {seconds:g} s of real time")
        return await super().advance(seconds, sweeping=sweeping)

    async def lease(self, owner: Owner | str, want: int = 1, **fields: Any) -> list[Lease]:
        """Lease; where nothing came, wait a moment and ask once more."""
        leases = await super().lease(owner, want, **fields)
        if not leases:
            await self.broker.wait(fields.get("queues", (QUEUE,)), _PATIENCE)
            leases = await super().lease(owner, want, **fields)
        return leases

    async def record(self, id: str) -> Record:
        """As ever, but of the time that is left only whether there is any: real time passes between two looks."""
        record = await super().record(id)
        return msgspec.structs.replace(record, deadline_in=_whether(record.deadline_in), due_in=_whether(record.due_in))

    async def reopen(self) -> None:
        """Close every connection and open new ones."""
        await self._reopen()


def _whether(seconds: float | None) -> float | None:
    return None if seconds is None else float(seconds > 0)


class PartOfTable:
    """One table for all tests, in which each sees only its own rows: to make one takes many seconds."""

    def __init__(self, inner: aws.DynamoTable, name: str) -> None:
        """Every part begins with `name`."""
        self._inner = inner
        self._name = f"{name}!"

    async def open(self) -> None:
        await self._inner.open()

    async def close(self) -> None:
        await self._inner.close()

    def now(self) -> float:
        return self._inner.now()

    def wall(self) -> float:
        """As ever."""
        return self._inner.wall()

    async def get(self, places: Sequence[RowKey]) -> list[Row | None]:
        rows = await self._inner.get([self._inside(place) for place in places])
        return [
            None if row is None else Row(place, row.text, row.etag) for place, row in zip(places, rows, strict=True)
        ]

    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        return await self._inner.write([msgspec.structs.replace(one, place=self._inside(one.place)) for one in batch])

    async def page(self, part: str, *, after: str = "", limit: int = 100, backwards: bool = False) -> list[Row]:
        rows = await self._inner.page(self._name + part, after=after, limit=limit, backwards=backwards)
        return [Row(RowKey(part, row.place.sort), row.text, row.etag) for row in rows]

    def _inside(self, place: RowKey) -> RowKey:
        return RowKey(self._name + place.part, place.sort)


class LiveSqsHarness(LiveHarness):
    """Queues of its own in SQS; a part of the run's one table in DynamoDB."""

    #: The most that a new queue takes, by the account's URL: once a run is enough to ask.
    _largest: ClassVar[dict[str, int]] = {}

    def __init__(self, url: str) -> None:
        """As `url` says, under names of our own."""
        super().__init__()
        given = aws.read_options(url, urlsplit(url))
        self._url = url
        self._options = msgspec.structs.replace(
            given, prefix=f"{self.name}-", table=_table_of_the_process(), create=True
        )
        self._asked_for: set[str] = set()

    async def connect(self) -> tuple[Broker, State]:
        """Open broker and state over one store."""
        if self._url not in self._largest:
            self._largest[self._url] = await self._ask_largest()
        limit = min(self._options.body_limit, self._largest[self._url] - ATTRIBUTES)
        self._options = msgspec.structs.replace(self._options, body_limit=limit)
        return await self._connect()

    async def _connect(self) -> tuple[Broker, State]:
        broker, state = aws.connect(self._options, make_table=self._make_table, prepare=self._listen)
        await broker.open()
        await state.open()
        self._store = broker._store
        return broker, state

    async def _ask_largest(self) -> int:
        """Not every queue takes a mebibyte: older ones do not, nor do those of other servers."""
        broker, state = await self._connect()
        try:
            queue = self._store.queue
            assert isinstance(queue, aws.SqsQueue)
            return (await queue._known.known(PhysicalQueue(QUEUE, 0))).body_limit
        finally:
            await state.close()
            await broker.close()

    def _make_table(self, link: Session) -> PartOfTable:
        return PartOfTable(aws.DynamoTable(link), self.name)

    def _listen(self, client: Any) -> None:
        """Note which queues are asked for before they are: the service may list a new one only a minute later."""

        def note(params: dict[str, Any], **_: object) -> None:
            self._asked_for.add(params["QueueName"])

        client.meta.events.register("provide-client-params.sqs.CreateQueue", note)

    async def clean_up(self) -> None:
        """Remove the queues."""
        link = Session(self._options, SYSTEM_CLOCK)
        await link.open()
        try:
            for name in self._asked_for:
                with contextlib.suppress(StoreMissing):
                    found = await link.call("sqs", "get_queue_url", "SQS", QueueName=name)
                    await remove_queue(link, found["QueueUrl"])
        finally:
            await link.close()


@functools.cache
def _table_of_the_process() -> str:
    """The name of the table, which goes when the run ends (`session.py`)."""
    return f"{new_name()}-state"


class LiveAzureHarness(LiveHarness):
    """Queues and a table of its own in a storage account."""

    def __init__(self, url: str) -> None:
        """As `url` says, under a prefix of our own."""
        super().__init__()
        self._options = msgspec.structs.replace(azure.read_options(url, urlsplit(url)), prefix=self.name, create=True)

    async def connect(self) -> tuple[Broker, State]:
        """Open broker and state over one store."""
        broker, state = azure.connect(self._options)
        await broker.open()
        await state.open()
        return broker, state

    async def clean_up(self) -> None:
        """Remove queues, table and container."""
        clients = Clients(self._options, Timeline(SYSTEM_CLOCK), SYSTEM_CLOCK.monotonic)
        try:
            async for queue in clients.queue_service.list_queues(name_starts_with=self.name):
                await clients.queue(queue.name).delete_queue()
            await clients.table.delete_table()  # no error where there is none
            with contextlib.suppress(ResourceNotFoundError):  # only what is large needed one
                await clients.blob_service.delete_container(self._options.table)
        finally:
            await clients.close()
