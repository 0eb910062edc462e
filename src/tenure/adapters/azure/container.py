"""A blob store in a Blob container: one blob a body, under a prefix.

    blob://account/container/prefix

The credentials are found as for `azure://account` (`options.py`). The SDK's retries are off, but a download that ends
too soon is read again by the SDK, three times, which does no harm. Opened by `assembly.py`.
"""

import asyncio
import io
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode

import msgspec
from azure.core.exceptions import AzureError, ResourceNotFoundError
from azure.storage.blob import ContentSettings

from tenure.adapters.azure import faults
from tenure.adapters.azure.clients import Clients, Hook
from tenure.adapters.azure.naming import is_container
from tenure.adapters.azure.options import Options, read_options
from tenure.adapters.azure.timeline import Timeline
from tenure.blobs import StoredBlob
from tenure.clock import Clock
from tenure.errors import BadURL
from tenure.url_options import above_zero, read_query

T = TypeVar("T")

#: Options of the account that mean something here; `options.py` says what they take.
_OF_ACCOUNT = ("key", "create", "blob_endpoint", "timeout_seconds")
_TAKEN = dict.fromkeys(_OF_ACCOUNT, "") | {"keep_seconds": "a number of seconds above 0"}
_KEEP_SECONDS = 30 * 86_400.0
_AT_ONCE = 8
_LARGE = 1 << 20


class ContainerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a URL says."""

    account: Options
    container: str
    #: With a slash at its end, or empty.
    prefix: str = ""
    keep_seconds: float = _KEEP_SECONDS


def read_container(url: str, parts: SplitResult) -> ContainerOptions:
    """What `url` says, and the environment where it says nothing. Raises `BadURL`."""
    query = parse_qsl(parts.query, keep_blank_values=True)
    said = read_query(url, query, _TAKEN, lambda name, text: above_zero(text) if name == "keep_seconds" else text)
    container, _, prefix = unquote(parts.path).strip("/").partition("/")
    if not container:
        msg = f"{url!r} names no container; write blob://account/container. Nothing was opened"
        raise BadURL(msg)
    if not is_container(container):
        msg = (
            f"{url!r}: Azure takes no container of the name {container!r}; nothing was opened. Names are of a-z, 0-9 "
            "and single dashes, 3 to 63 of them"
        )
        raise BadURL(msg)
    rest = urlencode([pair for pair in query if pair[0] in _OF_ACCOUNT])
    account = read_options(url, parts._replace(query=rest, path=""))
    return ContainerOptions(
        account=account,
        container=container,
        prefix=f"{prefix}/" if prefix else "",
        keep_seconds=said.get("keep_seconds", _KEEP_SECONDS),
    )


class AzureBlobStore:
    """One prefix of one container, on one event loop."""

    def __init__(self, options: ContainerOptions, clock: Clock, hook: Hook | None = None) -> None:
        """Nothing is opened yet."""
        self.options = options
        self.place = f"blob://{options.account.account}/{options.container}/{options.prefix}".rstrip("/")
        self.keep_seconds = options.keep_seconds
        self._clock = clock
        self._hook = hook
        self._clients: Clients | None = None
        self._gate = asyncio.Semaphore(_AT_ONCE)
        self._busy = 0

    def twin(self) -> "AzureBlobStore":
        """A client belongs to one loop."""
        return AzureBlobStore(self.options, self._clock, self._hook)

    async def open(self) -> None:
        """Connect, and look whether there is such a container."""
        options = self.options.account
        self._gate = asyncio.Semaphore(_AT_ONCE)
        watch = getattr(asyncio.get_running_loop(), "watch", None)
        if watch is not None:  # virtual time must not go on while an answer is on its way
            watch(lambda: self._busy > 0)
        self._clients = Clients(options, Timeline(self._clock), self._clock.monotonic, self._prepare)
        try:
            if options.create:
                await self._make()
            await self._call("looking for the container", self._container.get_container_properties)
        except BaseException:
            await self.close()
            raise

    def _prepare(self, request: Any) -> None:
        """A large body goes out as a file: aiohttp sends it in pieces, and the loop is free in between."""
        if isinstance(request.data, bytes) and len(request.data) > _LARGE:
            request.data = io.BytesIO(request.data)
        if self._hook is not None:
            self._hook(request)

    async def _make(self) -> None:
        try:
            await self._container.create_container()
        except AzureError as error:
            if not faults.is_there(error):
                raise faults.translate(error, self.place, "making the container") from error

    async def close(self) -> None:
        """Let go of every connection."""
        clients, self._clients = self._clients, None
        if clients is not None:
            await clients.close()

    async def leave(self, batch: Sequence[tuple[str, bytes]]) -> None:
        """Keep these."""
        kind = ContentSettings(content_type="application/json")
        await self._each(
            "leaving a body",
            [
                partial(self._container.upload_blob, self._key(name), body, length=len(body), overwrite=True,
                        content_settings=kind)
                for name, body in batch
            ],
        )  # fmt: skip

    async def fetch(self, names: Sequence[str]) -> list[bytes | None]:
        """What was left under these names."""
        return await self._each("fetching a body", [partial(self._get, self._key(name)) for name in names])

    async def _get(self, key: str) -> bytes | None:
        try:
            answer = await self._container.download_blob(key)
            body: bytes = await answer.readall()
        except ResourceNotFoundError as error:
            if faults.is_missing(error):  # the container itself
                raise
            return None
        return body

    async def discard(self, names: Sequence[str]) -> None:
        """Keep these no longer."""
        await self._each("discarding bodies", [partial(self._drop, self._key(name)) for name in names])

    async def _drop(self, key: str) -> None:
        try:
            await self._container.delete_blob(key)
        except ResourceNotFoundError as error:
            if faults.is_missing(error):
                raise

    async def browse(self, *, after: str = "", limit: int = 1000) -> list[StoredBlob]:
        """What lies there, in the order of names.

        The service goes on by a mark of its own, not from a name: what comes before is read again and left out.
        """
        now, cut = self._clock.wall(), len(self.options.prefix)

        async def read() -> list[StoredBlob]:
            left: list[StoredBlob] = []
            async for blob in self._container.list_blobs(name_starts_with=self.options.prefix or None):
                name = blob.name[cut:]
                if name > after:
                    left.append(StoredBlob(name, blob.size, max(0.0, now - blob.last_modified.timestamp())))
                    if len(left) == limit:
                        break
            return left

        return await self._call("looking", read)

    @property
    def _container(self) -> Any:
        if self._clients is None:
            raise faults.closed(self.place)
        return self._clients.blob_service.get_container_client(self.options.container)

    def _key(self, name: str) -> str:
        return f"{self.options.prefix}{name}"

    async def _each(self, what: str, acts: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
        """Several calls side by side; what one raises is raised when all are through."""

        async def one(act: Callable[[], Awaitable[T]]) -> T:
            async with self._gate:
                return await self._call(what, act)

        answers = await asyncio.gather(*map(one, acts), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return answers  # type: ignore[return-value]

    async def _call(self, what: str, act: Callable[[], Awaitable[T]]) -> T:
        self._busy += 1
        try:
            return await act()
        except (AzureError, TimeoutError, OSError) as error:
            raise faults.translate(error, self.place, what) from error
        finally:
            self._busy -= 1
