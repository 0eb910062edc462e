"""What the tests of documents share: a folder of documents, a library over it, and a way to run its tasks."""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from tenure import Tenure
from tenure.documents import Library, Limits
from tenure.record import Record

from . import postgres_server
from .embedders import WordEmbedder

LEASES = """# Leases

A lease is the right to work on one message until a stated moment.

## Renewals

The heartbeat renews every lease at a third of its length, so that a handler may run for hours.
"""
CLOCKS = """# Clocks

Deadlines are kept by the clock of the store. A machine that sleeps counts the time asleep.
"""

MakeLibrary = Callable[..., Library]


@pytest.fixture(autouse=True)
def no_services(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reaches for what the machine's environment names."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SUPABASE_URL", "SUPABASE_KEY", "AZURE_STORAGE_CONNECTION_STRING",
                 "AZURE_STORAGE_ACCOUNT_NAME", "TENURE_DOCUMENTS_INDEX", "TENURE_DOCUMENTS_SOURCE"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session", autouse=True)
def no_server_is_left() -> Iterator[None]:
    """What a test started does not outlive the tests."""
    yield
    postgres_server.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A source with the document set `south`."""
    below = tmp_path / "source" / "south"
    below.mkdir(parents=True)
    (below / "leases.md").write_text(LEASES, encoding="utf-8")
    (below / "clocks.md").write_text(CLOCKS, encoding="utf-8")
    return below


@pytest.fixture
def make_library(tmp_path: Path, folder: Path) -> MakeLibrary:
    """Make a library over that source."""

    def make(**options: Any) -> Library:
        given = {"embedder": WordEmbedder(), "environment": {}, "limits": Limits(), **options}
        return Library(f"sqlite:///{tmp_path}/documents.db", f"file://{tmp_path}/source", **given)

    return make


@pytest.fixture
def library(make_library: MakeLibrary) -> Library:
    """A library over that source."""
    return make_library()


RunTask = Callable[..., AbstractAsyncContextManager[Callable[..., Any]]]


@pytest.fixture
def tasks() -> RunTask:
    """A worker for the tasks of a library: `async with tasks(library) as run: record = await run("ingest", …)`."""

    @contextlib.asynccontextmanager
    async def open_tasks(library: Library, **registered: Any) -> AsyncIterator[Callable[..., Any]]:
        app = Tenure("memory://", client="south")
        library.register(app, **registered)

        async def run(task: str, *, until: Callable[[Record], bool] | None = None, **payload: Any) -> Record:
            handle = await app.submit(task, payload)
            async for update in handle.updates():
                if update.is_last or (until is not None and until(update.record)):
                    return update.record
            raise AssertionError(task)

        async with library, app, app.worker():
            yield run

    return open_tasks
