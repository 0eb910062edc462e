"""Bulk: what is too large for a row lies in a blob, and the row says where.

A row holds a mebibyte; results and checkpoints may be larger. The blob is written first, under a name that nobody else
has; the row that names it comes after, by its comparison. So a blob is never changed, and one that no row names any
more (or never did) is dropped by `prune`, which looks at the row before. Used by `rows.py`.
"""

import logging
import os
from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

from tenure.adapters.azure import faults
from tenure.errors import StoreMissing, TenureError

logger = logging.getLogger("tenure.azure")

#: A row takes a mebibyte, names and all; so does one write to the line in a go, and there it is base64.
_MOST_ROW = 700_000
#: Smaller values are left where they are.
_SMALL = 32_000
#: Behind the name of a field: its value is the name of a blob.
ENDING = "Blob"
#: The row of a blob that was written a moment ago may yet come.
_YOUNG_SECONDS = 3600.0


class Caller(Protocol):
    """Makes calls; creates what is missing where that was asked for."""

    async def call(self, what: str, act: Any) -> Any:
        """The answer."""
        ...

    @property
    def may_create(self) -> bool:
        """Whether what is missing is created."""
        ...

    async def create(self, make: Any) -> None:
        """Create something; it may be there already."""
        ...


class Bulk:
    """The large values of one table's rows."""

    def __init__(self, caller: Caller, container: Callable[[], Any]) -> None:
        """`container()` is the SDK's client of the container that they lie in."""
        self._caller = caller
        self._container = container

    async def stow(self, part: str, key: str, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields as they go into the row: the largest are put into blobs, until the rest fits."""
        sizes = {name: len(value) for name, value in fields.items() if isinstance(value, bytes)}
        total = sum(sizes.values())
        if total <= _MOST_ROW:
            return fields
        fields = dict(fields)
        for name in sorted(sizes, key=lambda name: -sizes[name]):
            if total <= _MOST_ROW or sizes[name] <= _SMALL:
                break
            fields[name + ENDING] = await self._write(f"{part}/{key}/{os.urandom(8).hex()}", fields.pop(name))
            total -= sizes[name]
        return fields

    async def fetch(self, fields: dict[str, Any], *, is_latest: bool = False) -> dict[str, Any] | None:
        """The fields as they were given to `stow`. None: a blob is gone, so the row was changed meanwhile.

        `is_latest`: it was not; then somebody has removed the blob, and what was in it is missing.
        """
        named = [name for name in fields if name.endswith(ENDING)]
        if not named:
            return fields
        whole = dict(fields)
        for name in named:
            value = await self._read(whole.pop(name))
            if value is None and not is_latest:
                return None
            if value is None:
                logger.error("the blob %s is gone, and a value with it that was kept there", fields[name])
                continue
            whole[name.removesuffix(ENDING)] = value
        return whole

    async def prune(self, now: datetime, is_named: Callable[[str, str, str], Any]) -> None:
        """Drop blobs that no row names; `is_named(part, key, blob)` looks. What fails is told, and done next time."""
        try:
            await self._prune(now, is_named)
        except StoreMissing:
            return  # nothing was ever too large
        except (TenureError, HttpResponseError) as error:
            logger.warning("could not delete large values that are no longer needed: %s", error)

    async def _prune(self, now: datetime, is_named: Callable[[str, str, str], Any]) -> None:
        container = self._container()

        async def names() -> list[tuple[str, datetime]]:
            return [(str(blob.name), blob.last_modified) async for blob in container.list_blobs()]

        for name, written in await self._caller.call("listing large values", names):
            part, key, _ = name.rsplit("/", 2)
            if (now - written).total_seconds() > _YOUNG_SECONDS and not await is_named(part, key, name):
                await self._caller.call("dropping a large value", container.get_blob_client(name).delete_blob)

    async def _write(self, name: str, data: bytes) -> str:
        blob = self._container().get_blob_client(name)
        try:
            await self._caller.call("keeping a large value", lambda: blob.upload_blob(data))
        except StoreMissing:
            if not self._caller.may_create:
                raise
            await self._caller.create(self._container().create_container)
            await self._caller.call("keeping a large value", lambda: blob.upload_blob(data))
        return name

    async def _read(self, name: str) -> bytes | None:
        blob = self._container().get_blob_client(name)

        async def read() -> bytes:
            data: bytes = await (await blob.download_blob()).readall()
            return data

        try:
            found: bytes = await self._caller.call("reading a large value", read)
        except ResourceNotFoundError:
            return None
        except HttpResponseError as error:
            if faults.code_of(error) != "BlobNotFound":
                raise
            return None
        return found
