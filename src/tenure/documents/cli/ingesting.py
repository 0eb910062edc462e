"""The work of `tenure documents ingest`: a message for each document, and a worker of its own that runs them.

The messages are in a file beside the index. A run that was killed leaves them there: the next one runs them, together
with what has changed since. Two messages for one document do no harm (`ingest.py` in the package above).
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from tenure import Context, Handle, MessageState, Tenure
from tenure.documents.failing import verdicts
from tenure.documents.ingest import Ingested, ingest_document
from tenure.documents.library import Library
from tenure.documents.reading.kind import can_be_read
from tenure.documents.sources.folder import FolderSource
from tenure.documents.sources.names import checked_set

_QUEUE = "documents"
_BATCH = 500


class NotIndexed(msgspec.Struct, frozen=True):
    """A document that could not be indexed."""

    name: str
    reason: str


class IngestReport(msgspec.Struct, kw_only=True):
    """What became of the documents of a folder."""

    document_set: str
    index: str
    embedder: str | None
    documents: int = 0
    indexed: int = 0
    unchanged: int = 0
    chunks: int = 0
    pages: int = 0
    seconds: float = 0.0
    refused: list[NotIndexed] = []


class Ingesting:
    """One run over a folder."""

    def __init__(self, library: Library, folder: Path, document_set: str, queue: str, concurrency: int) -> None:
        """Keep the messages at the URL `queue`, and run so many at once."""
        self._library = library
        self._root = folder if folder.is_dir() else folder.parent
        self._only = None if folder.is_dir() else folder.name
        self._set = checked_set(document_set)
        self._concurrency = concurrency
        self._app = Tenure(queue)
        self._ended: dict[str, Ingested] = {}
        #: What each document that is under way says.
        self.notes: dict[str, str] = {}
        embedder = library.embedder
        self.report = IngestReport(
            document_set=document_set, index=library.index.place, embedder=None if embedder is None else embedder.name
        )
        self._app.task(name="ingest_file", queue=_QUEUE)(self._handler())

    @property
    def done(self) -> int:
        """Documents that have been indexed, or were."""
        return len(self._ended) + len(self.report.refused)

    def _handler(self) -> Callable[..., Awaitable[Ingested]]:
        async def ingest_file(ctx: Context, folder: str, filename: str, document_set: str) -> Ingested:
            """Index one file of a folder of this machine."""
            source = FolderSource(folder)

            def tell(fraction: float, note: str) -> None:
                ctx.progress(fraction, note)
                self.notes[filename] = note

            try:
                with verdicts():
                    return await ingest_document(
                        ctx, self._library, document_set, filename, lambda most: source.fetch(filename, most), tell
                    )
            finally:
                self.notes.pop(filename, None)

        return ingest_file

    async def run(self, begun: Callable[[int], None]) -> IngestReport:
        """Index everything, and report. `begun` gets the number of documents."""
        began = asyncio.get_running_loop().time()
        await self._library.open()
        source = FolderSource(self._root.resolve())
        names = [self._only] if self._only else [name async for name in source.names("") if can_be_read(name)]
        self.report.documents = len(names)
        begun(len(names))
        async with self._app, self._app.worker(concurrency=self._concurrency):
            handles = await self._submit(names)
            for name, handle in handles.items():
                await self._await_end(name, handle)
        for one in self._ended.values():
            self.report.indexed += one.status == "indexed"
            self.report.unchanged += one.status == "unchanged"
            self.report.chunks += one.chunks
            self.report.pages += one.pages or 0
        self.report.seconds = round(asyncio.get_running_loop().time() - began, 3)
        return self.report

    async def _submit(self, names: list[str]) -> dict[str, Handle[object]]:
        root = str(self._root.resolve())
        task = self._app.tasks["ingest_file"]
        handles: dict[str, Handle[object]] = {}
        for start in range(0, len(names), _BATCH):
            some = names[start : start + _BATCH]
            calls = [task.bind(folder=root, filename=name, document_set=self._set).having(unique=True) for name in some]
            handles |= zip(some, await self._app.submit_many(calls), strict=True)
        return handles

    async def _await_end(self, name: str, handle: Handle[object]) -> None:
        async for update in handle.updates():
            if update.state is MessageState.COMPLETED:
                self._ended[name] = msgspec.convert(update.result, Ingested)
            elif update.is_last:
                self.report.refused.append(NotIndexed(name, update.error or str(update.state)))


async def shown(ingesting: Ingesting, show: Callable[[Ingesting], None], begun: Callable[[int], None]) -> IngestReport:
    """Run, and call `show` some times a second."""
    running = asyncio.create_task(ingesting.run(begun))
    try:
        while not running.done():
            show(ingesting)
            await asyncio.wait({running}, timeout=0.1)
        return running.result()
    finally:
        running.cancel()
        await asyncio.wait({running})
