"""Ingest: fetch a document, read it, cut it into chunks, embed them, and put them into the index in one step.

A document's version is the SHA-256 of its bytes and of everything else that its chunks depend on. Of a version that is
in the index nothing is done again, and a version replaces the one before as a whole: so a run that is repeated, or
killed anywhere, leaves one copy of each chunk.
"""

import hashlib
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import PurePosixPath
from typing import Protocol

import msgspec

from tenure import Context
from tenure.documents.chunk import Chunk, Part, StoredDocument
from tenure.documents.chunking import SIZE, chunks_of
from tenure.documents.embedding.embedder import Embedder
from tenure.documents.reading.limits import Limits
from tenure.documents.reading.reader import read_document
from tenure.documents.stores.index import Index

#: Raised when the same bytes would make other chunks.
_RECIPE = "1"
#: Texts in one call of the embedder.
_BATCH = 64
#: The part of the progress that reading is; embedding is the rest.
_READING = 0.6


class Ingested(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one document."""

    document_set: str
    name: str
    #: `indexed`, or `unchanged`: this version was in the index already.
    status: str
    chunks: int
    pages: int | None = None


class Tools(Protocol):
    """What an ingest works with; `library.py` has it."""

    @property
    def index(self) -> Index:
        """Where chunks go."""
        ...

    @property
    def embedder(self) -> Embedder | None:
        """What makes vectors. None: nothing does."""
        ...

    @property
    def limits(self) -> Limits:
        """How much of a document is read."""
        ...

    @property
    def by_docling(self) -> bool:
        """Whether PDF and DOCX are read by Docling."""
        ...


Tell = Callable[[float, str], None]
Fetch = Callable[[int], Awaitable[bytes]]


async def ingest_document(
    ctx: Context, tools: Tools, document_set: str, name: str, fetch: Fetch, tell: Tell
) -> Ingested:
    """Put one document into the index, unless this version is there."""
    tell(0.0, f"fetching {name}")
    data = await fetch(tools.limits.size)
    await ctx.set_size(len(data))
    version = version_of(data, tools.embedder, by_docling=tools.by_docling)
    if await tools.index.version(document_set, name) == version:
        return Ingested(document_set=document_set, name=name, status="unchanged", chunks=0)
    reading = await read_document(
        name, data, tools.limits, by_docling=tools.by_docling,
        on_page=lambda page, pages: tell(_READING * page / pages, f"{name}: page {page:,} of {pages:,}"),
    )  # fmt: skip
    chunks, title = list(chunks_of(reading.parts)), title_of(name, reading.parts)
    vectors = None if tools.embedder is None else await _embed(tools.embedder, name, title, chunks, tell)
    document = StoredDocument(
        document_set=document_set, name=name, version=version, title=title, chunks=len(chunks), pages=reading.pages,
        size=len(data),
    )  # fmt: skip
    await tools.index.put(document, chunks, vectors)
    return Ingested(document_set=document_set, name=name, status="indexed", chunks=len(chunks), pages=reading.pages)


def version_of(data: bytes, embedder: Embedder | None, *, by_docling: bool) -> str:
    """The version of a document."""
    recipe = f"{_RECIPE}/{SIZE}/{embedder.name if embedder else ''}/{'docling' if by_docling else ''}/"
    return hashlib.sha256(recipe.encode() + data).hexdigest()


def title_of(name: str, parts: Sequence[Part]) -> str:
    """The first heading of a document, or its file's name."""
    first = parts[0] if parts else None
    return first.headings[0] if first is not None and first.headings else PurePosixPath(name).stem


def words_of_name(name: str) -> str:
    """The words in a document's name: people search for them, too."""
    return " ".join(re.findall(r"\w+", PurePosixPath(name).with_suffix("").as_posix()))


async def _embed(embedder: Embedder, name: str, title: str, chunks: Sequence[Chunk], tell: Tell) -> list[bytes]:
    about = f"{title} {words_of_name(name)}"
    vectors: list[bytes] = []
    for start in range(0, len(chunks), _BATCH):
        batch = chunks[start : start + _BATCH]
        vectors += await embedder.embed([f"{about}\n{chunk.heading}\n{chunk.text}" for chunk in batch])
        done = len(vectors) / len(chunks)
        tell(_READING + (1 - _READING) * done, f"{name}: embedded {len(vectors):,} of {len(chunks):,} chunks")
    return vectors
