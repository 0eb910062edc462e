"""Snapshots of one store: read once for all viewers of a server, and only while a viewer is connected.

The store is asked as often as `BrokerTraits.snapshot_seconds` says: every second on SQLite and Redis, every 15 s in the
cloud, where each look is paid for. Where reading takes long it is asked less often, so that looking takes at most a
tenth of the time. A GET within the interval is answered from memory, and after it too while a long reading goes on
(`shared_reading.py`). A viewer of some queues gets their part of the same snapshot: nothing is read again for it.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar

import msgspec

from tenure.app import Tenure
from tenure.client.operations.access import Access
from tenure.client.operations.overview.headline import headline
from tenure.client.operations.overview.reading import OverviewReader
from tenure.client.operations.overview.rows import Overview, WorkerOverview, total_of
from tenure.client.operations.redaction import without_note
from tenure.errors import BrokerError
from tenure.server.shared_reading import SharedReading

logger = logging.getLogger("tenure.server")

#: The pause after the store gave no answer.
_AGAIN_SECONDS = 2.0

T = TypeVar("T")

#: Who sees the same gets the same.
ViewKey = tuple[tuple[str, ...], bool]


class Snapshot(msgspec.Struct, frozen=True):
    """One reading of the store, unredacted."""

    #: Counts the snapshots of this process.
    number: int
    overview: Overview


class Snapshots:
    """The snapshots that all viewers of one process share."""

    def __init__(self, app: Tenure) -> None:
        """Read the store of `app`, from the first request on."""
        self._app = app
        self._shared = SharedReading(self._read, app.clock, app.broker.traits.snapshot_seconds)
        self._views: dict[ViewKey, Overview] = {}
        #: The parts made of each overview that was answered, by kind.
        self._made: dict[Hashable, tuple[Overview, Any]] = {}
        #: Messages that were made of the newest snapshot, by what they depend on (`ticks.py`).
        self.messages: dict[Hashable, Any] = {}
        self._watchers: list[tuple[Access, Callable[[], None]]] = []
        self._ticking: asyncio.Task[None] | None = None

    @property
    def newest(self) -> Snapshot | None:
        """The newest snapshot. None: there was no request yet."""
        return self._shared.newest

    @property
    def took_seconds(self) -> float | None:
        """How long the last reading took. None: there was none yet."""
        return self._shared.took_seconds

    async def current(self) -> Snapshot:
        """A snapshot that is no older than the interval. Raises `BrokerError` while the store is away."""
        return await self._shared.current()

    async def view(self, access: Access) -> Overview:
        """A recent snapshot, as far as the identity may see it."""
        return await self._view_of(await self._shared.recent(), access)

    def known_view(self, access: Access) -> Overview | None:
        """The newest snapshot, as far as the identity may see it. None: it was not worked out for it yet."""
        newest = self.newest
        return newest.overview if newest is not None and _sees_all(access) else self._views.get(_key(access))

    def made_of(self, overview: Overview, kind: Hashable, make: Callable[[], T]) -> T:
        """Return the result of `make`, kept until there is a newer overview: same rights, same result."""
        known = self._made.get((kind, overview_id := id(overview)))
        if known is None:
            known = self._made[kind, overview_id] = (overview, make())  # the overview is kept, so its id stays its own
        made: T = known[1]
        return made

    def next_in(self) -> float:
        """Seconds until the next snapshot may be made."""
        return self._shared.next_in()

    @contextlib.contextmanager
    def watched(self, access: Access, wake: Callable[[], None]) -> Iterator[None]:
        """Make snapshots for as long as it is entered; `wake` is called for each."""
        watcher = (access, wake)
        self._watchers.append(watcher)
        if self._ticking is None:
            self._ticking = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            self._watchers.remove(watcher)
            if not self._watchers and self._ticking is not None:
                self._ticking.cancel()
                self._ticking = None

    async def _tick(self) -> None:
        is_away = False
        while True:
            try:
                snapshot = await self.current()
                for access in {_key(access): access for access, _ in self._watchers}.values():
                    await self._view_of(snapshot, access)
                is_away = False
            except BrokerError as error:
                if not is_away:
                    logger.warning("no snapshot can be made (%s); viewers keep the last one", error)
                is_away = True
                await asyncio.sleep(_AGAIN_SECONDS)
                continue
            for _, wake in self._watchers:
                wake()
            await asyncio.sleep(self.next_in())

    async def _read(self) -> Snapshot:
        overview = await OverviewReader(self._app.operate.access).read()
        number = 1 if self.newest is None else self.newest.number + 1
        self._views.clear()
        self._made.clear()
        self.messages.clear()
        return Snapshot(number, overview)

    async def _view_of(self, snapshot: Snapshot, access: Access) -> Overview:
        if _sees_all(access):
            return snapshot.overview
        key = _key(access)
        known = self._views.get(key)
        if known is None:
            known = await visible(snapshot.overview, access)
            if snapshot is self.newest:
                self._views[key] = known
        return known


async def visible(overview: Overview, access: Access) -> Overview:
    """The part of an overview that an identity sees."""
    sees = access.sees
    leases = [one for one in overview.leases if sees(one.queue)]
    if not access.sees_payload:
        leases = list(map(without_note, leases))
    if access.sees_every_queue:
        return msgspec.structs.replace(overview, leases=tuple(leases))
    queues = tuple(one for one in overview.queues if sees(one.queue))
    workers = tuple(_worker(one, access) for one in overview.workers if access.sees_any(one.queues))
    flows = await access.flows.read((access.selection, None), sees)
    part = msgspec.structs.replace(
        overview,
        queues=queues,
        leases=tuple(leases),
        workers=workers,
        tasks=tuple(one for one in overview.tasks if sees(one.queue)),
        total=total_of(queues, workers, flows.total),
    )
    return msgspec.structs.replace(part, headline=headline(part))


def _worker(worker: WorkerOverview, access: Access) -> WorkerOverview:
    """Remove the queues that this identity does not see, and with them what the worker holds."""
    queues = tuple(one for one in worker.queues if access.sees_any([one]))
    if len(queues) == len(worker.queues):
        return worker
    return msgspec.structs.replace(worker, queues=queues, holds=None, deadline=None)


def _sees_all(access: Access) -> bool:
    return access.sees_every_queue and access.sees_payload


def _key(access: Access) -> ViewKey:
    return (access.selection, access.sees_payload)
