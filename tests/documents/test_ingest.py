"""Ingest: what becomes of documents, and what the message of each says."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tenure import Context, MessageState, Tenure
from tenure.documents import IndexMismatch, Library
from tenure.documents.ingest import Ingested, ingest_document
from tenure.documents.sources.folder import FolderSource
from tenure.record import Record

from .conftest import MakeLibrary, RunTask
from .embedders import WordEmbedder
from .pdf_file import pdf

pytestmark = pytest.mark.real_time


def result(record: Record) -> Any:
    assert record.state is MessageState.COMPLETED, record.reason
    assert record.result is not None
    return msgspec.json.decode(record.result)


async def copies(library: Library) -> dict[str, list[int]]:
    """The numbers of the chunks of each document."""
    found = await library.documents()
    return {
        one.name: [chunk.number for chunk in await library.index.chunks(one.document_set, one.name)] for one in found
    }


async def test_a_document_is_found_by_its_words_and_by_its_meaning(library: Library, tasks: RunTask) -> None:
    async with tasks(library) as run:
        done = result(await run("ingest", filename="leases.md", document_set="south"))
        assert (done["status"], done["chunks"], done["document_set"]) == ("indexed", 1, "south")
        (hit,) = await library.search("heartbeat renewals", document_set="south")
    assert (hit.name, hit.title, hit.text_rank, hit.vector_rank, hit.score) == ("leases.md", "Leases", 1, 1, 1.0)


async def test_without_a_document_set_it_is_that_of_the_client(library: Library, tasks: RunTask) -> None:
    async with tasks(library) as run:
        assert result(await run("ingest", filename="leases.md"))["document_set"] == "south"


async def test_a_set_does_not_see_the_documents_of_another(library: Library, tasks: RunTask) -> None:
    async with tasks(library) as run:
        await run("ingest", filename="leases.md")
        assert await library.search("lease", document_set="north") == []
        assert await library.text("leases.md", document_set="north") is None


async def test_the_same_document_is_not_indexed_twice(library: Library, tasks: RunTask) -> None:
    async with tasks(library) as run:
        await run("ingest", filename="leases.md")
        before = await copies(library)
        assert result(await run("ingest", filename="leases.md"))["status"] == "unchanged"
        assert await copies(library) == before == {"leases.md": [0]}


async def test_a_new_version_takes_the_place_of_the_old_one(library: Library, tasks: RunTask, folder: Path) -> None:
    async with tasks(library) as run:
        await run("ingest", filename="leases.md")
        (folder / "leases.md").write_text("# Leases\n\nNothing is left of it.\n", encoding="utf-8")
        await run("ingest", filename="leases.md")
        assert await library.search("heartbeat", document_set="south", mode="text") == []
        assert await copies(library) == {"leases.md": [0]}


async def test_a_removed_document_is_not_found(library: Library, tasks: RunTask) -> None:
    async with tasks(library) as run:
        await run("ingest", filename="leases.md")
        assert await library.remove("leases.md", document_set="south")
        assert not await library.remove("leases.md", document_set="south")
        assert await library.search("heartbeat", document_set="south") == []


async def test_a_folder_is_indexed_and_what_cannot_be_read_is_named(
    library: Library, tasks: RunTask, folder: Path
) -> None:
    (folder / "bad.pdf").write_bytes(b"no PDF")
    (folder / "picture.png").write_bytes(b"PNG")
    async with tasks(library) as run:
        done = result(await run("ingest", filename=""))
        assert (done["indexed"], done["failed"], done["unchanged"]) == (2, 1, 0)
        assert [one["name"] for one in done["refused"]] == ["bad.pdf"]
        again = result(await run("ingest", filename=""))
        assert (again["indexed"], again["failed"], again["unchanged"]) == (0, 1, 2)


async def test_a_document_that_cannot_be_read_is_a_dead_letter_and_the_worker_goes_on(
    library: Library, tasks: RunTask, folder: Path
) -> None:
    (folder / "bad.pdf").write_bytes(b"no PDF")
    async with tasks(library) as run:
        dead = await run("ingest", filename="bad.pdf")
        assert dead.state is MessageState.DEAD
        assert dead.reason is not None
        assert (dead.reason.code, "not a PDF" in dead.reason.text) == ("document_unreadable", True)
        assert result(await run("ingest", filename="leases.md"))["status"] == "indexed"


@pytest.mark.parametrize("name", ["../north/secret.md", "/etc/passwd", "a/../../b.md", "a\\b.md", "gone.md", "link.md"])
async def test_no_name_leads_out_of_the_document_set(library: Library, tasks: RunTask, folder: Path, name: str) -> None:
    north = folder.parent / "north"
    north.mkdir()
    (north / "secret.md").write_text("secret", encoding="utf-8")
    outside = folder.parents[1] / "outside.md"
    outside.write_text("secret", encoding="utf-8")
    (folder / "link.md").symlink_to(outside)
    async with tasks(library) as run:
        dead = await run("ingest", filename=name)
    assert dead.state is MessageState.DEAD
    assert dead.reason is not None
    assert dead.reason.code == "document_missing"


async def test_progress_is_told_by_page(library: Library, folder: Path) -> None:
    (folder / "book.pdf").write_bytes(pdf([f"page {number}" for number in range(40)]))
    notes: list[tuple[float, str]] = []
    app = Tenure("memory://")

    @app.task
    async def probe(ctx: Context) -> Ingested:
        fetch = FolderSource(folder).fetch
        return await ingest_document(
            ctx, library, "south", "book.pdf", lambda most: fetch("book.pdf", most), lambda *note: notes.append(note)
        )

    async with library, app, app.worker():
        assert (await (await probe.submit()).result()).pages == 40
    assert [note for _, note in notes][:2] == ["fetching book.pdf", "book.pdf: page 1 of 40"]
    assert notes[-1] == (1.0, "book.pdf: embedded 1 of 1 chunks")
    assert [fraction for fraction, _ in notes] == sorted(fraction for fraction, _ in notes)


async def test_an_index_of_another_embedder_is_refused(make_library: MakeLibrary) -> None:
    async with make_library():
        pass

    class Other(WordEmbedder):
        name = "other"

    other = make_library(embedder=Other())
    with pytest.raises(IndexMismatch, match=r"made by words-64, and other is set now"):
        await other.open()


async def test_a_source_that_is_away_is_tried_again(make_library: MakeLibrary, tasks: RunTask, folder: Path) -> None:
    elsewhere = folder.parents[1] / "elsewhere"
    await asyncio.to_thread(folder.parent.rename, elsewhere)
    library = make_library()
    async with tasks(library) as run:
        tried = await run("ingest", filename="leases.md", until=lambda record: record.reason is not None)
        assert tried.reason is not None
        assert "cannot be read" in tried.reason.text
        assert tried.state is not MessageState.DEAD
        await asyncio.to_thread(elsewhere.rename, folder.parent)
        assert result(await run("ingest", filename="leases.md"))["status"] == "indexed"
