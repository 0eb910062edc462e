"""Every blob store keeps its word; and the suite bites."""

import inspect
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.servers.aws import shared_aws
from tests.servers.azure import ACCOUNT, KEY, shared_azure

from tenure import assembly
from tenure.adapters.memory.blobs import MemoryBlobStore
from tenure.blobs import BlobStore, StoredBlob
from tenure.clock import SYSTEM_CLOCK
from tenure.testing.conformance import list_tests, pytest_classes
from tenure.testing.conformance.blobs import BlobStores

pytestmark = pytest.mark.real_time


def _folder(path: Path) -> str:
    return f"file://{path}/some/bodies"


def _s3(_path: Path) -> str:
    os.environ.setdefault("AWS_ACCESS_KEY_ID", "test")
    os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "test")
    os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")
    name = os.urandom(6).hex()
    return f"s3://t{name}/under/here?region=eu-west-1&create=yes&endpoint={shared_aws('ministack').url}"


def _blob(_path: Path) -> str:
    key = KEY.replace("+", "%2B").replace("=", "%3D")
    name, endpoint = os.urandom(6).hex(), shared_azure().endpoint("blob")
    return f"blob://{ACCOUNT}/t{name}/under/here?create=yes&key={key}&blob_endpoint={endpoint}"


_URLS: dict[str, Callable[[Path], str]] = {
    "memory": lambda _path: f"memory://{os.urandom(6).hex()}", "folder": _folder, "s3": _s3, "blob": _blob,
}  # fmt: skip


class _Opened:
    """A blob store that is open while a test runs; everything else is the blob store's own."""

    def __init__(self, room: BlobStore) -> None:
        self._room = room

    async def __aenter__(self) -> BlobStore:
        await self._room.open()
        return self._room

    async def __aexit__(self, *_: object) -> None:
        await self._room.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._room, name)


@pytest.fixture(params=["memory", "folder", *(pytest.param(kind, marks=pytest.mark.cloud) for kind in ("s3", "blob"))])
def blob_store(request: pytest.FixtureRequest, tmp_path: Path) -> _Opened:
    """Empty; opened by the test's own loop."""
    return _Opened(assembly.blob_store(_URLS[request.param](tmp_path), clock=SYSTEM_CLOCK))


globals().update(pytest_classes([BlobStores]))


# --- the suite bites ------------------------------------------------------------------------------------------


class _Truncates(MemoryBlobStore):
    async def leave(self, batch: Sequence[tuple[str, bytes]]) -> None:
        await super().leave([(name, body[:1_000_000]) for name, body in batch])


class _KeepsTheFirst(MemoryBlobStore):
    async def leave(self, batch: Sequence[tuple[str, bytes]]) -> None:
        await super().leave(batch[:20])


class _TakesAway(MemoryBlobStore):
    async def fetch(self, names: Sequence[str]) -> list[bytes | None]:
        bodies = await super().fetch(names)
        await super().discard(names)
        return bodies


class _ForgetsToDiscard(MemoryBlobStore):
    async def discard(self, names: Sequence[str]) -> None:
        await super().discard(names[1:])


class _DiscardsAll(MemoryBlobStore):
    async def discard(self, names: Sequence[str]) -> None:
        await super().discard([left.name for left in await self.browse()])


class _ComplainsOfWhatIsGone(MemoryBlobStore):
    async def discard(self, names: Sequence[str]) -> None:
        if None in await self.fetch(names):
            raise FileNotFoundError(names)
        await super().discard(names)


class _EmptyIsNone(MemoryBlobStore):
    async def fetch(self, names: Sequence[str]) -> list[bytes | None]:
        return [body or None for body in await super().fetch(names)]


class _NoneIsEmpty(MemoryBlobStore):
    async def fetch(self, names: Sequence[str]) -> list[bytes | None]:
        return [body or b"" for body in await super().fetch(names)]


class _LooksFromTheStart(MemoryBlobStore):
    async def browse(self, *, after: str = "", limit: int = 1000) -> list[StoredBlob]:
        return (await super().browse(after=after, limit=limit))[:3] if not after else []


class _ForgetsWhenClosed(MemoryBlobStore):
    async def close(self) -> None:
        await super().discard([left.name for left in await self.browse()])


_FAULTY = [
    _Truncates, _KeepsTheFirst, _TakesAway, _ForgetsToDiscard, _DiscardsAll, _ComplainsOfWhatIsGone, _EmptyIsNone,
    _NoneIsEmpty, _LooksFromTheStart, _ForgetsWhenClosed,
]  # fmt: skip


@pytest.mark.parametrize("faulty", _FAULTY, ids=lambda kind: kind.__name__)
async def test_the_suite_bites(faulty: type[MemoryBlobStore]) -> None:
    failed = []
    for name in list_tests(BlobStores):
        test: Any = getattr(BlobStores(), name)
        assert inspect.iscoroutinefunction(test)
        try:
            await test(faulty("", SYSTEM_CLOCK))
        except (AssertionError, FileNotFoundError):
            failed.append(name)
    assert failed
