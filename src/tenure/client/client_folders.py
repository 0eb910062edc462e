"""Client folders: in a container that clients share, the bodies of each client's queue are in a folder of its name.

    southhaven-tasks/0197….3f2a    is stored as    southhaven/southhaven-tasks/0197….3f2a

So rights to one client's folder are rights to that client's bodies, beside the documents that it has there. Bodies of
other queues are in the folder `_queues`, which no client has. What else is in the container is never touched.

Wraps a blob store; made by `app.py` where `AZURE_STORAGE_CONTAINER_NAME` names the container.
"""

import re
from collections.abc import Sequence

import msgspec

from tenure.blobs import BlobStore, StoredBlob

#: What follows a client's name in that of its queue.
_TASKS = "-tasks"
#: The folder of all other queues.
OTHERS = "_queues"
#: How the name of a body ends: queue, id, and 32 hex digits (`blobs.name_of`).
_OWN = re.compile(r"[^/]/[^/]+/[^/]*\.[0-9a-f]{32}\Z")
#: Pages of the container that one look goes through.
_MOST_PAGES = 20


class ClientFolders:
    """A blob store with a folder for each client."""

    def __init__(self, inner: BlobStore) -> None:
        """Keep the bodies in `inner`."""
        self._inner = inner
        #: Where a look ended that had gone through as many blobs as it may.
        self._rest = ""

    @property
    def place(self) -> str:
        """As `inner` says."""
        return self._inner.place

    @property
    def keep_seconds(self) -> float:
        """As `inner` says."""
        return self._inner.keep_seconds

    async def open(self) -> None:
        """Connect."""
        await self._inner.open()

    async def close(self) -> None:
        """Disconnect."""
        await self._inner.close()

    def twin(self) -> "ClientFolders":
        """The same for another loop."""
        return ClientFolders(self._inner.twin())

    async def leave(self, batch: Sequence[tuple[str, bytes]]) -> None:
        """Store these."""
        await self._inner.leave([(stored_name(name), data) for name, data in batch])

    async def fetch(self, names: Sequence[str]) -> list[bytes | None]:
        """The bodies, whole."""
        return await self._inner.fetch([stored_name(name) for name in names])

    async def discard(self, names: Sequence[str]) -> None:
        """Delete these."""
        await self._inner.discard([stored_name(name) for name in names])

    async def browse(self, *, after: str = "", limit: int = 1000) -> list[StoredBlob]:
        """The next bodies. Other blobs of the container, such as documents, are passed over; how many is bounded.

        So a page may be short before the end is reached. Then the next look from the beginning goes on there.
        """
        found: list[StoredBlob] = []
        place = stored_name(after) if after else self._rest
        for _ in range(_MOST_PAGES):
            page = await self._inner.browse(after=place, limit=limit)
            for one in page:
                place = one.name
                name = name_of_stored(one.name)
                if name is not None:
                    found.append(msgspec.structs.replace(one, name=name))
                    if len(found) == limit:
                        return found
            if len(page) < limit:
                self._rest = ""
                return found
        self._rest = place
        return found


def stored_name(name: str) -> str:
    """The name in the container of the body called `name`."""
    *space, queue, own = name.split("/")
    client = _client_of(queue)
    return f"{OTHERS}/{name}" if client is None else "/".join([*space, client, queue, own])


def name_of_stored(stored: str) -> str | None:
    """What `stored_name` made it from. None: it is no body of Tenure's."""
    if not _OWN.search(stored):
        return None
    if stored.startswith(f"{OTHERS}/"):
        return stored.removeprefix(f"{OTHERS}/")
    *space, folder, queue, own = stored.split("/")
    return "/".join([*space, queue, own]) if folder == _client_of(queue) else None


def _client_of(queue: str) -> str | None:
    return queue.removesuffix(_TASKS) or None if queue.endswith(_TASKS) else None
