"""The app that takes all from the environment, and what a plain producer sends to it."""

import importlib
import sys
from pathlib import Path
from unittest.mock import AsyncMock, patch

import pytest

from tenure import Context

from .conftest import MakeLibrary, RunTask

pytestmark = pytest.mark.real_time


async def test_a_task_of_a_plain_producer_is_run(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_URL", f"sqlite:///{tmp_path}/jobs.db")
    monkeypatch.setenv("CLIENT_ID", "south")
    monkeypatch.setenv("TENURE_DOCUMENTS_SOURCE", f"file://{folder.parent}")
    monkeypatch.setenv("TENURE_DOCUMENTS_INDEX", f"sqlite:///{tmp_path}/documents.db")
    monkeypatch.setenv("TENURE_DOCUMENTS_EMBEDDER", "none")
    monkeypatch.delitem(sys.modules, "tenure.documents.worker", raising=False)
    worker = importlib.import_module("tenure.documents.worker")
    async with worker.service, worker.app.worker():
        sent = """{"task_id": "t-1", "task_type": "ingest",
                   "payload": {"filename": "leases.md", "document_set": "south"}}"""
        assert await worker.service.accept(sent) == "t-1"
        assert (await worker.service.result("t-1", timeout=60))["status"] == "indexed"
        assert (await worker.service.status("t-1")).status == "completed"
        (hit,) = await worker.library.search("heartbeat", document_set="south")
    assert hit.name == "leases.md"
    await worker.library.close()


async def test_the_size_of_a_document_is_told_so_that_run_times_are_learned_by_it(
    make_library: MakeLibrary, tasks: RunTask, folder: Path
) -> None:
    with patch.object(Context, "set_size", AsyncMock()) as told:
        async with tasks(make_library()) as run:
            await run("ingest", filename="leases.md")
            await run("summarize", filename="clocks.md")
    sizes = [(folder / name).stat().st_size for name in ("leases.md", "clocks.md")]
    assert [call.args for call in told.await_args_list] == [(size,) for size in sizes]


async def test_more_vectors_than_are_compared_one_by_one_are_refused_and_words_still_work(
    make_library: MakeLibrary, tasks: RunTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tenure.documents import IndexUnavailable
    from tenure.documents.stores import sqlite

    monkeypatch.setattr(sqlite, "MOST_VECTORS", 1)
    library = make_library()
    async with tasks(library) as run:
        await run("ingest", filename="")
        with pytest.raises(IndexUnavailable, match="has more than 1 chunks in 'south', too many to compare one by one"):
            await library.search("heartbeat", document_set="south")
        (hit,) = await library.search("heartbeat", document_set="south", mode="text")
    assert hit.name == "leases.md"
